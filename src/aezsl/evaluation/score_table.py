"""All scores of all test images, for whoever evaluates them by other means."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from aezsl.arrays import Labels


@dataclass(frozen=True)
class ScoreTable:
    """Scores of every image for every class. Rows and columns by their names; labels are numbers of columns."""

    image_id: list[str]
    class_name: list[str]
    scores: NDArray[np.float32]  # (n, C) the method's own, higher is better
    predicted: Labels  # (n,) as evaluated: a transductive method's labels need not be the highest scores
    true: Labels  # (n,) -1 where nobody knows
