"""features + semantics + split -> problem -> model -> ranking."""

from functools import partial, update_wrapper
from typing import Any

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.training.nodes import assemble_problem, fit_model, rank_targets, select_parameters


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
                ["features", "semantics", "classes", "split", "unreadable_images", "params:normalise"],
                [f"{prefix}problem", f"{prefix}problem_summary"],
                name=f"assemble_{prefix}problem",
            )
        ],
        tags="training",
    )


def create_pipeline(method: str, setting: str = "zsl") -> Pipeline:
    """Training of one method; the caller puts it under the method's namespace."""
    nodes = [
        node(
            bound(select_parameters, name=method),
            ["problem", "params:method", "params:selection", "former_selection"],
            ["selection", "chosen"],
            name="select_parameters",
        ),
        node(bound(fit_model, name=method), ["problem", "chosen"], ["model", "fit_cost"], name="fit_model"),
    ]
    if setting == "zsl":
        nodes.append(node(rank_targets, ["model", "fit_cost", "problem"], ["ranking", "record"], name="rank_targets"))
    return Pipeline(nodes, tags="training")
