"""Zero-shot image classification by category-specific visual-semantic mappings."""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """``aezsl.classify``, imported when somebody asks for it: the package itself stays light."""
    if name == "classify":
        return import_module("aezsl.serving.zero_shot").classify
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
