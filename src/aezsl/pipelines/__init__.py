"""Kedro pipelines. Nodes are thin: they call the library and hand tables around."""
