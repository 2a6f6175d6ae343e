"""Labels as unions, then balanced propagation on a folder of photos."""

import logging
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import softmax

from aezsl.arrays import Array, unit_rows
from aezsl.errors import DataError
from aezsl.evaluation.ranking import Ranking, top_k
from aezsl.kinds import Positive
from aezsl.methods.core.classifiers import ScoringClassifier, TargetClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import Targets
from aezsl.methods.core.transductive import reason_to_refrain
from aezsl.methods.heads.corrections import Folder
from aezsl.methods.heads.methods import AEZSLHeads
from aezsl.methods.propagation.neighbours import neighbour_graph
from aezsl.methods.propagation.stage import BalancedPropagation, PropagatedClassifier

log = logging.getLogger(__name__)

#: Photos that a folder needs for others to follow a correction: on folders of ImageNet's held-out classes 4 photos lost
#: 6 points by following two corrections, 8 gained 1 and 12 gained 2.
FEWEST = 8

#: Terms of a soft label repeat each other, so that its logarithm is far too sure. Told of a photo is OWN times its
#: score by itself and TOGETHER times that logarithm; of one more photo ELSEWHERE times its score. So probabilities
#: hold on folders of ImageNet's held-out classes (``python -m tests.benchmarks.bench_photo_choice folders``): the
#: calibration error is below 2% instead of 38%, and one name in a hundred changes, to neither better nor worse.
OWN, TOGETHER, ELSEWHERE = 0.25, 0.18, 0.45


class FolderClassifier(PropagatedClassifier):
    """A folder of photos that was named together: its own photos go by their soft labels, others by scores.

    folder : what corrections start from; None without a pool, and for a restored classifier.
    nothing : (m,) the probability that a photo shows none of the labels; None unless one was corrected so.
    """

    folder: Folder | None = None
    nothing: Array | None = None

    def corrected(self, corrections: Mapping[int, int], threshold: float = 0.5) -> "FolderClassifier":
        """The same folder where some names are known: row -> number of the label, or ``NOTHING``.

        It starts from the folder without corrections, whichever this one has. Fewer than ``FEWEST`` photos follow none.
        threshold : of "none of these".
        """
        folder = self.folder
        if folder is None:
            raise DataError("a folder that was saved keeps its names: name it again to correct them")
        start, L = folder.start, len(self.S_target)
        classifier = FolderClassifier(self.model, start, LabelHistory(folder.F.argmax(axis=1)), self._pool)
        if folder.reason and (not corrections or len(folder.F) < FEWEST):
            classifier.rounds.note = f"labels stay as the base gave them: {folder.reason}"
        else:
            found = folder.solve(corrections, threshold)
            for labels, J in found.rounds:
                classifier.rounds.record(labels, objective=J)
            learnt = {"centre": folder.centre, "learnt": found.M[:L], "factors": found.v[:L]}
            if corrections:
                learnt["taught"] = found.taught[:, :L]
            scorer = ScoringClassifier(self.model, self.S_target, {**start.parts, **learnt})
            classifier = FolderClassifier(self.model, scorer, classifier.rounds, self._pool)
            told = OWN * folder.alone(corrections, threshold) + TOGETHER * found.log_R
            told[list(corrections)] = found.log_R[list(corrections)]  # these are certain
            classifier.nothing = softmax(told, axis=1)[:, L] if told.shape[1] > L else None
            classifier.pool_scores = told[:, :L].astype(np.float32)
        classifier.folder = folder
        return classifier

    def rank(self, X: ArrayLike, k: int) -> Ranking:
        """The k best labels of every photo."""
        known = self._own_scores(self._check(X))
        return super().rank(X, k) if known is None else top_k(known, k)


