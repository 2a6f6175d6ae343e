"""AEZSL: one visual-semantic mapping per target class. AEZSL_sim: the same without the co-regulariser."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from aezsl.arrays import Array
from aezsl.errors import DataError
from aezsl.kinds import Count, NotNegative, Positive
from aezsl.methods.aezsl.classifier import AEZSLClassifier
from aezsl.methods.aezsl.path_table import PathTable
from aezsl.methods.aezsl.solver import (
    Lambdas,
    ReducedSeen,
    TargetSpectra,
    decompose_targets,
    solve_targets,
    spectra_mb,
)
from aezsl.methods.aezsl.streamed import stream_targets
from aezsl.methods.aezsl.sweeps import sweep_targets
from aezsl.methods.core.classifiers import TargetClassifier
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.shared.similarity import SimilarityWeights, Weighting

#: From this many targets on, one solution costs less streamed than from eigenvectors that are kept.
MANY_TARGETS = 512


class AEZSL(LinearZeroShotClassifier):
    r"""Adaptive embedding zero-shot learning: a category-specific mapping W_c for every target class c.

    .. math::
        \min_{W_1 .. W_C} \frac12 \sum_c \|(X W_c S' - Y)\, \mathrm{diag}(s_c)\|_F^2
        + \frac{\lambda_1}{2} \sum_c \|X W_c\|_F^2 + \frac{\lambda_2}{2} \sum_c \|W_c\|_F^2
        + \frac{\lambda_3}{2} \sum_{c < c'} \|W_c - W_{c'}\|_F^2
        + \frac{\gamma}2 \sum_c \|W_c S' \mathrm{diag}(s_c)\|_F^2

    X (n, d), one-hot Y (n, Cs), S (Cs, a), W_c (d, a), and :math:`s_c` (Cs,) the cosines between the target's
    semantics and those of the seen classes, as they were given: the more a seen class resembles the target, the more
    its task counts. The last term is ESZSL's, which the paper drops: ``gamma`` of zero gives the paper's objective.
    With weights of one and :math:`\lambda_2 = \gamma\lambda_1` every mapping is ESZSL's.
    The classifier of target c is :math:`W_c a_c`. All targets given together are solved together, so with
    :math:`\lambda_3 > 0` the scores of a class depend on which other classes it is asked with.

    ``fit`` reduces the training data to what does not depend on targets or lambdas; ``adapt`` solves for all targets
    together, and its classifier also has the mappings themselves.

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
        an ESZSL start; it reaches the same optimum, slowly where lambda3 is large, and its classifier has the
        objective of every sweep.
    tol : float
        ``direct``: factor by which the error's energy norm falls. ``alternating``: relative fall of the objective
        in a sweep under which it stops.
    max_iter : int
        Most iterations or sweeps; a ConvergenceWarning says when they did not suffice.
    memory_mb : float
        Budget for arrays that grow with the number of targets. Up to it ``direct`` keeps one r x r matrix per target
        (r = rank of S) and works through the rest in blocks that fit; beyond it, the targets are streamed
        (``streamed``): the same solution from two passes over them, in memory that does not grow with their number.
    weighting : str
        How much the task of a seen class counts for a target: ``cosine_squared``, the objective above; ``none``, which
        leaves one mapping that all targets share; or another of ``shared.similarity``. All are solved exactly.
    gamma : float
        Weight of the seen classes' classifiers' norm, each counted as its task is; 0 is the paper's objective.

    """

    lambda1: NotNegative = 0.01
    lambda2: NotNegative = 1.0
    lambda3: NotNegative = 0.1
    solver: Literal["direct", "alternating"] = "direct"
    tol: Positive = 1e-8
    max_iter: Count = 1000
    memory_mb: Positive = 2048
    weighting: Weighting = "cosine_squared"
    gamma: NotNegative = 0.0

    # The paper's grid, 10^-3 to 10^3 for each: 343 points, which share their decompositions.
    grid: ClassVar[Mapping[str, list[float]]] = {
        "lambda1": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
        "lambda2": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
        "lambda3": [1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3],
    }
    own_threads: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "L. Niu, J. Cai, and A. Veeraraghavan. Zero-shot learning via category-specific visual-semantic mapping. "
        "arXiv preprint, 2017."
    )

    needs: ClassVar[Needs] = "statistics"
    classifier_class: ClassVar[type[TargetClassifier]] = AEZSLClassifier

    U_: Array  # (d, q) eigenvectors of X'X
    l_: Array  # (q,) its eigenvalues
    M_: Array  # (q, Cs) U'X'Y
    S_: Array  # (Cs, a) seen semantics
    given_: Array  # (Cs, b) as they were given, for the cosines
    Q_: Array  # (a, r) orthonormal basis of the rows of S
    counts_: Array  # (Cs,) samples per seen class

    def check_parameters(self) -> None:
        """Refuse, beside single values, weights that leave the mappings undetermined together."""
        super().check_parameters()
        self.lambdas.check()

    def _fit(self, seen: SeenData) -> None:
        self.U_, self.l_ = seen.spectrum()
        self.Q_, _ = seen.semantic_spectrum()
        self.M_ = seen.once("aezsl", lambda: (seen.statistics.sums @ self.U_).T)
        self.S_, self.given_ = (np.asarray(S, dtype=np.float64) for S in (seen.S, seen.given))
        self.counts_ = seen.statistics.counts.astype(np.float64)

    def _adapt(self, targets: Targets) -> AEZSLClassifier:
        if self.solver == "direct" and self._table_pays(targets):
            # Many points of a grid for the same targets: a table of solutions serves all of them.
            key = ("aezsl table", self.weighting)
            table = targets.once(self.M_, key, lambda: PathTable(self.reduced, self._spectra(targets)))
            return AEZSLClassifier(self, targets, self.U_ @ table.classifiers(self.lambdas))
        if self.solver == "alternating":
            W, trace = sweep_targets(self.reduced, self._spectra(targets), self.lambdas, *self._limits)
            P = np.einsum("cqr,cr->qc", W, targets.S @ self.Q_)
            return AEZSLClassifier(self, targets, self.U_ @ P, W, trace)
        total, classifiers = self._solve(targets)
        return AEZSLClassifier(self, targets, classifiers, total)

    def _solve(self, targets: Targets) -> tuple[Array | None, Array]:
        """The sum Z (q, r) of all mappings, None unless lambda3 couples them, and the classifiers (d, C)."""
        if not self._streaming_pays(targets):
            spectra = self._spectra(targets)
            Z, P = solve_targets(self.reduced, spectra, self.lambdas, *self._limits)
            return (Z @ spectra.basis.T if self.lambda3 > 0 else None), self.U_ @ P
        A = targets.S @ self.Q_
        total, parts = stream_targets(self.reduced, self.similarity, A, targets.given, self.lambdas, targets.progress)
        classifiers = np.empty((len(self.U_), len(A)))
        start = 0
        for part in parts:
            stop = start + part.shape[1]
            np.matmul(self.U_, part, out=classifiers[:, start:stop])
            start = stop
        return total, classifiers

    def _streaming_pays(self, targets: Targets) -> bool:
        """Whether two passes over the targets cost less than keeping them all, or not all of them fit in memory."""
        cheaper = targets.n_models == 1 and len(targets.S) >= MANY_TARGETS
        return cheaper or spectra_mb(len(targets.S), self.Q_.shape[1]) > self.memory_mb

    def _table_pays(self, targets: Targets) -> bool:
        """Whether enough models share the targets for a table to cost less than their solutions, and it fits memory."""
        n_targets, rank = len(targets.S), self.Q_.shape[1]
        need = PathTable.expected_mb(len(self.l_), len(self.S_), n_targets, rank) + spectra_mb(n_targets, rank)
        return PathTable.pays(targets.n_models, len(self.l_), rank) and need <= self.memory_mb

    def _spectra(self, targets: Targets) -> TargetSpectra:
        """The targets' decompositions, which depend on no lambda and are shared along a grid."""
        need = spectra_mb(len(targets.S), self.Q_.shape[1])
        if need > self.memory_mb:
            raise DataError(
                f"solver='alternating' keeps the eigenvectors of {len(targets.S)} targets of rank {self.Q_.shape[1]}, "
                f"{need:.0f} MB, and memory_mb={self.memory_mb} allows less; raise memory_mb, or use solver='direct', "
                "which streams the targets"
            )
        # Right sides are kept for other models; where there is a table, it takes their place. One model has them block
        # by block, on all threads, when it needs them.
        keep_mb = 0.0 if targets.n_models == 1 or self._table_pays(targets) else self.memory_mb
        key = ("aezsl spectra", self.weighting, keep_mb)
        return targets.once(self.M_, key, lambda: self._decompose(targets, keep_mb))

    def _decompose(self, targets: Targets, keep_mb: float | None = None) -> TargetSpectra:
        weights = self.similarity(targets.given)
        budget = self.memory_mb if keep_mb is None else keep_mb
        return decompose_targets(self.reduced, weights, targets.S @ self.Q_, budget)

    @property
    def _limits(self) -> tuple[float, int, float]:
        return self.tol, self.max_iter, self.memory_mb

    @property
    def similarity(self) -> SimilarityWeights:
        """The weights of the seen classes."""
        return SimilarityWeights.for_seen(self.given_, self.weighting)

    @property
    def lambdas(self) -> Lambdas:
        """The weights of the regularisers."""
        return Lambdas(*(float(weight) for weight in (self.lambda1, self.lambda2, self.lambda3, self.gamma)))

    @property
    def reduced(self) -> ReducedSeen:
        """The training data on the bases U and Q."""
        return ReducedSeen(self.l_, self.M_, self.S_ @ self.Q_, self.counts_)


class AEZSLSim(AEZSL):
    r"""AEZSL with :math:`\lambda_3 = 0`: similarity weights only, no ties between the targets' mappings.

    .. math::
        \min_{W_c} \frac12 \|(X W_c S' - Y)\, \mathrm{diag}(s_c)\|_F^2
        + \frac{\lambda_1}{2} \|X W_c\|_F^2 + \frac{\lambda_2}{2} \|W_c\|_F^2

    for each target c by itself, in closed form: the scores of a class do not depend on the classes it is asked with.
    Symbols, shapes and parameters as in ``AEZSL``.
    """

    # A closed form has no solver to choose.
    fixed: ClassVar[Mapping[str, Any]] = {
        "lambda3": 0.0,
        "solver": "direct",
        "tol": AEZSL.tol,
        "max_iter": AEZSL.max_iter,
    }
    # As AEZSL's, but for what is fixed.
    grid: ClassVar[Mapping[str, list[float]]] = {name: AEZSL.grid[name] for name in ("lambda1", "lambda2")}
