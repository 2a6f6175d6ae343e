"""Predictions as a table for people: one line per image."""

import re

import numpy as np
import pandas as pd


def list_names(predictions: pd.DataFrame) -> pd.DataFrame:
    """Image, name, score and how far the runner-up is behind; the true name where it is known.

    Takes the tables of test images (columns top_1, top_2, ...) and of new ones (a column of lists). Scores are the
    method's own: they say which of two names is better for an image, not how likely it is.
    """
    names, scores = _best_two(predictions)
    table = pd.DataFrame(
        {
            "image": predictions["image_id"],
            "name": predictions["predicted"],
            "score": predictions["score"],
            "runner_up": names,
            "behind": predictions["score"].to_numpy() - scores,
        }
    )
    if predictions["true"].notna().any():
        table["true_name"] = predictions["true"]
    return table


def _best_two(predictions: pd.DataFrame) -> tuple[list[str | None], np.ndarray]:
    """The second best names with their scores; none where there is a single class to choose."""
    if "top_2" in predictions:
        return predictions["top_2"].tolist(), predictions["top_2_score"].to_numpy(dtype=np.float64)
    lists = next((name for name in map(str, predictions) if re.fullmatch(r"top_\d+_scores", name)), None)
    if lists is None:
        return [None] * len(predictions), np.full(len(predictions), np.nan)
    pairs = zip(predictions[lists.removesuffix("_scores")].tolist(), predictions[lists].tolist(), strict=True)
    second = [(names[1], values[1]) if len(names) > 1 else (None, np.nan) for names, values in pairs]
    return [name for name, _ in second], np.array([value for _, value in second], dtype=np.float64)
