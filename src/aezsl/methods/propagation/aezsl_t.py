"""AEZSL or ESZSL, then balanced propagation on the test set."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import solve, solve_triangular
from scipy.spatial.distance import cdist
from scipy.special import softmax

from aezsl.arrays import Array, Float32, Labels, Mask, unit_rows
from aezsl.methods.core.classifiers import ScoringClassifier, TargetClassifier
from aezsl.methods.core.contract import LinearZeroShotClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.core.transductive import MIN_PER_CLASS, reason_to_refrain
from aezsl.methods.core.two_stage import BasedMethod
from aezsl.methods.eszsl import ESZSL
from aezsl.methods.propagation.balanced import Objective, propagate
from aezsl.methods.propagation.neighbours import PoolGraph, pool_graph, some_of_every_class
from aezsl.methods.propagation.shares import Likeness, concentration, likeness, mean_variance, nearest_shares
from aezsl.methods.propagation.stage import BalancedPropagation, ChosenStart, PropagatedClassifier
from aezsl.methods.shared.graph import within_class_factor

log = logging.getLogger(__name__)

#: Rows that are brought into the metric together.
METRIC_ROWS = 8192


class PropagatedMethod(BasedMethod):
    r"""A linear method whose labels of the pool come from balanced propagation.

    Of the seen data it keeps two things beside the base: a metric, in which directions count the less, the more images
    of one and the same class differ in them, and a ridge regression from semantics to class means, which predicts
    where a target class lies. Graph and class directions live in that metric. Samples from outside the pool are scored
    as one more row of R would be, without neighbours: by the standardised scores of the base, the final directions and
    the final factors of the classes.

    Where seen classes are targets, in the generalized setting, some of their training images may be labelled nodes of
    the graph (``labelled``); seen and unseen classes are then ranked by the soft labels of the pool. Without such nodes
    the neighbours of an image are of the pool alone and repeat what the start prefers, seen classes: both sides are
    ranked by the scores that samples from outside get. A fit on statistics alone knows no image, and no such node.
    """

    stage: ClassVar[type[BalancedPropagation]] = BalancedPropagation
    stage_state = (
        "metric_",
        "dictionary_",
        "seen_means_",
        "seen_counts_",
        "seen_semantics_",
        "likeness_",
        "labelled_X_",
        "labelled_y_",
    )
    classifier_class: ClassVar[type[TargetClassifier]] = PropagatedClassifier
    # On validation classes of CUB, Dogs, Tiny ImageNet and emoji, balanced and long-tailed, enforcing class totals
    # further (0.85, 0.95) cost two to twelve points on long tails and gained less than one on balanced pools; a class
    # weight of 40 was nowhere above 20 and 80 by more than 0.1; the graph's weight (4 to 12), the start's (0.5 to 2)
    # and prototypes worth 1 to 40 images made about a point of difference in the mean.
    grid: ClassVar[Mapping[str, list[Any]]] = {"class_weight": [20.0, 80.0], "balance": [0.5, 0.7]}
    serves_all_pools = True
    citation: ClassVar[str] = "This project's own method, beyond the paper; not published."

    metric_: Array  # (d, d) lower Cholesky factor of the within-class covariance of the seen classes, shrunk
    dictionary_: Array  # (a, d) prototypes are S_target @ dictionary_
    seen_means_: Array  # (Cs, d) of the training images of each seen class
    seen_counts_: Labels  # (Cs,) how many they are
    seen_semantics_: Array  # (Cs, a) by which a target is known to be a seen class
    likeness_: Array  # (2,) the mean cosine of two images of one class, and of two classes
    labelled_X_: Array  # (l, d) training images that may be labelled nodes of the graph
    labelled_y_: Labels  # (l,) their classes, row numbers of the seen semantics

    def _fit_stage(self, seen: SeenData) -> None:
        self.metric_ = seen.once(
            ("metric", self.shrinkage), lambda: within_class_factor(seen.statistics, self.shrinkage)
        )
        self.dictionary_ = seen.once(("prototypes", self.ridge), lambda: _dictionary(seen, self.ridge))
        self.seen_means_, self.seen_counts_ = seen.statistics.means, seen.statistics.counts
        self.seen_semantics_ = seen.S
        self.likeness_ = seen.once(
            ("likeness", self.shrinkage), lambda: likeness(seen.statistics, self.metric_, self.shrinkage)
        )
        self.labelled_X_, self.labelled_y_ = seen.once(
            ("labelled", self.labelled), lambda: _labelled_images(seen, self.labelled)
        )

    def improve_next(self, before: PropagatedClassifier, pool: Array) -> PropagatedClassifier:
        """The next batch of a stream behind another one; see ``PropagatedClassifier.next``."""
        return self._improve(before.ranker, Targets(before.S_target, pool, progress=False), before.sums)

    def _improve(
        self, start: TargetClassifier, targets: Targets, carried: Float32 | None = None
    ) -> PropagatedClassifier:
        assert targets.pool is not None and start.classifiers is not None  # noqa: PT018  # a linear base, and a pool
        stage, pool = self.stage(**self.stage_params()), targets.pool
        X = targets.once(self.metric_, "in metric", lambda: self._in_metric(pool))
        key = ("graph", stage.n_neighbors, stage.labelled)
        graph = targets.once(self.metric_, key, lambda: self._graph(X, targets.S))
        F = pool @ start.classifiers
        history = LabelHistory(F.argmax(axis=1))
        h = self._concentration(X, targets.S)
        if reason := self._reason_to_refrain(history.labels, graph, targets.S, h):
            log.log(logging.INFO if targets.progress else logging.DEBUG, "labels stay as they were: %s", reason)
            history.note = f"labels stay as the base gave them: {reason}"
            return PropagatedClassifier(self, start, history, pool).with_found(sums=carried)
        mean, deviation = self._scale(F, start.classifiers, h)
        objective = self._objective((F - mean) / deviation, graph, X, targets.S, h, carried)
        found = propagate(objective, stage.max_rounds, stage.settle)
        for labels, J in found.rounds:
            history.record(labels, objective=J)
        parts = {
            "classifiers_of_base": start.classifiers,
            "mean": mean,
            "deviation": deviation,
            "directions": found.M * (objective.weights.classes / (stage.class_weight or 1)),
            "factors": found.v,
        }
        scorer = ScoringClassifier(self, targets.S, parts)
        classifier = PropagatedClassifier(self, scorer, history, pool, ranker=start)
        sums: Float32 = (found.R.T @ X).astype(np.float32)
        scores = None if graph.labelled is None else found.log_R.astype(np.float32)
        return classifier.with_found(pool_scores=scores, sums=sums if carried is None else np.add(carried, sums))

    def _graph(self, X: Array, S_target: Array) -> PoolGraph:
        """The graph of the pool, and of training images of those seen classes that are targets."""
        which = seen_rows(S_target, self.seen_semantics_)
        target = np.full(len(self.seen_semantics_), -1)
        target[which[which >= 0]] = np.flatnonzero(which >= 0)
        y = target[self.labelled_y_]
        labelled = self._in_metric(self.labelled_X_[y >= 0])
        return pool_graph(X, self.n_neighbors, labelled, y[y >= 0], len(S_target))

    def _reason_to_refrain(self, labels: Labels, graph: PoolGraph, S_target: Array, h: float) -> str | None:
        """Why the pool should be left alone, or None. A small pool of unseen classes need not: its terms fade.

        Neighbours among few images agree by chance, and say nothing about the graph.
        """
        any_seen = (seen_rows(S_target, self.seen_semantics_) >= 0).any()
        if any_seen or len(labels) * h >= MIN_PER_CLASS:
            return reason_to_refrain(labels, graph.S, 1 / h)
        return None

    def _concentration(self, X: Array, S_target: Array) -> float:
        """The probability that two images of the pool, rows in the metric, are of one target class."""
        C = len(S_target)
        if not isinstance(self.totals, str):
            return float(np.square(self.totals).sum() / np.sum(self.totals) ** 2)
        if self.totals == "uniform" or (seen_rows(S_target, self.seen_semantics_) >= 0).any():
            return 1 / C
        return concentration(X, Likeness(*self.likeness_), C)

    def _scale(self, F: Array, W: Array, h: float) -> tuple[Array, Array]:
        """Mean and deviation (C,) of the scores of every class, in a pool of images of all classes.

        They are those of the pool F (m, C) where it shows all classes evenly and many images of each, and near to those
        of the seen images otherwise: a few classes do not tell what scores others would have.
        """
        means = self.seen_means_ @ W
        shares = self.seen_counts_ / self.seen_counts_.sum()
        mean = shares @ means
        variance = shares @ np.square(means - mean) + np.square(self.metric_.T @ W).sum(axis=0)
        variance -= self.shrinkage * mean_variance(self.metric_, self.shrinkage) * np.square(W).sum(axis=0)
        m, C = F.shape
        known = m / (h * C * (m + C))
        deviation = np.sqrt(known * F.var(axis=0) + (1 - known) * np.maximum(variance, 0))
        return known * F.mean(axis=0) + (1 - known) * mean, np.where(deviation > 0, deviation, 1.0)

    def _objective(
        self, G: Array, graph: PoolGraph, X: Array, S_target: Array, h: float, carried: Float32 | None = None
    ) -> Objective:
        """What is minimised, for standardised scores G (m, C) of the pool and its rows X in the metric.

        carried : (C, d) sums of former batches of a stream.
        """
        stage, (m, C) = self.stage(**self.stage_params()), G.shape
        prototypes, kappa, is_seen = self._prototypes(S_target)
        if carried is not None:
            lengths = np.linalg.norm(carried, axis=1, keepdims=True)
            known = carried * np.minimum(1, self.carried_images / np.maximum(lengths, 1e-12))
            sums = kappa[:, None] * prototypes + known
            prototypes, kappa = unit_rows(sums), np.linalg.norm(sums, axis=1)
        weights = stage.weights(any_seen=True) if is_seen.any() else stage.faded(m * h)
        found = stage.totals == "estimated" and not is_seen.any()
        start = softmax(stage.start_weight * G, axis=1).mean(axis=0)
        return Objective(
            G=G,
            S=graph.S,
            q=nearest_shares(start, h) if found else stage.shares(C),
            weights=weights,
            X=X,
            prototypes=prototypes,
            concentration=h if found else None,
            kappa=kappa,
            is_seen=is_seen if isinstance(stage.totals, str) and 0 < is_seen.sum() < C else None,
            labelled=graph.labelled,
        )

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
        """Rows of X, less the mean of the seen classes, in their metric, at unit length; in single precision."""
        found, centre = np.empty(X.shape, dtype=np.float32), self.seen_means_.mean(axis=0)
        for i in range(0, len(X), METRIC_ROWS):
            rows = np.asarray(X[i : i + METRIC_ROWS], dtype=np.float64) - centre
            found[i : i + METRIC_ROWS] = unit_rows(
                solve_triangular(self.metric_, rows.T, lower=True, check_finite=False).T
            )
        return found


def seen_rows(S_target: Array, S_seen: Array) -> Labels:
    """The seen class (C,) that has the same semantics as each target, or -1."""
    distances = cdist(S_target, S_seen)
    return np.where(distances.min(axis=1) == 0, distances.argmin(axis=1), -1)


def _labelled_images(seen: SeenData, most: int) -> tuple[Array, Labels]:
    """At most this many images of every seen class, in single precision, and their classes; none of statistics."""
    if seen.from_statistics:
        return np.empty((0, seen.n_features), dtype=np.float32), np.empty(0, dtype=np.int64)
    rows = some_of_every_class(seen.y, most)
    return seen.X[rows].astype(np.float32), seen.y[rows]


def _dictionary(seen: SeenData, ridge: float) -> Array:
    """Ridge regression (a, d) from the semantics of the seen classes to the means of their samples."""
    K = seen.S @ seen.S.T
    regular = K + ridge * np.trace(K) / len(K) * np.eye(len(K))
    dictionary: Array = seen.S.T @ solve(regular, seen.statistics.means, assume_a="pos", check_finite=False)
    return dictionary


class AEZSLT(PropagatedMethod):
    r"""AEZSL, then balanced propagation: labels that suit scores, neighbours, classes and their totals together.

    .. math::
        \min_{R, M, q} \sum_{ic} r_{ic} \log r_{ic} - \beta \langle R, G \rangle
        + \tfrac\mu2 \bigl(m - \langle R, S R \rangle\bigr)
        - \gamma \sum_c \langle m_c, \kappa p_c + \textstyle\sum_i r_{ic} x_i \rangle
        + \tau\, \mathrm{KL}(R'1 \,\|\, m q), \qquad \textstyle\sum_c q_c^2 \le h

    over soft labels R of the pool, class directions M and shares q of the classes; symbols, derivation and limits stand
    in ``aezsl.methods.propagation.balanced``. A pool may show only some of the classes, and few images of each:

    * h, how unevenly classes share the pool, is read off the likeness of its images
      (``aezsl.methods.propagation.shares``). So n = m h images are expected of a class that is present.
    * What a small pool cannot tell counts less: :math:`\mu` is ``graph_weight`` times min(1, n / ``n_neighbors``), and
      :math:`\gamma` is ``class_weight`` times n / (n + 1).
    * G are the scores of the base, less a mean and over a deviation for each class: those of the pool with the weight
      1 / (h C) times m / (m + C), which is near one where the pool shows many images of every class, and those of the
      seen images with the rest.

    The base is AEZSL or ESZSL (``start``), whichever does better with the pools that validation classes make. What
    differs from the paper: its refinement moves confident labels round by round and lets hub classes grow; here classes
    share the pool, and every label is found together with its neighbours'. ``lambda1`` to ``lambda3`` act as in
    ``AEZSL``, the rest as in ``ChosenStart``.
    """

    base = "aezsl"
    stage = ChosenStart
    grid: ClassVar[Mapping[str, list[Any]]] = {"start": ["aezsl", "eszsl"], **PropagatedMethod.grid}

    start: Literal["aezsl", "eszsl"]
    eszsl_gamma: float
    eszsl_lam: float

    def first(self) -> LinearZeroShotClassifier:
        """AEZSL or ESZSL, not fitted."""
        return super().first() if self.start == "aezsl" else ESZSL(gamma=self.eszsl_gamma, lam=self.eszsl_lam)


class ESZSLT(PropagatedMethod):
    r"""ESZSL, then balanced propagation: proof that any linear method can be the start.

    .. math:: G \propto X W A', \qquad W = (X'X + \gamma I)^{-1} X'Y S (S'S + \lambda I)^{-1}

    are the scores that balanced propagation starts from; its objective stands in ``AEZSLT``. What differs is the start
    alone. ``gamma`` and ``lam`` act as in ``ESZSL``, the rest as in ``BalancedPropagation``.
    """

    base = "eszsl"
