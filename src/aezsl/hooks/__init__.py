"""What Kedro calls around a run: checks before it, threads, turns, MLflow, the lines at its end."""
