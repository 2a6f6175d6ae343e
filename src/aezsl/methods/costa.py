"""COSTA: an unseen class's classifier is the mean of its related classes' classifiers."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from aezsl.arrays import Array
from aezsl.kinds import Count, Positive
from aezsl.methods.base import LinearZeroShotClassifier
from aezsl.methods.seen import SeenData
from aezsl.methods.shared.linear_models import LinearModels


class COSTA(LinearZeroShotClassifier):
    r"""Co-occurrence statistics: an unseen class's classifier is the mean of its related classes' classifiers.

    .. math:: w_u = \sum_{k=1}^{C_s} s_{uk} w_k, \qquad
              \min_{w_k} \tfrac12 \|w_k\|^2 + C \sum_i \max(0, 1 - y_{ik} w_k'x_i)^2

    The classifiers :math:`w_k` of the seen classes are linear SVMs, one against the rest
    (:math:`y_{ik} = \pm 1`), and the weights :math:`s_{uk}` follow how often u and k occur together,
    :math:`c_{uk}`:

    * ``dice``: :math:`2 c_{uk} / (c_{uu} + c_{kk})`,
    * ``normalised``: :math:`c_{uk} / c_{kk}`,
    * ``sqrt``: the root of the latter, the correction for burstiness,
    * ``binary``: 1 for every related class.

    Checked against the paper's abstract only (a weighted combination of related classes' classifiers, weights from
    co-occurrences by various metrics, or regressed); the metrics are from knowledge of the paper. Public code of a
    later paper that compares with it (image-free zero-shot learning, ICCV 2023) also takes inner products of attributes
    for co-occurrences and divides by their sum, over all seen classes and with intercepts.

    What differs from the original: it counts co-occurrences of labels in multi-label images, or web hits.
    Here classes are known by their semantics, so they occur together in attributes:
    :math:`c_{uk} = \max(0, a_u'a_k)`, the expected number of attributes shared where semantics are the
    probabilities of attributes. The original ranks images for one label at a time, where the scale of
    :math:`w_u` is free; here labels compete for an image, so only the ``n_related`` strongest weights are kept
    and divided by their sum. Without that every unseen class is nearly the mean of all seen ones, and the one
    with the smallest sum wins. The original's regression of one more weight per seen class is left out.

    Parameters
    ----------
    C : float
        Inverse strength of the SVMs' regularisation; must be positive.
    n_related : int
        How many seen classes make up an unseen one, at least 1.
    metric : {"dice", "normalised", "sqrt", "binary"}
        How co-occurrence becomes a weight.

    """

    C: Positive = 0.1
    n_related: Count = 5
    metric: Literal["dice", "normalised", "sqrt", "binary"] = "dice"

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "C": [0.01, 0.1, 1.0],
        "n_related": [2, 3, 5, 10, 20],  # few: from all seen classes every unseen one would be nearly their mean
    }
    citation: ClassVar[str] = (
        "T. Mensink, E. Gavves and C. G. M. Snoek. COSTA: co-occurrence statistics for zero-shot classification. "
        "CVPR 2014."
    )

    W_: Array
    S_: Array

    def _fit(self, seen: SeenData) -> None:
        if self.n_related < 1:
            raise ValueError(f"n_related must be at least 1 seen class, got {self.n_related}")
        if self.metric not in ("dice", "normalised", "sqrt", "binary"):
            raise ValueError(f"metric must be dice, normalised, sqrt or binary, got {self.metric!r}")
        models = seen.once("linear models", lambda: LinearModels(seen, intercept=False))
        self.S_ = seen.S
        self.W_, _ = models.one_vs_rest_svm(seen.y, len(seen.S), self.C)

    def similarities(self, S_target: Array) -> Array:
        """Weights (C, Cs) of the seen classes' classifiers; every row sums to one."""
        c = np.maximum(S_target @ self.S_.T, 0)
        c_uu, c_kk = np.square(S_target).sum(axis=1)[:, None], np.square(self.S_).sum(axis=1)
        s = 2 * c / (c_uu + c_kk) if self.metric in ("dice", "binary") else c / c_kk
        if self.metric == "sqrt":
            s = np.sqrt(s)
        if self.n_related < s.shape[1]:
            unrelated = np.argpartition(-s, self.n_related - 1, axis=1)[:, self.n_related :]
            np.put_along_axis(s, unrelated, 0, axis=1)
        if self.metric == "binary":
            s = (s > 0).astype(np.float64)
        s[~s.any(axis=1)] = 1  # related to no class: all weigh the same
        weights: Array = s / s.sum(axis=1, keepdims=True)
        return weights

    def _classifiers(self, S_target: Array) -> Array:
        return self.W_ @ self.similarities(S_target).T
