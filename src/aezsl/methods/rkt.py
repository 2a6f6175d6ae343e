"""RKT: virtual images of unseen classes from sparse relations among class semantics."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import solve
from sklearn.decomposition import sparse_encode

from aezsl.methods._base import Array, Labels, LinearZeroShotClassifier
from aezsl.methods._linalg import class_sums


class RKT(LinearZeroShotClassifier):
    r"""Relational knowledge transfer.

    The relations of a target class to the seen ones are its sparse code over their semantics,

    .. math:: \alpha_u = \arg\min_\alpha \tfrac12 \|s_u - S'\alpha\|^2 + \mathrm{sparsity}\, \|\alpha\|_1

    They are transferred back to the feature space, where they make virtual data of the class,
    :math:`x \sim N(\sum_c \alpha_{uc} \mu_c, \Sigma)`, with the means of the seen classes and their common covariance
    within classes. The semantic mapping is then learnt from the virtual data,

    .. math:: \min_M \sum_{u} \mathbb{E}_x \|M'x - s_u\|^2 + \mathrm{gamma}\, \|M\|_F^2

    alone or together with the seen data, and an image gets the class whose semantics have the highest cosine with
    :math:`M'x`. X is (n, d), S is (C, a), M is (d, a).

    What differs: the covariance is common to all classes. The original generates samples; here the expectation over
    the Gaussians is taken exactly, which is the limit of many samples, needs no seed, and makes M a closed form. All
    target classes enter the mapping together, so scores of a class depend on which others are asked for, as they do
    in the original.

    Parameters
    ----------
    sparsity : float
        Weight of the l1 norm, for semantics of unit norm.
    gamma : float
        Ridge penalty, in units of the mean variance of the data that the mapping is learnt from.
    with_seen : bool
        Learn the mapping from seen and virtual data, as in the original's first variant, or from virtual data only.

    """

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "sparsity": [1e-3, 1e-2, 1e-1, 3e-1],
        "gamma": [1e-2, 1e-1, 1.0],
        "with_seen": [False, True],
    }
    citation: ClassVar[str] = (
        "D. Wang, Y. Li, Y. Lin and Y. Zhuang. Relational knowledge transfer for zero-shot learning. AAAI 2016."
    )

    S_: Array
    counts_: Labels
    means_: Array
    covariance_: Array

    def __init__(self, sparsity: float = 1e-2, gamma: float = 1.0, with_seen: bool = False) -> None:
        self.sparsity = sparsity
        self.gamma = gamma
        self.with_seen = with_seen

    def _prepare(self, X: Array, y: Labels, S: Array) -> tuple[Any, ...]:
        counts = np.bincount(y, minlength=len(S))
        means = class_sums(X, y, len(S)) / counts[:, None]
        X = X - means[y]
        return S.astype(np.float64), counts, means, X.T @ X / len(X)

    def _fit(self, S: Array, counts: Labels, means: Array, covariance: Array) -> None:
        if not (self.sparsity > 0 and self.gamma > 0):
            raise ValueError(f"sparsity and gamma must be positive, got {self.sparsity} and {self.gamma}")
        self.S_, self.counts_, self.means_, self.covariance_ = S, counts, means, covariance

    def relations(self, S_target: Array) -> Array:
        """Sparse codes (Ct, C) of the target classes over the seen ones."""
        codes: Array = sparse_encode(
            S_target, self.S_, algorithm="lasso_lars", alpha=self.sparsity, max_iter=5000, check_input=False
        )
        return codes

    def _classifiers(self, S_target: Array) -> Array:
        S_target = S_target.astype(np.float64)
        means = self.relations(S_target) @ self.means_
        weights = np.full(len(means), self.counts_.mean())  # as many virtual images as a seen class has
        S = S_target
        if self.with_seen:
            means, S = np.vstack([means, self.means_]), np.vstack([S, self.S_])
            weights = np.append(weights, self.counts_)
        # E[x x'] and E[x s'] of all data; those of the seen data are what the real samples give, exactly.
        second = (means.T * weights) @ means / weights.sum() + self.covariance_
        cross = (means.T * weights) @ S / weights.sum()
        second[np.diag_indices_from(second)] += self.gamma * np.trace(second) / len(second)
        unit = S_target / np.linalg.norm(S_target, axis=1, keepdims=True)
        P: Array = solve(second, cross @ unit.T, assume_a="pos")
        return P
