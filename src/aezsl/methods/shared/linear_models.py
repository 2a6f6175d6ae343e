"""Linear classifiers of many classes or attributes on the same samples."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from aezsl.arrays import Array, Labels
from aezsl.methods.core.seen import SeenData

#: Decision values F (n, m) -> the summed loss and its derivative by F.
Loss = Callable[[Array], tuple[float, Array]]


def softmax_models(X: Array, y: Labels) -> Callable[[float], tuple[Array, Array]]:
    """Multinomial logistic regression by its C: W (d, n_classes) and b, for ``softmax(X @ W + b)``, each solved once.

    On centred samples, where scikit-learn's solver needs fewer steps, and in single precision, twice as fast.
    """
    from sklearn.linear_model import LogisticRegression

    mean = X.mean(axis=0, dtype=np.float64)
    centred = (X - mean).astype(np.float32)

    @cache
    def solve(C: float) -> tuple[Array, Array]:
        model = LogisticRegression(C=C, tol=1e-6, max_iter=1000).fit(centred, y)
        W, b = model.coef_.T.astype(np.float64), model.intercept_.astype(np.float64)
        if len(b) == 1:  # of two classes scikit-learn keeps the difference alone
            W, b = np.hstack([-W, W]) / 2, np.hstack([-b, b]) / 2
        return W, b - mean @ W

    return solve


class LinearModels:
    r"""L2-regularised linear classifiers, independent of each other, all columns of W and b as one matrix problem.

    .. math:: \min_{W, b} \tfrac12 \|W\|_F^2 + C \sum_i \ell(x_i' W + b)

    One decomposition of the (centred) samples serves every loss and every C: on the eigenvectors U of their
    scatter :math:`U \mathrm{diag}(l) U'` the Hessian is close to diagonal, :math:`1 + C \kappa l` for a loss of
    curvature :math:`\kappa`, so L-BFGS runs on :math:`Z = \mathrm{diag}(1 + C \kappa l)^{1/2} U' W` and needs
    tens of steps where it would need thousands on W. Solutions are kept by C, so that a grid over what comes
    after the classifiers does not solve for them again. scikit-learn would solve for one column after the other.
    L-BFGS stops where the gradient is ``tol`` times its size at zero; products are in single precision, twice as fast
    and exact enough for that.
    """

    def __init__(
        self,
        seen: SeenData,
        intercept: bool = True,
        tol: float = 1e-4,
        max_iter: int = 500,
        dtype: type[np.floating[Any]] = np.float32,
    ) -> None:
        self.intercept = intercept
        self.tol = tol
        self.max_iter = max_iter
        self.dtype = dtype
        if intercept:
            self.mean, self.U, self.l = seen.centred_spectrum()
        else:
            self.mean, (self.U, self.l) = np.zeros(seen.n_features), seen.spectrum()
        self.XU = (seen.X - self.mean) @ self.U
        self._solved: dict[tuple[str, float], tuple[Array, Array]] = {}

    def logistic(self, T: NDArray[np.bool_], C: float) -> tuple[Array, Array]:
        """One logistic regression per column of T (n, m): W (d, m) and b, for ``expit(X @ W + b)``."""

        def loss(F: Array) -> tuple[float, Array]:
            value = np.logaddexp(0, F).sum(dtype=np.float64) - F.sum(where=T, dtype=np.float64)
            return float(value), expit(F) - T

        return self._solve("logistic", loss, T.shape[1], C, 1 / 4)

    def one_vs_rest_svm(self, y: Labels, n_classes: int, C: float) -> tuple[Array, Array]:
        """One linear SVM per class against the rest, squared hinge loss: W (d, n_classes) and b."""
        sign = np.full((len(y), n_classes), -1, dtype=np.float32)
        sign[np.arange(len(y)), y] = 1

        def loss(F: Array) -> tuple[float, Array]:
            violation = np.maximum(0, 1 - sign * F)
            return float(np.square(violation).sum(dtype=np.float64)), -2 * sign * violation

        return self._solve("svm", loss, n_classes, C, 2.0)

    def _solve(self, name: str, loss: Loss, m: int, C: float, curvature: float) -> tuple[Array, Array]:
        if (name, C) in self._solved:
            return self._solved[name, C]
        n, r = self.XU.shape
        scale = 1 / np.sqrt(1 + C * curvature * self.l)[:, None]
        bias_scale = 1 / np.sqrt(C * curvature * n)
        A = (self.XU * scale.T).astype(self.dtype)

        def objective(z: Array) -> tuple[float, Array]:
            Z, b = z[: r * m].reshape(r, m), z[r * m :] * bias_scale
            value, G = loss(A @ Z.astype(self.dtype) + b.astype(self.dtype))
            regulariser = Z * scale**2
            gradient = np.empty_like(z)
            gradient[: r * m] = (regulariser + C * (A.T @ G)).ravel()
            gradient[r * m :] = C * bias_scale * G.sum(axis=0)
            if not self.intercept:
                gradient[r * m :] = 0
            return 0.5 * np.vdot(Z, regulariser) + C * value, gradient

        start = np.zeros((r + 1) * m)
        tol = self.tol * np.abs(objective(start)[1]).max()
        result = minimize(
            objective,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": self.max_iter, "maxfun": 2 * self.max_iter, "gtol": tol, "ftol": 0, "maxcor": 20},
        )
        W = self.U @ (result.x[: r * m].reshape(r, m) * scale)
        b = result.x[r * m :] * bias_scale - self.mean @ W
        self._solved[name, C] = solution = W, b
        return solution
