"""What is seen of a split of ``kedro repeat`` while it runs."""

from collections.abc import Callable
from threading import Lock

from kedro.framework.hooks import hook_impl
from kedro.pipeline import Pipeline

from aezsl.hooks.mlflow_run import TrackedRun


class SplitHooks:
    """Makes the run of a split a child of its parent, and tells when all of a method's results are saved.

    It does nothing until ``watch`` says what is repeated.
    """

    def __init__(self) -> None:
        self._parent: str | None = None
        self._name = ""
        self._finished: Callable[[str], None] = lambda _: None
        self._methods: list[str] = []
        self._missing: dict[str, set[str]] = {}
        self._lock = Lock()

    def watch(self, parent: str | None, name: str, finished: Callable[[str], None], methods: list[str]) -> None:
        """Follow the next run: its parent in MLflow, its name there, whom to tell, and of which methods."""
        self._parent, self._name, self._finished, self._methods, self._missing = parent, name, finished, methods, {}

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


#: The one that Kedro calls (``aezsl.settings``).
split_hooks = SplitHooks()
