"""Progressive label refinement: visual classifiers adapt to the unlabelled pool they are applied to.

What decides the outcome, measured on CUB, Tiny ImageNet, Dogs and emoji:

* How freely P moves (``n_components``) against how dearly a label is kept (``gamma1``). The group lasso keeps every
  label that P is able to keep. With many axes or a large gamma1 nothing changes; with few axes and a small gamma1 the
  confident set alone rules, hub classes fill it, and accuracy collapses. The good values lie on a diagonal: fewer axes
  need a larger gamma1.
* Hubs are what limits the paper's rule: on CUB the starting labels give one class 160 samples and another a single one,
  and every round makes the large larger. ``balanced`` removes the cause, and the gain grows severalfold; a gamma1 that
  would ruin the paper's rule is then the best.
* The graph (gamma3) adds a point or three on Tiny ImageNet at a gamma3 of the size of gamma1, where CUB loses as much;
  a gamma2 of a third of gamma1 ruins the paper's rule on CUB. A nu of 1 or more acts like fewer axes, only worse.
* Of little importance at a good gamma1: the scale of the scores before the soft-max (1 to 100), how far the
  re-weighting converges, k between a fiftieth and a fifth of the pool, 5 or 20 neighbours, a normalised Laplacian.
"""

import math
from contextlib import nullcontext
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.data.statistics import class_sums
from aezsl.errors import DataError
from aezsl.kinds import Count, NotNegative, Positive
from aezsl.machine.screen import progress_bar
from aezsl.machine.workers import Once, one_blas_thread
from aezsl.methods.core.checks import check_rows, check_semantics
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.parameters import Declared
from aezsl.methods.refinement.step import Step, Weights
from aezsl.methods.shared.graph import Smoothness, heat_kernel_graph
from aezsl.methods.shared.linalg import row_space_eigh


@dataclass
class Pool:
    """What refinement derives from X alone, so that all settings tried on one pool share it.

    Z (n, r) are the coordinates of the (centred) samples on V (d, r), the principal axes, strongest first.
    """

    X: Array
    centre: bool
    mean: Array = field(init=False)
    V: Array = field(init=False)
    Z: Array = field(init=False)
    _graphs: Once = field(init=False, default_factory=Once)

    def __post_init__(self) -> None:
        X = np.asarray(self.X, dtype=np.float64)
        self.mean = X.mean(axis=0) if self.centre else np.zeros(X.shape[1])
        centred = X - self.mean
        # All samples alike leave nothing after centring: one zero coordinate stands for the empty space.
        self.V, _ = row_space_eigh(centred) if centred.any() else (np.eye(X.shape[1], 1), None)
        self.Z = centred @ self.V

    def graph(self, n_neighbors: int) -> csr_array:
        """Neighbourhood weights (n, n), built once per number of neighbours."""
        return self._graphs(n_neighbors, lambda: heat_kernel_graph(self.X, n_neighbors))


#: Multiplications in one update from which on a second BLAS thread saves more than it costs.
MANY_THREADS_PAY = 2e9


@dataclass(frozen=True)
class Refinement:
    """The outcome: the labels round by round, classifiers P (d, C) with offset (C,)."""

    history: LabelHistory
    P: Array
    offset: Array  # (C,) scores are X @ P + offset; zero unless the pool was centred

    @property
    def labels(self) -> Labels:
        """The final labels (n,)."""
        return self.history.labels

    def scores(self, X: Array) -> Array:
        """Scores (m, C) of the rows of X."""
        return X @ self.P + self.offset


