"""The run of MLflow that holds those of the splits, and what is seen of a split while it runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from kedro.framework.context import KedroContext
from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline


class ParentRun:
    """The run of a whole repeat. A resumed repeat goes on with the one it began; without tracking there is none."""

    def __init__(self, context: KedroContext, former: str | None, name: str) -> None:
        self.id: str | None = None
        tracking = getattr(context, "mlflow", None)  # kedro-mlflow leaves its settings here
        if tracking is None:
            return
        import mlflow
        from mlflow.exceptions import MlflowException

        self._client = mlflow.MlflowClient()
        if former is not None:
            with suppress(MlflowException):  # it was deleted, or is in another place
                if self._client.get_run(former).info.lifecycle_stage == "active":
                    self.id = former
        if self.id is None:
            experiment = tracking.tracking.experiment._experiment.experiment_id
            self.id = self._client.create_run(experiment, run_name=name).info.run_id

    @contextmanager
    def running(self) -> Iterator[None]:
        """Its state while the repeat runs, and how it ended."""
        if self.id is None:
            yield
            return
        self._client.update_run(self.id, status="RUNNING")
        try:
            yield
        except BaseException as error:
            how = "FAILED" if isinstance(error, Exception) else "KILLED"
            close_runs(how)
            self._client.set_terminated(self.id, how)
            raise
        self._client.set_terminated(self.id)

    def log(self, metrics: Mapping[str, float], tags: Mapping[str, Any], files: list[Path]) -> None:
        """What the repeat has found."""
        if self.id is None:
            return
        for key, value in metrics.items():
            self._client.log_metric(self.id, key, value)
        for key, value in tags.items():
            self._client.set_tag(self.id, key, value)
        for file in files:
            self._client.log_artifact(self.id, str(file))


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
        import mlflow

        for method in self._methods:
            nodes = (node for node in pipeline.nodes if node.namespace == method)
            self._missing[method] = {output for node in nodes for output in node.outputs}
        if self._parent is not None and mlflow.active_run() is not None:
            mlflow.set_tags({"mlflow.parentRunId": self._parent, "mlflow.runName": self._name})

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
