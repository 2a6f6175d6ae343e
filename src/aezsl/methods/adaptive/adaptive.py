"""A method whose loss is a sum over seen classes, solved for every target with weights of its own."""

from typing import ClassVar

from aezsl.arrays import Array
from aezsl.methods.aezsl.aezsl import AEZSL
from aezsl.methods.core.classifiers import LinearClassifier, TargetClassifier
from aezsl.methods.core.contract import ZeroShotClassifier
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.shared.similarity import SimilarityWeights, Weighting


class Adaptive(ZeroShotClassifier):
    r"""Similarity-weighted class tasks for another method: one problem per target class t instead of one for all.

    .. math:: \min_\theta \sum_j \ell_j(\theta) + R(\theta) \quad \to \quad
        \min_{\theta_t} \sum_j w_{tj}\, \ell_j(\theta_t) + R(\theta_t)

    where :math:`\ell_j` is the part of the method's loss that is the task of the seen class j, and :math:`w_{tj}` says
    how much j resembles t (``shared.similarity``). The classifier of t is what the method makes of t with
    :math:`\theta_t`. With weights of one it is the method itself; with AEZSL's loss it is AEZSL_sim.

    It means something where class tasks share their parameters. Where each class has its own (one-vs-rest classifiers,
    and SynC, whose classifiers of seen classes are learnt freely), a weight would change nothing but how strongly that
    class's own classifier is regularised, so there is no adaptive one of those.

    A subclass defines ``_fit_tasks``, which learns what no target is needed for, and ``_adapt_weighted``.

    Parameters
    ----------
    weighting : str
        How much a seen class counts; see ``shared.similarity``. ``none`` gives the method itself.

    """

    weighting: Weighting = "cosine_squared"

    citation: ClassVar[str] = f"{AEZSL.citation.removesuffix('.')}: its weights, here on another method's loss."
    classifier_class: ClassVar[type[TargetClassifier]] = LinearClassifier

    S_: Array  # (Cs, a) seen semantics
    given_: Array  # (Cs, b) as they were given

    def _fit(self, seen: SeenData) -> None:
        self.S_, self.given_ = seen.S, seen.given
        self._fit_tasks(seen)

    def _adapt(self, targets: Targets) -> TargetClassifier:
        return self._adapt_weighted(targets, SimilarityWeights.for_seen(self.given_, self.weighting)(targets.given))

    def _fit_tasks(self, seen: SeenData) -> None:
        raise TypeError(f"{type(self).__name__} must define _fit_tasks")

    def _adapt_weighted(self, targets: Targets, weights: Array) -> LinearClassifier:
        """The classifier of the targets, each with its row of the weights (C, Cs)."""
        raise TypeError(f"{type(self).__name__} must define _adapt_weighted")
