"""EXEM: where a class's images will lie, predicted from its semantics; then the nearest exemplar."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt, Le
from scipy.spatial.distance import cdist

from aezsl.arrays import Array
from aezsl.data.statistics import class_squares
from aezsl.errors import DataError
from aezsl.kinds import Count, Positive
from aezsl.machine.workers import run_side_by_side
from aezsl.methods.core.contract import Needs, ZeroShotClassifier
from aezsl.methods.core.seen import SeenData


class EXEM(ZeroShotClassifier):
    r"""Visual exemplars: where a class's images will lie, predicted from its semantics; the nearest one wins.

    .. math:: v_c = \frac{1}{|I_c|} \sum_{i \in I_c} M x_i, \qquad
              \psi(s_c) \approx v_c, \qquad
              \hat y(x) = \arg\min_c \mathrm{dis}(M x, \psi(s_c))

    M (``n_components`` x d) is the PCA of the seen images, and :math:`\psi = (\psi_1, \dots)` are independent
    support vector regressions, one per principal component, with the kernel
    :math:`\exp(-\gamma \|s - s'\|^2)` on semantics; each is trained on as many points as there are seen
    classes. The distance is Euclidean ("1NN") or, with ``standardise``, divided in each component by the
    standard deviation within classes, averaged over the seen classes ("1NNs").

    Checked against the authors' code: the nu-variant of the regression, PCA that centres the features, exemplars and
    both distances are as there. Semantics should come at unit length, for which the grid of gamma is meant.

    What differs: C is in units of the features, so it is given relative to the exemplars' root mean square, which
    leaves a grid valid for features of any scale. The solver stops at ``tol`` 0.01 (libsvm's default: 0.001), which
    moves an exemplar by a few thousandths of its spread and takes a part of the time.

    It learns from statistics and a second pass over the samples, block by block: the components, along which the
    standard deviation of every single class is wanted, are known only once all samples have been summed.

    Parameters
    ----------
    C : float
        Bound of the regressions' dual coefficients, relative to the exemplars' scale; must be positive.
    nu : float
        Lower bound of the share of support vectors, in (0, 1].
    gamma : float
        Inverse width of the kernel; must be positive.
    n_components : int
        Number of principal components, at least 1; at most the rank of the features is used.
    standardise : bool
        Divide distances by the standard deviation within classes.
    tol : float
        Tolerance of the regressions' solver.

    """

    C: Positive = 10.0
    nu: Annotated[float, Gt(0), Le(1)] = 0.5
    gamma: Positive = 1.0
    n_components: Count = 500
    standardise: bool = True
    tol: Positive = 1e-2

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "standardise": [False, True],  # the original's 1NN and 1NNs
        "C": [10.0, 100.0],  # relative to the exemplars' scale, so valid for any features
        "nu": [0.25, 1.0],
        "gamma": [0.25, 1.0, 4.0],  # for semantics of unit length
    }
    own_threads: ClassVar[bool] = True
    needs: ClassVar[Needs] = "blocks"
    citation: ClassVar[str] = (
        "S. Changpinyo, W.-L. Chao and F. Sha. Predicting visual exemplars of unseen classes for zero-shot "
        "learning. ICCV 2017."
    )

    S_: Array
    mean_: Array
    components_: Array
    deviation_: Array
    dual_: Array
    intercept_: Array
    gamma_: float

    def _fit(self, seen: SeenData) -> None:
        mean, U, _ = seen.centred_spectrum()
        q = min(self.n_components, U.shape[1])
        if not q:
            raise DataError("X must vary: all training samples are the same, so there is nothing to tell classes by")
        V, deviation = seen.once("exem", lambda: _exemplars(seen))
        self.S_, self.gamma_ = seen.S, float(self.gamma)
        self.mean_, self.components_ = mean, U[:, :q]
        # A class of one image has no spread; a component without any gets the smallest spread there is.
        spread = deviation[:q]
        self.deviation_ = np.where(spread > 0, spread, spread[spread > 0].min(initial=1.0))
        if not self.standardise:
            self.deviation_ = np.ones(q)
        # The regressions are the same for both distances.
        key = ("exem", self.C, self.nu, self.gamma, q, self.tol)
        self.dual_, self.intercept_ = seen.once(key, lambda: self._regress(V[:, :q]))

    def _regress(self, V: Array) -> tuple[Array, Array]:
        """Dual coefficients (Cs, q) and intercepts (q,) of one regression per column of the exemplars V (Cs, q)."""
        from sklearn.svm import NuSVR

        K = self._kernel(self.S_)
        scale = np.sqrt(np.mean(V**2)) or 1.0
        dual, intercept = np.zeros(V.shape), np.empty(V.shape[1])

        def regress(j: int) -> None:
            svr = NuSVR(kernel="precomputed", C=self.C, nu=self.nu, tol=self.tol)
            svr.random_state = 0  # or it draws a seed, which it has no use for, from numpy's global generator
            svr.fit(K, V[:, j] / scale)
            dual[svr.support_, j], intercept[j] = svr.dual_coef_[0], svr.intercept_[0]

        run_side_by_side(regress, range(V.shape[1]))
        return dual * scale, intercept * scale

    def _kernel(self, S: Array) -> Array:
        return np.exp(-self.gamma_ * cdist(S, self.S_, "sqeuclidean"))

    def exemplars(self, S: Array) -> Array:
        """Predicted exemplars of classes with semantics S (C, a), among the principal components (C, q)."""
        return self._kernel(S) @ self.dual_ + self.intercept_

    def _target_parts(self, S_target: Array) -> dict[str, Array]:
        return {"exemplars": self.exemplars(S_target) / self.deviation_}

    def _scores(self, X: Array, exemplars: Array) -> Array:  # type: ignore[override]
        Z = (X - self.mean_) @ self.components_
        return -cdist(Z / self.deviation_, exemplars)


def _exemplars(seen: SeenData) -> tuple[Array, Array]:
    """Class means (Cs, r) on the principal components, and the standard deviation (r,) within classes."""
    mean, U, _ = seen.centred_spectrum()
    assert seen.rows is not None  # fit has asked for them
    rows, y = seen.rows
    V = (seen.class_means() - mean) @ U
    variance = class_squares(rows, y, mean, U, V) / np.maximum(np.bincount(y) - 1, 1)[:, None]
    return V, np.sqrt(variance).mean(axis=0)
