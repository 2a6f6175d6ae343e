"""A fitted method with its recipe: all it takes to classify."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Array
from aezsl.encoders.images.encoder import Encode
from aezsl.encoders.recipe import NamedClasses, Recipe
from aezsl.errors import DataError
from aezsl.evaluation.confidence import SHARING, Confidence, probabilities
from aezsl.evaluation.ranking import Ranking
from aezsl.methods import TargetClassifier, ZeroShotClassifier

#: Classes listed per image in tables of predictions.
TOP = 5

#: Classes of training at most that say how widely scores are spread.
REFERENCE_CLASSES = 32


@dataclass(frozen=True)
class TrainedModel:
    """A fitted method, how images and classes became the numbers it was fitted to, and how sure its answers are."""

    model: ZeroShotClassifier
    recipe: Recipe
    confidence: Confidence = field(default_factory=Confidence)

    def encode(self, device: str = "auto", side_by_side: bool = False) -> Encode:
        """What gives features of images as in training (see ``ImageEncoder.load``); its networks are loaded once."""
        if (device, side_by_side) not in self._encoders:
            self._encoders[device, side_by_side] = self.recipe.make_encoder(device=device).load(side_by_side)
        return self._encoders[device, side_by_side]

    @cached_property
    def _encoders(self) -> dict[tuple[str, bool], Encode]:
        return {}

    def probabilities(self, ranking: Ranking) -> Array:
        """Probabilities of the ranked classes (n, k), in their order, by the rule of ``aezsl.evaluation.confidence``.

        Where nothing was calibrated they say how clear a decision is, measured by the spread of the model's scores.
        """
        return probabilities(ranking, self.confidence.temperature or self.spread)

    @cached_property
    def spread(self) -> float:
        """Standard deviation of scores among classes of training: what a difference of scores is to be measured by."""
        vectors = self.recipe.class_vectors
        chosen = np.unique(np.linspace(0, len(vectors) - 1, REFERENCE_CLASSES).astype(int))
        rows = self.recipe.features(self.recipe.example.astype(np.float64))
        # Without a pool: the two images of the example are not for learning from.
        scores = self.model.adapt(self.recipe.semantics(vectors[chosen].astype(np.float64))).scores(rows)
        return float(scores.std(axis=1).mean()) or 1.0

    def adapt(self, targets: NamedClasses) -> TargetClassifier | None:
        """A classifier of some classes that serves any rows; None for a transductive method, whose pool they are."""
        return None if self.model.transductive else self.model.adapt(targets.vectors)

    def classify(
        self, features: Array, targets: NamedClasses, top: int = TOP, adapted: TargetClassifier | None = None
    ) -> pd.DataFrame:
        """What ``answer`` says as a table, a row per row of features, its lists of names under the name of ``top``."""
        columns = self.answer(features, targets, top, adapted)
        named = {name.replace("top", f"top_{top}"): values for name, values in columns.items()}
        return pd.DataFrame({name: values if values.ndim == 1 else values.tolist() for name, values in named.items()})

    def answer(
        self, features: Array, targets: NamedClasses, top: int = TOP, adapted: TargetClassifier | None = None
    ) -> dict[str, NDArray[Any]]:
        """For every row of features (n, d), as the backbone gave them: the best class, how sure it is, the best few.

        ``score`` is the method's own, ``probability`` what it means, and ``none_of_these`` says whether that is too
        little for a name. A transductive method takes all rows together as its pool.

        adapted : what ``adapt`` gave for these classes, which most methods need longer for than for the rows.
        """
        features = np.asarray(features, dtype=np.float64)
        width = self.model.n_features_in_
        if features.ndim != 2 or features.shape[1] != width:
            raise DataError(f"features must be rows of {width} numbers, as in training, got shape {features.shape}")
        rows = self.recipe.features(features)
        n_ranked = max(top, SHARING)
        ranking = adapted.rank(rows, n_ranked) if adapted else self.model.rank(rows, targets.vectors, n_ranked)
        shares = self.probabilities(ranking)[:, :top]
        scores = ranking.scores[:, :top].astype(np.float64)
        names = np.array(targets.names, dtype=object)[ranking.classes[:, :top]]
        return {
            "predicted": names[:, 0],
            "score": scores[:, 0],
            "probability": shares[:, 0],
            "none_of_these": shares[:, 0] < self.confidence.threshold,
            "top": names,
            "top_scores": scores,
            "top_probabilities": shares,
        }
