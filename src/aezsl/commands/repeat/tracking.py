"""The run of MLflow that holds those of the splits, and what is seen of a split while it runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline

from aezsl.runs.subject import BENCHMARK, KIND, run_name
from aezsl.runs.tracked import TrackedRun


class ParentRun:
    """The run of a whole repeat. A resumed repeat continues the one it began; without tracking there is none."""

    def __init__(self, context: KedroContext, former: str | None, name: str) -> None:
        self._run: TrackedRun | None = None
        tracking = getattr(context, "mlflow", None)  # kedro-mlflow leaves its settings here
        if tracking is None:
            return
        about = {KIND: "repeat", BENCHMARK: context.params["report"]["benchmark"]}
        if former is not None and TrackedRun(former).is_there:
            self._run = TrackedRun(former)
            self._run.set_tags({"mlflow.runName": run_name(name, about)})  # it may have more splits now
        else:
            experiment = tracking.tracking.experiment._experiment.experiment_id
            self._run = TrackedRun.begin(experiment, run_name(name, about), about)

    @property
    def id(self) -> str | None:
        """By which MLflow knows it."""
        return self._run.id if self._run else None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Its state while the repeat runs, and how it ended."""
        if self._run is None:
            yield
            return
        self._run.resume()
        try:
            yield
        except BaseException as error:
            how = "FAILED" if isinstance(error, Exception) else "KILLED"
            close_runs(how)
            self._run.end(how)
            raise
        self._run.end()

    def log(self, metrics: Mapping[str, float], tags: Mapping[str, Any], files: list[Path]) -> None:
        """What the repeat has found."""
        if self._run is None:
            return
        self._run.log_metrics(metrics)
        self._run.set_tags(tags)
        for file in files:
            self._run.log_path(file)


def close_runs(status: str = "FINISHED") -> None:
    """End the run of a split: kedro-mlflow opens it once more with every node, and closes it once."""
    import mlflow

    while mlflow.active_run() is not None:
        mlflow.end_run(status)


class SplitHooks:
    """Makes the run of a split a child of its parent, and tells when all of a method's results are saved."""

    def __init__(self, parent: str | None, name: str, finished: Callable[[str], None], methods: list[str]) -> None:
        self._parent, self._name = parent, name
        self._finished, self._methods = finished, methods
        self._missing: dict[str, set[str]] = {}
        self._lock = Lock()

    @hook_impl(trylast=True)  # once kedro-mlflow has started the run
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Name the run and its parent; list what every method has yet to save."""
        for method in self._methods:
            nodes = (node for node in pipeline.nodes if node.namespace == method)
            self._missing[method] = {output for node in nodes for output in node.outputs}
        if self._parent is not None and (run := TrackedRun.active()):
            run.set_tags({"mlflow.parentRunId": self._parent, "mlflow.runName": self._name})

    @hook_impl
    def after_dataset_saved(self, dataset_name: str) -> None:
        """A method is finished when nothing of it is missing."""
        method = dataset_name.partition(".")[0]
        with self._lock:
            missing = self._missing.get(method, set())
            if dataset_name not in missing:
                return
            missing.discard(dataset_name)
            if missing:
                return
        self._finished(method)

    @hook_impl
    def after_pipeline_run(self) -> None:
        """Runners with processes of their own say nothing while they work."""
        for method in [method for method, missing in self._missing.items() if missing]:
            self._finished(method)
