"""IAP: attribute probabilities by way of the seen classes' probabilities."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from aezsl.arrays import Array, Mask
from aezsl.kinds import Positive
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.linear_models import softmax_models
from aezsl.methods.shared.prototypes import attribute_prior, binary_attributes, class_posterior


class IAP(ZeroShotClassifier):
    r"""Indirect attribute prediction: attribute probabilities by way of the seen classes' probabilities.

    .. math:: p(a_m \mid x) = \sum_{k=1}^{C_s} [a_m = a_m^{y_k}] \, p(y_k \mid x), \qquad
              \hat z(x) = \arg\max_z \prod_{m=1}^{a} \frac{p(a_m^z \mid x)}{p(a_m^z)}

    The class probabilities :math:`p(y_k \mid x)` come from one multinomial logistic regression over the seen
    classes, as in the original, and the rest is as in direct attribute prediction: binary attributes
    :math:`a^y`, cut at each dimension's mean over the seen classes where the semantics are continuous, and the
    prior :math:`p(a_m)`, the share of the seen classes that have attribute m.

    Checked against the authors' evaluation script in a public reimplementation, which it extends to this method: seen
    classes' probabilities times their binary attributes, then the prior and the product of direct attribute
    prediction, are as there.

    What differs from the original: its classifiers work on a kernel of several feature histograms, these on
    the features as they are. Probabilities are kept ``1e-12`` away from zero and one before logarithms are
    taken.

    Parameters
    ----------
    C : float
        Inverse strength of the classifier's regularisation; must be positive.

    """

    C: Positive = 10.0

    # A power of ten on either side of the default.
    grid: ClassVar[Mapping[str, list[float]]] = {"C": [1.0, 10.0, 100.0]}
    citation: ClassVar[str] = (
        "C. H. Lampert, H. Nickisch and S. Harmeling. Attribute-based classification for zero-shot visual object "
        "categorization. IEEE TPAMI 36(3), 2014."
    )

    threshold_: Array
    B_: NDArray[np.bool_]
    W_: Array
    b_: Array

    def _fit(self, seen: SeenData) -> None:
        self.threshold_, self.B_ = binary_attributes(seen.S)
        self.W_, self.b_ = seen.once("softmax", lambda: softmax_models(seen.X, seen.y))(self.C)

    def _target_parts(self, S_target: Array) -> dict[str, Any]:
        return {"attributes": S_target > self.threshold_}

    def _scores(self, X: Array, attributes: Mask) -> Array:  # type: ignore[override]
        varies = self.B_.any(axis=0) & ~self.B_.all(axis=0)
        B_seen = self.B_[:, varies]
        p = softmax(X @ self.W_ + self.b_, axis=1) @ B_seen
        p = np.clip(p, 1e-12, 1 - 1e-12)
        return class_posterior(np.log(p), np.log1p(-p), attributes[:, varies], attribute_prior(B_seen))
