"""Custom Kedro datasets: one file per on-disk format."""
