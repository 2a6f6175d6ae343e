"""A linear method followed by balanced propagation on the pool, as one method."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.spatial.distance import cdist

from aezsl.arrays import Array, Labels, Mask, unit_rows
from aezsl.data.statistics import SeenStatistics
from aezsl.methods.based import BasedMethod
from aezsl.methods.classifiers import PoolClassifier, ScoringClassifier, TargetClassifier
from aezsl.methods.history import LabelHistory
from aezsl.methods.propagation.balanced import Objective, propagate
from aezsl.methods.propagation.neighbours import neighbour_graph
from aezsl.methods.propagation.stage import BalancedPropagation
from aezsl.methods.seen import SeenData
from aezsl.methods.targets import Targets

log = logging.getLogger(__name__)


class PropagatedMethod(BasedMethod):
    r"""A linear method whose labels of the pool come from balanced propagation.

    Of the seen data it keeps two things beside the base: a metric, in which directions count the less, the more images
    of one and the same class differ in them, and a ridge regression from semantics to class means, which predicts
    where a target class lies. Graph and class directions live in that metric. Samples from outside the pool are scored
    as one more row of R would be, without neighbours: by the standardised scores of the base, the final directions and
    the final factors of the classes.
    """

    stage = BalancedPropagation
    stage_state = ("metric_", "dictionary_", "seen_means_", "seen_counts_", "seen_semantics_")
    # One point must serve balanced and long-tailed pools, so validation pools are drawn both ways. On validation
    # classes of CUB the graph's weight (4 to 12), the start's (0.5 to 2), 10 or 15 neighbours and prototypes worth 1 to
    # 20 images made a point of difference at most.
    grid: ClassVar[Mapping[str, list[Any]]] = {
        "class_weight": [20.0, 40.0],
        "balance": [0.5, 0.7, 0.85],  # 1 is best on balanced pools and costs ten points on long-tailed ones
    }
    long_tailed_validation = True
    citation: ClassVar[str] = "This project's own method, beyond the paper; not published."

    metric_: Array  # (d, d) lower Cholesky factor of the within-class covariance of the seen classes, shrunk
    dictionary_: Array  # (a, d) prototypes are S_target @ dictionary_
    seen_means_: Array  # (Cs, d) of the training images of each seen class
    seen_counts_: Labels  # (Cs,) how many they are
    seen_semantics_: Array  # (Cs, a) by which a target is known to be a seen class

    def _fit_stage(self, seen: SeenData) -> None:
        self.metric_ = seen.once(
            ("metric", self.shrinkage), lambda: _within_class_factor(seen.statistics, self.shrinkage)
        )
        self.dictionary_ = seen.once(("prototypes", self.ridge), lambda: _dictionary(seen, self.ridge))
        self.seen_means_, self.seen_counts_ = seen.statistics.means, seen.statistics.counts
        self.seen_semantics_ = seen.S

    def _improve(self, start: TargetClassifier, targets: Targets) -> PoolClassifier:
        assert targets.pool is not None and start.classifiers is not None  # noqa: PT018  # a linear base, and a pool
        stage, pool = BalancedPropagation(**self.stage_params()), targets.pool
        X = targets.once(self.metric_, "in metric", lambda: self._in_metric(pool))
        graph = targets.once(self.metric_, ("graph", stage.n_neighbors), lambda: neighbour_graph(X, stage.n_neighbors))
        F = pool @ start.classifiers
        history = LabelHistory(F.argmax(axis=1))
        if reason := stage.reason_to_refrain(history.labels, graph, len(targets.S)):
            log.log(logging.INFO if targets.progress else logging.DEBUG, "labels stay as they were: %s", reason)
            history.note = f"labels stay as the base gave them: {reason}"
            return PoolClassifier(self, start, history, pool)
        mean, deviation = F.mean(axis=0), F.std(axis=0)
        deviation = np.where(deviation > 0, deviation, 1.0)
        prototypes, kappa, is_seen = self._prototypes(targets.S)
        objective = Objective(
            (F - mean) / deviation,
            graph,
            stage.shares(len(targets.S)),
            stage.weights,
            X,
            prototypes,
            stage.totals == "estimated" if isinstance(stage.totals, str) else False,
            kappa,
            is_seen if stage.totals == "uniform" and 0 < is_seen.sum() < len(is_seen) else None,
        )
        found = propagate(objective, stage.max_rounds, stage.settle)
        for labels, J in found.rounds:
            history.record(labels, objective=J)
        parts = {
            "classifiers_of_base": start.classifiers,
            "mean": mean,
            "deviation": deviation,
            "directions": found.M,
            "factors": found.v,
        }
        return PoolClassifier(self, ScoringClassifier(self, targets.S, parts), history, pool, ranker=start)

    def _scores(  # type: ignore[override]
        self, X: Array, classifiers_of_base: Array, mean: Array, deviation: Array, directions: Array, factors: Array
    ) -> Array:
        scores: Array = self.start_weight * (X @ classifiers_of_base - mean) / deviation + factors
        if directions.shape[1]:
            scores = scores + self.class_weight * (self._in_metric(X) @ directions.T)
        return scores

    def _prototypes(self, S_target: Array) -> tuple[Array, Array, Mask]:
        """Where every target lies (C, d), in the metric; what that is worth in images (C,); which targets are seen."""
        which = seen_rows(S_target, self.seen_semantics_)
        is_seen = which >= 0
        where = np.where(is_seen[:, None], self.seen_means_[which], S_target @ self.dictionary_)
        known = np.minimum(self.seen_counts_[which], self.seen_images)
        kappa = np.where(is_seen, known, self.prototype_images).astype(np.float64)
        return unit_rows(self._in_metric(where).astype(np.float64)), kappa, is_seen

    def _in_metric(self, X: Array) -> Array:
        """Rows of X in the metric of the seen classes, at unit length, in single precision."""
        Z = solve_triangular(self.metric_, np.asarray(X, dtype=np.float64).T, lower=True, check_finite=False).T
        return unit_rows(Z).astype(np.float32)


def seen_rows(S_target: Array, S_seen: Array) -> Labels:
    """For every target the seen class (C,) of the same semantics, or -1."""
    distances = cdist(S_target, S_seen)
    return np.where(distances.min(axis=1) == 0, distances.argmin(axis=1), -1)


def _within_class_factor(statistics: SeenStatistics, shrinkage: float) -> Array:
    """Lower Cholesky factor of the within-class covariance plus ``shrinkage`` times its mean variance."""
    between = statistics.sums.T @ statistics.means
    covariance = (statistics.second_moment - between) / statistics.n
    mean = float(np.trace(covariance)) / len(covariance)
    if mean <= 0:  # one image per class: no direction is known to vary within classes
        return np.eye(len(covariance))
    factor: Array = cholesky(covariance + shrinkage * mean * np.eye(len(covariance)), lower=True, check_finite=False)
    return factor


def _dictionary(seen: SeenData, ridge: float) -> Array:
    """Ridge regression (a, d) from the semantics of the seen classes to the means of their samples."""
    K = seen.S @ seen.S.T
    regular = K + ridge * np.trace(K) / len(K) * np.eye(len(K))
    dictionary: Array = seen.S.T @ solve(regular, seen.statistics.means, assume_a="pos", check_finite=False)
    return dictionary
