"""Category-specific mappings and labels as unions, on the classifiers of a network; own classes beside these."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from aezsl.arrays import Array, Labels
from aezsl.data.statistics import SeenStatistics
from aezsl.errors import DataError
from aezsl.kinds import Count, Positive, Proportion
from aezsl.methods.aezsl.aezsl import AEZSL
from aezsl.methods.core.checks import check_labels, check_rows, check_semantics
from aezsl.methods.core.classifiers import LinearClassifier, TargetClassifier
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.methods.core.seen import Targets
from aezsl.methods.heads.union import Doubts, MappingFormula, SeenClassifiers, UnionFormula
from aezsl.methods.shared.similarity import Weighting

if TYPE_CHECKING:
    from aezsl.methods.conse import ConSE

#: Chosen on ImageNet's classes that were held out (``python -m tests.benchmarks.bench_own_knowledge choose``).
RIDGE = 0.6

#: Steps at most; a few dozen are enough.
STEPS = 200


class HeadMethod(MappingFormula, ZeroShotClassifier):
    """A method that learns from the classifiers of a network: ``fit(classifiers)`` instead of ``fit(X, y, S)``.

    Features are what the network's last layer reads, as they are. Semantics are vectors of texts by the encoders that
    made those of ``SeenClassifiers``; only their directions count.
    """

    lam: Positive = 1.0
    weighting: Weighting = "cosine_squared"
    similar: Count = 100

    citation: ClassVar[str] = f"{AEZSL.citation.removesuffix('.')}: its weights, here on the classifiers of a network."

    seen_: SeenClassifiers

    def fit(
        self,
        X: ArrayLike | SeenStatistics | SeenClassifiers,
        y: ArrayLike | None = None,
        S: ArrayLike | None = None,
        given: ArrayLike | None = None,
    ) -> Self:
        """Take over the classifiers of a network, ``fit(classifiers)``; nothing is solved before labels come."""
        if not isinstance(X, SeenClassifiers):
            raise DataError(
                f"{type(self).__name__} learns from the classifiers of a network, not from images: give "
                "SeenClassifiers, as aezsl.encoders.knowledge makes them"
            )
        self.check_parameters()
        return self._adopt(X)

    def get_state(self) -> dict[str, Any]:
        """The arrays of the classifiers."""
        state = super().get_state()
        return {**state.pop("seen_").state(), **state}

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Become fitted with the values ``get_state`` gave."""
        seen = SeenClassifiers.from_state(state)
        seen.check()
        return self._adopt(seen)

    def _adopt(self, seen: SeenClassifiers) -> Self:
        self.seen_ = seen
        self.n_features_in_, self.n_semantics_in_ = seen.rows.shape[1], seen.S.shape[1]
        return self


class HeadMapping(HeadMethod):
    r"""Ridge regression from descriptions to the classifiers of a network, with similar classes counting more.

    .. math:: \min_{B_l} \sum_c w_{lc} \|B_l' \hat s_c - (v_c - \bar v)\|^2 + \lambda \|B_l\|_F^2,
        \qquad f_l(x) = \frac{x' q_l + e_l}{\|q_l\|}, \quad (q_l, e_l) = B_l' \hat a_l

    for every label l, where :math:`v_c` is the row of class c with its bias, :math:`\hat s_c` and :math:`\hat a_l` are
    the vectors of the class and of the label less the mean class, at unit length, and :math:`w_{lc}` is
    :math:`\cos(a_l, s_c)^2` for the ``similar`` classes with the largest ones. It is AEZSL_sim where classifiers are
    known instead of images. With weights of one it is one mapping for all labels, and what there is to compare with.

    A solve of ``similar`` equations per label: 2,000 labels take seconds.

    Parameters
    ----------
    lam : float
        Weight of the mappings' norm; must be positive.
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives one mapping for all labels.
    similar : int
        How many seen classes count for a label: those with the largest weights.

    """

    classifier_class: ClassVar[type[TargetClassifier]] = LinearClassifier

    def _adapt(self, targets: Targets) -> TargetClassifier:
        directions, offsets = self.mapped(targets.S)
        return LinearClassifier(self, targets.S, directions.T, offsets)


