"""photos and labels -> names, by a model that needs no training image; beside it what its weights gain."""

from kedro.pipeline import Pipeline, node

from aezsl.methods import Setting
from aezsl.pipelines import with_fixed
from aezsl.pipelines.photos.nodes import draw_photos, extract_photos, list_photos, name_photos
from aezsl.pipelines.photos.own import assemble_own, fit_own
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


def create_own(setting: Setting) -> Pipeline:
    """In place of feature extraction and training on own images; the caller adds namespace, ranking and evaluation."""
    assembled = ["semantics", "classes", "split", "attribute_names", "features"]
    return Pipeline(
        [
            node(
                extract_photos,
                ["images", "feature_store", "params:photos", "params:feature_extraction"],
                ["features", "unreadable_images"],
                name="extract_own_features",
            ),
            node(
                with_fixed(assemble_own, setting=setting),
                {
                    **{name: name for name in assembled},
                    "unreadable": "unreadable_images",
                    "store": "problem_store",
                    "photos": "params:photos",
                    "own": "params:own",
                },
                ["problem", "problem_summary", "problem_recipe"],
                name="assemble_own_problem",
            ),
            node(
                fit_own,
                ["problem", "problem_recipe", "params:photos", "params:own"],
                ["model", "normalisation", "classifier", "fit_cost", "adapt_cost", "confidence"],
                name="fit_own_classes",
            ),
        ],
        tags="training",
    )
