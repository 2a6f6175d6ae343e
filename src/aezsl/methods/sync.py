"""SynC: classifiers of unseen classes synthesised from those of phantom classes."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import pinv
from scipy.optimize import fmin_l_bfgs_b
from scipy.spatial.distance import cdist, pdist
from scipy.special import softmax

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.kinds import Count, Positive
from aezsl.methods.core.contract import LinearZeroShotClassifier
from aezsl.methods.core.seen import SeenData

Loss = Literal["ovo", "cs", "struct"]


class SynC(LinearZeroShotClassifier):
    r"""Synthesised classifiers: those of unseen classes are combined from classifiers of phantom classes.

    .. math::
        \min_V \ell(W) + \frac\lambda2 \|W\|_F^2, \quad w_c = \sum_r \sigma_{cr} v_r, \quad
        \sigma_{cr} = \frac{\exp(-\mathrm{scale}\, \|a_c - b_r\|^2)}{\sum_q \exp(-\mathrm{scale}\, \|a_c - b_q\|^2)}

    where the phantom classes have semantics b_r and classifiers v_r, and the loss is one of

    .. math::
        \ell_{\mathrm{ovo}} = \frac1{nC} \sum_{i,c} \left\{ 1 - I_{ic}\, x_i' w_c \right\}_+^2, \qquad
        \ell_{\mathrm{struct}} = \frac1n \sum_i \max_c \left\{ \Delta(c, y_i) + x_i'w_c - x_i'w_{y_i} \right\}_+

    with :math:`I_{ic} = \pm 1` and :math:`\Delta(c, y) = \|a_c - a_y\|`, or :math:`[c \ne y]` for ``cs``
    (Crammer and Singer). The phantoms are the seen classes, as in the original's main experiments; the weights of
    seen classes are then a square matrix, so the classifiers W (C, d) of the seen classes are learnt freely and
    :math:`V = \sigma^+ W`, which is how the authors compute it. An unseen class gets the same combination.
    As in the original, class semantics are L2-normalised and divided by their median distance.

    Checked against the authors' code of the later journal version: the three losses, the penalty, the seen classes as
    phantoms, L2 and median scaling, the weights of classes and the linear prediction are as there; its grids are wider.

    What differs: the median is taken over seen classes only, where the authors' includes the unseen ones. The
    original can also learn the b_r; that is not offered. L-BFGS works on features whitened by the bound
    :math:`2X'X/(nC) + \lambda I` of the Hessian: the same minimiser in far fewer iterations.

    Parameters
    ----------
    lam : float
        Weight of the classifiers' norm.
    scale : float
        Inverse width of the Gaussian that relates classes.
    loss : str
        ``ovo`` (one versus other), ``cs`` or ``struct``.
    max_iter : int
        Most L-BFGS iterations.

    """

    lam: Positive = 2.0**-17
    scale: Positive = 0.5
    loss: Loss = "ovo"
    max_iter: Count = 200

    # Powers of two; the authors' grids are wider. W is trained once per lam, so that values of scale cost little.
    grid: ClassVar[Mapping[str, list[Any]]] = {
        "lam": [2.0**-20, 2.0**-17, 2.0**-14, 2.0**-11],
        "scale": [0.0625, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0],
    }
    citation: ClassVar[str] = (
        "S. Changpinyo, W.-L. Chao, B. Gong and F. Sha. Synthesized classifiers for zero-shot learning. CVPR 2016."
    )

    V_: Array
    phantoms_: Array
    unit_: float

    def _fit(self, seen: SeenData) -> None:
        A = unit_rows(seen.S)
        unit = float(np.median(pdist(A))) or 1.0
        U, l = seen.spectrum()
        Z = seen.once("sync", lambda: seen.X @ U)

        def classifiers() -> Array:
            return seen_classifiers(Z, l, seen.y, cdist(A, A) / unit, U, self.lam, self.loss, self.max_iter)

        self.phantoms_, self.unit_ = A, unit
        # The classifiers of the seen classes depend on neither scale nor phantoms: a grid trains them once.
        self.V_ = pinv(self._weights(A)) @ seen.once(("sync", self.lam, self.loss, self.max_iter), classifiers)

    def _weights(self, A: Array) -> Array:
        """How much each class of A (C, a) is made of each phantom (C, R); rows sum to one."""
        weights: Array = softmax(-self.scale * cdist(A, self.phantoms_, "sqeuclidean") / self.unit_**2, axis=1)
        return weights

    def _classifiers(self, S_target: Array) -> Array:
        return (self._weights(unit_rows(S_target)) @ self.V_).T


def seen_classifiers(
    Z: Array, l: Array, y: Labels, distances: Array, U: Array, lam: float, loss: Loss, max_iter: int
) -> Array:
    """W (C, d) that minimises the regularised loss, for features Z = XU on the eigenvectors U of X'X."""
    n, C = len(Z), len(distances)
    root = np.sqrt(2 * l / (n * C) + lam)  # of the Hessian's upper bound
    Z = Z / root
    rows = np.arange(n)
    signs = np.where(np.arange(C) == y[:, None], 1.0, -1.0)
    margins = (distances if loss == "struct" else 1.0 - np.eye(C))[y]

    def objective(flat: Array) -> tuple[float, Array]:
        G = flat.reshape(len(root), C)
        F = Z @ G
        if loss == "ovo":
            slack = np.maximum(1 - signs * F, 0)
            value, residual = (slack**2).sum() / (n * C), -2 * signs * slack / (n * C)
        else:
            slack = margins + F - F[rows, y, None]
            worst = slack.argmax(axis=1)
            value, residual = slack[rows, worst].sum() / n, np.zeros_like(F)
            residual[rows, worst] += 1 / n
            residual[rows, y] -= 1 / n
        ridge = lam * G / (root**2)[:, None]
        return float(value + 0.5 * (G * ridge).sum()), (Z.T @ residual + ridge).ravel()

    start = np.zeros(len(root) * C)
    solution, _, _ = fmin_l_bfgs_b(objective, start, maxiter=max_iter, factr=1e5, pgtol=1e-7)
    W: Array = (U @ (solution.reshape(len(root), C) / root[:, None])).T
    return W
