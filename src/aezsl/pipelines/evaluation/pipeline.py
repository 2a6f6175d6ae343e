"""ranking -> predictions, metrics, pictures."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.evaluation.gallery import draw_gallery
from aezsl.pipelines.evaluation.nodes import evaluate, tabulate_predictions


def create_pipeline() -> Pipeline:
    """Evaluation of one method; the caller puts it under the method's namespace."""
    return Pipeline(
        [
            node(tabulate_predictions, ["ranking", "problem"], "predictions", name="tabulate_predictions"),
            node(
                evaluate,
                ["ranking", "problem", "params:evaluation"],
                ["metrics", "per_class", "confusions"],
                name="evaluate",
            ),
            node(draw_gallery, ["predictions", "images", "params:gallery"], "gallery", name="draw_gallery"),
        ],
        tags="evaluation",
    )
