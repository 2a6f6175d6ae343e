"""features + semantics + split -> one validated problem, which all methods share."""

from kedro.pipeline import Pipeline, node

from aezsl.encoders.assembly import assemble_problem
from aezsl.methods import Setting, in_setting
from aezsl.pipelines import with_fixed


def create_pipeline(setting: Setting = "zsl") -> Pipeline:
    """The problem of one setting, and the recipe that goes with every model trained on it."""
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
                [in_setting(name, setting) for name in ("problem", "problem_summary", "problem_recipe")],
                name=f"assemble_{in_setting('problem', setting)}",
            ),
        ],
        tags="training",
    )
