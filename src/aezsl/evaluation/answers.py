"""What a model says of many images: one form, from which tables, replies, pages and pictures are made.

A ``score`` is the method's own; a ``probability`` is what it means (see ``aezsl.evaluation.confidence``, and where
several labels may be true ``yes_no``). Where classes have groups, a group may name an image (``groups``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aezsl.arrays import Array, Mask
from aezsl.evaluation.confidence import NONE_OF_THESE, NOTHING, probabilities
from aezsl.evaluation.groups import BackOff, Groups
from aezsl.evaluation.ranking import Ranking, top_k
from aezsl.evaluation.yes_no import YES

#: Classes listed per image in tables.
TOP = 5


@dataclass(frozen=True)
class Answers:
    """The k best classes of n images, best first."""

    names: NDArray[np.object_]  # (n, k)
    classes: NDArray[np.integer[Any]]  # (n, k) their numbers among the classes that were asked about
    scores: NDArray[np.floating[Any]]  # (n, k)
    probabilities: Array  # (n, k)
    none_of_these: Mask  # (n,) whether nothing is probable enough for a name
    groups: BackOff  # which images are named by a group
    several: bool = False  # whether every class has a probability of its own, yes or no

    @classmethod
    def make(
        cls, ranking: Ranking, names: Sequence[str], temperature: float, threshold: float, groups: Groups | None = None
    ) -> "Answers":
        """What a ranking among the classes ``names`` says; temperature and threshold as in ``Confidence``."""
        named = np.array(names, dtype=object)[ranking.classes]
        shares = probabilities(ranking, temperature)
        by_group = groups.back_off(ranking.classes, shares, threshold) if groups else BackOff.none(len(shares))
        nothing = (shares[:, 0] < threshold) & (by_group.group < 0)
        return cls(named, ranking.classes, ranking.scores, shares, nothing, by_group)

    @classmethod
    def each(cls, scores: Array, names: Sequence[str], shares: Array) -> "Answers":
        """What yes or no of every class says: scores and probabilities (n, C)."""
        order = top_k(shares, len(names)).classes
        named = np.array(names, dtype=object)[order]
        ordered = np.take_along_axis(shares, order, axis=1)
        rest = np.take_along_axis(scores, order, axis=1), ordered, ordered[:, 0] < YES, BackOff.none(len(order))
        return cls(named, order, *rest, several=True)

    def best(self, top: int | None) -> "Answers":
        """The same with the best few classes of every image; all of them where ``top`` is None."""
        few = np.s_[:, :top]
        cut = {key: getattr(self, key)[few] for key in ("names", "classes", "scores", "probabilities")}
        return replace(self, **cut)

    def corrected(
        self, corrections: Mapping[int, int], called: Sequence[str], nothing: Array | None = None
    ) -> "Answers":
        """The same where somebody has named some images: row -> number of its class, or ``NOTHING``.

        called : the names of all classes. nothing : (n,) the probability that an image shows none of them, where known.
        """
        names, classes = self.names.copy(), self.classes.copy()
        shares, is_none, group = self.probabilities.copy(), self.none_of_these.copy(), self.groups.group.copy()
        if nothing is not None:
            shares *= 1 - nothing[:, None]
            is_none |= nothing >= shares[:, 0]
        for row, number in corrections.items():
            shares[row], is_none[row], group[row] = 0.0, number == NOTHING, NOTHING
            if number != NOTHING:
                if number not in classes[row]:  # it was behind the best few
                    classes[row, -1] = number
                order = np.argsort(classes[row] != number, kind="stable")
                classes[row], names[row] = classes[row, order], names[row, order]
                names[row, 0], shares[row, 0] = called[number], 1.0
        group[is_none] = NOTHING
        groups = replace(self.groups, group=group)
        return replace(self, names=names, classes=classes, probabilities=shares, none_of_these=is_none, groups=groups)

    @property
    def predicted(self) -> NDArray[np.object_]:
        """The best class of every image."""
        return self.names[:, 0]

    def said(self, none: bool = True) -> list[list[str]]:
        """What is said of every image: its group, its best class, or all classes that are probable enough.

        Nothing where nothing is probable enough; the best class even then, unless ``none``.
        """
        if self.several:
            yes = self.probabilities >= YES
            if not none:
                yes[:, 0] = True
            return [row[keep].tolist() for row, keep in zip(self.names, yes, strict=True)]
        about = zip(self.predicted.tolist(), self.groups.called, self.none_of_these, strict=True)
        return [[] if none and is_none else [group or best] for best, group, is_none in about]

    def texts(self, none: bool = True) -> list[str]:
        """The same as one text for every image, with the best class of a group: "gull (herring gull 41%)"."""
        found = []
        for i, (said, place) in enumerate(zip(self.said(none), self.groups.best.tolist(), strict=True)):
            text = ", ".join(said) or NONE_OF_THESE
            if self.groups.group[i] >= 0 and place < self.names.shape[1]:
                text += f" ({self.names[i, place]} {self.probabilities[i, place]:.0%})"
            found.append(text)
        return found

    @property
    def sureness(self) -> Array:
        """The probability of what is said: of the group, or of the best class."""
        found: Array = np.where(self.groups.group >= 0, self.groups.probabilities, self.probabilities[:, 0])
        return found

    def table(self) -> dict[str, NDArray[Any]]:
        """By column, as predictions are kept: the best class, then the best few, each with score and probability."""
        listed = self.best(TOP)
        places = range(listed.names.shape[1])
        return {
            "predicted": self.predicted,
            "score": self.scores[:, 0],
            "probability": self.probabilities[:, 0],
            "none_of_these": self.none_of_these,
            **({"group": np.array(self.groups.called, dtype=object)} if self.groups.names else {}),
            **({"group_probability": self.groups.probabilities} if self.groups.names else {}),
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
            "group": self.groups.called,
            "group_probability": self.groups.probabilities.tolist(),
            "labels": self.said(),
            "top": self.names.tolist(),
            "top_scores": self.scores.tolist(),
            "top_probabilities": self.probabilities.tolist(),
        }

    def labels(self, none: bool = True) -> list[list[dict[str, Any]]]:
        """As image classifiers of other libraries answer: ``[{"label": ..., "score": ...}, ...]`` for every image.

        ``score`` is the probability there. Before the labels stands the group that names the image, marked by
        ``"group": True``, or "none of these" where nothing does, unless ``none`` is False.
        """
        lines: list[list[dict[str, Any]]] = [
            [{"label": name, "score": share} for name, share in zip(*image, strict=True)]
            for image in zip(self.names.tolist(), self.probabilities.tolist(), strict=True)
        ]
        about = zip(self.groups.called, self.groups.probabilities.tolist(), self.none_of_these, strict=True)
        for own, (group, share, is_none) in zip(lines, about, strict=True):
            if group:
                own.insert(0, {"label": group, "score": share, "group": True})
            elif none and is_none:
                own.insert(0, {"label": NONE_OF_THESE, "score": 0.0})
        return lines

    def page(self) -> list[dict[str, Any]]:
        """As the page reads them, image by image; ``lengths`` are scores from 0 to 1, in the order of the names.

        Where several labels may be true, lengths are probabilities.
        """
        scores = -np.sort(-self.scores.astype(np.float64), axis=1)  # a refined label may stand before higher scores
        heights = scores - scores[:, -1:]
        lengths = heights / np.maximum(heights[:, :1], np.finfo(float).tiny)
        columns = {
            "names": self.names.tolist(),
            "probabilities": self.probabilities.tolist(),
            "lengths": (self.probabilities if self.several else lengths).tolist(),
            "none_of_these": self.none_of_these.tolist(),
            "said": self.said(),
            "several": [self.several] * len(self.names),
            "grouped": (self.groups.group >= 0).tolist(),
            "text": self.texts(),
            "sureness": self.sureness.tolist(),
        }
        lines = zip(*columns.values(), strict=True)
        return [dict(zip(columns, line, strict=True)) for line in lines]
