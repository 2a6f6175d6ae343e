"""features + semantics + split -> problem -> model -> ranking."""

from functools import partial, update_wrapper
from typing import Any

from kedro.pipeline import Pipeline, node

from aezsl.methods import EPOCHS
from aezsl.pipelines.training.nodes import (
    assemble_problem,
    fit_model,
    fit_network,
    keep_recipe,
    rank_targets,
    select_parameters,
)


def bound(function: Any, **arguments: Any) -> Any:
    """A node function with some arguments fixed, which still shows its own name."""
    return update_wrapper(partial(function, **arguments), function)


def create_problem_pipeline(setting: str = "zsl") -> Pipeline:
    """One validated problem, which all methods share."""
    prefix = "" if setting == "zsl" else f"{setting}_"
    return Pipeline(
        [
            node(
                bound(assemble_problem, setting=setting),
                [
                    *("features", "semantics", "classes", "split", "unreadable_images", "attribute_names"),
                    *("params:normalise", "params:feature_extraction", "params:semantic_embedding", "problem_store"),
                ],
                [f"{prefix}problem", f"{prefix}problem_summary", f"{prefix}problem_recipe"],
                name=f"assemble_{prefix}problem",
            )
        ],
        tags="training",
    )


def create_recipe_pipeline() -> Pipeline:
    """What goes with every model; the caller puts it under the method's namespace."""
    return Pipeline([node(keep_recipe, "problem_recipe", "recipe", name="keep_recipe")], tags="training")


def create_pipeline(method: str, setting: str = "zsl") -> Pipeline:
    """Training of one method; the caller puts it under the method's namespace."""
    nodes = [
        node(
            bound(select_parameters, name=method),
            ["problem", "params:method", "params:selection", "former_selection"],
            ["selection", "chosen"],
            name="select_parameters",
        ),
    ]
    if method in EPOCHS:
        inputs, outputs = ["problem", "chosen", "checkpoint"], ["model", "fit_cost", "training_history"]
        nodes.append(node(bound(fit_network, name=method), inputs, outputs, name="fit_model"))
    else:
        outputs = ["model", "fit_cost"]
        nodes.append(node(bound(fit_model, name=method), ["problem", "chosen"], outputs, name="fit_model"))
    if setting == "zsl":
        nodes.append(node(rank_targets, ["model", "fit_cost", "problem"], ["ranking", "record"], name="rank_targets"))
    return Pipeline(nodes, tags="training")
