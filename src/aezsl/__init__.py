"""Zero-shot image classification by category-specific visual-semantic mappings."""

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Before anything imports these: what they would tell their makers about each use is not sent (.telemetry is Kedro's).
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


def __getattr__(name: str) -> Any:
    """``aezsl.classify``, imported when somebody asks for it: the package itself stays light."""
    if name == "classify":
        return import_module("aezsl.serving.zero_shot").classify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
