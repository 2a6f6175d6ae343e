"""model of a linear method -> refined labels."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.label_refinement.nodes import (
    adopt_base,
    refine_labels,
    select_refinement,
)
from aezsl.pipelines.training.pipeline import bound
from aezsl.reporting.curves import draw_refinement_curve


def create_pipeline(method: str, setting: str = "zsl") -> Pipeline:
    """Refinement of one method; the caller puts it under its namespace and names the base's datasets."""
    nodes = [
        node(
            bound(select_refinement, name=method),
            ["problem", "base_chosen", "params:method", "params:selection", "former_selection"],
            ["selection", "chosen"],
            name="select_refinement",
        ),
        node(bound(adopt_base, name=method), ["base_model", "chosen"], ["model", "fit_cost"], name="adopt_base"),
    ]
    if setting == "zsl":
        nodes += [
            node(
                refine_labels,
                ["model", "fit_cost", "problem"],
                ["ranking", "refinement_history", "record"],
                name="refine_labels",
            ),
            node(
                bound(draw_refinement_curve, name=method),
                "refinement_history",
                "refinement_curve",
                name="draw_refinement_curve",
            ),
        ]
    return Pipeline(nodes, tags="label_refinement")
