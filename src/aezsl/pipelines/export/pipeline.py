"""trained model -> MLflow model, its card, its results as others publish theirs."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.export.nodes import describe, export


def create_pipeline() -> Pipeline:
    """Write the model of one method (``--params=method=...``), trained before in the same environment."""
    inputs = {"models": "models", "settings": "params:predict"}
    described = {"models": "models", "results": "results", "predict": "params:predict", "settings": "params:export"}
    return Pipeline(
        [
            node(export, inputs, "mlflow_model", name="export"),
            node(describe, described, ["model_card", "clip_benchmark"], name="describe_model"),
        ],
        tags="export",
    )
