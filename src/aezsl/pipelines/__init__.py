"""Kedro pipelines: they wire, the rooms below do the work. No pipeline imports another."""

from functools import partial, update_wrapper
from typing import Any


def with_fixed(function: Any, **arguments: Any) -> Any:
    """A node function with some arguments fixed, which still shows its own name."""
    return update_wrapper(partial(function, **arguments), function)
