"""The metrics of the project: one table, ``METRICS``, that runs, MLflow, tables and the report page iterate.

To add a metric, add its entry here. It then is computed in every run of its setting, stands in ``metrics.json`` and in
MLflow, and has a column in the tables that the entry names.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Array, Labels, Mask
from aezsl.errors import DataError
from aezsl.evaluation.calibration import SeenUnseenCurve, ausuc, seen_unseen_curve
from aezsl.evaluation.confidence import probabilities
from aezsl.evaluation.hierarchy import HP_KS, FeasibleSets, hierarchical_precision
from aezsl.evaluation.intervals import class_mean_interval
from aezsl.evaluation.ranking import Ranking
from aezsl.evaluation.reliability import brier_score, expected_calibration_error, none_auroc, risk_coverage

#: The K of flat hit@K.
HIT_KS = (1, 2, 5, 10, 20)

#: Tables that show metrics, by the names of their files.
MetricTable = Literal["table1", "generalized", "large_scale", "confidence"]


def accuracy(true: Labels, predicted: Labels) -> float:
    """Share of samples with the right label (the paper's multi-class accuracy)."""
    return float(np.mean(true == predicted))


def class_accuracies(true: Labels, predicted: Labels, n_classes: int) -> NDArray[np.float64]:
    """Accuracy of every class (n_classes,); NaN for a class without samples."""
    hits = np.bincount(true, weights=true == predicted, minlength=n_classes)
    counts = np.bincount(true, minlength=n_classes)
    shares = np.full(n_classes, np.nan)
    np.divide(hits, counts, out=shares, where=counts > 0)
    return shares


def per_class_accuracy(true: Labels, predicted: Labels) -> float:
    """Mean over the classes that occur of the accuracy within the class."""
    return float(np.nanmean(class_accuracies(true, predicted, int(true.max()) + 1)))


def hit_at_k(true: Labels, ranking: Ranking, k: int) -> float:
    """Share of samples whose true class is among the k best."""
    if k > ranking.classes.shape[1]:
        raise DataError(f"hit@{k} needs the {k} best classes, this ranking holds {ranking.classes.shape[1]}")
    return float(np.mean((ranking.classes[:, :k] == true[:, None]).any(axis=1)))


@dataclass(frozen=True)
class ConventionalOutcome:
    """Labelled samples, ranked among one set of classes."""

    true: Labels
    ranking: Ranking
    n_classes: int
    feasible: FeasibleSets | None = None  # None without a class hierarchy

    @property
    def predicted(self) -> Labels:
        """The best class of every sample."""
        return self.ranking.classes[:, 0]

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The interval of per-class accuracy, by the bootstrap."""
        return class_mean_interval(self.true, self.true == self.predicted)


@dataclass(frozen=True)
class GeneralizedOutcome:
    """Labelled samples of seen and unseen classes, told apart with one constant subtracted from all seen scores."""

    by_sample: SeenUnseenCurve
    by_class: SeenUnseenCurve
    sides: SeenUnseenCurve  # the one of the two that seen and unseen accuracy are read from
    constant: float


@dataclass(frozen=True)
class ConfidenceOutcome:
    """Labelled samples and their ranking, in either setting, with the temperature that makes probabilities of it."""

    true: Labels
    ranking: Ranking
    temperature: float

    @cached_property
    def named(self) -> tuple[Array, Mask]:
        """The probability of every name, and whether it is right."""
        return probabilities(self.ranking, self.temperature)[:, 0], self.ranking.classes[:, 0] == self.true


@dataclass(frozen=True)
class Metric:
    """All there is to say of a metric. Its values are shares of 1; tables show per cent.

    ``function`` takes an outcome of the type ``of``. Where the metric is undefined or trivial it returns NaN, and the
    metric is left out.
    """

    key: str  # in metrics.json, in MLflow and in table files
    label: str  # above its column
    of: type[ConventionalOutcome] | type[GeneralizedOutcome] | type[ConfidenceOutcome]
    where: tuple[MetricTable, ...]  # the tables with a column for it
    function: Callable[[Any], float]
    on_page: bool = True  # False: the report page leaves it to the table's file
    calibrated: bool = False  # True: changes with the constant, so that there is a ``<key>_calibrated`` too
    bound: bool = False  # True: an end of the interval of another metric, no figure to average or to compare
    column: str = ""  # in tables of one setting, where that is not the key


def _hit(outcome: ConventionalOutcome, k: int) -> float:
    trivial = k > 1 and k >= outcome.n_classes
    return np.nan if trivial else hit_at_k(outcome.true, outcome.ranking, k)


def _hierarchical(outcome: ConventionalOutcome, k: int) -> float:
    if outcome.feasible is None or k >= outcome.n_classes:
        return np.nan
    return hierarchical_precision(outcome.true, outcome.ranking, outcome.feasible, k)


METRICS: tuple[Metric, ...] = (
    Metric("accuracy", "Accuracy", ConventionalOutcome, ("table1",), lambda o: accuracy(o.true, o.predicted)),
    Metric(
        "per_class_accuracy",
        "Per class",
        ConventionalOutcome,
        ("table1",),
        lambda o: per_class_accuracy(o.true, o.predicted),
    ),
    *(
        Metric(
            f"per_class_accuracy_{end}",
            f"Per class, 95% {end}",
            ConventionalOutcome,
            ("table1",),
            lambda o, place=place: o.interval[place],  # type: ignore[misc]
            bound=True,
        )
        for place, end in enumerate(("low", "high"))
    ),
    *(
        Metric(
            f"hit_at_{k}",
            f"Hit@{k}",
            ConventionalOutcome,
            ("table1", "large_scale") if k == 5 else ("large_scale",),
            partial(_hit, k=k),
        )
        for k in HIT_KS
    ),
    *(
        Metric(f"hp_at_{k}", f"HP@{k}", ConventionalOutcome, ("large_scale",), partial(_hierarchical, k=k))
        for k in HP_KS
    ),
    *(
        Metric(f"gzsl_{column}", label, GeneralizedOutcome, ("generalized",), function, on_page, True, column=column)
        for column, label, on_page, function in (
            ("accuracy", "Accuracy", True, lambda o: o.by_sample.at(o.constant).accuracy),
            ("per_class_accuracy", "Per class", False, lambda o: o.by_class.at(o.constant).accuracy),
            ("seen", "Seen", True, lambda o: o.sides.at(o.constant).seen),
            ("unseen", "Unseen", True, lambda o: o.sides.at(o.constant).unseen),
            ("harmonic", "Harmonic", True, lambda o: o.sides.at(o.constant).harmonic),
        )
    ),
    Metric("ausuc", "AUSUC", GeneralizedOutcome, ("generalized",), lambda o: ausuc(o.sides)),
    *(
        Metric(key, label, ConfidenceOutcome, ("confidence",), function)
        for key, label, function in (
            ("mean_probability", "Mean probability", lambda o: float(o.named[0].mean())),
            ("ece", "ECE", lambda o: expected_calibration_error(*o.named)),
            ("brier", "Brier score", lambda o: brier_score(o.ranking, o.true, o.temperature)),
            ("none_auroc", "AUROC of none of these", lambda o: none_auroc(o.ranking, o.true, o.temperature)),
            ("aurc", "AURC", lambda o: float(risk_coverage(*o.named)[1].mean())),
        )
    ),
)


def bounds() -> set[str]:
    """Keys of the metrics that are ends of intervals."""
    return {metric.key for metric in METRICS if metric.bound}


def metrics_in(table: MetricTable) -> list[Metric]:
    """The metrics that have a column in a table, in its order."""
    return [metric for metric in METRICS if table in metric.where]


def classification_metrics(
    true: Labels, ranking: Ranking, n_classes: int, feasible: FeasibleSets | None = None
) -> dict[str, float]:
    """All metrics of one label space; hit@K and hP@K for the K that the number of classes does not make trivial."""
    outcome = ConventionalOutcome(true, ranking, n_classes, feasible)
    return _measured(outcome, [metric for metric in METRICS if metric.of is ConventionalOutcome])


def gzsl_metrics(
    true: Labels, seen: Ranking, unseen: Ranking, n_seen: int, constant: float | None = None, per_class: bool = True
) -> dict[str, float]:
    """All metrics of the generalized setting, for scores as they are and, given a constant, ``_calibrated`` by it.

    ``gzsl_accuracy`` counts samples (the paper's accuracy), ``gzsl_per_class_accuracy`` classes. ``gzsl_seen``,
    ``gzsl_unseen``, ``gzsl_harmonic`` and ``ausuc`` count classes, as is usual, or samples with ``per_class=False``.
    ``ausuc`` is the same at every constant, and so has no calibrated form. What a side without samples leaves
    undefined is left out.
    """
    by_sample, by_class = (
        seen_unseen_curve(true, seen, unseen, n_seen, per_class=counts_classes) for counts_classes in (False, True)
    )
    sides = by_class if per_class else by_sample
    plain = GeneralizedOutcome(by_sample, by_class, sides, constant=0.0)
    own = [metric for metric in METRICS if metric.of is GeneralizedOutcome]
    changing = [metric for metric in own if metric.calibrated]
    metrics = _measured(plain, [metric for metric in own if not metric.calibrated]) | _measured(plain, changing)
    if constant is None:
        return metrics
    calibrated = GeneralizedOutcome(by_sample, by_class, sides, constant)
    return metrics | {f"{key}_calibrated": value for key, value in _measured(calibrated, changing).items()}


def confidence_metrics(true: Labels, ranking: Ranking, temperature: float) -> dict[str, float]:
    """How far probabilities can be believed; of either setting."""
    outcome = ConfidenceOutcome(true, ranking, temperature)
    return _measured(outcome, [metric for metric in METRICS if metric.of is ConfidenceOutcome])


def _measured(
    outcome: ConventionalOutcome | GeneralizedOutcome | ConfidenceOutcome, metrics: list[Metric]
) -> dict[str, float]:
    """The metrics that the outcome defines, by key."""
    values = {metric.key: float(metric.function(outcome)) for metric in metrics}
    return {key: value for key, value in values.items() if not np.isnan(value)}


def confusions(true: Labels, predicted: Labels, names: list[str], most: int) -> pd.DataFrame:
    """The ``most`` frequent confusions: true class, predicted class, how many, and which share of the class."""
    n_classes = len(names)
    wrong = true != predicted
    keys = true[wrong].astype(np.int64) * n_classes + predicted[wrong]  # narrow labels would overflow
    pairs, counts = np.unique(keys, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    rows, columns = np.divmod(pairs[order], n_classes)
    sizes = np.bincount(true, minlength=n_classes)
    return pd.DataFrame(
        {
            "true": [names[i] for i in rows],
            "predicted": [names[j] for j in columns],
            "count": counts[order],
            "share_of_class": counts[order] / sizes[rows],
        }
    )
