"""The multi-class hinge loss with class vectors, smoothed: one problem behind max_margin and lrl."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from aezsl.arrays import Array, Labels

#: Temperature of the smoothed maximum, in units of the margin.
TAU = 0.05


class Labelling(NamedTuple):
    """Labels of samples, known ones first: classes y (n,), then rows Y (m, L) of the others, each of sum one."""

    y: Labels
    Y: Array

    def own(self, scores: Array) -> Array:
        """What every sample scores for its own label (n + m,)."""
        n = len(self.y)
        return np.concatenate([scores[np.arange(n), self.y], (scores[n:] * self.Y).sum(axis=1)])

    def subtract_from(self, scores: Array) -> None:
        """Take the one-hot or mixed labels from an array (n + m, L), in place."""
        n = len(self.y)
        scores[np.arange(n), self.y] -= 1
        scores[n:] -= self.Y


def smooth_hinge(scores: Array, labels: Labelling, tau: float = TAU) -> tuple[float, Array]:
    r"""The loss of scores (t, L), summed over samples, and M (t, L), the softmax that stands for the maximum.

    .. math:: \sum_i \tau \log \sum_k \exp((1 - Y_{ik} + s_{ik} - \langle Y_i, s_i \rangle) / \tau)

    For :math:`\tau \to 0` it is the hinge loss of Crammer and Singer, from which it is at most :math:`\tau \log L` per
    sample away. The derivative by scores is M - Y.
    """
    M = scores.copy()
    labels.subtract_from(M)
    top = M.max(axis=1, keepdims=True)
    M -= top
    M /= tau
    np.exp(M, out=M)
    sums = M.sum(axis=1, keepdims=True)
    M /= sums
    values = 1 + top[:, 0] + tau * np.log(sums[:, 0]) - labels.own(scores)
    return float(values.sum(dtype=np.float64)), M


def mapped_scores(F: Array, W: Array, U: Array) -> Array:
    """``F W' U'`` (t, L) in the precision of F."""
    scores: Array = (F @ W.astype(F.dtype).T) @ U.astype(F.dtype).T
    return scores


class Machine(NamedTuple):
    """A mapping W (h, r) with its objective; scores (t, L) of all samples and their M."""

    W: Array
    value: float
    scores: Array
    M: Array


def train(
    F: Array, U: Array, labels: Labelling, beta: float, start: Array, tau: float = TAU, tol: float = 1e-5
) -> Machine:
    r"""The W of :math:`\min_W \frac\beta2 \|W\|_F^2 + \sum_i \mathrm{hinge}(U W f_i)` for F (t, r) and U (L, h).

    By L-BFGS, until a step lowers the objective by less than ``tol`` of it. Products have the precision of F.
    """
    U = U.astype(F.dtype)

    def value(W: Array) -> tuple[float, Array]:
        loss, M = smooth_hinge(mapped_scores(F, W, U), labels, tau)
        labels.subtract_from(M)
        return loss + beta / 2 * float(np.vdot(W, W)), (M @ U).T @ F + beta * W

    W = descend(value, start, tol)
    scores = mapped_scores(F, W, U)
    loss, M = smooth_hinge(scores, labels, tau)
    return Machine(W, loss + beta / 2 * float(np.vdot(W, W)), scores, M)


def descend(objective: Callable[[Array], tuple[float, Array]], start: Array, tol: float = 1e-5) -> Array:
    """The minimum of a smooth function of a matrix from ``start``, by L-BFGS."""

    def flat(x: Array) -> tuple[float, Array]:
        value, gradient = objective(x.reshape(start.shape))
        return value, gradient.ravel().astype(np.float64)

    result = minimize(
        flat,
        start.ravel().astype(np.float64),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "maxfun": 1000, "ftol": tol, "gtol": 0},
    )
    found: Array = result.x.reshape(start.shape)
    return found


def size_bounds(m: int, labelled: Labels, lower: float, upper: float) -> tuple[Labels, Labels]:
    """Bounds on how many of m samples each class may take, so that classes end at a part of their mean size.

    labelled : samples (C,) that each class has already. With these, a class must have ``lower`` to ``upper`` times the
    mean size of all classes. Where m samples cannot fill all classes up to that, the lower bounds shrink in proportion.
    """
    mean = (labelled.sum() + m) / len(labelled)
    low = np.maximum(np.ceil(lower * mean).astype(np.int64) - labelled, 0)
    high = np.maximum(np.ceil(upper * mean).astype(np.int64) - labelled, 0)
    if low.sum() > m:
        low = low * m // low.sum()
    return low, np.maximum(high, low)
