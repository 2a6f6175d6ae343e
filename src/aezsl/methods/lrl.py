"""LRL: class vectors that are learnt with the machine and the pool's labels, smooth along the pool's neighbours."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array

from aezsl.arrays import Array, Labels
from aezsl.kinds import Count, NotNegative, Positive
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import Targets
from aezsl.methods.large_margin import LargeMargin, Scene
from aezsl.methods.shared.graph import heat_kernel_graph, laplacian
from aezsl.methods.shared.margin import TAU, Labelling, descend, linear_hinge, mapped_scores, train

#: A label changes when the objective falls by more than this.
LEAST_GAIN = 1e-9


class LRL(LargeMargin):
    r"""Label representation learning: class vectors, machine and the pool's labels at once (Li, Guo and Schuurmans).

    Class vectors U (L, h) of all seen and target classes are learnt, near those from semantics :math:`U^0`; a mapping W
    takes samples F (t, d), the seen ones and the pool's, to them with a margin; the label vectors of the pool's
    samples, rows of :math:`TU`, are smooth along the neighbour graph of the pool with Laplacian H:

    .. math::
        J = \tfrac\beta2 \|W\|_F^2 + \tfrac\gamma2 \|U - U^0\|_F^2
            + \sum_i \max_k \left[ [k \ne y_i] + (U_k - U_{y_i}) W f_i \right]
            + \tfrac\rho2 \mathrm{tr}\left( (TU)' H (TU) \right), \qquad \mathrm{low} \le T'1 \le \mathrm{high}

    over W, U and the one-hot labels T of the pool. Three steps in turn, none of which raises J, until no label changes:
    W is a support vector machine; U is a convex problem, in which the Laplacian is the matrix T'HT of classes; T
    changes one sample at a time, the one that gains most first, within the bounds. A target is decided by
    :math:`\arg\max_k U_k W f` for samples outside the pool; those of the pool have their labels.

    Confirmed by the paper's abstract: label embeddings learnt from the data in one semi-supervised large-margin problem
    over all classes, with semantics from any source. Confirmed by the paper that this project implements: unlabelled
    test samples, labels inferred jointly, a Laplacian regulariser on the label representations of test samples.
    Inferred from an earlier paper of two of the authors that prints such a problem (see MaxMargin): the loss, the
    penalty on U, the bounds. Inferred from nothing but these: that U stays near the semantics. The full text of the
    paper was not at hand, so its problem may be another one in all that is not confirmed.

    What differs from what is known: the maximum is smoothed (softmax, temperature 0.05); first labels are a balanced
    assignment by the machine that seen samples alone teach; features are centred, on ``n_components`` principal axes of
    the seen samples, if need be in the metric of the seen classes (``shrinkage``), and class vectors centred before
    they are brought to unit length. The Laplacian alone would like all labels equal and class vectors short: the bounds
    and gamma prevent it.

    Parameters, beside those of ``LargeMargin``
    -------------------------------------------
    gamma : float or None
        Weight of the class vectors' distance from the semantics; must be positive. None: they stay there.
    rho : float
        Weight of smoothness; not negative.
    n_neighbors : int
        Of the pool's graph.

    """

    gamma: Positive | None = 100.0
    rho: NotNegative = 0.1
    n_neighbors: Count = 10

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "shrinkage": [None, 0.3],  # features as they are, and in the seen classes' metric
        "beta": [1.0, 10.0],
        "rho": [0.1, 1.0],
    }
    citation: ClassVar[str] = (
        "X. Li, Y. Guo and D. Schuurmans. Semi-supervised zero-shot classification with label representation learning. "
        "ICCV 2015."
    )

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[LinearClassifier, LabelHistory]:
        scene = self._scene(S_target, pool)
        W, U = scene.W, scene.U
        if not len(pool):
            return self._classifier(targets, W, U[scene.columns]), LabelHistory(np.empty(0, dtype=np.int64))
        H = targets.once(
            targets.pool, ("laplacian", self.n_neighbors), lambda: laplacian(heat_kernel_graph(pool, self.n_neighbors))
        )
        # What class vectors and the graph have no part in is the same for every gamma and rho of a grid.
        labels, first = targets.once(self.W_, ("lrl", self.lower, self.upper), lambda: self._first_machine(scene))
        history = LabelHistory(labels)
        for number in range(self.max_rounds):
            W = self._machine(scene, W, U, labels) if number else first
            U = self._class_step(scene, W, U, labels, H)
            labels = self._label_step(scene, W, U, labels, H)
            settled = np.array_equal(labels, history.labels)
            history.record(labels, objective=self.objective(scene, W, U, labels, H))
            if settled:
                break
        return self._classifier(targets, W, U[scene.columns]), history

    def _first_machine(self, scene: Scene) -> tuple[Labels, Array]:
        """The first labels, and the mapping that is trained on them."""
        labels = scene.assign(scene.first_scores())
        return labels, self._machine(scene, scene.W, scene.U, labels)

    def _machine(self, scene: Scene, W: Array, U: Array, labels: Labels) -> Array:
        return train(scene.F, U, self._labelling(scene, labels), self.beta, W).W

    def _labelling(self, scene: Scene, labels: Labels) -> Labelling:
        return Labelling(np.concatenate([self.y_, scene.columns[labels]]), np.empty((0, len(scene.U))))

    def objective(self, scene: Scene, W: Array, U: Array, labels: Labels, H: csr_array) -> float:
        """J, with the smoothed maximum."""
        loss, _ = linear_hinge(scene.F, W.T @ U.T, self._labelling(scene, labels))
        along = class_laplacian(H, scene.columns[labels], len(U))
        return loss + self.beta / 2 * float(np.vdot(W, W)) + self._tied(scene, U, along)[0]

    def _tied(self, scene: Scene, U: Array, along: Array) -> tuple[float, Array]:
        """What ties class vectors to semantics and to one another, and its derivative."""
        away, smooth = U - scene.U, along @ U
        if self.gamma is None:  # they have never left
            return self.rho / 2 * float(np.vdot(U, smooth)), self.rho * smooth
        value = self.gamma / 2 * float(np.vdot(away, away)) + self.rho / 2 * float(np.vdot(U, smooth))
        return value, self.gamma * away + self.rho * smooth

    def _class_step(self, scene: Scene, W: Array, U: Array, labels: Labels, H: csr_array) -> Array:
        if self.gamma is None:
            return U
        along = class_laplacian(H, scene.columns[labels], len(U))
        known = self._labelling(scene, labels)
        mapped = scene.F @ W.astype(scene.F.dtype).T

        def value(V: Array) -> tuple[float, Array]:
            loss, slope = linear_hinge(mapped, V.T, known)
            tied, pull = self._tied(scene, V, along)
            return loss + tied, slope.T + pull

        return descend(value, U)

    def _label_step(self, scene: Scene, W: Array, U: Array, labels: Labels, H: csr_array) -> Labels:
        scores = mapped_scores(scene.F[scene.n :], W, U).astype(np.float64)
        costs = label_costs(scores)[:, scene.columns]
        return smooth_labels(costs, self.rho * H, U[scene.columns], labels, scene.low, scene.high)


def class_laplacian(H: csr_array, classes: Labels, n_classes: int) -> Array:
    """``T'HT`` (L, L) for the one-hot labels T of the graph's samples."""
    m = len(classes)
    T = csr_array((np.ones(m), classes, np.arange(m + 1)), shape=(m, n_classes))
    along: Array = (T.T @ H @ T).toarray()
    return along


def label_costs(scores: Array, tau: float = TAU) -> Array:
    """The smoothed hinge loss (m, L) of every sample for every label that it could have."""
    rows, best = np.arange(len(scores)), scores.argmax(axis=1)
    top = scores[rows, best][:, None]
    parts = np.exp((scores - top) / tau)
    parts[rows, best] = 0
    others = parts.sum(axis=1)
    inside = 1 + others[:, None] + np.expm1(-1 / tau) * parts
    inside[rows, best] = others + np.exp(-1 / tau)  # by itself: the best class is nearly all there is
    costs: Array = 1 + top + tau * np.log(inside) - scores
    return costs


def smooth_labels(
    costs: Array, H: csr_array, U: Array, labels: Labels, low: Labels, high: Labels, max_sweeps: int = 50
) -> Labels:
    r"""Labels that no sample alone can better, for costs (m, C) plus half of :math:`\mathrm{tr}((TU)'H(TU))`.

    Sweep by sweep, the samples that would gain change one after the other, the one that gains most first, as long as
    classes keep to their bounds: the sum never rises.
    """
    labels, counts = labels.copy(), np.bincount(labels, minlength=len(U))
    diagonal = H.diagonal()
    links = csr_array(H - diags_array(diagonal))
    products = U @ U.T
    alone = costs + 0.5 * np.outer(diagonal, np.diag(products))
    for _ in range(max_sweeps):
        local = alone + links @ products[labels]
        gains = local[np.arange(len(labels)), labels] - local.min(axis=1)
        moved = False
        for i in np.argsort(-gains, kind="stable")[: np.count_nonzero(gains > LEAST_GAIN)]:
            own, near = labels[i], slice(links.indptr[i], links.indptr[i + 1])
            now = alone[i] + links.data[near] @ products[labels[links.indices[near]]]
            best = int(np.where(counts < high, now, np.inf).argmin())
            if counts[own] > low[own] and now[best] < now[own] - LEAST_GAIN:
                labels[i] = best
                counts[own] -= 1
                counts[best] += 1
                moved = True
        if not moved:
            break
    return labels
