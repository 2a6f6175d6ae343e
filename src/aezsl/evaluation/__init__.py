"""Metrics: pure functions on arrays, free of Kedro, MLflow and file access."""
