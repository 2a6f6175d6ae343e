"""trained model -> MLflow model."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.export.nodes import export


def create_pipeline() -> Pipeline:
    """Write the model of one method (``--params=method=...``), trained before in the same environment."""
    inputs = {"models": "models", "settings": "params:predict"}
    return Pipeline([node(export, inputs, "mlflow_model", name="export")], tags="export")
