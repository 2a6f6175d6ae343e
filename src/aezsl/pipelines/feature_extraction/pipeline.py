"""images -> features."""

from kedro.pipeline import Pipeline, node

from aezsl.encoders.images.encoder import gather_features


def create_pipeline() -> Pipeline:
    """Extract what is missing; a second run computes nothing."""
    return Pipeline(
        [
            node(
                gather_features,
                {"images": "images", "store": "feature_store", "settings": "params:feature_extraction"},
                ["features", "unreadable_images"],
                name="extract_features",
            )
        ],
        tags="feature_extraction",
    )
