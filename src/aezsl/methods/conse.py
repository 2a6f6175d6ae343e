"""ConSE: an image is the probability-weighted mean of the seen classes it resembles."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import softmax

from aezsl.arrays import Array, unit_rows
from aezsl.kinds import Count, Positive
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.methods.core.seen import SeenData
from aezsl.methods.shared.linear_models import softmax_models


class ConSE(ZeroShotClassifier):
    r"""Convex combination of semantic embeddings: the probability-weighted mean of the likeliest seen classes.

    .. math:: f(x) = \frac{1}{Z} \sum_{t=1}^{T} p(\hat y_t \mid x) \, s(\hat y_t), \qquad
              Z = \sum_{t=1}^{T} p(\hat y_t \mid x), \qquad
              \hat z(x) = \arg\max_z \cos(f(x), s(z))

    with :math:`\hat y_1, \dots, \hat y_T` the T most probable seen classes and s(y) the semantics of class y.

    Checked against summaries of the paper: the T most probable classes, the convex combination and the nearest
    class by cosine are as there; its full text was not at hand.

    What differs from the original: the probabilities are those of a multinomial logistic regression on the
    given features, which is the last layer of the original's network trained on its own; and T, which the
    original tries at 1, 10 and 1000, is searched.

    Parameters
    ----------
    T : int
        How many seen classes to combine, at least 1; all of them where there are fewer.
    C : float
        Inverse strength of the classifier's regularisation; must be positive.

    """

    C: Positive = 10.0
    T: Count = 10

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "C": [1.0, 10.0],
        "T": [1, 3, 10, 30, 100],  # from the likeliest class alone to many; the original tries 1, 10 and 1000
    }
    citation: ClassVar[str] = (
        "M. Norouzi, T. Mikolov, S. Bengio, Y. Singer, J. Shlens, A. Frome, G. S. Corrado and J. Dean. Zero-shot "
        "learning by convex combination of semantic embeddings. ICLR 2014."
    )

    S_: Array
    W_: Array
    b_: Array

    def _fit(self, seen: SeenData) -> None:
        self.S_ = seen.S
        self.W_, self.b_ = seen.once("softmax", lambda: softmax_models(seen.X, seen.y))(self.C)

    def embed(self, X: Array) -> Array:
        """The images' places f(x) in semantic space (n, a)."""
        p: Array = softmax(X @ self.W_ + self.b_, axis=1)
        if p.shape[1] > self.T:
            others = np.argpartition(-p, self.T - 1, axis=1)[:, self.T :]
            np.put_along_axis(p, others, 0, axis=1)
        f: Array = p @ self.S_ / p.sum(axis=1, keepdims=True)
        return f

    def _target_parts(self, S_target: Array) -> dict[str, Array]:
        return {"prototypes": unit_rows(S_target)}

    def _scores(self, X: Array, prototypes: Array) -> Array:  # type: ignore[override]
        cosine: Array = unit_rows(self.embed(X)) @ prototypes.T
        return cosine
