"""Methods with a pool on pools as they come: few classes, small batches, streams."""

import warnings
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
from pydantic import AfterValidator, BeforeValidator

from aezsl.arrays import Array, Labels
from aezsl.data.draws import Cell, check_classes, check_sizes, check_streams, draw_pools, make_cells
from aezsl.data.normalise import Normalisation, in_words
from aezsl.data.problem import Problem
from aezsl.encoders.recipe import Recipe
from aezsl.errors import DataError, ParameterError
from aezsl.evaluation.intervals import paired_difference
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.kinds import Count, Name, Seed, Settings
from aezsl.machine.provenance import make_record
from aezsl.machine.screen import progress_bar
from aezsl.methods import METHODS, TargetClassifier, ZeroShotClassifier, make_method, method_class
from aezsl.methods.core.seen import Targets
from aezsl.methods.core.two_stage import BasedMethod
from aezsl.selection import SelectionSettings, SelectionStores, choose, selection_key

#: Methods that can be measured.
WITH_POOL = [name for name, entry in METHODS.items() if entry.pool]


def check_methods(text: str) -> str:
    """Refuse what is no list of methods with a pool."""
    for name in text.split("+"):
        if name not in WITH_POOL:
            near = get_close_matches(name, WITH_POOL, n=1)
            hint = f"perhaps {near[0]}" if near else f"there are: {', '.join(WITH_POOL)}"
            raise ParameterError(f"{name!r} is no method with a pool: {hint}")
    return text


def _text(given: Any) -> str:
    """A number is a text, too, and ``streams=`` is none at all."""
    return "" if given is None else str(given)


class RealisticSettings(Settings):
    """Pools as they come, drawn from the labelled test images by seed, so that all methods meet the same ones.

    Lists are joined by plus signs: --params=realistic.methods=aezsl_t+tzsar,realistic.batches=64+200.
    """

    methods: Annotated[Name, AfterValidator(check_methods)] = "aezsl_t+aezsl_lr"
    """Methods that learn from a pool. Beside each stands what it answers without one."""
    classes: Annotated[Name, AfterValidator(check_classes)] = "1-4+5-25+half+all"
    """How many of the classes are present in a batch: numbers, from-to, half, all."""
    batches: Annotated[Name, AfterValidator(check_sizes)] = "64+200+1000+all"
    """Images in a batch: numbers, or all images of the classes that are present."""
    streams: Annotated[str, BeforeValidator(_text), AfterValidator(check_streams)] = "0.1+0.01+in_turn"
    """Streams of batches. A number: every class is spread over the stream by a Dirichlet distribution of this
    parameter, the smaller the more together. in_turn: one class after another. Empty: none."""
    stream_batches: Count = 8
    """Batches of a stream that are answered, each as a pool of its own."""
    carry: bool = False
    """Methods that can take along what earlier batches of a stream showed; else every batch is answered by itself."""
    draws: Count = 5
    """Of every kind of pool."""
    seed: Seed = 0
    """Of the draws."""


class Measured(NamedTuple):
    """A method at its chosen parameters, which is fitted when a cell is missing."""

    name: str
    parameters: dict[str, Any]
    normalisation: Normalisation
    problem: Problem
    rows: Labels  # of the test images with labels

    def fitted(self) -> ZeroShotClassifier:
        """The method, fitted on all seen classes."""
        own = self.problem.normalised(self.normalisation)
        return make_method(self.name, **self.parameters).fit(*own.seen_data)


def measure_pools(
    problem: Problem,
    settings: RealisticSettings,
    selection: SelectionSettings,
    parameters: dict[str, Any],
    recipe: Recipe,
    selections: SelectionStores,
    cells: SelectionStores,
) -> tuple[pd.DataFrame, dict[str, Any], dict[str, Any]]:
    """A row per method, cell and draw, or per cell that is left out, with the reason; what was chosen; the record.

    parameters : all sections by name. selections : where runs of the methods keep what was selected, which is taken
    over. cells : keeps every cell of every method, so that a run that was interrupted goes on where it was.
    """
    names = list(dict.fromkeys(settings.methods.split("+")))
    rows = np.flatnonzero(problem.labelled)
    wanted = make_cells(settings.classes, settings.batches, settings.streams)
    pools, left_out = draw_all(wanted, problem.y_test[rows], settings)
    tables: list[pd.DataFrame] = []
    chosen: dict[str, Any] = {}
    with progress_bar(total=len(names) * sum(map(len, pools.values())), desc="pools", unit="draw") as bar:
        for name in names:
            method = Measured(name, *choose_parameters(name, problem, selection, selections, parameters), problem, rows)
            if METHODS[name].paired and not method.parameters["stated_pair"]:
                recipe.require_pair(name)
            tables += [_measure(method, pools, settings, cells, bar), _reasons(name, left_out)]
            values = {**method.parameters, "normalisation": in_words(method.normalisation)}
            chosen |= {f"{name}.{key}": value for key, value in values.items()}
    return pd.concat(tables, ignore_index=True), chosen, make_record({}, problem.fingerprint)


