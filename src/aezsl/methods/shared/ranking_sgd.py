"""Ranking losses of bilinear compatibilities and their stochastic gradient descent (SJE, LatEm, DeViSE)."""

from typing import Any

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.methods.shared.linalg import row_space_eigh

#: How a sample's margin violations v_c enter its loss; see ``ranking_loss``.
VIOLATORS = ("max", "random", "all", "first")


def compatibilities(W: Array, X: Array, S: Array) -> tuple[Array, Labels]:
    """F (n, C) with ``F_nc = max_k x_n' W_k s_c`` for W (K, d, a), and the k that attains it (n, C)."""
    if len(W) == 1:
        return X @ W[0] @ S.T, np.zeros((len(X), len(S)), dtype=np.intp)
    F = np.stack([X @ W_k @ S.T for W_k in W])
    best = F.argmax(axis=0)
    return np.take_along_axis(F, best[None], 0)[0], best


def ranking_loss(
    W: Array, X: Array, y: Labels, S: Array, margin: float, violator: str, rng: np.random.Generator
) -> tuple[float, Array]:
    r"""Mean ranking loss of a batch and its (sub)gradient by W (K, d, a).

    With the violations :math:`v_c = \max(0, \mathrm{margin} + F(x, s_c) - F(x, s_y))` of the classes c other than
    y, a sample's loss is the largest of them (``max``), their sum (``all``), that of one class drawn uniformly
    (``random``), or that of the first violating class in a random order (``first``).
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
    loss = float((weights * violations).sum() / len(X))
    weights[rows, y] = -weights.sum(axis=1)  # and the true class up, as often
    weights /= len(X)
    gradient = np.stack([X.T @ (np.where(best == k, weights, 0) @ S) for k in range(len(W))])
    return loss, gradient


def minimise_ranking_loss(
    X: Array,
    y: Labels,
    S: Array,
    *,
    violator: str,
    margin: float,
    learning_rate: float,
    n_epochs: int,
    batch_size: int,
    random_state: int,
    n_maps: int = 1,
) -> Array:
    """W (n_maps, d, a) after ``n_epochs`` passes of constant-rate gradient steps over shuffled mini-batches.

    Steps stay in the row space of S, so they are taken on coordinates in an orthonormal basis of it: the same
    iterates, without the width of S. The start is the usual N(0, 1/d) in those coordinates; outside of them W is
    zero, as nothing there is ever learnt. Single precision: the noise of the descent is far above its rounding.
    """
    _check_parameters(violator, margin, learning_rate, n_epochs, batch_size, n_maps)
    basis, _ = row_space_eigh(S)
    X, coordinates = np.asarray(X, dtype=np.float32), (S @ basis).astype(np.float32)
    rng = np.random.default_rng(random_state)
    # Drawn on the semantic dimensions themselves: a basis is only known up to signs, which differ between machines.
    start = rng.standard_normal((n_maps, X.shape[1], S.shape[1])) @ basis
    W: Array = (start / np.sqrt(X.shape[1])).astype(np.float32)
    n_batches = max(1, round(len(X) / batch_size))
    for _ in range(n_epochs):
        for batch in np.array_split(rng.permutation(len(X)), n_batches):
            W -= learning_rate * ranking_loss(W, X[batch], y[batch], coordinates, margin, violator, rng)[1]
    if not np.isfinite(W).all():
        raise ValueError(f"the descent diverged at learning_rate={learning_rate}; take a smaller one")
    return W.astype(np.float64) @ basis.T


def _check_parameters(violator: str, margin: float, learning_rate: float, *counts: Any) -> None:
    if violator not in VIOLATORS:
        raise ValueError(f"unknown violator {violator!r}; expected one of: {', '.join(VIOLATORS)}")
    if not (margin > 0 and learning_rate > 0):
        raise ValueError(f"margin and learning_rate must be positive, got {margin} and {learning_rate}")
    for name, count in zip(("n_epochs", "batch_size", "n_maps"), counts, strict=True):
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")
