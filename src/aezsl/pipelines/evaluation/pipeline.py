"""ranking -> predictions, metrics, pictures."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline, node

from aezsl.methods import REFINES
from aezsl.pipelines.evaluation.generalized import (
    apply_constant,
    calibrate,
    evaluate_generalized,
    rank_both_sides,
)
from aezsl.pipelines.evaluation.nodes import (
    evaluate,
    evaluate_candidates,
    list_errors,
    tabulate_candidates,
    tabulate_predictions,
)
from aezsl.pipelines.training.pipeline import bound
from aezsl.reporting.curves import draw_seen_unseen_curve
from aezsl.reporting.gallery import draw_gallery


def create_pipeline(method: str, setting: str = "zsl") -> Pipeline:
    """Evaluation of one method; the caller puts it under the method's namespace."""
    shared = [
        node(tabulate_predictions, ["ranking", "problem"], "predictions", name="tabulate_predictions"),
        node(
            list_errors,
            ["ranking", "problem", "params:evaluation"],
            ["per_class", "confusions"],
            name="list_errors",
        ),
        node(draw_gallery, ["predictions", "images", "params:gallery"], "gallery", name="draw_gallery"),
    ]
    own = _generalized(method) if setting == "gzsl" else [_conventional(method)]
    return Pipeline([*own, *shared], tags="evaluation")


def _conventional(method: str) -> Node:
    if method in REFINES:  # refined labels belong to one set of images and classes
        return node(evaluate, ["ranking", "problem"], "metrics", name="evaluate")
    inputs = ["ranking", "model", "problem", "candidates"]
    return node(bound(evaluate_candidates, name=method), inputs, "metrics", name="evaluate")


def create_large_scale_pipeline(methods: Sequence[str]) -> Pipeline:
    """One table of the methods' metrics for every list of candidate classes."""
    inputs = [f"{method}.metrics" for method in methods]
    tabulate = bound(tabulate_candidates, methods=methods)
    return Pipeline([node(tabulate, inputs, "large_scale_table", name="tabulate_candidates")], tags="evaluation")


def _generalized(method: str) -> list[Node]:
    return [
        node(
            bound(calibrate, name=method),
            ["problem", "chosen", "params:selection", "params:calibration"],
            "calibration",
            name="calibrate",
        ),
        node(
            rank_both_sides,
            ["model", "fit_cost", "problem"],
            ["seen_ranking", "unseen_ranking", "record"],
            name="rank_both_sides",
        ),
        node(
            apply_constant,
            ["seen_ranking", "unseen_ranking", "problem", "calibration"],
            "ranking",
            name="apply_constant",
        ),
        node(
            evaluate_generalized,
            ["seen_ranking", "unseen_ranking", "problem", "calibration", "params:calibration"],
            ["metrics", "seen_unseen_table", "seen_unseen_points"],
            name="evaluate_generalized",
        ),
        node(
            bound(draw_seen_unseen_curve, name=method),
            ["seen_unseen_table", "seen_unseen_points", "metrics"],
            "seen_unseen_curve",
            name="draw_seen_unseen_curve",
        ),
    ]
