"""A fitted method with its recipe: all it takes to classify."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from aezsl.arrays import Array
from aezsl.methods import ZeroShotClassifier
from aezsl.serving.recipe import NamedClasses, Recipe

#: Classes listed per image in tables of predictions.
TOP = 5


@dataclass(frozen=True)
class TrainedModel:
    """A fitted method, and how images and classes became the numbers it was fitted to."""

    model: ZeroShotClassifier
    recipe: Recipe

    def classify(self, features: Array, targets: NamedClasses, top: int = TOP) -> pd.DataFrame:
        """One row per row of features (n, d), as the backbone gave them: the best class and its score, the best few.

        A transductive method takes all rows together as its pool.
        """
        rows = self.recipe.features(np.asarray(features, dtype=np.float64))
        ranking = self.model.rank(rows, targets.vectors, top)
        names = np.array(targets.names, dtype=object)[ranking.classes]
        return pd.DataFrame(
            {
                "predicted": names[:, 0],
                "score": ranking.scores[:, 0].astype(np.float64),
                f"top_{top}": names.tolist(),
                f"top_{top}_scores": ranking.scores.astype(np.float64).tolist(),
            }
        )
