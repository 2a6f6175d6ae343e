"""Why a photo is called by one name and not by another: attributes, and the seen classes behind either."""

from typing import Any

import numpy as np

from aezsl.app.library import Pictures
from aezsl.app.opened import Described, OpenModel
from aezsl.arrays import Array
from aezsl.errors import DataError
from aezsl.methods import LinearClassifier, TargetClassifier
from aezsl.methods.aezsl.classifier import AEZSLClassifier
from aezsl.methods.core.classifiers import ScoringClassifier
from aezsl.methods.eszsl import ESZSL
from aezsl.methods.heads.methods import AEZSLHeads
from aezsl.methods.heads.union import log_posteriors
from aezsl.reporting.explanations import named_dimensions, seen_cosines

#: Attributes that are shown, seen classes per name, and classes that a label covers.
ATTRIBUTES, NEIGHBOURS, COVERED = 8, 5, 3


def explain(
    model: OpenModel, pictures: Pictures, features: Array, classes: tuple[Described, ...], first: str, second: str
) -> dict[str, Any]:
    """What speaks for the name ``first`` of a photo, features (d,), and against ``second``."""
    names = [name for name, _ in classes]
    if first not in names or second not in names or first == second:
        raise DataError("expected two different names among the classes: choose them from the list")
    classifier = model.adapted(classes)
    places = names.index(first), names.index(second)
    rows = model.trained.recipe.features(np.asarray(features[None], dtype=np.float64))
    if isinstance(classifier, ScoringClassifier) and isinstance(classifier.model, AEZSLHeads):
        seen = classifier.model.seen_
        likeness = np.exp(log_posteriors(rows, seen.rows, seen.biases)[0][0])
        shares = classifier.parts["shares"]
        weights = shares[places[0]] * likeness, shares[places[1]]  # what speaks for the one; what the other would be
        covers = [_covered(model, own, likeness) for own in weights]
        looks = _covered(model, likeness, likeness)
        return {"covers": dict(zip((first, second), covers, strict=True)), "looks": looks}
    targets = model.targets(classes)
    vectors = targets.vectors if targets.given is None else targets.given
    sides = [_neighbours(model, vectors[place]) for place in places]
    together = sorted({name for side in sides for name, _ in side})
    likeness = _likeness(model, rows, together)
    near = {
        name: [
            {
                "name": seen,
                "closeness": cosine,
                "weight": cosine**2,
                "likeness": likeness[seen],
                "picture": pictures.of_class(seen),
            }
            for seen, cosine in side
        ]
        for name, side in zip((first, second), sides, strict=True)
    }
    weighs = isinstance(classifier, AEZSLClassifier)  # its mapping of a class is learnt with these weights
    return {"near": near, "weighs": weighs, "attributes": _attributes(model, classifier, rows, *places)}


def _covered(model: OpenModel, weights: Array, likeness: Array) -> list[dict[str, Any]]:
    """The classes of the network with the largest weights, and how much the photo looks like each of them."""
    best = np.argsort(-weights, kind="stable")[:COVERED]
    names = model.trained.known_names(weights, COVERED)
    return [{"name": name, "likeness": float(likeness[c])} for name, c in zip(names, best, strict=False)]


def _neighbours(model: OpenModel, vector: Array) -> list[tuple[str, float]]:
    """The seen classes whose semantics, as they were given, are nearest, with their cosines."""
    seen = model.names("seen")
    recipe = model.trained.recipe
    chosen = (recipe.classes["role"] == "seen").to_numpy()
    normalised, given = recipe.described(recipe.class_vectors[chosen])
    cosines = seen_cosines(normalised if given is None else given, vector)
    return [(seen[s], float(cosines[s])) for s in np.argsort(-cosines, kind="stable")[:NEIGHBOURS]]


def _likeness(model: OpenModel, rows: Array, seen: list[str]) -> dict[str, float]:
    """How much a photo (1, d) looks like some seen classes to the same model: shares of one among them."""
    known = model.trained.recipe.classes.set_index("class_name").loc[seen].reset_index()
    targets = model.trained.recipe.targets(known[["class_name"]])
    ranking = model.trained.model.adapt(targets.vectors, given=targets.given).rank(rows, len(seen))
    answers = model.trained.answers(ranking, seen)
    return dict(zip(answers.names[0], answers.probabilities[0].tolist(), strict=True))


def _attributes(
    model: OpenModel, classifier: TargetClassifier, rows: Array, first: int, second: int
) -> list[dict[str, Any]]:
    r"""What every attribute adds to the lead of one class over the other, those that add or take most.

    With mappings :math:`W_c`, the same one of all classes for ESZSL, the lead of class b over r on a photo x is

    .. math:: x W_b s_b - x W_r s_r = \sum_a \left[ (x W_b)_a s_{ba} - (x W_r)_a s_{ra} \right]

    so the parts add up to it exactly. Empty where dimensions have no names, or scores are not a sum over them.
    """
    recipe = model.trained.recipe
    named = named_dimensions(recipe.attribute_names, recipe.sources, recipe.class_vectors.shape[1])
    if named is None:
        return []
    if isinstance(classifier, AEZSLClassifier):
        mapped = [classifier.mapped_attributes(rows, place)[0] for place in (first, second)]
    elif isinstance(classifier, LinearClassifier) and isinstance(classifier.model, ESZSL):
        projected: Array = np.matmul(rows, classifier.model.W_)
        mapped = [projected[0]] * 2
    else:
        return []
    S = classifier.S_target
    parts = mapped[0] * S[first] - mapped[1] * S[second]
    strongest = np.argsort(-np.abs(parts), kind="stable")[:ATTRIBUTES]
    return [{"name": named[a], "part": float(parts[a])} for a in strongest]
