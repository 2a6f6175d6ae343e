"""Whether what is said about classes carries meaning: the same method on descriptions that say less, or nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from aezsl.arrays import Array
from aezsl.data.normalise import JOIN, fit_normaliser
from aezsl.data.problem import Problem
from aezsl.encoders.knowledge.named import wordnet
from aezsl.encoders.recipe import Recipe
from aezsl.encoders.texts.fingerprints import MINILM, with_fingerprints
from aezsl.encoders.texts.semantics import embed_classes
from aezsl.encoders.texts.written import WRITTEN, written_sentences
from aezsl.errors import DataError
from aezsl.machine.workers import Once
from aezsl.reporting.comparison import ablation_rows
from aezsl.reporting.figures import BLUE, GREY, Figure, line_figure
from aezsl.reporting.formatting import to_markdown

#: The method that is controlled, whose own line comes first.
METHOD, OWN = "eszsl", "own descriptions"

#: What stands in place of descriptions: the end of a namespace -> what it is.
CONTROLS = {
    "names": "names only",
    "scrambled": "words in random order",
    "swapped": "descriptions of other classes",
    "random": "random vectors",
}

#: The columns to read, with their heads.
SHOWN = {
    "control": "Classes are described by",
    "validation_accuracy": "Validation %",
    "per_class_accuracy": "Per class %",
    "per_class_accuracy_low": "Low",
    "per_class_accuracy_high": "High",
    "difference": "To own descriptions",
    "difference_low": "Low ",
    "difference_high": "High ",
    "difference_p": "p",
}

NOTE = (
    "ESZSL, its parameters and normalisation chosen on validation classes for every line by itself. Intervals are 95% "
    "of a bootstrap over classes and over images within them; differences are paired by image. Over several splits: "
    "kedro repeat --pipeline=description_controls. Where classes have no text, numbers are in random order instead of "
    "words."
)


def controlled_problem(problem: Problem, recipe: Recipe, control: str) -> tuple[Problem, Recipe]:
    """The problem with other vectors of its classes, and the recipe that goes with it; images stay."""
    names = problem.seen_names + problem.unseen_names
    rows = pd.Index(recipe.classes["class_name"]).get_indexer(pd.Index(names))
    if (rows < 0).any():
        raise DataError(f"class {names[int((rows < 0).argmax())]!r} is not among the classes of the recipe")
    classes = recipe.classes.iloc[rows]
    vectors, sources = _control_vectors(control, classes, recipe.class_vectors[rows], recipe.sources)
    ways = dict(problem.ways)
    if ways:  # blocks of sources are joined no more
        plain = [[step for step in steps if not JOIN.fullmatch(step)] for steps in ways["semantics"]]
        ways["semantics"] = [steps for i, steps in enumerate(plain) if steps not in plain[:i]]
    steps = [step for step in problem.semantic_normaliser.steps if not JOIN.fullmatch(step)]
    n_seen = len(problem.seen_names)
    normaliser, S_seen = fit_normaliser(steps, vectors[:n_seen].astype(np.float64))
    S_unseen = normaliser(vectors[n_seen:].astype(np.float64))
    made = replace(problem, S_seen=S_seen, S_unseen=S_unseen, semantic_normaliser=normaliser, ways=ways, shared=Once())
    kept = vectors.astype(np.float32)
    return made, replace(recipe, classes=classes, class_vectors=kept, semantics=normaliser, sources=sources)


def _control_vectors(
    control: str, classes: pd.DataFrame, own: Array, sources: list[dict[str, Any]]
) -> tuple[Array, list[dict[str, Any]]]:
    """Vectors before normalisation, drawn with seed 0, and the sources that new classes would have."""
    rng = np.random.default_rng(0)
    if control == "random":
        return rng.normal(size=own.shape), sources
    if control == "swapped":
        order = rng.permutation(len(own))
        swapped = np.empty_like(own)
        swapped[order] = own[np.roll(order, 1)]  # nobody keeps his own
        return swapped, sources
    said = _said(classes, sources)
    if control == "scrambled" and not all(said):
        return np.stack([rng.permutation(row) for row in own]), sources
    encoders = dict.fromkeys(s.get("encoder") or MINILM for s in sources if s["kind"] == "text") or {MINILM: None}
    if control == "names":
        texts = [wordnet()[name].names[0] if name in wordnet() else name for name in classes["class_name"]]
    else:
        texts = [" ".join(rng.permutation(text.split()).tolist()) for text in said]
    plain = with_fingerprints([{"kind": "text", "encoder": encoder} for encoder in encoders])
    spoken = [text.replace("_", " ") for text in texts]
    return embed_classes(classes.assign(text=spoken), plain), plain


def _said(classes: pd.DataFrame, sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """All that is said about every class: its own text, and sentences of others; empty where nobody says anything."""
    parts = [classes["text"].fillna("").tolist()] if "text" in classes else [[""] * len(classes)]
    for kind in (source.get("descriptions") for source in sources):
        if kind in WRITTEN:
            found = written_sentences(kind, classes)
            parts.append([" ".join(found.get(name, ())) for name in classes["class_name"]])
    return [" ".join(texts).strip() for texts in zip(*parts, strict=True)]


def tabulate_controls(*values: Any, names: Sequence[str]) -> tuple[pd.DataFrame, str]:
    """One row per control behind the one with own descriptions, in per cent, as a table and as Markdown.

    values : the parts of every control one after the other, see ``ablation_rows``.
    """
    rows = ablation_rows(values, names, reference=names[0])
    table = pd.DataFrame(rows)
    table.insert(0, "control", [OWN, *CONTROLS.values()])
    shown = table[list(SHOWN)].set_axis(list(SHOWN.values()), axis="columns")
    return table, f"{to_markdown(shown)}\n\n{in_a_sentence(table)}\n\n{NOTE}\n"


def in_a_sentence(table: pd.DataFrame) -> str:
    """Whether text carries meaning on this data: own descriptions against those of other classes, and against names."""
    found = table.set_index("control")
    swapped, names = (found.loc[CONTROLS[control]] for control in ("swapped", "names"))
    if np.isnan(swapped["difference"]):
        return "No test image has a known label: nothing says whether the descriptions carry meaning."

    def gain(row: Any) -> str:
        return f"{-row['difference']:.1f} points ({-row['difference_high']:.1f} to {-row['difference_low']:.1f})"

    verdict = "carry meaning" if swapped["difference_high"] < 0 else "cannot be shown to carry meaning"
    beyond = "more" if names["difference_high"] < 0 else "less" if names["difference_low"] > 0 else "no surer answers"
    return (
        f"Descriptions {verdict} on this data: they name {gain(swapped)} more images right, by class, than those of "
        f"other classes. Against names alone they give {beyond}: a difference of {gain(names)}."
    )


def draw_controls(table: pd.DataFrame) -> Figure:
    """Accuracy with its interval under every control."""
    figure, axes = line_figure("Per-class accuracy (%)", "", "Whether descriptions carry meaning")
    places = np.arange(len(table))[::-1]
    middle = table["per_class_accuracy"]
    ends = np.abs([middle - table["per_class_accuracy_low"], table["per_class_accuracy_high"] - middle])
    axes.errorbar(middle, places, xerr=ends, color=BLUE, marker="o", linestyle="", capsize=3, label="test")
    axes.plot(table["validation_accuracy"], places, color=GREY, marker="|", linestyle="", label="validation classes")
    axes.set_yticks(places, table["control"].tolist())
    axes.legend(frameon=False, fontsize="small")
    return figure
