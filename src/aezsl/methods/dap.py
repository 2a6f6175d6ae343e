"""DAP: one probabilistic classifier per attribute, classes by their attributes' joint probability."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from aezsl.arrays import Array, Mask
from aezsl.kinds import Positive
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.linear_models import LinearModels
from aezsl.methods.shared.prototypes import attribute_prior, binary_attributes, class_posterior


class DAP(ZeroShotClassifier):
    r"""Direct attribute prediction: a classifier per attribute, classes by their attributes' joint probability.

    .. math:: \hat z(x) = \arg\max_z \prod_{m=1}^{a} \frac{p(a_m^z \mid x)}{p(a_m^z)}, \qquad
              p(a_m = 1 \mid x) = \sigma(w_m'x + b_m)

    where :math:`a^z` are the binary attributes of class z. The a classifiers are trained on the seen classes'
    images, each labelled with its class's attributes, and :math:`p(a_m)` is the share of the seen classes that
    have attribute m. Scores are the logarithm of the product.

    Checked against the evaluation script that its authors gave with Animals with Attributes (as kept in a public
    reimplementation): the product over the prior's product, the prior as the mean over the seen classes, and one half
    for attributes that all or none of them have, are as there.

    What differs from the original: the classifiers are linear logistic regressions, which give probabilities
    themselves, where the original calibrates kernel SVMs by Platt's method (the features of its day were
    histograms); all of them are solved together. Continuous semantics are cut at each dimension's mean over
    the seen classes, as is usual for CUB and SUN; the original's attributes are binary, cut at the
    mean of the whole table, which needs one scale for all of them. A dimension that does
    not vary over the seen classes has no classifier and no influence.

    Parameters
    ----------
    C : float
        Inverse strength of the classifiers' regularisation; must be positive.

    """

    C: Positive = 1.0

    # A power of ten on either side of the default.
    grid: ClassVar[Mapping[str, list[float]]] = {"C": [0.1, 1.0, 10.0]}
    citation: ClassVar[str] = (
        "C. H. Lampert, H. Nickisch and S. Harmeling. Attribute-based classification for zero-shot visual object "
        "categorization. IEEE TPAMI 36(3), 2014."
    )

    threshold_: Array
    prior_: Array
    W_: Array
    b_: Array

    def _fit(self, seen: SeenData) -> None:
        models = seen.once("linear models", lambda: LinearModels(seen))
        self.threshold_, B = binary_attributes(seen.S)
        self.prior_ = attribute_prior(B)
        varies = B.any(axis=0) & ~B.all(axis=0)
        # A zero classifier says one half, as does the prior of such an attribute: together they cancel.
        self.W_, self.b_ = np.zeros((self.n_features_in_, B.shape[1])), np.zeros(B.shape[1])
        self.W_[:, varies], self.b_[varies] = models.logistic(B[:, varies][seen.y], self.C)

    def _target_parts(self, S_target: Array) -> dict[str, Any]:
        return {"attributes": S_target > self.threshold_}

    def _scores(self, X: Array, attributes: Mask) -> Array:  # type: ignore[override]
        logit = X @ self.W_ + self.b_
        return class_posterior(-np.logaddexp(0, -logit), -np.logaddexp(0, logit), attributes, self.prior_)
