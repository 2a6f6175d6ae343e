"""Zero-shot learning methods: the mathematics, free of Kedro, MLflow and file access.

A new method is its file here, ``tests/methods/test_<name>.py`` and one line in ``registry.py``.
``core/contract.py`` has the contract, README.md the table of all methods.
"""

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
