"""problem -> parameters -> model -> classifier of the targets -> ranking: the one template of all methods."""

from typing import Any

from kedro.pipeline import Node, Pipeline, node

from aezsl.methods import Entry, Setting
from aezsl.pipelines import clear_checkpoint, with_fixed, with_settings_of
from aezsl.pipelines.method.nodes import (
    adapt,
    calibrate_confidence,
    fit,
    fit_around_base,
    fit_by_epochs,
    rank_both_sides,
    rank_targets,
)
from aezsl.selection import choose


def create_pipeline(method: Entry, setting: Setting = "zsl", variant: dict[str, Any] | None = None) -> Pipeline:
    """The stages of one method; the caller puts it under the method's namespace.

    variant : parameters that have one value whatever the configuration says.
    A method with a pool adapts in a stage of its own, the pipeline ``label_refinement``.
    """
    nodes = [_select(method, setting, variant), _calibrate(method), *_fit(method)]
    if not method.pool:
        inputs = {"trained": "model", "problem": "problem", "normalisation": "normalisation"}
        nodes.append(node(adapt, inputs, ["classifier", "adapt_cost"], name="adapt"))
    return Pipeline([*nodes, create_ranking_node(setting)], tags="training")


def create_ranking_node(setting: Setting = "zsl") -> Node:
    """Ranks the test images among the targets, or among seen and unseen classes."""
    inputs = {name: name for name in ("classifier", "problem", "normalisation", "fit_cost", "adapt_cost")}
    if setting == "zsl":
        return node(rank_targets, inputs, ["ranking", "record"], name="rank_targets")
    return node(rank_both_sides, inputs, ["seen_ranking", "unseen_ranking", "record"], name="rank_both_sides")


def _select(method: Entry, setting: Setting, variant: dict[str, Any] | None) -> Node:
    inputs = {
        "problem": "problem",
        "method": "params:method",
        "selection": "params:selection",
        "store": "selection",
    }
    if setting == "gzsl":
        inputs["calibration"] = "params:calibration"
    if method.refines:
        inputs["base_alternatives"] = "base_alternatives"
    if method.or_refines:
        inputs["stores"] = "selections"
    outputs = ["chosen", "normalisation", "grid", "alternatives"]
    function = with_fixed(choose, name=method.name, variant=variant)
    return node(with_settings_of(method.name, function), inputs, outputs, name="select_parameters")


def _calibrate(method: Entry) -> Node:
    inputs = {
        "problem": "problem",
        "normalisation": "normalisation",
        "chosen": "chosen",
        "selection": "params:selection",
        "confidence": "params:confidence",
        "calibration": "params:calibration",
        "store": "confidence_scores",
        "scores": "selection",
    }
    return node(with_fixed(calibrate_confidence, name=method.name), inputs, "confidence", name="calibrate_confidence")


def _fit(method: Entry) -> list[Node]:
    names = ("problem", "normalisation", "chosen", "confidence")
    inputs = {"recipe": "problem_recipe", **{name: name for name in names}}
    if method.refines:
        inputs |= {"base": "base_model", "base_normalisation": "base_normalisation"}
        return [node(with_fixed(fit_around_base, name=method.name), inputs, ["model", "fit_cost"], name="fit_model")]
    if not method.epochs:
        return [node(with_fixed(fit, name=method.name), inputs, ["model", "fit_cost"], name="fit_model")]
    inputs["checkpoint"] = "checkpoint"
    outputs = ["model", "fit_cost", "training_history"]
    return [
        node(with_fixed(fit_by_epochs, name=method.name), inputs, outputs, name="fit_model"),
        node(clear_checkpoint, {"checkpoint": "checkpoint", "trained": "model"}, None, name="clear_checkpoint"),
    ]
