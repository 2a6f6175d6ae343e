"""What AEZSL's weights contribute: the same methods under several weightings, everything else selected alike."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from aezsl.methods import METHODS
from aezsl.methods.shared.similarity import WEIGHTINGS
from aezsl.reporting.comparison import ablation_rows
from aezsl.reporting.figures import BLUE, GREEN, GREY, ORANGE, Figure, line_figure
from aezsl.reporting.formatting import to_markdown

#: Without weights: one mapping that all targets share.
SHARED = "none"

#: The columns to read, with their heads.
SHOWN = {
    "label": "Method",
    "weighting": "Weighting",
    "validation_accuracy": "Validation %",
    "per_class_accuracy": "Per class %",
    "per_class_accuracy_low": "Low",
    "per_class_accuracy_high": "High",
    "difference": "To one shared mapping",
    "difference_low": "Low ",
    "difference_high": "High ",
    "difference_p": "p",
}

NOTE = (
    "Parameters are chosen on validation classes for every line by itself. Intervals are 95% of a bootstrap over "
    "classes and over images within them; differences of per-class accuracy to AEZSL_sim without weights, which is one "
    "mapping that all targets share under AEZSL's regularisers, are in points and paired by image. ESZSL is one shared "
    "mapping, too, under other regularisers: its difference is what the form of regularisation makes."
)


class Variant(NamedTuple):
    """A method under one weighting, or one that has none."""

    method: str
    weighting: str | None = None  # None: the method as it is

    @property
    def name(self) -> str:
        """The namespace of its results; a variant that changes nothing has the name of its method."""
        default = getattr(METHODS[self.method].load(), "weighting", None)
        return self.method if self.weighting in (None, default) else f"{self.method}_{self.weighting}"


#: What is compared. Without weights the targets of AEZSL all have the mapping that those of AEZSL_sim have.
VARIANTS = (
    Variant("eszsl"),
    Variant("adaptive_eszsl", "cosine_squared"),
    *(Variant("aezsl_sim", weighting) for weighting in WEIGHTINGS),
    *(Variant("aezsl", weighting) for weighting in WEIGHTINGS if weighting != SHARED),
)


def tabulate_weightings(*values: Any, variants: Sequence[Variant]) -> tuple[pd.DataFrame, str]:
    """One row per variant, accuracies in per cent, as a table and as Markdown.

    ``values`` are the parts of every variant one after the other, see ``ablation_rows``.
    """
    rows = ablation_rows(values, [variant.name for variant in variants], Variant("aezsl_sim", SHARED).name)
    table = pd.DataFrame(
        {
            "method": variant.method,
            "label": METHODS[variant.method].label,
            "weighting": json.loads(row["chosen"]).get("weighting", ""),
            **row,
        }
        for variant, row in zip(variants, rows, strict=True)
    )
    shown = table[list(SHOWN)].set_axis(list(SHOWN.values()), axis="columns")
    return table, f"{to_markdown(shown)}\n\n{NOTE}\n"


def draw_weightings(table: pd.DataFrame) -> Figure:
    """Accuracy under every weighting, with its interval, and what it was on validation classes."""
    figure, axes = line_figure("Weighting of the seen classes", "Per-class accuracy (%)", "What the weights contribute")
    figure.set_size_inches(8, 4.5)
    places = {weighting: place for place, weighting in enumerate(WEIGHTINGS)}
    styles = zip(("aezsl_sim", "aezsl", "adaptive_eszsl"), (BLUE, ORANGE, GREEN), "osD", (-0.1, 0.1, 0.0), strict=True)
    for method, colour, marker, aside in styles:
        own = table[table["method"] == method]
        if own.empty:
            continue
        at = own["weighting"].map(places) + aside
        middle = own["per_class_accuracy"]
        ends = np.abs([middle - own["per_class_accuracy_low"], own["per_class_accuracy_high"] - middle])
        label = own["label"].iloc[0]
        axes.errorbar(at, middle, ends, color=colour, marker=marker, linestyle="", capsize=3, label=label)
        axes.plot(at, own["validation_accuracy"], color=colour, marker="_", markersize=12, linestyle="")
    plain = table.loc[table["method"] == "eszsl", "per_class_accuracy"]
    for value in plain:
        axes.axhline(value, color=GREY, linestyle="--", linewidth=1, label="ESZSL")
    axes.set_xticks(list(places.values()), [name.replace("_", "\n") for name in places])
    axes.plot([], [], color="black", marker="_", markersize=12, linestyle="", label="on validation classes")
    axes.legend(frameon=False, fontsize="small", ncols=2)
    return figure
