"""problem -> how methods with a pool fare on pools as they come, beside what they answer without one."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.realistic.nodes import measure_pools
from aezsl.reporting.pools import draw_gains, tabulate_pools


def create_pipeline() -> Pipeline:
    """Needs the problem before it; methods are those that ``realistic.methods`` names."""
    inputs = {
        "problem": "problem",
        "settings": "params:realistic",
        "selection": "params:selection",
        "parameters": "parameters",
        "recipe": "problem_recipe",
        "selections": "selections",
        "cells": "realistic_cells",
    }
    outputs = ["realistic_draws", "realistic_chosen", "realistic_record"]
    return Pipeline(
        [
            node(measure_pools, inputs, outputs, name="measure_pools"),
            node(
                tabulate_pools,
                "realistic_draws",
                ["realistic_table", "realistic_text", "realistic_gains"],
                name="tabulate_pools",
            ),
            node(draw_gains, "realistic_table", "realistic_figure", name="draw_gains"),
        ],
        tags="realistic",
    )
