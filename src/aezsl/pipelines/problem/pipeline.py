"""features + semantics + split -> one validated problem, which all methods share."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines import with_fixed
from aezsl.serving.assembly import assemble_problem


def create_pipeline(setting: str = "zsl") -> Pipeline:
    """The problem of one setting, and the recipe that goes with every model trained on it."""
    prefix = "" if setting == "zsl" else f"{setting}_"
    return Pipeline(
        [
            node(
                with_fixed(assemble_problem, setting=setting),
                {
                    "features": "features",
                    "semantics": "semantics",
                    "classes": "classes",
                    "split": "split",
                    "unreadable": "unreadable_images",
                    "store": "problem_store",
                    "attribute_names": "attribute_names",
                    "normalise": "params:normalise",
                    "extraction": "params:feature_extraction",
                    "embedding": "params:semantic_embedding",
                },
                [f"{prefix}problem", f"{prefix}problem_summary", f"{prefix}problem_recipe"],
                name=f"assemble_{prefix}problem",
            ),
        ],
        tags="training",
    )
