"""A trained model and all it takes to use it; imports neither kedro nor the report."""
