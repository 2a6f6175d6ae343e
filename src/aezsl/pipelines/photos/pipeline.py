"""photos and labels -> names, by a model that needs no training image; beside it what its weights gain."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.photos.nodes import draw_photos, extract_photos, list_photos, name_photos
from aezsl.reporting.names import list_names


def create_pipeline() -> Pipeline:
    """Name a folder of photos (``--params=photos.images=<folder>``); no run is needed before."""
    return Pipeline(
        [
            node(list_photos, "params:photos", ["photos", "photo_labels"], name="list_photos"),
            node(
                extract_photos,
                ["photos", "photo_feature_store", "params:photos", "params:feature_extraction"],
                ["photo_features", "unreadable_photos"],
                name="extract_photo_features",
            ),
            node(
                name_photos,
                ["photos", "photo_labels", "photo_features", "unreadable_photos", "params:photos"],
                ["photo_predictions", "photo_table", "photo_metrics"],
                name="name_photos",
            ),
            node(list_names, "photo_predictions", "photo_names", name="list_photo_names"),
            node(draw_photos, ["photo_predictions", "photos", "params:gallery"], "photo_gallery", name="draw_photos"),
        ],
        tags="photos",
    )