class AEZSLHeadsT(AEZSLHeads, BalancedPropagation):
    r"""AEZSLHeads, then balanced propagation: labels that suit scores, neighbours, classes and their totals together.

    .. math::
        \min_{R, M} \sum_{il} r_{il} \log r_{il} - \beta \langle R, F \rangle
        + \tfrac\mu2 \bigl(m - \langle R, S R \rangle\bigr)
        - \gamma \sum_l \langle m_l, \kappa q_l + \textstyle\sum_i r_{il} x_i \rangle
        + \tau\, \mathrm{KL}(R'1 \,\|\, m t), \qquad t = \tfrac1m \textstyle\sum_i \mathrm{softmax}(F_i)

    over soft labels R of the photos and directions M of the labels, as in ``aezsl_t``; symbols, derivation and limits
    stand in ``aezsl.methods.propagation.balanced``. F are the scores of ``AEZSLHeads``, :math:`x_i` the features less
    their mean, at unit length, and :math:`q_l` the direction of the classifier that the label's mapping predicts.

    What differs from ``aezsl_t``: scores are logarithms of probabilities already and stay as they are, and the shares t
    of the labels are expected from them. So a folder may show only some of the labels. On ImageNet's held-out classes
    (``python -m tests.benchmarks.bench_photo_choice``) it gains 2.6 points over naming photo by photo where all labels
    are present, 2.3 where half are and 2.0 where a quarter is; with equal shares 3.6, 1.6 and -0.6.

    Parameters
    ----------
    totals : "expected", "uniform" or list of float
        Shares of the labels in the pool: expected from the scores, all alike, or given.

    The others are those of ``AEZSLHeads`` and of ``BalancedPropagation``. Without a pool it is ``AEZSLHeads``.

    """

    totals: Literal["expected", "uniform"] | list[Positive] = "expected"  # type: ignore[assignment]

    fixed: ClassVar[Mapping[str, Any]] = {
        "seen_graph_weight": 8.0,
        "seen_images": 0.0,
        "labelled": 0,
        "shrinkage": 1.0,
        "ridge": 1.0,
    }
    transductive: ClassVar[bool] = True
    classifier_class: ClassVar[type[TargetClassifier]] = FolderClassifier

    def _adapt(self, targets: Targets) -> FolderClassifier:
        parts = self._target_parts(targets.S)
        start = ScoringClassifier(self, targets.S, parts)
        pool = np.empty((0, self.n_features_in_)) if targets.pool is None else targets.pool
        if not len(pool):
            return FolderClassifier(self, start, LabelHistory(np.empty(0, dtype=np.int64)), pool)
        classifier = FolderClassifier(self, start, LabelHistory(np.zeros(len(pool), dtype=np.int64)), pool)
        classifier.folder = folder = self._folder(start, pool)
        if folder.reason:
            log.log(logging.INFO if targets.progress else logging.DEBUG, "labels stay as they were: %s", folder.reason)
        return classifier.corrected({})

    def _folder(self, start: ScoringClassifier, pool: Array) -> Folder:
        F, centre = start.scores(pool), pool.mean(axis=0)
        X = unit_rows(pool - centre)
        graph = neighbour_graph(X, self.n_neighbors)
        return Folder(
            start=start,
            reason=reason_to_refrain(F.argmax(axis=1), graph, F.shape[1]),
            F=F,
            S=graph,
            X=X,
            centre=centre,
            prototypes=unit_rows(start.parts["directions"] - self.seen_.rows.mean(axis=0)),
            weights=self.weights(),
            shares=None if self.totals == "expected" else self.shares(F.shape[1]),
            max_rounds=self.max_rounds,
            settle=self.settle,
        )

    def _scores(  # type: ignore[override]
        self, X: Array, shares: Array, directions: Array, offsets: Array, **learnt: Array
    ) -> Array:
        """As one more photo of the folder would be named, without neighbours."""
        scores = super()._scores(X, shares, directions, offsets)
        if not learnt:
            return scores
        directions = unit_rows(X - learnt["centre"])
        if "taught" in learnt:
            scores = scores + directions @ learnt["taught"]
        scores = self.start_weight * scores + learnt["factors"]
        if self.class_weight:
            scores = scores + self.class_weight * (directions @ learnt["learnt"].T)
        return ELSEWHERE * scores
