"""What every run leaves in MLflow beside its parameters."""

import os
import sys
import time
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Pipeline

from aezsl.config import ConfigLoader
from aezsl.errors import NotReadyError
from aezsl.machine.provenance import Cost, git_commit, peak_memory_mb
from aezsl.methods import METHODS
from aezsl.runs.asked import check_pipelines
from aezsl.runs.commands import next_command
from aezsl.runs.subject import (
    BENCHMARK,
    KIND,
    METHOD,
    SPLIT,
    describe_run,
    main_method,
    methods_with_runs,
    named_methods,
    run_name,
)
from aezsl.runs.tracked import TrackedRun
from aezsl.runs.tracking import prepare_database, save_view, sign_run


class BeforeAnythingRuns:
    """Checks what a command asks for: pipelines and parameters, in files and on the command line.

    It comes before MLflow hears of the run, so that no misspelt name is ever logged beside results of the default.
    """

    @hook_impl(tryfirst=True)  # before kedro-mlflow opens its database
    def after_context_created(self, context: KedroContext) -> None:
        """Refuse with a sentence what is unknown or cannot be meant."""
        check_pipelines()
        if isinstance(context.config_loader, ConfigLoader):
            context.config_loader.check()
            _prepare_tracking(context.config_loader)

    @hook_impl(tryfirst=True)
    def before_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Refuse networks and folders that there are not, what is not a pair, and models that nobody has trained."""
        from aezsl.encoders.images.backbones import check_backbones
        from aezsl.formats.image_folders import require_folder

        inputs = pipeline.inputs()
        if "models" in inputs:  # whose networks are their own
            _require_model(run_params, pipeline, catalog)
        elif "params:feature_extraction" in inputs:
            check_backbones(catalog.load("params:feature_extraction"))
            _check_pairs(inputs, catalog)
        if "new_images" in inputs and "new_images" in catalog:
            require_folder(catalog.get("new_images").folder)  # type: ignore[union-attr]


def _check_pairs(inputs: set[str], catalog: DataCatalog) -> None:
    """Refuse methods of a pair of encoders before features are computed that they could not use."""
    from aezsl.encoders.pairs import check_pair

    settings = ("feature_extraction", "semantic_embedding", "normalise")
    for name in (entry.name for entry in METHODS.values() if entry.paired and f"params:{entry.name}" in inputs):
        if not catalog.load(f"params:{name}")["init"].get("stated_pair"):
            check_pair(name, *(catalog.load(f"params:{setting}") for setting in settings))


def _require_model(run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
    """Refuse to use a model that nobody has trained, with the command that trains it."""
    settings, trained = catalog.load("params:predict"), catalog.load("models").trained()
    method = settings["method"]
    registered = settings["model"] and "new_predictions" in pipeline.all_outputs()  # one of MLflow's will do
    if method not in trained and not registered:
        raise NotReadyError(
            f"{method} has not been trained yet: {next_command(run_params, method)}; "
            f"trained are: {', '.join(trained) or 'none'}"
        )


def _prepare_tracking(config: ConfigLoader) -> None:
    """See to the database that kedro-mlflow is about to open."""
    import mlflow

    if mlflow.active_run() is not None:  # whoever started it has seen to it, and kedro-mlflow uses that one
        return
    config.config_patterns.setdefault("mlflow", ["mlflow*", "mlflow*/**", "**/mlflow*"])  # as kedro-mlflow has it
    settings = config["mlflow"]
    prepare_database(settings["server"]["mlflow_tracking_uri"], settings["tracking"]["experiment"])


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
    values), ``tags``, ``record`` (a mapping of numbers, logged as metrics, and other values, logged as tags),
    ``artifact`` (the file or folder), or ``model`` (a trained one, logged where the run names its method).
    Results of the method that gave the run its name are logged under their plain names, those of other methods in the
    same run with the method's name before them. A run that is about no single method, such as ``table1``, has one run
    per method below it instead.
    Everything is logged from the main process when the run is over, so that it works under every runner.
    """

    def __init__(self) -> None:
        self._start = time.monotonic()

    @hook_impl
    def before_pipeline_run(self, run_params: dict[str, Any], catalog: DataCatalog) -> None:
        """Start the clock; name and sign the run that kedro-mlflow has just begun."""
        self._start = time.monotonic()
        if run := TrackedRun.active():
            run.set_tags(describe_run(run_params, catalog.load("parameters")))
            save_view(run.experiment)
            sign_run()

    @hook_impl(tryfirst=True)  # before kedro-mlflow closes the run
    def after_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Log what the run produced."""
        run = TrackedRun.active()
        if run is None:  # tracking is switched off
            return
        run.set_tags({"git_commit": git_commit(Path(run_params["project_path"])), "python": sys.version.split()[0]})
        run.log_metrics({"wall_seconds": time.monotonic() - self._start, "peak_memory_mb": peak_memory_mb()})
        # Some nodes write to what they were given, such as the table of a selection: inputs count, too.
        names = sorted(pipeline.all_outputs() | pipeline.all_inputs())
        measured = sorted({_namespace(name) for name in pipeline.all_outputs() if name.endswith(".metrics")})
        below = methods_with_runs(run_params, measured)
        main = main_method(run_params)
        kept = {f"{method}.model" for method in (main, *named_methods(run_params))}
        names = [name for name in names if name in kept or _logging_kind(catalog, name) != "model"]
        for name in names:
            space = _namespace(name)
            if space not in below and (how := _logging_kind(catalog, name)):
                _log(run, how, catalog, name, "" if space in ("", main) else f"{space}.")
        for method in below:
            of_method = [name for name in names if _namespace(name) == method]
            run.log_metrics(_log_below(run, method, catalog, of_method))


def _log_below(run: TrackedRun, method: str, catalog: DataCatalog, names: list[str]) -> dict[str, float]:
    """A run for one of several methods; returns what stands beside the other methods in the run above."""
    from aezsl.methods import MethodRun
    from aezsl.reporting.formatting import full_label
    from aezsl.reporting.over_splits import HEADLINES

    about = {key: value for key, value in run.tags.items() if key in (KIND, BENCHMARK, SPLIT)} | {METHOD: method}
    child = run.child(run_name(full_label(method), about), about)
    for name in names:
        if how := _logging_kind(catalog, name):
            _log(child, how, catalog, name, "")
    child.end()
    headline = HEADLINES[MethodRun.parse(method).setting][0]
    metrics = catalog.load(f"{method}.metrics")
    return {f"{method}.{headline}": metrics[headline]} if headline in metrics else {}


def _logging_kind(catalog: DataCatalog, name: str) -> str | None:
    dataset = catalog.get(name) if name in catalog else None
    how: str | None = (getattr(dataset, "metadata", None) or {}).get("mlflow")
    return how


def _namespace(name: str) -> str:
    return name.rpartition(".")[0]


def _log(run: TrackedRun, how: str, catalog: DataCatalog, name: str, prefix: str) -> None:
    if how in ("artifact", "history"):
        run.log_path(_path(catalog, name), _namespace(name) or None)
    if how == "artifact":
        return
    values = catalog.load(name)
    if how == "metrics":
        run.log_metrics({prefix + key: value for key, value in values.items()})
    elif how == "history":
        run.log_history(values, prefix)
    elif how == "params":
        run.log_params({f"{prefix}{name.rpartition('.')[2]}.{key}": value for key, value in values.items()})
    elif how == "record":
        numbers = {key: value for key, value in values.items() if isinstance(value, int | float)}
        run.log_metrics({prefix + key: value for key, value in numbers.items()})
        run.set_tags({prefix + key: value for key, value in values.items() if key not in numbers})
    elif how == "tags":
        run.set_tags({prefix + key: value for key, value in values.items()})
    elif how == "model":
        _log_model(run, values, _namespace(name), _path(catalog, name))
    else:
        kinds = "metrics, history, params, tags, record, artifact or model"
        raise ValueError(f"metadata.mlflow of {name} must be {kinds}, got {how!r}")


def _path(catalog: DataCatalog, name: str) -> Path:
    return Path(catalog.get(name)._filepath)  # type: ignore[union-attr]


def _log_model(run: TrackedRun, trained: Any, method: str, file: Path) -> None:
    from aezsl.datasets.mlflow_model import model_parts

    with model_parts(trained, file) as parts:
        run.log_model(method, parts)
