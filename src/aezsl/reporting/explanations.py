"""Why AEZSL gets images right that ESZSL gets wrong, and what its mapping of a class looks like.

Everything here is data for figures and the report page; nothing of it is used to choose anything.
"""

from typing import Any, cast

import numpy as np
import pandas as pd

from aezsl.arrays import Array
from aezsl.data.normalise import Normalisation
from aezsl.data.problem import Problem
from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.errors import ParameterError
from aezsl.kinds import Count, Settings, Text
from aezsl.methods import LinearClassifier
from aezsl.methods.aezsl.classifier import AEZSLClassifier
from aezsl.methods.eszsl import ESZSL

#: Attributes of the target that are looked at, as in the paper.
TOP_ATTRIBUTES = 5


class QualitativeSettings(Settings):
    """Where AEZSL is right and ESZSL wrong, and what its mapping of one class looks like."""

    cases: Count = 6
    """Confusions shown, one per class."""
    images: Count = 4
    """Images shown per confusion."""
    neighbours: Count = 4
    """Nearest seen classes shown."""
    class_name: Text | None = None
    """Whose mapping is shown. null: the class of the first case."""
    mappings: Count = 40
    """Target classes, evenly drawn, whose mean mapping is what the classes share."""
    weights: Count = 10
    """Seen classes shown by their weight in the mapping, the largest first."""


def explain_cases(
    problem: Problem,
    eszsl: LinearClassifier,
    eszsl_normalisation: Normalisation,
    aezsl: AEZSLClassifier,
    aezsl_normalisation: Normalisation,
    split: pd.DataFrame,
    images: pd.DataFrame,
    attribute_names: list[str],
    semantic_embedding: EmbeddingSettings,
    settings: QualitativeSettings,
) -> dict[str, Any]:
    """The confusions of ESZSL that AEZSL resolves most often, each with pictures, attributes and neighbours."""
    if not problem.labelled.any():
        return {"attributes": False, "rescued": 0, "lost": 0, "cases": [], "why": "the test images have no labels"}
    X_eszsl, problem = problem.normalised(eszsl_normalisation).X_test, problem.normalised(aezsl_normalisation)
    y, S = problem.y_test, problem.S_target
    base, own = eszsl.scores(X_eszsl), aezsl.scores(problem.X_test)
    before, after = base.argmax(axis=1), own.argmax(axis=1)
    rescued = np.flatnonzero((after == y) & (before != y))
    # an image without a label, -1, is never right
    pairs = pd.Series(rescued).groupby([y[rescued], before[rescued]], sort=True).apply(list)
    pairs = pairs.iloc[np.argsort(-pairs.map(len).to_numpy(), kind="stable")]
    pairs = pairs[~pairs.index.get_level_values(0).duplicated()].iloc[: settings.cases]  # one per class
    names = named_dimensions(attribute_names, semantic_embedding.sources, S.shape[1])
    paths = images.set_index("image_id")["path"]
    cases = []
    for pair, rows in pairs.items():
        c, confused = cast(tuple[int, int], pair)
        shown = rows[: settings.images]
        mapped = {"eszsl": (X_eszsl, cast(ESZSL, eszsl.model).W_), "aezsl": (problem.X_test, aezsl.mappings([c])[0])}
        cases.append(
            {
                "class_name": problem.target_names[c],
                "confused_with": problem.target_names[confused],
                "rescued": len(rows),
                "pictures": [str(paths.get(problem.test_ids[row], "")) for row in shown],
                "attributes": representative_attributes(problem, mapped, c, confused, shown, names),
                "margin_eszsl": float(np.mean(_margins(base[shown], c, confused))),
                "margin_aezsl": float(np.mean(_margins(own[shown], c, confused))),
                "neighbours": neighbours(problem, c, split, paths, settings.neighbours),
                "confused_neighbours": neighbours(problem, confused, split, paths, settings.neighbours),
            }
        )
    lost = int(((after != y) & (before == y)).sum())
    return {"attributes": names is not None, "rescued": len(rescued), "lost": lost, "cases": cases, "why": ""}


def named_dimensions(names: list[str], sources: list[dict[str, Any]], width: int) -> list[str] | None:
    """Names of the semantic dimensions, where each is one attribute; None for text and mixtures."""
    kinds = [source.get("kind") for source in sources]
    return names if kinds == ["attributes"] and len(names) == width else None


def _margins(scores: Array, c: int, confused: int) -> Array:
    """How far class c is above the other, in standard deviations of an image's scores: free of a method's scale."""
    margins: Array = (scores[:, c] - scores[:, confused]) / scores.std(axis=1)
    return margins


