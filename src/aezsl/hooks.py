"""What every run leaves in MLflow beside its parameters."""

import os
import sys
import time
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from aezsl.config import ConfigLoader
from aezsl.errors import NotReadyError, ParameterError
from aezsl.machine.provenance import Cost, git_commit, peak_memory_mb
from aezsl.runs.subject import main_method
from aezsl.runs.tracking import prepare_database, sign_run


class BeforeAnythingRuns:
    """Checks what a command asks for: pipelines and parameters, in files and on the command line.

    It comes before MLflow hears of the run, so that no misspelt name is ever logged beside results of the default.
    """

    @hook_impl(tryfirst=True)  # before kedro-mlflow opens its database
    def after_context_created(self, context: KedroContext) -> None:
        """Refuse with a sentence what is unknown or cannot be meant."""
        _check_pipelines()
        if isinstance(context.config_loader, ConfigLoader):
            context.config_loader.check()
            _prepare_tracking(context.config_loader)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Refuse to use a model that nobody has trained, with the command that trains it."""
        if "models" not in pipeline.inputs():
            return
        method, trained = catalog.load("params:predict")["method"], catalog.load("models").trained()
        if method not in trained:
            raise NotReadyError(
                f"{method} has not been trained yet: {_training_command(method, run_params)}; "
                f"trained are: {', '.join(trained) or 'none'}"
            )


def _training_command(method: str, run_params: dict[str, Any]) -> str:
    """What to type, with the data set that this command names."""
    given = {
        f"{section}.{name}": value
        for section, values in (run_params.get("runtime_params") or {}).items()
        if section != "predict" and isinstance(values, dict)
        for name, value in values.items()
    }
    env = f" --env={run_params['env']}" if run_params.get("env") else ""
    params = ",".join(f"{name}={value}" for name, value in given.items())
    return f"kedro run{env} --pipeline={method}" + (f" --params={params}" if params else "")


def _prepare_tracking(config: ConfigLoader) -> None:
    """See to the database that kedro-mlflow is about to open."""
    import mlflow

    if mlflow.active_run() is not None:  # whoever started it has seen to it, and kedro-mlflow uses that one
        return
    config.config_patterns.setdefault("mlflow", ["mlflow*", "mlflow*/**", "**/mlflow*"])  # as kedro-mlflow has it
    settings = config["mlflow"]
    prepare_database(settings["server"]["mlflow_tracking_uri"], settings["tracking"]["experiment"])


def _check_pipelines() -> None:
    """Kedro would name an unknown pipeline, too, but only after MLflow has been set up."""
    from kedro.framework.project import pipelines

    names = list(pipelines)
    for name in pipelines._requested_pipelines or []:
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}?" if near else "kedro registry list shows all there are"
            raise ParameterError(f"no pipeline {name!r}: {hint}")


class OneThreadPerTask:
    """Where a runner works at several nodes at once, linear algebra keeps to one thread per node.

    Otherwise every node starts as many threads as there are cores, and they wait for each other. The limit is set
    in this process for ``ThreadRunner`` and in the environment for the processes that ``ParallelRunner`` starts.
    Nodes that share a process cannot tell whose memory they see, so memory is not recorded under ``ThreadRunner``.
    """

    def __init__(self) -> None:
        self._limits: Any = None
        self._environment: dict[str, str | None] = {}

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any]) -> None:
        """Limit, where nodes run side by side; a limit that the user has set stays."""
        from threadpoolctl import threadpool_limits

        runner = str(run_params.get("runner"))
        Cost.measure_memory = "ThreadRunner" not in runner
        if "ThreadRunner" in runner or "ParallelRunner" in runner:
            self._limits = threadpool_limits(1)
            for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
                self._environment[name] = os.environ.get(name)
                os.environ.setdefault(name, "1")

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Restore the former limits."""
        self._restore()

    @hook_impl
    def on_pipeline_error(self) -> None:
        """Restore the former limits."""
        self._restore()

    def _restore(self) -> None:
        Cost.measure_memory = True
        if self._limits is not None:
            self._limits.restore_original_limits()
            self._limits = None
        for name, value in self._environment.items():
            if value is None:
                os.environ.pop(name, None)
        self._environment = {}


