"""Bilinear methods that descend a ranking loss, sample by sample."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.errors import DataError
from aezsl.methods.core.contract import LinearZeroShotClassifier
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.linalg import row_space_eigh

#: How a sample's margin violations v_c enter its loss; see ``ranking_loss``.
Violator = Literal["max", "random", "all", "first"]


def compatibilities(W: Array, X: Array, S: Array) -> tuple[Array, Labels]:
    """F (n, C) with ``F_nc = max_k x_n' W_k s_c`` for W (K, d, a), and the k that attains it (n, C)."""
    if len(W) == 1:
        return X @ W[0] @ S.T, np.zeros((len(X), len(S)), dtype=np.intp)
    F = np.stack([X @ W_k @ S.T for W_k in W])
    best = F.argmax(axis=0)
    return np.take_along_axis(F, best[None], 0)[0], best


def ranking_loss(
    W: Array,
    X: Array,
    y: Labels,
    S: Array,
    margin: float,
    violator: Violator,
    rng: np.random.Generator,
    importance: Array | None = None,
) -> tuple[float, Array]:
    r"""Mean ranking loss of a batch and its (sub)gradient by W (K, d, a).

    With the violations :math:`v_c = \max(0, \mathrm{margin} + F(x, s_c) - F(x, s_y))` of the classes c other than
    y, a sample's loss is the largest of them (``max``), their sum (``all``), that of one class drawn uniformly
    (``random``), or that of the first violating class in a random order (``first``).

    importance : factors (n,) of the samples' losses; all ones unless given.
    """
    rows = np.arange(len(X))
    F, best = compatibilities(W, X, S)
    violations = np.maximum(margin + F - F[rows, y, None], 0)
    violations[rows, y] = 0
    weights = (violations > 0).astype(F.dtype)  # how often each class is pushed down
    if violator != "all":
        if violator == "max":
            chosen = violations.argmax(axis=1)
        elif violator == "random":
            chosen = rng.integers(len(S) - 1, size=len(X))
            chosen += chosen >= y
        else:
            chosen = (weights * rng.random(F.shape, dtype=np.float32)).argmax(axis=1)
        only = np.zeros_like(weights)
        only[rows, chosen] = weights[rows, chosen]
        weights = only
    if importance is not None:
        weights *= importance[:, None]
    loss = float((weights * violations).sum() / len(X))
    weights[rows, y] = -weights.sum(axis=1)  # and the true class up, as often
    weights /= len(X)
    gradient = np.stack([X.T @ (np.where(best == k, weights, 0) @ S) for k in range(len(W))])
    return loss, gradient


@dataclass(frozen=True)
class RankingDescent:
    """Constant-rate gradient steps over shuffled mini-batches of training samples.

    Steps stay in the row space of S, so they are taken on coordinates in an orthonormal basis of it: the same
    iterates, without the width of S. Single precision: the noise of the descent is far above its rounding.
    """

    X: Array  # (n, d)
    y: Labels  # (n,)
    S: Array  # (C, r) class vectors on the basis
    violator: Violator
    margin: float
    learning_rate: float
    batch_size: int

    @classmethod
    def on_basis(cls, X: Array, y: Labels, S: Array, basis: Array, **settings: Any) -> "RankingDescent":
        """The descent for class vectors S (C, a) whose rows lie in the span of the basis (a, r)."""
        return cls(np.asarray(X, dtype=np.float32), y, (S @ basis).astype(np.float32), **settings)

    def start(self, basis: Array, rng: np.random.Generator, n_maps: int = 1) -> Array:
        """The usual N(0, 1/d) as W (n_maps, d, r); outside of the basis W is zero, as nothing is ever learnt there.

        Drawn on the semantic dimensions themselves: a basis is only known up to signs, which differ between machines.
        """
        drawn = rng.standard_normal((n_maps, self.X.shape[1], len(basis))) @ basis
        W: Array = (drawn / np.sqrt(self.X.shape[1])).astype(np.float32)
        return W

    def descend(self, W: Array, n_epochs: int, rng: np.random.Generator, class_weights: Array | None = None) -> None:
        """Change W (n_maps, d, r) by ``n_epochs`` passes; the samples of a class count by its weight (C,)."""
        importance = None if class_weights is None else class_weights.astype(np.float32)[self.y]
        n_batches = max(1, round(len(self.X) / self.batch_size))
        for _ in range(n_epochs):
            for batch in np.array_split(rng.permutation(len(self.X)), n_batches):
                counts = None if importance is None else importance[batch]
                sample = self.X[batch], self.y[batch], self.S, self.margin, self.violator, rng, counts
                W -= self.learning_rate * ranking_loss(W, *sample)[1]
        if not np.isfinite(W).all():
            raise DataError(f"the descent diverged at learning_rate={self.learning_rate}; take a smaller one")


def minimise_ranking_loss(
    X: Array,
    y: Labels,
    S: Array,
    *,
    violator: Violator,
    margin: float,
    learning_rate: float,
    n_epochs: int,
    batch_size: int,
    random_state: int,
    n_maps: int = 1,
) -> Array:
    """W (n_maps, d, a) after ``n_epochs`` passes of a ``RankingDescent``."""
    basis, _ = row_space_eigh(S)
    settings = {"violator": violator, "margin": margin, "learning_rate": learning_rate, "batch_size": batch_size}
    descent = RankingDescent.on_basis(X, y, S, basis, **settings)
    rng = np.random.default_rng(random_state)
    W = descent.start(basis, rng, n_maps)
    descent.descend(W, n_epochs, rng)
    return W.astype(np.float64) @ basis.T


class RankingMethod(LinearZeroShotClassifier):
    """One mapping between samples and class vectors. A subclass declares the parameters and says what the loss is."""

    learning_rate: float
    n_epochs: int
    batch_size: int
    random_state: int

    def loss_settings(self) -> dict[str, Any]:
        """Which wrong classes count, and by how much the true one must lead."""
        raise TypeError(f"{type(self).__name__} must define loss_settings")

    def class_vectors(self, S: Array) -> Array:
        """What stands for classes with semantics S (C, a) in the loss."""
        return S

    def descent_settings(self) -> dict[str, Any]:
        """The loss and the steps of its descent."""
        return {**self.loss_settings(), "learning_rate": self.learning_rate, "batch_size": self.batch_size}

    def _descend(self, seen: SeenData) -> Array:
        """The mapping (d, a) after all passes."""
        W: Array = minimise_ranking_loss(
            seen.X,
            seen.y,
            self.class_vectors(seen.S),
            n_epochs=self.n_epochs,
            random_state=self.random_state,
            **self.descent_settings(),
        )[0]
        return W
