"""What every run leaves in MLflow: parameters, results, origin and cost."""

import sys
import time
from pathlib import Path
from typing import Any

from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Node, Pipeline
from kedro_mlflow.framework.hooks import MlflowHook

from aezsl.datasets.files import dataset_path
from aezsl.hooks.database import save_view, sign_run
from aezsl.hooks.mlflow_run import TrackedRun
from aezsl.hooks.subject import (
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
from aezsl.kinds import Settings
from aezsl.machine.provenance import git_commit, peak_memory_mb
from aezsl.methods import METHODS


class ParameterLogging(MlflowHook):
    """kedro-mlflow's hook, in place of the one that it registers itself: every setting becomes a column of its own.

    kedro-mlflow flattens mappings, and nodes take objects.
    """

    @hook_impl
    def before_node_run(self, node: Node, catalog: DataCatalog, inputs: dict[str, Any], is_async: bool) -> None:
        """Log the parameters of the node."""
        settings = {name: value for name, value in inputs.items() if name.startswith("params:")}
        flat = {
            name: value.model_dump(exclude_unset=name[7:] in METHODS) if isinstance(value, Settings) else value
            for name, value in settings.items()
        }
        super().before_node_run(node, catalog, flat, is_async)


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
    return dataset_path(catalog, name)


def _log_model(run: TrackedRun, trained: Any, method: str, file: Path) -> None:
    from aezsl.datasets.mlflow_model import model_parts

    with model_parts(trained, file) as parts:
        run.log_model(method, parts)
