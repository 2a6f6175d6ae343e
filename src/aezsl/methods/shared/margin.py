"""The smoothed multi-class hinge loss with class vectors, and how to descend it: behind max_margin and lrl."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from aezsl.arrays import Array, Labels

#: Temperature of the smoothed maximum, in units of the margin.
TAU = 0.05
#: Rows of samples whose scores are worked on at once.
BLOCK = 1024
#: The part of the samples that is taken to be between classes, where L-BFGS scales its steps.
UNDECIDED = 0.01
#: Exponents below it change no digit of a sum; as they are, products with what they become (denormal numbers) would
#: take ten times as long.
LEAST = -50.0


class Labelling(NamedTuple):
    """Labels of samples, known ones first: classes y (n,), then rows Y (m, L) of the others, each of sum one."""

    y: Labels
    Y: Array

    def part(self, start: int, stop: int) -> "Labelling":
        """The labels of some of the samples, which follow one another."""
        n = len(self.y)
        return Labelling(self.y[start:stop], self.Y[max(start - n, 0) : max(stop - n, 0)])

    def own(self, scores: Array) -> Array:
        """What every sample scores for its own label (n + m,)."""
        n = len(self.y)
        return np.concatenate([scores[np.arange(n), self.y], np.einsum("ik,ik->i", scores[n:], self.Y)])

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
    return _hinge_in_place(M, labels, tau), M


def _hinge_in_place(scores: Array, labels: Labelling, tau: float) -> float:
    """The loss; the scores become M."""
    own = labels.own(scores)
    labels.subtract_from(scores)
    top = scores.max(axis=1, keepdims=True)
    scores -= top
    scores *= 1 / tau
    np.maximum(scores, LEAST, out=scores)
    np.exp(scores, out=scores)
    sums = scores.sum(axis=1, keepdims=True)
    scores *= 1 / sums
    values = 1 + top[:, 0] + tau * np.log(sums[:, 0]) - own
    return float(values.sum(dtype=np.float64))


def linear_hinge(F: Array, P: Array, labels: Labelling, tau: float = TAU) -> tuple[float, Array]:
    """The loss of the scores ``F P`` for F (t, r) and P (r, L), and its derivative (r, L) by P.

    Block by block, so that scores stay in the processor's cache and never fill a matrix (t, L).
    """
    P = P.astype(F.dtype)
    loss, slope = 0.0, np.zeros(P.shape, dtype=F.dtype)
    for start in range(0, len(F), BLOCK):
        rows, known = F[start : start + BLOCK], labels.part(start, start + BLOCK)
        scores = rows @ P
        loss += _hinge_in_place(scores, known, tau)
        known.subtract_from(scores)
        slope += rows.T @ scores
    return loss, slope


def mapped_scores(F: Array, W: Array, U: Array) -> Array:
    """``F W' U'`` (t, L) in the precision of F."""
    scores: Array = F @ (W.T @ U.T).astype(F.dtype)
    return scores


class Machine(NamedTuple):
    """A mapping W (h, r) with its objective; scores and M (m, L) of the samples behind those of one known class."""

    W: Array
    value: float
    scores: Array
    M: Array


def train(
    F: Array, U: Array, labels: Labelling, beta: float, start: Array, tau: float = TAU, tol: float = 1e-5
) -> Machine:
    r"""The W of :math:`\min_W \frac\beta2 \|W\|_F^2 + \sum_i \mathrm{hinge}(U W f_i)` for F (t, r) and U (L, h).

    By L-BFGS, until a step lowers the objective by less than ``tol`` of it. Products have the precision of F. Where F'F
    and U'U are nearly diagonal, as on principal axes, so is the second derivative, and its diagonal scales the steps.
    """

    def value(W: Array) -> tuple[float, Array]:
        loss, slope = linear_hinge(F, W.T @ U.T, labels, tau)
        return loss + beta / 2 * float(np.vdot(W, W)), (slope @ U).T + beta * W

    curvature = beta + mean_curvature(np.square(F).sum(axis=0, dtype=np.float64), np.square(U).sum(axis=0), len(U), tau)
    W = descend(value, start, curvature, tol)
    rows = F[len(labels.y) :]
    scores = mapped_scores(rows, W, U)
    _, M = smooth_hinge(scores, Labelling(labels.y[:0], labels.Y), tau)
    return Machine(W, value(W)[0], scores, M)


def mean_curvature(features: Array, classes: Array, n_classes: int, tau: float) -> Array:
    r"""About how much the loss curves along each entry of W (h, r), from the squares of the axes of F (r,) and U (h,).

    Exactly, sample i adds :math:`f_i f_i' \otimes U'(\mathrm{diag}(M_i) - M_iM_i')U / \tau`; here M is spread evenly
    over the classes for the part ``UNDECIDED`` of the samples. The minimum is the same for any value.
    """
    curvature: Array = UNDECIDED / (tau * n_classes) * np.outer(classes, features)
    return curvature


def descend(
    objective: Callable[[Array], tuple[float, Array]], start: Array, curvature: Array | float = 1.0, tol: float = 1e-5
) -> Array:
    """The minimum of a smooth function of a matrix from ``start``, by L-BFGS.

    curvature : about the second derivative by every entry, the scale on which L-BFGS sees them.
    """
    unit = np.broadcast_to(1 / np.sqrt(curvature), start.shape)

    def flat(x: Array) -> tuple[float, Array]:
        value, gradient = objective(x.reshape(start.shape) * unit)
        return value, (gradient * unit).ravel()

    result = minimize(
        flat,
        (start / unit).ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 500, "maxfun": 1000, "ftol": tol, "gtol": 0},
    )
    found: Array = result.x.reshape(start.shape) * unit
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
