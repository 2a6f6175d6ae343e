"""trained model -> MLflow model."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.export.nodes import bundle


def create_pipeline() -> Pipeline:
    """Write the model of one method (``--params=method=...``), trained before in the same environment."""
    return Pipeline([node(bundle, ["trained_model", "trained_recipe"], "mlflow_model", name="bundle")], tags="export")
