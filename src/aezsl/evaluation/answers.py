"""What a model says of many images: one form, from which tables, replies, pages and pictures are made.

A ``score`` is the method's own; a ``probability`` is what it means (see ``aezsl.evaluation.confidence``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aezsl.arrays import Array, Mask
from aezsl.evaluation.confidence import NONE_OF_THESE, probabilities
from aezsl.evaluation.ranking import Ranking

#: Classes listed per image in tables.
TOP = 5


@dataclass(frozen=True)
class Answers:
    """The k best classes of n images, best first."""

    names: NDArray[np.object_]  # (n, k)
    classes: NDArray[np.integer[Any]]  # (n, k) their numbers among the classes that were asked about
    scores: NDArray[np.floating[Any]]  # (n, k)
    probabilities: Array  # (n, k)
    none_of_these: Mask  # (n,) whether the best class is too improbable for a name

    @classmethod
    def make(cls, ranking: Ranking, names: Sequence[str], temperature: float, threshold: float) -> "Answers":
        """What a ranking among the classes ``names`` says; temperature and threshold as in ``Confidence``."""
        named = np.array(names, dtype=object)[ranking.classes]
        shares = probabilities(ranking, temperature)
        return cls(named, ranking.classes, ranking.scores, shares, shares[:, 0] < threshold)

    def best(self, top: int | None) -> "Answers":
        """The same with the best few classes of every image; all of them where ``top`` is None."""
        few = np.s_[:, :top]
        return Answers(
            self.names[few], self.classes[few], self.scores[few], self.probabilities[few], self.none_of_these
        )

    @property
    def predicted(self) -> NDArray[np.object_]:
        """The best class of every image."""
        return self.names[:, 0]

    def table(self) -> dict[str, NDArray[Any]]:
        """By column, as predictions are kept: the best class, then the best few, each with score and probability."""
        listed = self.best(TOP)
        places = range(listed.names.shape[1])
        return {
            "predicted": self.predicted,
            "score": self.scores[:, 0],
            "probability": self.probabilities[:, 0],
            "none_of_these": self.none_of_these,
            **{f"top_{place + 1}": listed.names[:, place] for place in places},
            **{f"top_{place + 1}_score": listed.scores[:, place] for place in places},
            **{f"top_{place + 1}_probability": listed.probabilities[:, place] for place in places},
        }

    def reply(self) -> dict[str, list[Any]]:
        """By column, as the service replies: the best class, and lists of all."""
        return {
            "predicted": self.predicted.tolist(),
            "score": self.scores[:, 0].tolist(),
            "probability": self.probabilities[:, 0].tolist(),
            "none_of_these": self.none_of_these.tolist(),
            "top": self.names.tolist(),
            "top_scores": self.scores.tolist(),
            "top_probabilities": self.probabilities.tolist(),
        }

    def labels(self, none: bool = True) -> list[list[dict[str, Any]]]:
        """As image classifiers of other libraries answer: ``[{"label": ..., "score": ...}, ...]`` for every image.

        ``score`` is the probability there. none : say "none of these" before the labels where it is so.
        """
        lines = [
            [{"label": name, "score": share} for name, share in zip(*image, strict=True)]
            for image in zip(self.names.tolist(), self.probabilities.tolist(), strict=True)
        ]
        if not none:
            return lines
        first = {"label": NONE_OF_THESE, "score": 0.0}
        return [
            [first, *own] if none and is_none else own for own, is_none in zip(lines, self.none_of_these, strict=True)
        ]

    def page(self) -> list[dict[str, Any]]:
        """As the page reads them, image by image; ``lengths`` are scores from 0 to 1, in the order of the names."""
        scores = -np.sort(-self.scores.astype(np.float64), axis=1)  # a refined label may stand before higher scores
        heights = scores - scores[:, -1:]
        lengths = heights / np.maximum(heights[:, :1], np.finfo(float).tiny)
        columns = {
            "names": self.names,
            "probabilities": self.probabilities,
            "lengths": lengths,
            "none_of_these": self.none_of_these,
        }
        lines = zip(*(values.tolist() for values in columns.values()), strict=True)
        return [dict(zip(columns, line, strict=True)) for line in lines]
