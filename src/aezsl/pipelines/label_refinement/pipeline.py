"""model + pool of test images -> classifier that has learnt from them, with its history."""

from kedro.pipeline import Pipeline, node

from aezsl.methods import Entry
from aezsl.pipelines import with_fixed
from aezsl.pipelines.label_refinement.nodes import adapt_to_pool, refine_labels
from aezsl.reporting.figures import draw_refinement_curve


def create_pipeline(method: Entry) -> Pipeline:
    """How a method with a pool adapts; the caller puts it under its namespace and names the base's datasets."""
    inputs = {"trained": "model", "problem": "problem", "normalisation": "normalisation"}
    if method.refines:
        inputs |= {"base": "base_model", "base_normalisation": "base_normalisation"}
        inputs["base_classifier"] = "base_classifier"
    function = refine_labels if method.refines else adapt_to_pool
    return Pipeline(
        [
            node(function, inputs, ["classifier", "refinement_history", "adapt_cost"], name="refine_labels"),
            node(
                with_fixed(draw_refinement_curve, name=method.name),
                "refinement_history",
                "refinement_curve",
                name="draw_refinement_curve",
            ),
        ],
        tags="label_refinement",
    )