class AEZSLHeads(UnionFormula, HeadMethod):
    r"""AEZSL on the classifiers of a network: a label is a union of the classes it covers and of the one it describes.

    .. math::
        f_l(x) = \log \Bigl( \sum_c K_{lc}\, p(c \mid x) + \kappa\, e^{x'(\bar w + q_l) + \bar b + e_l} / Z(x) \Bigr)
        \qquad
        K_{lc} = \frac{e^{\beta u_{lc}}}{\sum_j e^{\beta u_{lj}}}, \quad
        u_{lc} = (1 - \nu) \cos(a_l, s_c) + \nu \max_{n \in N_c} \cos(a_l, n)

    where :math:`p(c \mid x) = e^{x'w_c + b_c} / Z(x)` is the posterior of the network, :math:`s_c` the vector of the
    description of class c and :math:`N_c` those of its names and of the names of all classes above it: "a dog" covers
    every breed. The second term is a class that the network does not have. Its classifier is what the category-specific
    mapping of the label predicts, :math:`q_l` and :math:`e_l` of ``HeadMapping``, at the mean length of the network's
    rows. So the score of a label is a logarithm of a probability up to :math:`\kappa`, and depends on no other label.

    Limits: sharpness to infinity and novelty to 0, the posterior of the class that has the label's name, or the mean
    over those below it. Novelty to infinity: the order of ``HeadMapping``. There, with weights of one: one mapping.

    Defaults are chosen on classes of ImageNet that were held out, alone and with all below a class above them
    (``python -m tests.benchmarks.bench_photo_choice``); no image of another data set was used.

    Parameters
    ----------
    lam : float
        Weight of the mappings' norm; must be positive.
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives one mapping for all labels.
    similar : int
        How many seen classes count for a label: those with the largest weights.
    sharpness : float
        beta: how much more a label covers a class that resembles it more.
    by_name : float
        nu, 0 to 1: how much names count beside descriptions.
    novelty : float
        kappa: how much the predicted class counts beside the covered ones.

    """

    sharpness: Positive = 20.0
    by_name: Proportion = 0.65
    novelty: Positive = 0.5

    def doubts(self, S_target: ArrayLike, foreign: Sequence[bool] = ()) -> Doubts:
        """Which labels resemble no class, and which pairs cover the same classes; no image is needed."""
        return super().doubts(check_semantics("S_target", S_target, self.n_semantics_in_), foreign)

    def rivals(self, X: ArrayLike) -> Array:
        """The largest log posterior of a class of the network (n,): what ``evaluation.yes_no`` measures labels by."""
        return super().rivals(check_rows("X", X, self.n_features_in_, "features"))

    def _target_parts(self, S_target: Array) -> dict[str, Array]:
        return self.target_parts(S_target)

    def _scores(self, X: Array, shares: Array, directions: Array, offsets: Array) -> Array:  # type: ignore[override]
        return self.scores(X, shares, directions, offsets)


def conse(seen: SeenClassifiers, T: int = 10) -> "ConSE":
    """ConSE on the same classifiers: the network's own posteriors are the ones that it combines."""
    from aezsl.methods.conse import ConSE

    n_features, n_semantics = seen.rows.shape[1], seen.S.shape[1]
    state = {"W_": seen.rows.T, "b_": seen.biases, "S_": seen.S}
    return ConSE(T=T).set_state({**state, "n_features_in_": n_features, "n_semantics_in_": n_semantics})


def with_own_classes(
    seen: SeenClassifiers, X: ArrayLike, y: ArrayLike, S: ArrayLike, ridge: float = RIDGE, alone: bool = False
) -> SeenClassifiers:
    r"""The classifiers of a network, then those of K own classes, found from a few images of each.

    .. math::
        \min_U \sum_i -\log \frac{e^{g_{y_i}(x_i)}}{\sum_k e^{g_k(x_i)} + \sum_c e^{x_i'w_c + b_c}}
        + \tfrac\rho2 \|U\|_F^2, \qquad
        g_k(x) = x'\bar w + \bar b + \tfrac1{\sqrt C} \sum_c u_{kc} \bigl(x'(w_c - \bar w) + b_c - \bar b\bigr)

    So an own classifier is the network's mean one and a combination of all of them, and has the scale of the network's
    logits: images of own classes must win against other own classes and against the network's, which stay as they are.
    The smaller :math:`\rho`, the more own classes count against the others. The problem is convex.

    X : (n, d) what the network's last layer reads. y : (n,) row numbers of S. S : (K, a) vectors of the descriptions,
    which also serve as names. alone : only own classes are known afterwards, whatever describes them.
    """
    A = check_semantics("S", S, None if alone else seen.S.shape[1])
    rows = check_rows("X", X, seen.rows.shape[1], "features").astype(np.float64)
    W, b = _classifiers(seen, rows, check_labels(y, len(rows), len(A)), ridge, alone)
    if alone:
        return SeenClassifiers.build(W, b, A, A, [[k] for k in range(len(A))])
    ends = [*seen.starts[1:], len(seen.named)]
    named = [seen.named[start:end] for start, end in zip(seen.starts, ends, strict=True)]
    return SeenClassifiers.build(
        np.vstack([seen.rows, W]),
        np.concatenate([seen.biases, b]),
        np.vstack([seen.S, A / np.linalg.norm(A, axis=1, keepdims=True)]),
        np.vstack([seen.names, A[:, : seen.names.shape[1]]]),
        [*named, *([len(seen.names) + k] for k in range(len(A)))],
    )


def _classifiers(seen: SeenClassifiers, X: Array, y: Labels, ridge: float, alone: bool) -> tuple[Array, Array]:
    """Rows (K, d) and biases (K,) of the own classes."""
    K, C = int(y.max()) + 1, len(seen.rows)
    W, b = (seen.rows - seen.rows.mean(axis=0)) / np.sqrt(C), (seen.biases - seen.biases.mean()) / np.sqrt(C)
    P, true = X @ W.T + b, np.eye(K)[y]
    others = np.full((len(X), 1), -np.inf)
    if not alone:
        mean = X @ seen.rows.mean(axis=0) + seen.biases.mean()
        others = logsumexp(X @ seen.rows.T + seen.biases, axis=1, keepdims=True) - mean[:, None]

    def loss(flat: Array) -> tuple[float, Array]:
        U = flat.reshape(K, C)
        log_p = log_softmax(np.hstack([P @ U.T, others]), axis=1)[:, :K]
        gradient = (np.exp(log_p) - true).T @ P + ridge * U
        return float(ridge / 2 * (U**2).sum() - log_p[true > 0].sum()), gradient.ravel()

    U = minimize(loss, np.zeros(K * C), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x.reshape(K, C)
    return seen.rows.mean(axis=0) + U @ W, seen.biases.mean() + U @ b