class LabelRefinement(Declared):
    r"""Progressive label refinement of any linear zero-shot classifier.

    The pool is split into confident samples L and unconfident ones U, at first all. Every round moves the k
    samples of U with the highest soft-max confidence to L, with their current best class as label (the others
    keep theirs), and then updates the classifiers P (d, C):

    .. math::
        \min_P \tfrac12 \|X_l P - Y_l\|_F^2 + \tfrac{\gamma_1}2 \|X_u P - Y_u\|_{2,1}
        - \gamma_2 \mathrm{tr}(Y_u \hat S P' X_u') + \tfrac{\gamma_3}2 \mathrm{tr}(P' X_u' H_u X_u P)
        + \tfrac\nu2 \|P\|_F^2

    with :math:`\hat S` the cosines between target classes, zero on the diagonal, and :math:`H_u` the Laplacian of
    the heat-kernel neighbourhood graph among U. It ends when U is empty; the labels of L are the result.

    P is found by re-weighting, :math:`D_{ii} = 1 / (2 \|q_i\|)` for the rows of :math:`Q = X_u P - Y_u`:

    .. math::
        P = (X_l'X_l + \gamma_1 X_u' D X_u + \gamma_3 X_u' H_u X_u + \nu I)^{-1}
        (X_l'Y_l + \gamma_1 X_u' D Y_u + \gamma_2 X_u' Y_u \hat S)

    repeated from the last round's P until the objective settles. What the paper leaves open, and what differs:

    * :math:`\|q\|` is :math:`\sqrt{\|q\|^2 + \epsilon^2}` throughout, in D and in the objective: no division by
      zero, and the objective provably never increases. :math:`\nu` is part of the objective for the same reason.
    * All happens on the principal axes of the pool (the row space of X, exactly, unless ``n_components`` cuts it):
      cost follows r = min(n, d, n_components). With as many axes as samples and :math:`\nu \to 0` the scores are free
      variables: L no longer influences U, and no label changes unless the pull of the second and third term
      exceeds :math:`\gamma_1 / 2`. ``n_components`` (or a larger ``nu``) is what lets samples learn from each other.
    * ``centre`` subtracts the pool's mean. As there is no intercept, the classifiers then cannot prefer a class
      for all samples at once, which is how hubs would feed themselves.
    * The graph is built once among all samples and loses the samples that leave U, with their edges.

    Parameters
    ----------
    k : int
        Samples moved per round.
    gamma1, gamma2, gamma3 : float
        Weights of keeping the labels of U, of the transition to similar classes, of smoothness on the graph.
    nu : float
        Weight of the classifiers' norm; must be positive.
    n_neighbors : int
        Neighbours per sample in the graph.
    n_components : int or None
        Principal axes of the pool to work on; all of them if None.
    centre : bool
        Subtract the pool's mean from its samples.
    balanced : bool
        Not in the paper: fill the k places class by class, the best of every class first, then the second
        best, and so on, instead of by confidence alone.
    one_step : bool
        The non-progressive variant: all samples are unconfident, one update, labels are its best classes.
    guard : bool
        Not in the paper: with ``RefinedMethod``, labels stay as the base gave them where the pool does not suit
        (``core.transductive.guarded``).
    inner_tol, inner_iter : float, int
        The re-weighting ends once the objective falls by less than ``inner_tol`` of its value at P = 0, or after
        ``inner_iter`` iterations.
    eps : float
        The smoothing :math:`\epsilon` of the row norms; labels have norm 1.

    """

    k: Count = 100
    gamma1: NotNegative = 1.0
    gamma2: NotNegative = 0.0
    gamma3: NotNegative = 0.0
    nu: Positive = 1e-3
    n_neighbors: Count = 10
    n_components: Count | None = None
    centre: bool = True
    balanced: bool = False
    one_step: bool = False
    guard: bool = False
    inner_tol: NotNegative = 1e-4
    inner_iter: Count = 50
    eps: Positive = 1e-4

    def refine(
        self, X: ArrayLike, P: ArrayLike, S_target: ArrayLike, pool: Pool | None = None, progress: bool = True
    ) -> Refinement:
        """Refine the labels that the classifiers P (d, C) of the classes S_target (C, a) give to X (n, d).

        S_target : as they were given, since their cosines mean similarity.
        ``pool`` is ``Pool(X, self.centre)`` where the caller has it already. ``progress`` shows a bar over the rounds.
        """
        self.check_parameters()
        X = check_rows("X", X, what="features")
        S_target = check_semantics("S_target", S_target)
        P = check_rows("P", P, len(S_target), "classes")
        if len(P) != X.shape[1]:
            raise DataError(f"P must have one row per feature of X, expected {X.shape[1]} rows, got {len(P)}")
        if pool is None:
            pool = Pool(X, self.centre)
        elif pool.Z.shape[0] != len(X) or pool.centre != self.centre:
            raise DataError("pool was built from other samples, or with another value of centre")
        r = min(pool.Z.shape[1], self.n_components or pool.Z.shape[1])
        with one_blas_thread() if len(X) * r**2 < MANY_THREADS_PAY else nullcontext():
            history, B = self._run(pool, X @ P, transition_matrix(S_target), progress)
        P = pool.V[:, : len(B)] @ B
        return Refinement(history, P, -pool.mean @ P)

    def _run(self, pool: Pool, F: Array, S_hat: Array, progress: bool) -> tuple[LabelHistory, Array]:
        """Algorithm 2 on the coordinates Z of the pool; F (n, C) are the scores of the first classifiers.

        Of every round the history has the ``objective`` of the convex problem, nu and smoothing included, at the P it
        ended with, the ``iterations`` of re-weighting until it settled, and the sizes of L and U after the move.
        """
        weights = Weights(self.gamma1, self.gamma2, self.gamma3, self.nu, self.eps)
        Z = np.ascontiguousarray(pool.Z[:, : self.n_components])
        smoothness = Smoothness(pool.graph(self.n_neighbors), Z) if self.gamma3 > 0 else None
        (n, r), C = Z.shape, len(S_hat)
        labels, unconfident = F.argmax(axis=1), np.ones(n, dtype=bool)
        G, N = np.zeros((r, r)), np.zeros((r, C))  # Xl'Xl and Xl'Yl
        B: Array = np.zeros((r, C))
        history = LabelHistory(labels)
        rounds = range(1 if self.one_step else math.ceil(n / self.k))
        for _ in progress_bar(rounds, desc="refining labels", unit="round", disable=not progress):
            if not self.one_step:
                moved = self._most_confident(F, np.flatnonzero(unconfident))
                labels[moved], unconfident[moved] = F[moved].argmax(axis=1), False
                G += Z[moved].T @ Z[moved]
                N += class_sums(Z[moved], labels[moved], C).T
                if smoothness:
                    smoothness.remove(moved)
            U = np.flatnonzero(unconfident)
            U = U[np.argsort(labels[U], kind="stable")]
            K = smoothness.value if smoothness else None  # Xu'HuXu
            step = Step(G, N, n - len(U), Z[U], labels[U], S_hat, K, weights)
            B, F[U], objectives = step.minimise(F[U], self.inner_tol, self.inner_iter)
            if self.one_step:
                labels = F.argmax(axis=1)
            sizes = {"confident": n - len(U), "unconfident": len(U)}
            history.record(labels, objective=objectives[-1], iterations=len(objectives), **sizes)
        return history, B

    def _most_confident(self, F: Array, U: Labels) -> Labels:
        """The k samples of U with the highest soft-max probability of their best class; the first ones on ties."""
        best = F[U].max(axis=1)
        doubt = np.exp(F[U] - best[:, None]).sum(axis=1)  # 1 / confidence
        if not self.balanced:
            return U[np.argsort(doubt, kind="stable")[: self.k]]
        classes = F[U].argmax(axis=1)
        order = np.lexsort((doubt, classes))
        place = np.empty(len(U), dtype=np.int64)  # 0 for the best of its class, 1 for the second best ...
        place[order] = np.arange(len(U)) - np.searchsorted(classes[order], classes[order])
        return U[np.lexsort((doubt, place))[: self.k]]


def transition_matrix(S: Array) -> Array:
    """Cosines between the rows of S (C, a), zero on the diagonal: which label is likely to turn into which."""
    S = unit_rows(S)
    S_hat: Array = S @ S.T
    np.fill_diagonal(S_hat, 0)
    return S_hat
