"""A fitted method with its recipe: all it takes to classify."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import pandas as pd

from aezsl.arrays import Array
from aezsl.encoders.images.pictures import Encode
from aezsl.encoders.knowledge.labels import read_labels
from aezsl.encoders.named_classes import NamedClasses, class_groups, label_groups
from aezsl.encoders.recipe import Recipe
from aezsl.errors import DataError
from aezsl.evaluation.answers import TOP, Answers
from aezsl.evaluation.calibration import merge
from aezsl.evaluation.confidence import SHARING, Confidence
from aezsl.evaluation.groups import Groups
from aezsl.evaluation.ranking import Ranking
from aezsl.evaluation.yes_no import rival_classes
from aezsl.methods import TargetClassifier, ZeroShotClassifier
from aezsl.methods.heads.folder import FolderClassifier
from aezsl.methods.heads.methods import AEZSLHeads, HeadMethod
from aezsl.serving.photos import doubts_in_words

#: Known classes that tell two labels apart, for each of them.
APART = 3

#: Classes of training at most that say how widely scores are spread.
REFERENCE_CLASSES = 32


class Confused(NamedTuple):
    """Two labels that a folder confuses."""

    names: tuple[str, str]
    photos: float  # how many have one in the folder and the other by themselves
    apart: tuple[list[str], list[str]]  # known classes that the one covers more than the other


@dataclass(frozen=True)
class TrainedModel:
    """A fitted method, how images and classes became the numbers it was fitted to, and how sure its answers are."""

    model: ZeroShotClassifier
    recipe: Recipe
    confidence: Confidence = field(default_factory=Confidence)
    version: str = ""  # a digest of the file that it was loaded from

    def encode(self, device: str = "auto", side_by_side: bool = False) -> Encode:
        """What gives features of images as in training (see ``ImageEncoder.load``); its networks are loaded once."""
        if (device, side_by_side) not in self._encoders:
            self._encoders[device, side_by_side] = self.recipe.make_encoder(device=device).load(side_by_side)
        return self._encoders[device, side_by_side]

    @cached_property
    def _encoders(self) -> dict[tuple[str, bool], Encode]:
        return {}

    def adapt(self, targets: NamedClasses) -> TargetClassifier | None:
        """A classifier of some classes that serves any rows; None for a transductive method, whose pool they are."""
        return None if self.model.transductive else self.model.adapt(targets.vectors, given=targets.given)

    def adapt_to_rows(self, features: Array, targets: NamedClasses) -> TargetClassifier:
        """A classifier of some classes for features (n, d) as the backbone gave them; they are the pool, if any is."""
        return self.model.adapt(targets.vectors, self._rows(features), targets.given)

    def worth_a_look(self, adapted: TargetClassifier, corrections: Mapping[int, int], n: int = 3) -> list[int]:
        """The n rows of a folder named as a whole whose names tell most about the others, beside corrected ones."""
        if not isinstance(adapted, FolderClassifier) or not adapted.folder:
            raise DataError("only where photos are named together one says something of others: leave --alone out")
        return adapted.folder.ask(corrections, n, self._threshold)

    def confused(
        self,
        adapted: TargetClassifier,
        names: Sequence[str],
        corrections: Mapping[int, int],
        n: int = 3,
        also: Sequence[tuple[str, str]] = (),
    ) -> list[Confused]:
        """The n pairs of labels that a folder named as a whole confuses most, then those that are asked for."""
        if not isinstance(adapted, FolderClassifier) or not adapted.folder:
            return []
        photos = adapted.folder.confused(corrections, self._threshold)
        most = zip(*np.unravel_index(np.argsort(-photos, axis=None, kind="stable")[:n], photos.shape), strict=True)
        pairs = [(int(a), int(b)) for a, b in most if photos[a, b] > 0]
        for one, other in also:
            if one != other and {one, other} <= set(names):
                a, b = sorted((list(names).index(one), list(names).index(other)))
                pairs.append((a, b))
        shares = adapted.folder.start.parts["shares"]
        return [
            Confused(
                (names[a], names[b]),
                float(photos[a, b]),
                (self.known_names(shares[a] - shares[b]), self.known_names(shares[b] - shares[a])),
            )
            for a, b in dict.fromkeys(pairs)
        ]

    def known_names(self, weights: Array, n: int = APART) -> list[str]:
        """The first names of the n classes of the network with the largest weights, of those above zero.

        Of "class 7: cock, rooster" cock.
        """
        classes = self.recipe.classes
        known = classes.loc[classes["role"] == "seen", "class_name"].tolist()
        best = [known[c] for c in np.argsort(-weights, kind="stable")[:n] if weights[c] > 0]
        return [(name.partition(": ")[2] or name).partition(",")[0] for name in best]

    @property
    def _threshold(self) -> float:
        """Of "none of these", also where none was chosen."""
        return self.confidence.threshold or 0.5

    def doubts(self, targets: NamedClasses, multi: bool = False) -> list[str]:
        """Why names among these classes should not be trusted, where the method can tell without an image.

        multi : several of them may be true, so that classes that look the same are no harm.
        """
        foreign = read_labels(targets.names)[1]
        found = self.model.doubts(targets.vectors, foreign) if hasattr(self.model, "doubts") else None
        return doubts_in_words(targets.names, found, multi)

    def expected(self, n_classes: int, any_seen: bool = False) -> str:
        """How many names will be right among so many unseen classes, in a sentence; empty where nothing is known."""
        expectation = self.confidence.expectation
        return expectation.in_words(n_classes) if expectation and n_classes and not any_seen else ""

    def answer(
        self,
        features: Array,
        targets: NamedClasses,
        top: int | None = TOP,
        adapted: TargetClassifier | None = None,
        corrections: Mapping[int, int] | None = None,
    ) -> Answers:
        """What images show, among some classes: the best few of each, or all.

        features : (n, d) as the backbone gave them. A transductive method takes all rows together as its pool, unless
            ``adapted`` is given.
        adapted : what ``adapt`` gave for these classes, which most methods need longer for than for the rows.
        corrections : names that somebody has given: row -> number of the class, or ``NOTHING``. Where the model names
            a folder as a whole, the other rows follow.
        """
        rows = self._rows(features)
        adapted = adapted or self.model.adapt(targets.vectors, rows, targets.given)
        return self.answer_rows(rows, targets, adapted, top, corrections)

    def answer_each(
        self, features: Array, targets: NamedClasses, top: int | None = None, adapted: TargetClassifier | None = None
    ) -> Answers:
        """As ``answer``, where several classes may be true of an image: yes or no for every class by itself.

        A transductive method learns nothing from the rows.
        """
        return self.answer_rows_each(self._rows(features), targets, adapted).best(top)

    def answer_rows_each(self, rows: Array, targets: NamedClasses, adapted: TargetClassifier | None = None) -> Answers:
        """As ``answer_each``, of rows (n, d) that are normalised."""
        if self.confidence.yes_no is None:
            raise DataError(
                "this model cannot say yes or no to every label (it was not calibrated for that): leave multi out, or "
                "ask the photo model"
            )
        scores = (adapted or self.model.adapt(targets.vectors, given=targets.given)).scores(rows)
        shares = self.confidence.yes_no.probabilities(scores, self._rivals(rows))
        return Answers.each(scores, targets.names, shares)

    def _rivals(self, rows: Array) -> Array:
        """The best score (n,) of a class that the model knows already."""
        if isinstance(self.model, AEZSLHeads):
            return self.model.rivals(rows)
        best: Array = self._seen_classifier.scores(rows).max(axis=1)
        return best

    @cached_property
    def _seen_classifier(self) -> TargetClassifier:
        seen = (self.recipe.classes["role"] == "seen").to_numpy()
        vectors = self.recipe.class_vectors[seen]
        return self._adapted(vectors[rival_classes(len(vectors))])

    def _adapted(self, vectors: Array) -> TargetClassifier:
        """The classifier of classes with these vectors before normalisation, without a pool."""
        S, given = self.recipe.described(vectors)
        return self.model.adapt(S, given=given)

    def groups(self, names: Sequence[str]) -> Groups | None:
        """The groups of classes by what training says of them; those of labels of the photo model by WordNet."""
        return self._groups_of(tuple(names))

    @cached_property
    def _groups_of(self) -> Callable[[tuple[str, ...]], Groups | None]:
        return lru_cache(maxsize=16)(self._find_groups)  # requests about the same classes follow each other

    def _find_groups(self, names: tuple[str, ...]) -> Groups | None:
        found = class_groups(pd.DataFrame({"class_name": names}), self.recipe.classes)
        return label_groups(names) if found is None and isinstance(self.model, HeadMethod) else found

    def _rows(self, features: Array) -> Array:
        features = np.asarray(features, dtype=np.float64)
        width = self.model.n_features_in_
        if features.ndim != 2 or features.shape[1] != width:
            raise DataError(f"features must be rows of {width} numbers, as in training, got shape {features.shape}")
        return self.recipe.features(features)

    def answer_rows(
        self,
        rows: Array,
        targets: NamedClasses,
        adapted: TargetClassifier,
        top: int | None = None,
        corrections: Mapping[int, int] | None = None,
    ) -> Answers:
        """As ``answer``, of rows (n, d) that are normalised, by the classifier of these classes.

        Where seen and unseen classes compete, the model's constant is subtracted from the scores of the seen ones.
        """
        if corrections:
            nothing = None
            if isinstance(adapted, FolderClassifier) and adapted.folder:
                adapted = adapted.corrected(corrections, self._threshold)
                nothing = adapted.nothing
            return self.answer_rows(rows, targets, adapted, top).corrected(corrections, targets.names, nothing)
        k = len(targets.names) if top is None else max(top, SHARING)
        groups = targets.groups or self.groups(targets.names)
        if self.confidence.stacking is None or not targets.mixed:
            return self.answers(adapted.rank(rows, k), targets.names, groups=groups).best(top)
        seen, unseen = (np.flatnonzero(side) for side in (targets.seen, ~targets.seen))
        sides = adapted.rank_parts(rows, targets.seen, k)
        merged = merge(*sides, self.confidence.stacking.constant_for(*sides), len(seen), len(unseen), k)
        ranking = Ranking(np.concatenate([seen, unseen])[merged.classes], merged.scores)
        return self.answers(ranking, targets.names, mixed=True, groups=groups).best(top)

    def answers(
        self, ranking: Ranking, names: Sequence[str], mixed: bool = False, groups: Groups | None = None
    ) -> Answers:
        """What a ranking of images among some classes means; mixed: of seen and unseen ones, after stacking."""
        rule = self.confidence.stacking if mixed and self.confidence.stacking else self.confidence
        return Answers.make(ranking, names, self.temperature_for(ranking, mixed), rule.threshold, groups)

    def temperature_for(self, ranking: Ranking, mixed: bool = False) -> float:
        """What makes probabilities of a ranking's scores.

        Where nothing was calibrated, probabilities say how clear a decision is, measured by the spread of scores.
        """
        if mixed and (stacking := self.confidence.stacking):
            return stacking.temperature_for(ranking)
        return self.confidence.temperature or self.spread

    @cached_property
    def spread(self) -> float:
        """Standard deviation of scores among classes of training: what a difference of scores is to be measured by."""
        vectors = self.recipe.class_vectors
        chosen = np.unique(np.linspace(0, len(vectors) - 1, REFERENCE_CLASSES).astype(int))
        rows = self.recipe.features(self.recipe.example.astype(np.float64))
        # Without a pool: the two images of the example are not for learning from.
        scores = self._adapted(vectors[chosen]).scores(rows)
        return float(scores.std(axis=1).mean()) or 1.0
