"""One pipeline after the other over class splits, and the table of it."""

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import numpy as np
from kedro.framework.context import KedroContext
from kedro.framework.project import pipelines
from kedro.framework.session import KedroSession
from kedro.io import CatalogProtocol
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner
from kedro.utils import load_obj

from aezsl.commands.repeated import FinishedMethods, MethodAfterMethod, ParentRun, close_runs, load_mapping
from aezsl.datasets.files import dataset_path
from aezsl.errors import DataError
from aezsl.evaluation.metrics import METRICS, ConventionalOutcome, GeneralizedOutcome
from aezsl.hooks.repeat import split_hooks
from aezsl.hooks.subject import SPLIT_OF_REPEAT, flat_params, short_path
from aezsl.machine.screen import say
from aezsl.methods import METHODS, SETTINGS, MethodRun, Setting, in_setting
from aezsl.pipeline_registry import register_pipelines
from aezsl.reporting.over_splits import (
    HEADLINES,
    SETTINGS_FOLLOW,
    default_reference,
    describe_splits,
    summarise_splits,
    tabulate_splits,
    write_splits,
)

log = logging.getLogger(__name__)

#: What the files are that a repeat ends with.
PLACES = ("every split", "all columns", "table", "for a paper")

#: Parameters that say what is repeated: results under other ones need a name of their own.
DATA = ("ingestion", "split", "feature_extraction", "semantic_embedding", "normalise", "selection", "calibration")


