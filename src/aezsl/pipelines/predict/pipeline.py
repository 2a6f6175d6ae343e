"""new images + classes + a trained model -> their names."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.predict.nodes import classify, draw_new, extract_new


def create_pipeline() -> Pipeline:
    """Apply the model of one method (``--params=method=...``), trained before in the same environment."""
    return Pipeline(
        [
            node(
                extract_new,
                ["new_images", "new_feature_store", "trained_recipe", "params:predict", "params:feature_extraction"],
                ["new_features", "new_unreadable_images"],
                name="extract_new_features",
            ),
            node(
                classify,
                ["trained_model", "trained_recipe", "new_images", "new_features", "new_unreadable_images"],
                "new_predictions",
                name="classify_new_images",
            ),
            node(draw_new, ["new_predictions", "new_images", "params:gallery"], "new_gallery", name="draw_new_images"),
        ],
        tags="predict",
    )
