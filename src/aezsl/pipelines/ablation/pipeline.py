"""results of a method under several weightings -> what its weights contribute, as a table and a figure."""

from collections.abc import Sequence

from kedro.pipeline import Pipeline, node, pipeline

from aezsl.pipelines import with_fixed
from aezsl.reporting.weightings import PARTS, Variant, draw_weightings, tabulate_weightings


def create_pipeline(variants: Sequence[Variant]) -> Pipeline:
    """The comparison of these variants; needs the pipelines of all of them before it."""
    inputs = {f"{variant.name}_{part}": f"{variant.name}.{part}" for variant in variants for part in PARTS}
    tabulate = node(
        with_fixed(tabulate_weightings, variants=variants),
        list(inputs),
        ["weighting_table", "weighting_text"],
        name="tabulate_weightings",
    )
    draw = node(draw_weightings, "weighting_table", "weighting_figure", name="draw_weightings")
    return pipeline(Pipeline([tabulate, draw], tags="reporting"), inputs=inputs)
