"""What is learnt from and what is validated on in a fold of classes, in every normalisation, and how well that goes."""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.data.draws import all_kinds_of_pools
from aezsl.data.mapped_arrays import Rows
from aezsl.data.normalise import NOTHING, Normalisation, fit_normaliser, given_beside
from aezsl.data.problem import SeenArrays
from aezsl.data.statistics import SeenStatistics
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.kinds import Values
from aezsl.machine.workers import Once
from aezsl.methods import ZeroShotClassifier
from aezsl.methods.core.seen import SeenData, Spectra, Targets
from aezsl.selection.folds import class_split, mapped_split, predict, split_classes

#: Under which name the statistics of all samples are shared.
TOTAL = "statistics"

Samples = TypeVar("Samples", Array, Array | Rows)


class Examined(NamedTuple, Generic[Samples]):
    """A fold in one normalisation: what is learnt from, and what is validated on."""

    seen: SeenData
    X: Samples  # of the validation samples
    S: Array  # of the classes that play unseen
    given: Array | None  # as they were given, where S has been moved


@dataclass(frozen=True)
class Fold:
    """Seen classes of which some play unseen, vectors as the problem has them.

    Means and scales of a normalisation come from what is learnt from alone. Decompositions are kept in ``shared`` under
    the fold's name: normalisations that agree in one of the two parts share those of that part, and so do all methods.
    """

    training: tuple[Array, Labels, Array]  # X, y, S
    X: Array  # of the validation samples
    S: Array  # of the classes that play unseen
    name: Hashable
    shared: Once
    given: tuple[Array, Array] | None = None  # the semantics of both as they were given, where they have been moved

    def examined(self, normalisations: Sequence[Normalisation]) -> Iterator[Examined[Array]]:
        """The fold in one normalisation after the other; neighbours with equal features share the samples."""
        X, y, S = self.training
        for steps, group in groupby(normalisations, lambda normalisation: tuple(normalisation["features"])):
            feature_normaliser, rows = fit_normaliser(steps, X)
            rows_val = feature_normaliser(self.X)
            for normalisation in group:
                semantic_normaliser, described = fit_normaliser(normalisation["semantics"], S)
                spectra = self._spectra(steps, tuple(normalisation["semantics"]))
                beside = (given_beside(normalisation["semantics"], part) for part in (S, self.S))
                given, given_val = self.given or beside
                seen = SeenData(rows, y, described, spectra, given=given)
                yield Examined(seen, rows_val, semantic_normaliser(self.S), given_val)

    def _spectra(self, features: tuple[str, ...], semantics: tuple[str, ...]) -> Spectra:
        kept = (("features", features), ("semantics", semantics))
        return Spectra(*(self.shared(("fold", self.name, *key), Once) for key in kept))


class Task(NamedTuple):
    """What the points of a fold in one normalisation have in common: what is learnt from, and what is named."""

    seen: SeenData
    parts: list[tuple[Labels, Any, Targets]]  # labels, samples and classes; samples drawn in another way, too


class Trial(NamedTuple):
    """What is tried on every fold: all points, in all normalisations, unless ``numbers`` says which."""

    method: ZeroShotClassifier
    points: Sequence[Values]
    normalisations: Sequence[Normalisation]
    shared: Once  # keeps what methods on the same folds have in common
    going_with: Sequence[Values] | None = None  # parameters that go with each normalisation
    numbers: Sequence[Sequence[int]] | None = None  # of the points, in each normalisation
    kept: dict[Hashable, Task] | None = None  # what further points of a fold take over, if there will be any

    def in_ways(self, asked: Sequence[tuple[int, Sequence[int]]]) -> Self:
        """The same in some of the normalisations, each with the numbers of the points that are tried."""
        ways, numbers = zip(*asked, strict=True)
        going_with = None if self.going_with is None else [self.going_with[way] for way in ways]
        normalisations = [self.normalisations[way] for way in ways]
        return self._replace(normalisations=normalisations, going_with=going_with, numbers=numbers)

    def name(self, held_out: Labels, way: int) -> Hashable:
        """Under which a fold is kept in the normalisation of this number."""
        return (held_out.tobytes(), *map(tuple, self.normalisations[way].values()))

    def fit_points(self, seen: SeenData, way: int) -> Iterator[ZeroShotClassifier]:
        """The method at every point, fitted on a fold in the normalisation of this number."""
        fixed = {} if self.going_with is None else self.going_with[way]
        numbers = range(len(self.points)) if self.numbers is None else self.numbers[way]
        return self.method.fit_points(seen, [{**fixed, **self.points[number]} for number in numbers])


