"""The order of a repeat: one method after the other."""

from typing import Any

from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner
from kedro.runner.runner import AbstractRunner

from aezsl.methods import METHODS, MethodRun


class MethodAfterMethod(SequentialRunner):
    """Runs all nodes of a method before those of the next one, where Kedro takes the first nodes of all methods first.

    So an interruption loses one method, and a line of progress comes with each.
    """

    def _run(
        self,
        pipeline: Pipeline,
        catalog: CatalogProtocol[Any, Any],
        hook_manager: Any = None,
        run_id: str | None = None,
    ) -> None:
        for part in parts_by_method(pipeline):
            AbstractRunner._run(self, part, catalog, hook_manager, run_id)


def parts_by_method(pipeline: Pipeline) -> list[Pipeline]:
    """The pipeline in parts: what methods share, every method with its base before it, then what comes after them.

    What one part makes and reads itself, Kedro forgets at its end unless it is on disk; what methods share is therefore
    a part that no method's node is in.
    """
    methods = sorted({node.namespace for node in pipeline.nodes if node.namespace}, key=_place)
    of_methods = [[node for node in pipeline.nodes if node.namespace == method] for method in methods]
    needed = pipeline.to_nodes(*(node.name for nodes in of_methods for node in nodes)).nodes if methods else []
    before = [node for node in needed if not node.namespace]
    after = [node for node in pipeline.nodes if not node.namespace and node not in before]
    return [Pipeline(nodes) for nodes in (before, *of_methods, after) if nodes]


def _place(name: str) -> tuple[int, int, str]:
    """Bases before those that refine them, else the order of the registry."""
    run = MethodRun.parse(name)
    if not run.entry:
        return 0, -1, name
    depth, base = 0, run.base
    while base:
        depth, base = depth + 1, base.base
    return depth, list(METHODS).index(run.method), name