class RunRecorder:
    """Logs results, origin and cost of a run.

    A catalog entry says in ``metadata.mlflow`` how its dataset is logged once the run has saved it: ``metrics``
    (a mapping of numbers), ``history`` (a table with one row of numbers per step), ``params`` (a mapping of chosen
    values), ``tags``, ``record`` (a mapping of numbers, logged as metrics, and other values, logged as tags), or
    ``artifact`` (the file or folder). Results of the method that gave the run its name are logged under
    their plain names, those of other methods in the same run with the method's name before them.
    Everything is logged from the main process when the run is over, so that it works under every runner.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()

    @hook_impl
    def before_pipeline_run(self) -> None:
        """Start the clock, and sign the run that kedro-mlflow has just begun."""
        self._start = time.monotonic()
        sign_run()

    @hook_impl(tryfirst=True)  # before kedro-mlflow closes the run
    def after_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log what the run produced."""
        import mlflow

        # Some nodes write to what they were given, such as the table of a selection: inputs count, too.
        outputs = sorted(pipeline.all_outputs() | pipeline.all_inputs())
        if mlflow.active_run() is None:  # tracking is switched off
            return
        mlflow.set_tags({"git_commit": git_commit(Path(run_params["project_path"])), "python": sys.version.split()[0]})
        mlflow.log_metrics({"wall_seconds": time.monotonic() - self._start, "peak_memory_mb": peak_memory_mb()})
        main = main_method(run_params)
        for name in outputs:
            if how := _logging_kind(catalog, name):
                space = _namespace(name)
                _log(mlflow, how, catalog, name, "" if space in ("", main) else f"{space}.")


def _logging_kind(catalog: DataCatalog, name: str) -> str | None:
    dataset = catalog.get(name) if name in catalog else None
    how: str | None = (getattr(dataset, "metadata", None) or {}).get("mlflow")
    return how


def _namespace(name: str) -> str:
    return name.rpartition(".")[0]


def _log(mlflow: Any, how: str, catalog: DataCatalog, name: str, prefix: str) -> None:
    if how == "artifact":
        path = Path(catalog.get(name)._filepath)  # type: ignore[union-attr]
        if path.is_dir():
            mlflow.log_artifacts(str(path), path.name)
        elif path.exists():
            mlflow.log_artifact(str(path), _namespace(name) or None)
        return
    values = catalog.load(name)
    if how == "metrics":
        mlflow.log_metrics({prefix + key: value for key, value in values.items()})
    elif how == "history":
        mlflow.log_artifact(str(catalog.get(name)._filepath), _namespace(name) or None)  # type: ignore[union-attr]
        _log_history(mlflow, values, prefix)
    elif how == "params":
        mlflow.log_params({f"{prefix}{name.rpartition('.')[2]}.{key}": value for key, value in values.items()})
    elif how == "record":
        numbers = {key: value for key, value in values.items() if isinstance(value, int | float)}
        mlflow.log_metrics({prefix + key: value for key, value in numbers.items()})
        mlflow.set_tags({prefix + key: value for key, value in values.items() if key not in numbers})
    elif how == "tags":
        mlflow.set_tags({prefix + key: value for key, value in values.items()})
    else:
        raise ValueError(
            f"metadata.mlflow of {name} must be metrics, history, params, tags, record or artifact, got {how!r}"
        )


def _log_history(mlflow: Any, table: Any, prefix: str) -> None:
    """Every numeric column as a metric by step, the first column being the step: MLflow draws the curve."""
    from mlflow.entities import Metric

    numbers = table.select_dtypes("number").dropna(axis="columns", how="all")
    if numbers.empty:  # no step was made
        return
    step, *columns = numbers.columns
    now = int(time.time() * 1000)
    metrics = [
        Metric(f"{prefix}{step}.{column}", float(value), now, int(at))
        for column in columns
        for at, value in zip(numbers[step], numbers[column], strict=True)
        if value == value  # a column may end earlier than the others
    ]
    client, run_id = mlflow.MlflowClient(), mlflow.active_run().info.run_id
    for start in range(0, len(metrics), 1000):  # the most that one request may hold
        client.log_batch(run_id, metrics=metrics[start : start + 1000])