class Repeat:
    """Pipelines over the class splits of some seeds; what is finished and unchanged is taken over.

    pipelines : names of registered ones that measure methods. seeds : one split each. env, params, runner : as of
    ``kedro run``. name : folder below that of the benchmark, with one folder per seed. reference : the method that
    others are compared with. metric : what differences are of.
    """

    def __init__(
        self,
        pipelines: Sequence[str],
        seeds: Sequence[int],
        env: str | None = None,
        params: dict[str, Any] | None = None,
        runner: str = "SequentialRunner",
        name: str = "splits",
        reference: str | None = None,
        metric: str | None = None,
    ) -> None:
        self._seeds, self._env, self._params = list(seeds), env, params or {}
        self._runner, self._name, self._metric = load_obj(runner, "kedro.runner"), name, metric
        registered = register_pipelines()
        if not name.isidentifier() or name in registered:
            raise DataError(f"--name must be one word and not a pipeline's name, got {name!r}")
        for key in ("seed", "folder"):
            if key in self._params.get("split", {}):
                raise DataError(f"kedro repeat sets split.{key} itself; leave it out, and see --seeds and --name")
        self._pipeline = sum((_pipeline_of(name, registered) for name in pipelines), Pipeline([]))
        outputs = self._pipeline.all_outputs()
        self._methods = sorted({name.partition(".")[0] for name in outputs if name.endswith(".metrics")})
        if not self._methods:
            raise DataError(f"{', '.join(pipelines)} measures no method, so there is nothing to repeat")
        ordered = [in_setting(name, setting) for setting in SETTINGS for name in METHODS]
        self._order = {name: place for place, name in enumerate(ordered)}
        self._methods.sort(key=lambda method: self._order.get(method, -1))
        self._reference = MethodRun.parse(reference or default_reference(self._methods)).method
        if self._reference not in (*METHODS, *self._methods):
            raise DataError(f"--reference must be a registered method or one of what is repeated, got {reference!r}")
        known = _metrics({MethodRun.parse(name).setting for name in self._methods})
        if metric is not None and metric.rpartition(".")[2] not in known:  # that of a list of candidates has its name
            raise DataError(f"--metric must be what these pipelines measure, got {metric!r}: {_nearest(metric, known)}")
        self._measured: dict[int, dict[str, dict[str, float]]] = {}
        self._problems: dict[Setting, dict[str, Any]] = {}  # of the last split, by setting

    def run(self) -> None:
        """All splits, then the tables."""
        with self._session() as session:
            context = session.load_context()
            catalog = context.catalog  # now: another session's parameters would move it elsewhere
            state = self._begin(context, catalog)
            parent = ParentRun(context, state.get("mlflow_run"), f"{self._name}: {len(self._seeds)} splits")
            catalog.save("repeat", {**state, "mlflow_run": parent.id})
            with parent.running():
                for seed in self._seeds:
                    self._run_split(seed, parent.id)
                self._write(catalog, parent)

    @contextmanager
    def _session(self, seed: int | None = None) -> Iterator[KedroSession]:
        """With the parameters of the command line, and those of a split, or of the repeat itself."""
        own = {"folder": self._name} if seed is None else {"folder": f"{self._name}/{seed}", "seed": seed}
        given = {**self._params, "split": {"rule": "drawn", **self._params.get("split", {}), **own}}
        # Models are removed when they are measured, so nobody will ask how sure their answers are.
        given["confidence"] = {"calibrate": False, **self._params.get("confidence", {})}
        session = KedroSession.create(env=self._env, runtime_params=given)
        with session:
            yield session

    def _begin(self, context: KedroContext, catalog: CatalogProtocol[Any, Any]) -> dict[str, Any]:
        """What the folder says of itself; refused where it was made with other data settings."""
        now = {
            f"{section}.{key}": value
            for section in DATA
            for key, value in context.config_loader["parameters"][section].items()
            if f"{section}.{key}" not in ("split.seed", "split.folder")
        }
        former = load_mapping(catalog, "repeat")
        then = former.get("settings", {})
        if not isinstance(then, dict):
            former, then = {}, {}
        changed = [key for key in then if key in now and then[key] != now[key]]
        if changed:
            what = "; ".join(f"{key} was {then[key]!r}, is {now[key]!r}" for key in changed)
            raise DataError(
                f"the repeat {self._name!r} was made with other settings ({what}): "
                "give this one a name of its own by --name, or delete the folder of the other"
            )
        return {**former, "settings": now}

    def _run_split(self, seed: int, parent: str | None) -> None:
        self._measured[seed] = {}
        with self._session(seed) as session:
            context = session.load_context()
            finished = FinishedMethods(context, context.catalog)
            settings = {MethodRun.parse(name).setting for name in self._methods}
            others = [name for name in self._order if MethodRun.parse(name).setting in settings]
            others = [name for name in others if name not in self._methods]
            unchanged = finished.unchanged([*self._methods, *others], self._pipeline)
            pending = finished.with_missing_bases(name for name in self._methods if name not in unchanged)
            for name in unchanged:
                self._measured[seed][name] = finished.metrics(name)
                if name in self._methods and name not in pending:
                    self._tell(seed, name, "taken over")
            if pending:
                finished.forget(pending)
                self._run_nodes(session, seed, parent, pending, finished)
            self._problems = {setting: finished.summary(setting) for setting in settings}
            finished.drop_models(self._methods)

    def _run_nodes(
        self, session: KedroSession, seed: int, parent: str | None, pending: list[str], finished: FinishedMethods
    ) -> None:
        """The nodes of methods that are not finished, and those that all methods share; pictures are of single runs."""

        def note(name: str) -> None:
            finished.mark(name)
            self._measured[seed][name] = finished.metrics(name)
            self._tell(seed, name, "done")

        done = set(self._methods) - set(pending)
        nodes = [node for node in self._pipeline.nodes if node.namespace not in done and not finished.draws(node)]
        pipelines.set_requested([SPLIT_OF_REPEAT])  # or the session would load them again, without this one
        pipelines[SPLIT_OF_REPEAT] = Pipeline(nodes)
        split_hooks.watch(parent, f"split {seed}", note, pending)
        runner = self._runner()
        if type(runner) is SequentialRunner:
            runner = MethodAfterMethod()
        session.run(pipeline_names=[SPLIT_OF_REPEAT], runner=runner)
        close_runs()

    def _headline(self, name: str) -> str:
        return self._metric or HEADLINES[MethodRun.parse(name).setting][0]

    def _tell(self, seed: int, name: str, how: str) -> None:
        """One line per split and method, with the mean so far."""
        metric = self._headline(name)
        found = [metrics[name].get(metric, np.nan) for metrics in self._measured.values() if name in metrics]
        spread = f" ± {100 * np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
        _say(
            f"split {self._seeds.index(seed) + 1} of {len(self._seeds)} (seed {seed}), {name}: {metric} "
            f"{100 * found[-1]:.2f}, mean of {len(found)} {100 * np.mean(found):.2f}{spread} ({how})"
        )

    def _write(self, catalog: CatalogProtocol[Any, Any], parent: ParentRun) -> None:
        """Tables of everything in the folder that belongs together, beside the splits and in MLflow."""
        complete = set.intersection(*(set(methods) for methods in self._measured.values()))
        measured = {
            seed: {name: methods[name] for name in sorted(complete, key=lambda name: self._order.get(name, -1))}
            for seed, methods in self._measured.items()
        }
        if not any(metrics for methods in measured.values() for metrics in methods.values()):
            raise DataError("there is nothing to compare: the test images have no labels")
        sizes = next(iter(self._problems.values()))
        overlap = sizes["n_unseen"] / sizes["n_seen"]
        splits = tabulate_splits(measured)
        summary = summarise_splits(splits, self._reference, overlap)
        given = ", ".join(f"{name}={value}" for name, value in flat_params(self._params))
        notes = {
            setting: describe_splits(self._seeds, overlap, self._metric or HEADLINES[setting][0])
            + (f"{SETTINGS_FOLLOW}{given}." if given else "")
            for setting in SETTINGS
            if setting in {MethodRun.parse(name).setting for name in complete}
        }
        markdown, latex = write_splits(summary, notes, self._metric)
        tables = {"repeat_splits": splits, "repeat_summary": summary, "repeat_text": markdown, "repeat_latex": latex}
        for dataset, table in tables.items():
            catalog.save(dataset, table)
        about = {"seeds": self._seeds, "reference": self._reference, "metric": self._metric, "notes": notes}
        catalog.save("repeat", {**catalog.load("repeat"), **about})
        own = summary[summary["metric"] == summary["method"].map(self._headline)]
        keys = own["method"] + "." + own["metric"]
        found = dict(zip(keys, own["mean"] / 100, strict=True))
        if len(self._seeds) > 1:
            found |= dict(zip(keys + "_std", own["std"] / 100, strict=True))
        files = [dataset_path(catalog, dataset) for dataset in tables]
        parent.log(found, {"seeds": self._seeds, "reference": self._reference}, files)
        _say(f"\n{markdown}")
        _say("\n".join(f"{what:<11}  {place}" for what, place in zip(PLACES, map(short_path, files), strict=True)))


def _say(what: str) -> None:
    """To the screen, and to the log file."""
    say(what)
    log.info(what)


def _pipeline_of(name: str, registered: Mapping[str, Pipeline]) -> Pipeline:
    if name not in registered:
        near = get_close_matches(name, registered, n=1)
        hint = f"did you mean {near[0]}?" if near else "kedro registry list names them"
        raise DataError(f"there is no pipeline {name!r}; {hint}")
    return registered[name]


def _metrics(settings: set[Setting]) -> list[str]:
    """Keys of all metrics of these settings."""
    other = {"zsl": GeneralizedOutcome, "gzsl": ConventionalOutcome}
    own = [m for m in METRICS if not m.bound and any(m.of is not other[setting] for setting in settings)]
    return [key for m in own for key in (m.key, *([f"{m.key}_calibrated"] if m.calibrated else []))]


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return f"did you mean {near[0]}?" if near else f"one of {', '.join(known)}"
