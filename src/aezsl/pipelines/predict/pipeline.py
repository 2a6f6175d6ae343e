"""new images + classes + a trained model -> their names."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.predict.nodes import classify, draw_new, extract_new
from aezsl.reporting.names import list_names, sort_images


def create_pipeline() -> Pipeline:
    """Apply the model of one method (``--params=method=...``), trained before in the same environment."""
    return Pipeline(
        [
            node(
                extract_new,
                {
                    "new": "new_images",
                    "store": "new_feature_store",
                    "models": "models",
                    "settings": "params:predict",
                    "extraction": "params:feature_extraction",
                },
                ["new_features", "new_unreadable_images"],
                name="extract_new_features",
            ),
            node(
                classify,
                {
                    "models": "models",
                    "settings": "params:predict",
                    "new": "new_images",
                    "features": "new_features",
                    "unreadable": "new_unreadable_images",
                },
                "new_predictions",
                name="classify_new_images",
            ),
            node(list_names, "new_predictions", "new_predictions_table", name="list_new_names"),
            node(sort_images, ["new_predictions", "params:predict"], "sorted_images", name="sort_new_images"),
            node(draw_new, ["new_predictions", "new_images", "params:gallery"], "new_gallery", name="draw_new_images"),
        ],
        tags="predict",
    )
