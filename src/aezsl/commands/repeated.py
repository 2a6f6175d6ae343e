"""The splits of a repeat: which methods are finished, in which order nodes run, and the run of MLflow above them."""

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kedro.framework.context import KedroContext
from kedro.io import CatalogProtocol, DatasetError
from kedro.pipeline import Node, Pipeline
from kedro.runner import SequentialRunner
from kedro.runner.runner import AbstractRunner

from aezsl.datasets.files import FigureDataset
from aezsl.errors import AezslError
from aezsl.hooks.mlflow_run import TrackedRun
from aezsl.hooks.subject import BENCHMARK, KIND, run_name
from aezsl.methods import METHODS, MethodRun, Setting, in_setting
from aezsl.selection import selection_key

log = logging.getLogger(__name__)

#: Parameters beside those of the method that a result depends on once its problem is given.
SHARED = ("selection", "evaluation", "calibration")


class FinishedMethods:
    """The methods of one split, each finished under a key that changes with all that its results depend on.

    The key is that of a selection: the problem's fingerprint, parameters, and a digest of the code. Results of what is
    not a registered method, such as a network that learns from images, have no such key and are never taken over.
    """

    def __init__(self, context: KedroContext, catalog: CatalogProtocol[Any, Any]) -> None:
        self._catalog = catalog
        self._parameters = context.config_loader["parameters"]  # as they are written: a key is made of them
        self._candidates = context.config_loader["catalog"]["candidates"]

    def marked(self, names: Iterable[str]) -> list[str]:
        """Those of the names that were finished once, under whichever key."""
        return [name for name in names if _registered(name) and self._mark(name)]

    def unchanged(self, names: Iterable[str], pipeline: Pipeline) -> list[str]:
        """Those of the names that are finished, and would come out the same again.

        pipeline : assembles the problems of the names' settings, whose fingerprints tell whether the data is the same.
        """
        marked = self.marked(names)
        if not marked:
            return []
        wanted = sorted({in_setting("problem_summary", MethodRun.parse(name).setting) for name in marked})
        SequentialRunner().run(pipeline.to_outputs(*wanted), self._catalog)
        return [name for name in marked if self._mark(name) == self._key(name) and self._is_measured(name)]

    def mark(self, name: str) -> None:
        """Say that the method is finished on the problem that was assembled last."""
        if _registered(name):
            self._catalog.save(f"{name}.finished", {"key": self._key(name)})

    def forget(self, names: Iterable[str]) -> None:
        """Say that the methods are not finished: their results are about to be overwritten, one by one."""
        for name in self.marked(names):
            self._catalog.save(f"{name}.finished", {"key": ""})

    def with_missing_bases(self, pending: Iterable[str]) -> list[str]:
        """The methods that are to be run, each behind the one it refines where the model of that one is not there."""
        found: list[str] = []
        for name in pending:
            base, needed = MethodRun.parse(name).base, []
            while base:
                needed += [] if self._catalog.exists(f"{base.name}.model") else [base.name]
                base = base.base
            found += [other for other in (*reversed(needed), name) if other not in found]
        return found

    def drop_models(self, names: Iterable[str]) -> None:
        """Remove problems, models and rankings: whatever a repeat reports is measured, and they fill the disk."""
        methods = [name for name in names if _registered(name)]
        settings = {MethodRun.parse(name).setting for name in methods}
        problems = [in_setting(part, setting) for setting in settings for part in ("problem", "problem_recipe")]
        parts = ("model", "classifier", "ranking", "seen_ranking", "unseen_ranking")
        for dataset in (*problems, *(f"{name}.{part}" for name in methods for part in parts)):
            place = getattr(self._catalog.get(dataset), "_filepath", None)
            if place is not None:
                Path(place).unlink(missing_ok=True)

    def summary(self, setting: Setting) -> dict[str, Any]:
        """Sizes and fingerprint of the problem of a setting."""
        found: dict[str, Any] = self._catalog.load(in_setting("problem_summary", setting))
        return found

    def metrics(self, name: str) -> dict[str, float]:
        """The metrics of a finished method."""
        found: dict[str, float] = self._catalog.load(f"{name}.metrics")
        return found

    def draws(self, node: Node) -> bool:
        """Whether a node makes nothing but pictures."""
        outputs = [self._catalog.get(name) for name in node.outputs]
        return bool(outputs) and all(isinstance(output, FigureDataset) for output in outputs)

    def _mark(self, name: str) -> str:
        """The key under which a method was finished; none where that cannot be read any more."""
        return str(load_mapping(self._catalog, f"{name}.finished").get("key", ""))

    def _is_measured(self, name: str) -> bool:
        found = load_mapping(self._catalog, f"{name}.metrics")
        return bool(found) and all(isinstance(value, int | float) for value in found.values())

    def _key(self, name: str) -> str:
        fingerprint = self.summary(MethodRun.parse(name).setting)["problem_fingerprint"]
        shared: Mapping[str, Any] = {key: self._parameters[key] for key in SHARED}
        own: dict[str, Any] = {}
        run: MethodRun | None = MethodRun.parse(name)
        while run:
            own[run.method] = self._parameters[run.method]
            run = run.base
        return selection_key(fingerprint, name, own, shared, self._candidates)


def load_mapping(catalog: CatalogProtocol[Any, Any], name: str) -> dict[str, Any]:
    """What a former repeat has left; empty, with a warning, where it is damaged: it is made again."""
    try:
        found = catalog.load(name) if catalog.exists(name) else {}
    except (DatasetError, AezslError) as error:
        found = error
    if isinstance(found, dict):
        return found
    log.warning("%s of a former repeat is damaged and is made again (%s)", name, found)
    return {}


def _registered(name: str) -> bool:
    return MethodRun.parse(name).entry is not None


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


class ParentRun:
    """The run of a whole repeat. A resumed repeat continues the one it began; without tracking there is none."""

    def __init__(self, context: KedroContext, former: str | None, name: str) -> None:
        self._run: TrackedRun | None = None
        tracking = getattr(context, "mlflow", None)  # kedro-mlflow leaves its settings here
        if tracking is None:
            return
        about = {KIND: "repeat", BENCHMARK: context.config_loader["parameters"]["report"]["benchmark"]}
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
