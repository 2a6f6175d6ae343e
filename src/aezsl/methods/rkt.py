"""RKT: virtual images of unseen classes from sparse relations among class semantics."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import solve
from scipy.spatial.distance import cdist

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.kinds import Positive
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs
from aezsl.methods.core.seen import SeenData, Targets


class RKT(LinearZeroShotClassifier):
    r"""Relational knowledge transfer: virtual images of unseen classes from sparse relations among semantics.

    The relations of an unseen class to the seen ones are its sparse code over their semantics,

    .. math:: \alpha_u = \arg\min_\alpha \tfrac12 \|s_u - S'\alpha\|^2 + \mathrm{sparsity}\, \|\alpha\|_1

    They are transferred back to the feature space, where they make virtual images of the class from those of the seen
    classes, which are Gaussian around their means, :math:`x = \sum_c \alpha_{uc} (\mu_c + \sigma \epsilon_c)`. The
    visual-semantic mapping is then that of ESZSL, with labels of 1 and -1,

    .. math:: M = (X_1'X_1 + \gamma I)^{-1} X_2'Y_2 S_2 (S_2'S_2 + \lambda I)^{-1}

    where the virtual images can serve in three ways: as the only data (``virtual``: X_1 and X_2 are the virtual images,
    S_2 the target classes), beside the seen data (``both``: X_1 and X_2 are all images, S_2 all classes), or only to
    adapt the mapping to where the unseen classes lie (``seen``: X_1 are all images, X_2 and S_2 those of the seen
    classes). An image gets the class whose semantics have the highest cosine with :math:`M'x`. X is (n, d),
    S is (C, a), M is (d, a).

    Checked against the authors' code: the sparse code, the virtual images, the mapping in all three ways (the code
    runs ``seen``; the paper's abstract announces the other two) and the cosine are as there.

    What differs: the code draws images, here their expectation is taken exactly, the limit of many draws. As the noise
    has no direction, all it does then is to add to gamma (:math:`\sigma^2 N |\alpha_u|^2` for N images of a class), so
    there is no parameter for it. A class gets as many virtual images as a seen class has on average (the code: 50 to
    1500, by data set). Semantics are used as given (the code maps their range to 0 .. 1), and a target class that is a
    seen one gets no virtual images beside its own. Scores of a class depend on which others are asked for, as they do
    in the original.

    Parameters
    ----------
    sparsity : float
        Weight of the l1 norm, for semantics of unit norm; must be positive.
    gamma : float
        Weight of the classifiers' norm; must be positive.
    lam : float
        Weight of the mapped features' norm; must be positive.
    learn_from : {"virtual", "both", "seen"}
        What the virtual images serve for.

    """

    sparsity: Positive = 1e-2
    gamma: Positive = 10.0
    lam: Positive = 1e-3
    learn_from: Literal["virtual", "both", "seen"] = "both"

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "learn_from": ["virtual", "both", "seen"],  # the paper's three ways
        "sparsity": [1e-3, 3e-3, 1e-2, 1e-1],  # for semantics of unit norm
        "gamma": [1.0, 10.0, 100.0],
        "lam": [1e-3, 1e-2, 1e-1],
    }
    citation: ClassVar[str] = (
        "D. Wang, Y. Li, Y. Lin and Y. Zhuang. Relational knowledge transfer for zero-shot learning. AAAI 2016."
    )

    needs: ClassVar[Needs] = "statistics"

    S_: Array
    counts_: Labels
    sums_: Array
    second_: Array

    def _fit(self, seen: SeenData) -> None:
        statistics = seen.statistics
        self.S_, self.counts_ = seen.once("rkt", lambda: seen.S.astype(np.float64)), statistics.counts
        self.sums_, self.second_ = statistics.sums, statistics.second_moment

    def relations(self, S_target: Array) -> Array:
        """Sparse codes (Ct, C) of the target classes over the seen ones."""
        from sklearn.decomposition import sparse_encode

        codes: Array = sparse_encode(
            S_target, self.S_, algorithm="lasso_lars", alpha=self.sparsity, max_iter=5000, check_input=False
        )
        return codes

    def _adapt(self, targets: Targets) -> LinearClassifier:
        S_target = targets.S.astype(np.float64)
        # A grid over the mapping finds relations once.
        codes = targets.once(self.S_, ("rkt", self.sparsity), lambda: self.relations(S_target))
        return LinearClassifier(self, targets.S, self._mapped(S_target, codes))

    def _mapped(self, S_target: Array, codes: Array) -> Array:
        """The classifiers (d, C), from the relations ``codes`` (C, Cs) of the targets to the seen classes."""
        new = np.full(len(S_target), True)
        if self.learn_from != "virtual":
            new = cdist(S_target, self.S_).min(axis=1) > 0
        # Sums over the virtual images of every class, and the second moment of all of them.
        n_each = self.counts_.mean()
        sums = n_each * codes[new] @ (self.sums_ / self.counts_[:, None])
        second = sums.T @ sums / n_each
        S = S_target[new]
        if self.learn_from != "virtual":
            second += self.second_
        if self.learn_from == "both":
            sums, S = np.vstack([self.sums_, sums]), np.vstack([self.S_, S])
        if self.learn_from == "seen":
            sums, S = self.sums_, self.S_
        cross = 2 * sums.T @ S - np.outer(sums.sum(axis=0), S.sum(axis=0))  # X'YS with labels of 1 and -1
        right = solve(S.T @ S + self.lam * np.eye(S.shape[1]), unit_rows(S_target).T, assume_a="pos")
        second[np.diag_indices_from(second)] += self.gamma
        P: Array = solve(second, cross @ right, assume_a="pos")
        return P
