"""AEZSL: one visual-semantic mapping per target class."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from aezsl.arrays import Array, Labels
from aezsl.methods.aezsl.kept import Decompositions, Mappings, Solution
from aezsl.methods.aezsl.path_table import PathTable
from aezsl.methods.aezsl.solver import (
    Lambdas,
    Seen,
    Targets,
    decompose_targets,
    solve_targets,
    spectra_mb,
    squared_cosines,
    target_mapping,
)
from aezsl.methods.aezsl.sweeps import objective_terms, sweep_targets
from aezsl.methods.base import LinearZeroShotClassifier, check_rows, check_semantics
from aezsl.methods.shared.linalg import class_sums, row_space_eigh


class AEZSL(LinearZeroShotClassifier):
    r"""Adaptive embedding zero-shot learning: a category-specific mapping W_c for every target class c.

    .. math::
        \min_{W_1 .. W_C} \frac12 \sum_c \|(X W_c S' - Y)\, \mathrm{diag}(s_c)\|_F^2
        + \frac{\lambda_1}{2} \sum_c \|X W_c\|_F^2 + \frac{\lambda_2}{2} \sum_c \|W_c\|_F^2
        + \frac{\lambda_3}{2} \sum_{c < c'} \|W_c - W_{c'}\|_F^2

    X (n, d), one-hot Y (n, Cs), S (Cs, a), W_c (d, a), and :math:`s_c` (Cs,) the cosines between the target's
    semantics and those of the seen classes: the more a seen class resembles the target, the more its task counts.
    The classifier of target c is :math:`W_c a_c`. All targets given together are solved together, so with
    :math:`\lambda_3 > 0` the scores of a class depend on which other classes it is asked with.

    ``fit`` reduces the training data to what does not depend on targets or lambdas. The targets arrive with
    ``decision_function(X, S_target)``, whose decompositions are kept for the next call with the same targets.

    Parameters
    ----------
    lambda1 : float
        Weight of the mapped features' norm.
    lambda2 : float
        Weight of the mappings' norm. Zero is allowed with positive lambda1 and lambda3: directions that no sample
        has are then left undetermined by the objective, and the solution of smallest norm is taken.
    lambda3 : float
        Weight of the differences between mappings. Zero makes every target independent (AEZSL_sim); towards
        infinity all targets share one mapping.
    solver : {"direct", "alternating"}
        ``direct`` solves for the sum of all mappings by preconditioned conjugate gradients and needs a handful of
        iterations for every lambda. ``alternating`` is the paper's Algorithm 1, a block sweep over the targets from
        an ESZSL start; it reaches the same optimum, slowly where lambda3 is large, and leaves its objective
        in ``objective_trace_``.
    tol : float
        ``direct``: factor by which the error's energy norm falls. ``alternating``: relative fall of the objective
        in a sweep under which it stops.
    max_iter : int
        Most iterations or sweeps; a ConvergenceWarning says when they did not suffice.
    memory_mb : float
        Budget for arrays that grow with the number of targets. ``direct`` keeps one r x r matrix per target
        (r = rank of S) and works through the rest in blocks that fit.

    """

    # The paper's grid, 10^-3 to 10^3 for each: 343 points, which share their decompositions.
    grid: ClassVar[Mapping[str, list[float]]] = {
        "lambda1": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
        "lambda2": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
        "lambda3": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
    }
    citation: ClassVar[str] = (
        "L. Niu, J. Cai, and A. Veeraraghavan. Zero-shot learning via category-specific visual-semantic mapping. "
        "arXiv preprint, 2017."
    )

    U_: Array  # (d, q) eigenvectors of X'X
    l_: Array  # (q,) its eigenvalues
    M_: Array  # (q, Cs) U'X'Y
    S_: Array  # (Cs, a) seen semantics, for the cosines
    Q_: Array  # (a, r) orthonormal basis of the rows of S
    counts_: Array  # (Cs,) samples per seen class
    objective_trace_: Array
    _decompositions: Decompositions
    _solution: Solution | None

    def __init__(
        self,
        lambda1: float = 1.0,
        lambda2: float = 1.0,
        lambda3: float = 1.0,
        solver: str = "direct",
        tol: float = 1e-12,
        max_iter: int = 1000,
        memory_mb: float = 2048,
    ) -> None:
        self.lambda1 = lambda1
        self.lambda2 = lambda2
        self.lambda3 = lambda3
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.memory_mb = memory_mb

    def mappings(self, S_target: ArrayLike, classes: Sequence[int] | None = None) -> Mappings:
        """The mappings W_c (d, a) of all targets, or of those chosen, each built when it is asked for.

        All rows of ``S_target`` take part in the solution; ``classes`` only says which mappings are wanted.
        """
        S_target = self._check_targets(S_target)
        chosen = range(len(S_target)) if classes is None else [range(len(S_target))[c] for c in classes]
        reduced = self._reduced_mapping(S_target)
        return Mappings(lambda c: self.U_ @ reduced(c) @ self.Q_.T, chosen)

    def mapped_attributes(self, X: ArrayLike, S_target: ArrayLike, c: int) -> Array:
        """``X W_c`` (m, a): what target c's own mapping makes of the samples, attribute by attribute."""
        S_target = self._check_targets(S_target)
        X = check_rows("X", X, self.n_features_in_, "features")
        W: Array = self.mappings(S_target, [c])[0]
        return X @ W

    def objective(self, S_target: ArrayLike) -> dict[str, float]:
        """The objective at this model's mappings: its four terms and their total."""
        S_target = self._check_targets(S_target)
        reduced = Mappings(self._reduced_mapping(S_target), range(len(S_target)))
        return objective_terms(self._seen, squared_cosines(S_target, self.S_), reduced, self._lambdas)

    def fit_path(self, X: ArrayLike, y: ArrayLike, S: ArrayLike, points: Iterable[Mapping[str, Any]]) -> Iterator[Self]:
        """As the base class; where there are enough points, they share a table of solutions (``_aezsl_path``)."""
        points = list(points)
        for model in super().fit_path(X, y, S, points):
            model._decompositions.n_points = len(points)
            yield model

    def _prepare(self, X: Array, y: Labels, S: Array) -> tuple[Any, ...]:
        U, l = row_space_eigh(X)
        Q, _ = row_space_eigh(S)
        M = (class_sums(X, y, len(S)) @ U).T
        return U, l, M, np.asarray(S, dtype=np.float64), Q, np.bincount(y).astype(np.float64), Decompositions()

    def _fit(
        self, U: Array, l: Array, M: Array, S: Array, Q: Array, counts: Array, decompositions: Decompositions
    ) -> None:
        self._check_parameters()
        self.U_, self.l_, self.M_, self.S_, self.Q_, self.counts_ = U, l, M, S, Q, counts
        self._decompositions = decompositions
        self._solution = None

    def _check_parameters(self) -> None:
        self._lambdas.check()
        if self.solver not in ("direct", "alternating"):
            raise ValueError(f"unknown solver {self.solver!r}; expected 'direct' or 'alternating'")
        if not (self.tol > 0 and self.max_iter >= 1 and self.memory_mb > 0):
            raise ValueError(
                "tol and memory_mb must be positive and max_iter at least 1, "
                f"got tol={self.tol}, memory_mb={self.memory_mb}, max_iter={self.max_iter}"
            )

    def get_state(self) -> dict[str, Any]:
        """All fitted values, and the solution for the targets last asked about: they need not be solved again."""
        state = super().get_state()
        if self._solution is not None:
            state |= {"targets_": self._solution.S_target, "Z_": self._solution.shared, "P_": self._solution.P}
        return state

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Become fitted with the values ``get_state`` gave."""
        kept = {name: value for name, value in state.items() if name not in ("targets_", "Z_", "P_")}
        self._decompositions, self._solution = Decompositions(), None
        if "targets_" in state:
            self._solution = Solution(state["targets_"], self._solution_key, state["Z_"], state["P_"])
        return super().set_state(kept)

    def _classifiers(self, S_target: Array) -> Array:
        if self.solver == "direct" and self._table_pays(len(S_target)):
            targets = self._targets(S_target)
            kept = self._decompositions
            if kept.table is None:
                kept.table = PathTable(self._seen, targets)
            return self.U_ @ kept.table.classifiers(self._lambdas)
        return self.U_ @ self._solve(S_target).P

    def _table_pays(self, n_targets: int) -> bool:
        """Whether a path has so many points that a table is cheaper than solving for each, and fits the budget."""
        need = PathTable.expected_mb(len(self.l_), len(self.S_), n_targets, self.Q_.shape[1])
        cheaper = PathTable.pays(self._decompositions.n_points, len(self.l_), self.Q_.shape[1])
        return cheaper and need + spectra_mb(n_targets, self.Q_.shape[1]) <= self.memory_mb

    def _solve(self, S_target: Array) -> Solution:
        """The solution for these targets, kept until other targets or parameters come."""
        key = self._solution_key
        if self._solution is None or not self._solution.answers(S_target, key):
            self._solution = Solution(S_target.copy(), key, *self._solve_anew(S_target))
        return self._solution

    def _solve_anew(self, S_target: Array) -> tuple[Array, Array]:
        """What determines the mappings (their sum Z, or all of them where swept), and the classifiers (q, C)."""
        seen, limits = self._seen, (self.tol, self.max_iter, self.memory_mb)
        if self.solver == "alternating":
            W, self.objective_trace_ = sweep_targets(seen, self._targets(S_target), self._lambdas, *limits)
            return W, np.einsum("cqr,cr->qc", W, S_target @ self.Q_)
        excess = spectra_mb(len(S_target), self.Q_.shape[1]) / self.memory_mb
        if self.lambda3 > 0 or excess <= 1:
            return solve_targets(seen, self._targets(S_target), self._lambdas, *limits)
        # Independent targets: as many at a time as the budget allows, none kept.
        parts = np.array_split(S_target, min(int(np.ceil(excess)), len(S_target)))
        return np.zeros(0), np.hstack(
            [solve_targets(seen, self._decompose(part), self._lambdas, *limits)[1] for part in parts]
        )

    def _reduced_mapping(self, S_target: Array) -> Callable[[int], Array]:
        """Builds W_c (q, r) on the bases U and Q."""
        seen, lambdas = self._seen, self._lambdas
        if self.solver == "direct" and self.lambda3 == 0:  # independent targets: decompose only the one asked for
            none = np.zeros((1, self.Q_.shape[1]))
            return lambda c: target_mapping(seen, self._decompose(S_target[c : c + 1]), lambdas, none, 0)
        shared = self._solve(S_target).shared
        if self.solver == "alternating":
            return lambda c: shared[c]
        targets = self._targets(S_target)
        return lambda c: target_mapping(seen, targets, lambdas, shared, c)

    def _targets(self, S_target: Array) -> Targets:
        """The targets' decompositions, kept until other targets come."""
        kept = self._decompositions
        if kept.targets is None or kept.S_target is None or not np.array_equal(kept.S_target, S_target):
            need = spectra_mb(len(S_target), self.Q_.shape[1])
            if need > self.memory_mb:
                raise ValueError(
                    f"{len(S_target)} coupled targets of rank {self.Q_.shape[1]} need {need:.0f} MB for their "
                    f"eigenvectors, and memory_mb={self.memory_mb} allows less; raise memory_mb, or take lambda3 = 0, "
                    "which solves them a few at a time"
                )
            kept.targets = kept.table = None  # the old ones go before the new ones come
            kept.S_target = S_target.copy()
            kept.targets = self._decompose(S_target)
        return kept.targets

    def _decompose(self, S_target: Array) -> Targets:
        weights = squared_cosines(S_target, self.S_)
        keep_mb = 0.0 if self._table_pays(len(S_target)) else self.memory_mb  # the table takes the right sides' place
        return decompose_targets(self._seen, weights, S_target @ self.Q_, keep_mb)

    @property
    def _solution_key(self) -> tuple[Any, ...]:
        return (*self._lambdas, self.solver, self.tol, self.max_iter)

    @property
    def _lambdas(self) -> Lambdas:
        return Lambdas(float(self.lambda1), float(self.lambda2), float(self.lambda3))

    @property
    def _seen(self) -> Seen:
        return Seen(self.l_, self.M_, self.S_ @ self.Q_, self.counts_)

    def _check_targets(self, S_target: ArrayLike) -> Array:
        check_is_fitted(self, "n_features_in_")
        return check_semantics("S_target", S_target, self.n_semantics_in_)