def conventional_scores(trial: Trial, data: SeenArrays, held_out: Labels) -> Iterator[float]:
    """Mean per-class accuracy on the classes held out of ``data``: by normalisation, then by point."""
    names = [trial.name(held_out, way) for way in range(len(trial.normalisations))]
    kept = {} if trial.kept is None else trial.kept
    tasks = [kept[name] for name in names] if kept.keys() >= set(names) else _tasks(trial, data, held_out)
    for way, task in enumerate(tasks):
        if trial.kept is not None:
            trial.kept[names[way]] = task
        for model in trial.fit_points(task.seen, way):
            yield float(
                np.mean([per_class_accuracy(y, predict(model.adapt_to(on), part)) for y, part, on in task.parts])
            )


def _tasks(trial: Trial, data: SeenArrays, held_out: Labels) -> Iterator[Task]:
    """What there is to do in every normalisation."""
    method, points = trial.method, trial.points
    y_val, examined = _examine(trial, data, held_out)
    everyone = np.arange(len(y_val))
    pools = all_kinds_of_pools(y_val) if method.serves_all_pools else [everyone]
    for seen, X, S, given in examined:
        parts = []
        for rows in pools:
            part = X[rows]
            if isinstance(part, Rows) and method.transductive:
                part = np.asarray(part)
            pool = None if isinstance(part, Rows) else part
            parts.append((y_val[rows], part, Targets(S, pool, len(points), progress=False, unmoved=given)))
        yield Task(seen, parts)


def total_statistics(trial: Trial, data: SeenArrays) -> SeenStatistics | None:
    """The statistics of all samples, where these stay in their mapped file; None where they need not."""
    X, y, S, _ = data
    if trial.method.needs not in ("statistics", "blocks") or X.dtype == np.float64:
        return None
    if list(trial.normalisations) != [NOTHING]:
        return None
    return trial.shared(TOTAL, lambda: SeenStatistics.from_samples(X, y, len(S)))


def _examine(
    trial: Trial, data: SeenArrays, held_out: Labels
) -> tuple[Labels, Iterator[Examined[Array]] | Iterator[Examined[Array | Rows]]]:
    """Labels of the validation samples, and the fold in every normalisation.

    Samples in a mapped file (single precision), which are normalised already, stay there for a method that learns from
    statistics: those of the validation classes are subtracted from those of all classes, which are computed once for
    all folds and methods.
    """
    (X, y, S, given), shared = data, trial.shared
    name, both = held_out.tobytes(), split_classes(given, held_out)
    if total := total_statistics(trial, data):
        (rows, y_training, S_training), (rows_val, y_val, S_val) = mapped_split(X, y, S, held_out)
        spectra = Spectra(*(shared(("fold of statistics", name, part), Once) for part in Spectra._fields))
        given_training, given_val = both or (None, None)
        known = (rows, y_training)
        seen = SeenData(total.without(X, y, held_out), None, S_training, spectra, known, given_training)
        return y_val, iter([Examined(seen, rows_val, S_val, given_val)])
    training, (X_val, y_val, S_val) = class_split(X, y, S, held_out)
    return y_val, Fold(training, X_val, S_val, name, shared, both).examined(trial.normalisations)
