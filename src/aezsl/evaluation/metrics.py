"""Accuracies, hit@K and confusions."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from aezsl.arrays import Labels
from aezsl.evaluation.ranking import Ranking

#: The K of flat hit@K.
HIT_KS = (1, 2, 5, 10, 20)


def accuracy(true: Labels, predicted: Labels) -> float:
    """Share of samples with the right label (the paper's multi-class accuracy)."""
    return float(np.mean(true == predicted))


def class_accuracies(true: Labels, predicted: Labels, n_classes: int) -> NDArray[np.float64]:
    """Accuracy of every class (n_classes,); NaN for a class without samples."""
    hits = np.bincount(true, weights=true == predicted, minlength=n_classes)
    counts = np.bincount(true, minlength=n_classes)
    shares = np.full(n_classes, np.nan)
    np.divide(hits, counts, out=shares, where=counts > 0)
    return shares


def per_class_accuracy(true: Labels, predicted: Labels) -> float:
    """Mean over the classes that occur of the accuracy within the class."""
    return float(np.nanmean(class_accuracies(true, predicted, int(true.max()) + 1)))


def hit_at_k(true: Labels, ranking: Ranking, k: int) -> float:
    """Share of samples whose true class is among the k best."""
    if k > ranking.classes.shape[1]:
        raise ValueError(f"hit@{k} needs the {k} best classes, this ranking holds {ranking.classes.shape[1]}")
    return float(np.mean((ranking.classes[:, :k] == true[:, None]).any(axis=1)))


def classification_metrics(true: Labels, ranking: Ranking, n_classes: int) -> dict[str, float]:
    """All metrics of one label space; hit@K for the K that the number of classes does not make trivial."""
    predicted = ranking.classes[:, 0]
    hits = {f"hit_at_{k}": hit_at_k(true, ranking, k) for k in HIT_KS if k == 1 or k < n_classes}
    return {
        "accuracy": accuracy(true, predicted),
        "per_class_accuracy": per_class_accuracy(true, predicted),
        **hits,
    }


def confusions(true: Labels, predicted: Labels, names: list[str], most: int) -> pd.DataFrame:
    """The ``most`` frequent confusions: true class, predicted class, how many, and which share of the class."""
    n_classes = len(names)
    wrong = true != predicted
    keys = true[wrong].astype(np.int64) * n_classes + predicted[wrong]  # narrow labels would overflow
    pairs, counts = np.unique(keys, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:most]
    rows, columns = np.divmod(pairs[order], n_classes)
    sizes = np.bincount(true, minlength=n_classes)
    return pd.DataFrame(
        {
            "true": [names[i] for i in rows],
            "predicted": [names[j] for j in columns],
            "count": counts[order],
            "share_of_class": counts[order] / sizes[rows],
        }
    )