def representative_attributes(
    problem: Problem,
    mapped: dict[str, tuple[Array, Array]],
    c: int,
    confused: int,
    rows: list[int],
    names: list[str] | None,
) -> list[dict[str, Any]]:
    """Among the target's largest attributes those larger than the confused class's, as both mappings see them.

    mapped : test images as a method sees them, and its mapping W. A mapped value is ``x W`` at that attribute, averaged
    over the images. It is also given in standard deviations above the mean of all test images, since the two mappings
    are regularised differently and differ in scale.
    """
    if names is None:
        return []
    S = problem.S_target
    top = np.argsort(-S[c], kind="stable")[:TOP_ATTRIBUTES]
    chosen = top[S[c, top] > S[confused, top]]
    if not len(chosen):
        return []
    found: list[dict[str, Any]] = [
        {"name": names[a], "value": float(S[c, a]), "confused_value": float(S[confused, a])} for a in chosen
    ]
    for method, (X, W) in mapped.items():
        values = X @ W[:, chosen]
        means = values[rows].mean(axis=0)
        standard = (means - values.mean(axis=0)) / np.maximum(values.std(axis=0), np.finfo(float).tiny)
        for entry, raw, scaled in zip(found, means, standard, strict=True):
            entry |= {method: float(raw), f"{method}_standardised": float(scaled)}
    return found


def neighbours(problem: Problem, c: int, split: pd.DataFrame, paths: pd.Series, count: int) -> list[dict[str, Any]]:
    """The seen classes whose semantics are nearest to those of target c by cosine, each with one training image."""
    cosines = _cosines_with_seen(problem, c)
    training = split[split[problem.setting] == "train"].drop_duplicates("class_name").set_index("class_name")
    return [
        {
            "class_name": problem.seen_names[s],
            "cosine": float(cosines[s]),
            "picture": str(paths.get(training["image_id"].get(problem.seen_names[s], ""), "")),
        }
        for s in np.argsort(-cosines, kind="stable")[:count]
    ]


def _cosines_with_seen(problem: Problem, c: int) -> Array:
    """Cosines between target c and all seen classes, by semantics as they were given."""
    if problem.given_seen is None or problem.given_target is None:
        return seen_cosines(problem.S_seen, problem.S_target[c])
    return seen_cosines(problem.given_seen, problem.given_target[c])


def seen_cosines(S_seen: Array, a: Array) -> Array:
    """Cosines between a vector and the semantics of all seen classes."""
    cosines: Array = S_seen @ a / (np.linalg.norm(S_seen, axis=1) * np.linalg.norm(a))
    return cosines


def explain_mapping(
    problem: Problem,
    eszsl: LinearClassifier,
    eszsl_normalisation: Normalisation,
    aezsl: AEZSLClassifier,
    aezsl_normalisation: Normalisation,
    cases: dict[str, Any],
    settings: QualitativeSettings,
) -> dict[str, Any]:
    """How far W_c of one class is from what the classes share, and which seen classes pulled it there.

    The class is the one named in the settings, or else the first of the cases. The shared mapping is the mean of
    the mappings of ``mappings`` target classes, evenly drawn, this one among them.
    """
    problem = problem.normalised(aezsl_normalisation)
    names, S = problem.target_names, problem.S_target
    name = settings.class_name or (cases["cases"][0]["class_name"] if cases["cases"] else names[0])
    if name not in names:
        raise ParameterError(
            f"qualitative.class_name is {name!r}, which is not a target class; it must be one such as {names[0]!r}"
        )
    c = names.index(name)
    drawn = np.unique(np.append(np.linspace(0, len(S) - 1, min(settings.mappings, len(S))).astype(int), c))
    mappings = [np.asarray(W, dtype=np.float32) for W in aezsl.mappings(drawn.tolist())]
    shared = np.mean(mappings, axis=0)
    moved = [float(np.linalg.norm(W - shared) / np.linalg.norm(shared)) for W in mappings]
    cosines = _cosines_with_seen(problem, c)
    comparable = eszsl_normalisation["features"] == aezsl_normalisation["features"]
    counts, edges = np.histogram(cosines**2, bins=20)
    strongest = np.argsort(-np.abs(cosines), kind="stable")[: settings.weights]
    return {
        "class_name": name,
        "moved": moved[int(np.flatnonzero(drawn == c)[0])],
        "moved_others": dict(zip([names[t] for t in drawn], moved, strict=True)),
        "classifier_cosine": _cosine(aezsl.classifiers[:, c], eszsl.classifiers[:, c]) if comparable else None,
        "weights": [{"class_name": problem.seen_names[s], "weight": float(cosines[s] ** 2)} for s in strongest],
        "weight_share": float(np.sort(cosines**2)[::-1][: settings.weights].sum() / (cosines**2).sum()),
        "n_seen": len(cosines),
        "histogram": {"counts": counts.tolist(), "edges": edges.tolist()},
    }


def _cosine(a: Array, b: Array) -> float:
    return float(a @ b / (np.linalg.norm(a) * np.linalg.norm(b)))
