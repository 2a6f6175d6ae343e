"""Predictions as a table for people: one line per image."""

import re

import numpy as np
import pandas as pd

from aezsl.arrays import Array
from aezsl.evaluation.confidence import NONE_OF_THESE


def list_names(predictions: pd.DataFrame) -> pd.DataFrame:
    """Image, name with its probability, and the runner-up with its own; the true name where it is known.

    The name is "none of these" where the best class is too improbable for one: it stands as ``best`` then and always.
    Takes the tables of test images (columns top_1, top_2, ...) and of new ones (columns of lists). Where there are no
    probabilities, in the generalized setting, scores stand instead: they say which of two names is better for an image.
    """
    surely = "probability" if predictions["probability"].notna().any() else "score"
    runners_up, behind = _second(predictions, surely)
    table = pd.DataFrame(
        {
            "image": predictions["image_id"],
            "name": predictions["predicted"].mask(predictions["none_of_these"].astype(bool), NONE_OF_THESE),
            "best": predictions["predicted"],
            surely: predictions[surely],
            "runner_up": runners_up,
            f"runner_up_{surely}": behind,
        }
    )
    if predictions["true"].notna().any():
        table["true_name"] = predictions["true"]
    return table


def _second(predictions: pd.DataFrame, surely: str) -> tuple[list[str | None], Array]:
    """The second best names, and how sure they are; none where there is a single class to choose."""
    if "top_2" in predictions:
        return predictions["top_2"].tolist(), predictions[f"top_2_{surely}"].to_numpy(dtype=np.float64)
    lists = next((name for name in map(str, predictions) if re.fullmatch(r"top_\d+_probabilities", name)), None)
    if lists is None:
        return [None] * len(predictions), np.full(len(predictions), np.nan)
    names_of = predictions[lists.removesuffix("_probabilities")]
    pairs = zip(names_of.tolist(), predictions[lists].tolist(), strict=True)
    second = [(names[1], shares[1]) if len(names) > 1 else (None, np.nan) for names, shares in pairs]
    return [name for name, _ in second], np.array([share for _, share in second], dtype=np.float64)
