"""ranking -> predictions, metrics, pictures."""

from collections.abc import Sequence

from kedro.pipeline import Node, Pipeline, node

from aezsl.methods import Setting
from aezsl.pipelines import with_fixed
from aezsl.pipelines.evaluation.nodes import (
    apply_constant,
    evaluate_candidates,
    evaluate_generalized,
    list_errors,
    score_targets,
    tabulate_candidates,
    tabulate_predictions,
)
from aezsl.reporting.figures import draw_reliability, draw_seen_unseen_curve
from aezsl.reporting.gallery import draw_gallery
from aezsl.reporting.names import list_names


def create_pipeline(method: str, setting: Setting = "zsl") -> Pipeline:
    """Evaluation of one method; the caller puts it under the method's namespace."""
    shared = [
        node(tabulate_predictions, ["ranking", "problem", "model"], "predictions", name="tabulate_predictions"),
        node(list_names, "predictions", "predictions_table", name="list_names"),
        node(
            score_targets,
            ["classifier", "ranking", "problem", "normalisation", "params:evaluation"],
            "scores",
            name="score_targets",
        ),
        node(
            list_errors,
            ["ranking", "problem", "params:evaluation"],
            ["per_class", "confusions"],
            name="list_errors",
        ),
        node(with_fixed(draw_reliability, name=method), "predictions", "reliability_curve", name="draw_reliability"),
        node(draw_gallery, ["predictions", "images", "params:gallery"], "gallery", name="draw_gallery"),
    ]
    own = _generalized(method) if setting == "gzsl" else [_conventional(method)]
    return Pipeline([*own, *shared], tags="evaluation")


def _conventional(method: str) -> Node:
    shared = {name: name for name in ("ranking", "problem", "normalisation", "candidates")}
    inputs = {"trained": "model", **shared}
    return node(with_fixed(evaluate_candidates, name=method), inputs, "metrics", name="evaluate")


def create_large_scale_pipeline(methods: Sequence[str]) -> Pipeline:
    """One table of the methods' metrics for every list of candidate classes."""
    inputs = [f"{method}.metrics" for method in methods]
    tabulate = with_fixed(tabulate_candidates, methods=methods)
    return Pipeline([node(tabulate, inputs, "large_scale_table", name="tabulate_candidates")], tags="evaluation")


def _generalized(method: str) -> list[Node]:
    return [
        node(
            apply_constant,
            ["seen_ranking", "unseen_ranking", "problem", "confidence", "params:calibration"],
            ["ranking", "calibration"],
            name="apply_constant",
        ),
        node(
            evaluate_generalized,
            [
                "seen_ranking",
                "unseen_ranking",
                "ranking",
                "problem",
                "model",
                "calibration",
                "params:calibration",
            ],
            ["metrics", "seen_unseen_table", "seen_unseen_points"],
            name="evaluate_generalized",
        ),
        node(
            with_fixed(draw_seen_unseen_curve, name=method),
            ["seen_unseen_table", "seen_unseen_points", "metrics"],
            "seen_unseen_curve",
            name="draw_seen_unseen_curve",
        ),
    ]
