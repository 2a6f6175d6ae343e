"""What the large-margin methods share that find the pool's labels: samples, class vectors, first labels."""

from typing import ClassVar, NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.kinds import AtLeastOne, Count, Positive, Proportion
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.contract import Needs
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.core.transductive import TransductiveMethod
from aezsl.methods.shared.assignment import balanced_assignment
from aezsl.methods.shared.graph import whitening
from aezsl.methods.shared.linalg import row_space_eigh
from aezsl.methods.shared.margin import Labelling, mapped_scores, size_bounds, train


class Scene(NamedTuple):
    """All that is given in ``adapt``.

    F : n seen samples, and behind them the pool's (n + m, r).
    U : vectors of all classes (L, h), the seen ones first.
    columns : where the targets stand among these classes (Ct,).
    low, high : how many samples of the pool each target may take.
    W : the mapping (h, r) that seen samples alone teach.
    """

    F: Array
    n: int
    U: Array
    columns: Labels
    low: Labels
    high: Labels
    W: Array

    def first_scores(self) -> Array:
        """Scores (m, Ct) of the pool by what seen samples alone teach."""
        return mapped_scores(self.F[self.n :], self.W, self.U[self.columns])

    def assign(self, scores: Array) -> Labels:
        """The targets of the pool's samples with the highest sum of scores (m, Ct) within the bounds."""
        return balanced_assignment(scores, self.low, self.high)


class LargeMargin(TransductiveMethod):
    """Base of methods that train one mapping W of features to class vectors, on seen samples and the pool together.

    Features are centred at the mean of the seen samples, brought into the metric of the seen classes (``shrinkage``)
    and taken on their principal axes; class vectors are the
    semantics without the mean of the seen ones (``centre``), at unit length. The samples stay with the fitted model, as
    W is trained again for every pool. A subclass defines ``_learn``.

    Parameters
    ----------
    beta : float
        Weight of the mapping's norm against the sum of losses; must be positive.
    lower, upper : float, float
        Bounds on the size of a class, in mean sizes.
    centre : bool
        Class vectors are relative to the mean of the seen semantics.
    shrinkage : float or None
        What varies within the seen classes counts less, by their within-class covariance, shrunk towards a sphere by
        this much; None: features as they are.
    n_components : int or None
        Principal axes of the features; None: all.
    single : bool
        Products in single precision, twice as fast.
    max_rounds : int
        Rounds at most.

    """

    beta: Positive = 1.0
    lower: Proportion = 0.5
    upper: AtLeastOne = 2.0
    centre: bool = True
    shrinkage: Positive | None = None
    n_components: Count | None = 256
    single: bool = True
    max_rounds: Count = 10

    needs: ClassVar[Needs] = "samples"
    against_collapse: ClassVar[str] = "a larger lower bound keeps more samples with every class"

    mean_: Array
    axes_: Array
    rows_: Array
    y_: Labels
    S_: Array
    W_: Array

    def _fit(self, seen: SeenData) -> None:
        self.S_, self.y_ = seen.S, seen.y.copy()
        form = (self.shrinkage, self.n_components, self.single)
        self.mean_, self.axes_, self.rows_ = seen.once(("principal", *form), lambda: self._principal(seen))
        self.W_ = seen.once(("large margin", self.beta, self.centre, *form), self._train_on_seen)

    def _principal(self, seen: SeenData) -> tuple[Array, Array, Array]:
        mean, axes, l = seen.centred_spectrum()
        if self.shrinkage is not None:
            T = seen.once(("whitening", self.shrinkage), lambda: whitening(seen.statistics, self.shrinkage))
            axes = T @ row_space_eigh(np.sqrt(l)[:, None] * (axes.T @ T))[0]
        axes = axes[:, : self.n_components]
        return mean, axes, ((seen.X - mean) @ axes).astype(np.float32 if self.single else np.float64)

    def _train_on_seen(self) -> Array:
        U = self.class_vectors(self.S_)
        basis, _ = row_space_eigh(U)
        no_pool = Labelling(self.y_, np.empty((0, len(U))))
        start = np.zeros((basis.shape[1], self.rows_.shape[1]))
        W: Array = basis @ train(self.rows_, U @ basis, no_pool, self.beta, start).W
        return W

    def class_vectors(self, S: Array) -> Array:
        """Class vectors (C, a) of semantics S."""
        return unit_rows(S - self.S_.mean(axis=0) if self.centre else S)

    def _scene(self, S_target: Array, pool: Array) -> Scene:
        to_seen = cdist(S_target, self.S_)
        is_new = to_seen.min(axis=1) > 0
        columns = np.where(is_new, len(self.S_) + np.cumsum(is_new) - 1, to_seen.argmin(axis=1))
        U = self.class_vectors(np.vstack([self.S_, S_target[is_new]]))
        basis, _ = row_space_eigh(U)  # outside of it W is zero
        Z = ((pool - self.mean_) @ self.axes_).astype(self.rows_.dtype)
        labelled = np.bincount(self.y_, minlength=len(U))[columns]
        low, high = size_bounds(len(pool), labelled, self.lower, self.upper)
        return Scene(np.vstack([self.rows_, Z]), len(self.y_), U @ basis, columns, low, high, basis.T @ self.W_)

    def _classifier(self, targets: Targets, W: Array, U: Array) -> LinearClassifier:
        """Scores of targets with vectors U (Ct, h)."""
        P = self.axes_ @ (U @ W).T
        return LinearClassifier(self, targets.S, P, -self.mean_ @ P)
