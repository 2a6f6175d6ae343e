"""Kedro pipelines. Nodes are thin; no pipeline imports another."""

from functools import partial, update_wrapper
from typing import Any

from aezsl.methods import method_class
from aezsl.methods.daezsl.checkpoint import CheckpointFolder


def with_fixed(function: Any, **arguments: Any) -> Any:
    """A node function with some arguments fixed, which still shows its own name."""
    return update_wrapper(partial(function, **arguments), function)


def with_settings_of(method: str, function: Any) -> Any:
    """A node function whose argument ``method`` has the settings of this method: Kedro builds what is annotated."""
    own = with_fixed(function)
    own.__annotations__ = {**function.__annotations__, "method": method_class(method).settings()}
    return own


def clear_checkpoint(checkpoint: CheckpointFolder, trained: Any) -> None:
    """Remove the checkpoints of a training; a node that takes the trained model, so that it is saved before."""
    checkpoint.clear()
