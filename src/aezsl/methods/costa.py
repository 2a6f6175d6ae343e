"""COSTA: an unseen class's classifier is a weighted sum of its related classes' classifiers."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.linalg import lstsq

from aezsl.arrays import Array
from aezsl.evaluation.ranking import top_k
from aezsl.kinds import Count, Positive
from aezsl.methods.core.classifiers import LinearClassifier, TargetClassifier
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.shared.linear_models import LinearModels


class COSTA(ZeroShotClassifier):
    r"""Co-occurrence statistics: an unseen class's classifier is a weighted sum of its related classes' classifiers.

    .. math:: w_u = \sum_{k=1}^{C_s} \alpha_k s_{uk} w_k, \qquad
              \min_{w_k, b_k} \tfrac12 \|w_k\|^2 + C \sum_i \max(0, 1 - y_{ik} (w_k'x_i + b_k))^2

    The classifiers :math:`w_k` of the seen classes, with their intercepts, are linear SVMs, one against the rest
    (:math:`y_{ik} = \pm 1`). The similarities follow how often u and k occur together, :math:`c_{uk}`, and how
    often each occurs, :math:`c_u` and :math:`c_k`:

    * ``dice``: :math:`c_{uk} / (c_u + c_k)`,
    * ``normalised``: :math:`c_{uk} / c_u`,
    * ``sqrt``: :math:`\sqrt{c_{uk}}`, the correction for burstiness,
    * ``binary``: 1 where :math:`c_{uk}` is at least the mean over all pairs.

    With ``negative`` the absence of one or both counts too,
    :math:`s_{uk} = s^{++}_{uk} - s^{+-}_{uk} - s^{-+}_{uk} + s^{--}_{uk}`. With ``regression`` the weights
    :math:`\alpha` restore every seen classifier from the others,

    .. math:: \min_\alpha \sum_i \|w_i - \sum_k \alpha_k s_{ik} w_k\|^2, \quad s_{ii} = 0, \qquad
              \alpha = \left( (s's) \circ W'W \right)^{-1} \mathrm{diag}(s'W'W) ,

    without them :math:`\alpha_k = 1`. The paper reports all four, and has its best results with both.

    Checked against the full paper: the four similarities, negative co-occurrence, the regression over seen classes
    without a penalty, intercepts as part of the classifiers.

    What differs: the original counts labels of multi-label images, or web hits. Here classes are known by their
    semantics, so they occur together in attributes: semantics p between 0 and 1 are taken for probabilities, and
    :math:`c_{uk} = p_u'p_k`, :math:`c^{+-}_{uk} = p_u'(1 - p_k)`, :math:`c_u = p_u'p_u` are expected numbers. The
    largest seen value is 1, and 0, or its negative where there are signs, is 0. The original ranks images for one label
    at a time, where the scale of :math:`w_u` is free; here labels compete for an image, so only the ``n_related``
    strongest similarities are kept, the positive ones, and the weights of a class are divided by the sum of their
    absolute values, after the regression once more. Without that every unseen class is nearly the mean of all seen
    ones, and the one with the smallest sum has the largest intercept and wins. The SVMs do not penalise intercepts.

    On two folds of CUB's validation classes (C 0.1, 10 related, dice) the plain sum reaches 47.7 and 45.8%,
    negative co-occurrence 45.3 and 43.4, the regression 47.8 and 47.9, both 45.1 and 44.9: what helps labels
    that occur together need not help classes that exclude each other, so validation classes decide.

    Parameters
    ----------
    C : float
        Inverse strength of the SVMs' regularisation; must be positive.
    n_related : int or None
        How many seen classes make up an unseen one, at least 1; None for all, as in the original.
    metric : {"dice", "normalised", "sqrt", "binary"}
        How co-occurrence becomes a similarity.
    negative : bool
        Count absent attributes too.
    regression : bool
        Learn a weight per seen class.

    """

    C: Positive = 0.1
    n_related: Count | None = 5
    metric: Literal["dice", "normalised", "sqrt", "binary"] = "dice"
    negative: bool = True
    regression: bool = True

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "C": [0.01, 0.1],
        "n_related": [3, 5, 10],  # few: from all seen classes every unseen one would be nearly their mean
        "negative": [False, True],
        "regression": [False, True],
    }
    citation: ClassVar[str] = (
        "T. Mensink, E. Gavves and C. G. M. Snoek. COSTA: co-occurrence statistics for zero-shot classification. "
        "CVPR 2014."
    )
    classifier_class: ClassVar[type[TargetClassifier]] = LinearClassifier

    W_: Array
    S_: Array
    trust_: Array

    def _fit(self, seen: SeenData) -> None:
        models = seen.once("linear models with intercept", lambda: LinearModels(seen))
        self.S_ = seen.S
        self.W_ = np.vstack(models.one_vs_rest_svm(seen.y, len(seen.S), self.C))  # the last row are the intercepts
        self.trust_ = np.ones(len(seen.S))
        if self.regression:
            self.trust_ = leave_one_out_weights(self._weights(seen.S, themselves=True), self.W_)

    def similarities(self, S_target: Array) -> Array:
        """Weights (C, Cs) of the seen classes' classifiers; absolute values of a row sum to one."""
        return self._weights(S_target, themselves=False)

    def _weights(self, S: Array, themselves: bool) -> Array:
        """As ``similarities``; with S the seen classes themselves, none is related to itself."""
        present, known = probabilities(S, self.S_), probabilities(self.S_, self.S_)
        s = co_occurrence(present, known, self.metric)
        if self.negative:
            s -= co_occurrence(present, 1 - known, self.metric) + co_occurrence(1 - present, known, self.metric)
            s += co_occurrence(1 - present, 1 - known, self.metric)
        if themselves:
            np.fill_diagonal(s, -np.inf)
        if self.n_related is not None and self.n_related < s.shape[1]:
            related = top_k(s, self.n_related)
            s = np.zeros(s.shape)
            np.put_along_axis(s, related.classes, np.maximum(related.scores, 0), axis=1)
        if themselves:
            np.fill_diagonal(s, 0)
        return _shares(s)

    def _adapt(self, targets: Targets) -> LinearClassifier:
        weights = _shares(self.trust_ * self.similarities(targets.S.astype(np.float64)))
        P = self.W_ @ weights.T
        return LinearClassifier(self, targets.S, P[:-1], P[-1])


def probabilities(S: Array, seen: Array) -> Array:
    """Semantics as probabilities of attributes, on one scale for all: 0 is none, or one half where signs occur."""
    high = np.abs(seen).max()
    low = -high if (seen < 0).any() else 0.0
    scaled: Array = np.clip((np.asarray(S, dtype=np.float64) - low) / (high - low), 0, 1)
    return scaled


def co_occurrence(U: Array, K: Array, metric: str) -> Array:
    """Similarities (C, Cs) from the expected numbers of attributes that both have, and that each has with itself."""
    c: Array = U @ K.T
    c_u, c_k = np.square(U).sum(axis=1)[:, None], np.square(K).sum(axis=1)
    if metric == "dice":
        c = c / np.where(c_u + c_k > 0, c_u + c_k, 1)
    elif metric == "normalised":
        c = c / np.where(c_u > 0, c_u, 1)
    elif metric == "sqrt":
        c = np.sqrt(c)
    else:
        c = (c >= c.mean()).astype(np.float64)
    return c


def leave_one_out_weights(s: Array, W: Array) -> Array:
    """The weights (Cs,) with which every seen class's classifier (column of W) is best restored from the others'."""
    G = W.T @ W
    weights: Array = lstsq((s.T @ s) * G, np.einsum("ik,ik->k", s, G))[0]
    return weights


def _shares(s: Array) -> Array:
    """Rows whose absolute values sum to one; a class that is related to none is the mean of all."""
    s = np.where(s.any(axis=1, keepdims=True), s, 1)
    shares: Array = s / np.abs(s).sum(axis=1, keepdims=True)
    return shares
