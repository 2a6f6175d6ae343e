"""images + semantics -> DAEZSL and its network, trained together -> features of that network -> ranking."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.end_to_end.nodes import assemble_adapted, extract_adapted, train_from_images
from aezsl.pipelines.training.nodes import rank_targets


def create_pipeline() -> Pipeline:
    """In place of feature extraction and training; the caller puts it under a namespace."""
    return Pipeline(
        [
            node(
                train_from_images,
                [
                    *("images", "semantics", "classes", "split", "checkpoint"),
                    *("params:normalise", "params:method", "params:end_to_end"),
                ],
                ["model", "encoder", "fit_cost", "training_history"],
                name="train_from_images",
            ),
            node(
                extract_adapted,
                ["images", "encoder", "feature_store", "params:feature_extraction"],
                ["features", "unreadable_images"],
                name="extract_adapted_features",
            ),
            node(
                assemble_adapted,
                [
                    *("features", "semantics", "classes", "split", "unreadable_images", "attribute_names"),
                    *("encoder", "checkpoint", "problem_store", "params:normalise", "params:semantic_embedding"),
                ],
                ["problem", "problem_summary", "recipe"],
                name="assemble_adapted_problem",
            ),
            node(rank_targets, ["model", "fit_cost", "problem"], ["ranking", "record"], name="rank_targets"),
        ],
        tags="training",
    )
