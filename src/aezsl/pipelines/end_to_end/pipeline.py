"""images + semantics -> DAEZSL and its network, trained together -> features of that network -> classifier."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines import clear_checkpoint, with_settings_of
from aezsl.pipelines.end_to_end.nodes import adapt, assemble_adapted, extract_adapted, train_from_images


def create_pipeline() -> Pipeline:
    """In place of feature extraction and training; the caller puts it under a namespace and adds the ranking."""
    return Pipeline(
        [
            node(
                with_settings_of("daezsl", train_from_images),
                {
                    "images": "images",
                    "semantics": "semantics",
                    "classes": "classes",
                    "split": "split",
                    "checkpoint": "checkpoint",
                    "normalise": "params:normalise",
                    "method": "params:method",
                    "settings": "params:end_to_end",
                },
                ["fitted", "encoder", "fit_cost", "training_history"],
                name="train_from_images",
            ),
            node(
                extract_adapted,
                {
                    "images": "images",
                    "weights": "encoder",
                    "store": "feature_store",
                    "settings": "params:feature_extraction",
                },
                ["features", "unreadable_images"],
                name="extract_adapted_features",
            ),
            node(
                assemble_adapted,
                {
                    "weights": "encoder",
                    "normalise": "params:normalise",
                    "features": "features",
                    "semantics": "semantics",
                    "classes": "classes",
                    "split": "split",
                    "unreadable": "unreadable_images",
                    "attribute_names": "attribute_names",
                    "embedding": "params:semantic_embedding",
                    "store": "problem_store",
                },
                ["problem", "problem_summary", "problem_recipe"],
                name="assemble_adapted_problem",
            ),
            node(
                adapt,
                {"fitted": "fitted", "recipe": "problem_recipe", "problem": "problem"},
                ["model", "normalisation", "classifier", "adapt_cost"],
                name="adapt",
            ),
            node(clear_checkpoint, {"checkpoint": "checkpoint", "trained": "model"}, None, name="clear_checkpoint"),
        ],
        tags="training",
    )
