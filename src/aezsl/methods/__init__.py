"""Zero-shot learning methods: the mathematics, free of Kedro, MLflow and file access.

A new method is its file here, ``tests/methods/test_<name>.py`` and one line in ``registry.py``.
``core/contract.py`` has the contract, README.md the table of all methods.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aezsl.methods.core.classifiers import LinearClassifier, PoolClassifier, ScoringClassifier, TargetClassifier
    from aezsl.methods.core.contract import LinearZeroShotClassifier, ZeroShotClassifier
    from aezsl.methods.registry import (
        HEADS,
        METHODS,
        SETTINGS,
        UNPAIRED,
        Entry,
        MethodRun,
        Setting,
        in_setting,
        make_method,
        method_class,
        method_name,
    )

__all__ = [
    "HEADS",
    "METHODS",
    "SETTINGS",
    "UNPAIRED",
    "Entry",
    "LinearClassifier",
    "LinearZeroShotClassifier",
    "MethodRun",
    "PoolClassifier",
    "ScoringClassifier",
    "Setting",
    "TargetClassifier",
    "ZeroShotClassifier",
    "in_setting",
    "make_method",
    "method_class",
    "method_name",
]


def __getattr__(name: str) -> Any:
    """Imported when somebody asks for it: formulas in numpy alone need no scikit-learn, whose import takes a second."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    places = {"Classifier": "core.classifiers", "ZeroShotClassifier": "core.contract"}
    place = next((places[end] for end in reversed(places) if name.endswith(end)), "registry")
    return getattr(import_module(f"aezsl.methods.{place}"), name)