def draw_all(
    cells: Sequence[Cell], y: Labels, settings: RealisticSettings
) -> tuple[dict[Cell, list[list[Labels]]], dict[Cell, str]]:
    """The pools of every draw by cell, and why cells are left out."""
    if not len(y):
        raise DataError("pools are drawn from labelled test images, but those of this data have no labels")
    pools, left_out = {}, {}
    for cell in cells:
        numbers = range(settings.draws if cell.varies else 1)
        try:
            pools[cell] = [draw_pools(cell, y, number, settings.seed, settings.stream_batches) for number in numbers]
        except DataError as error:
            left_out[cell] = str(error)
    if not pools:
        raise DataError(f"the test images suffice for no cell: {next(iter(left_out.values()), 'none is asked for')}")
    return pools, left_out


def choose_parameters(
    name: str, problem: Problem, selection: SelectionSettings, stores: SelectionStores, given: dict[str, Any]
) -> tuple[dict[str, Any], Normalisation]:
    """As a run of the method would choose them, after those of its base."""
    alternatives = None
    for part in filter(None, (METHODS[name].refines, name)):
        section = method_class(part).settings().model_validate(given[part])
        parameters, normalisation, _, alternatives = choose(
            problem, section, selection, stores.of(part), part, alternatives, stores=stores
        )
    return parameters, normalisation


def _measure(
    method: Measured,
    pools: dict[Cell, list[list[Labels]]],
    settings: RealisticSettings,
    cells: SelectionStores,
    bar: Any,
) -> pd.DataFrame:
    """A row per cell and draw, those of former runs taken over."""
    drawn = settings.model_dump(include={"seed", "stream_batches", "carry"})
    described = method.parameters, method.normalisation, drawn
    model, tables = None, []
    for cell, draws in pools.items():
        store = cells.of(f"{method.name}/{cell.name}")
        key = selection_key(method.problem.fingerprint, method.name, *described, cell.name)
        table = store.find(key, len(draws))
        if table is None:
            model = model or Model(method)
            measured = []
            for point, drawn_pools in enumerate(draws):
                measured.append({"point": point, **model.measure(drawn_pools, settings.carry)})
                bar.update()
            table = pd.DataFrame(measured).assign(key=key)
            store.save(table)
        else:
            bar.update(len(draws))
        about = {"method": method.name, **cell._asdict(), "state": "run"}
        tables.append(table.drop(columns="key").rename(columns={"point": "draw"}).assign(**about))
    return pd.concat(tables, ignore_index=True)


class Model:
    """A fitted method, and what it answers without a pool."""

    def __init__(self, method: Measured) -> None:
        own = method.problem.normalised(method.normalisation)
        self.X = np.asarray(own.X_test[method.rows], dtype=np.float64)
        self.y, self.targets = own.y_test[method.rows], Targets(own.S_target, progress=False, unmoved=own.given_target)
        self.model = method.fitted()
        self.start = self.model.adapt_to(self.targets)
        self.alone = self.start.predict(self.X)

    def measure(self, pools: Sequence[Labels], carry: bool = False) -> dict[str, float]:
        """Accuracy over the classes that are present, with a pool and without, and the interval of the gain."""
        labels: list[Labels] = []
        before: TargetClassifier | None = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that labels collapse is what is measured here
            for rows in pools:
                pool = self.X[rows]
                go_on = getattr(before, "next", None) if carry else None
                before = go_on(pool) if go_on else self._adapted(pool)
                labels.append(before.predict(pool))
        rows, given = np.concatenate(pools), np.concatenate(labels)
        true, alone = self.y[rows], self.alone[rows]
        gain = paired_difference(true, given == true, alone == true)
        return {
            "images": len(rows),
            "present": len(np.unique(true)),
            "base": per_class_accuracy(true, alone),
            "accuracy": per_class_accuracy(true, given),
            "low": gain.low,
            "high": gain.high,
        }

    def _adapted(self, pool: Array) -> TargetClassifier:
        """What the method makes of a pool; a base does not depend on it."""
        given = self.targets.unmoved
        if isinstance(self.model, BasedMethod):
            return self.model.improve(self.start, pool, given)
        return self.model.adapt_to(Targets(self.targets.S, pool, progress=False, unmoved=given))


def _reasons(name: str, left_out: dict[Cell, str]) -> pd.DataFrame:
    rows = [{"method": name, **cell._asdict(), "state": f"left out: {why}"} for cell, why in left_out.items()]
    return pd.DataFrame(rows)
