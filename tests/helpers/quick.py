"""Which methods stand for all of them in the quick tests: one per shape of method and pipeline.

Of the others, what holds for every method is slow: together it takes as long as all other quick tests.
"""

import pytest

QUICK_METHODS = ("eszsl", "aezsl", "aezsl_lr", "aezsl_t", "conse", "cosine", "daezsl", "jeac")


def slow_unless_quick(names):
    """The methods as values of a parametrised test, slow but for those that stand for the others."""
    return [name if name in QUICK_METHODS else pytest.param(name, marks=pytest.mark.slow) for name in names]
