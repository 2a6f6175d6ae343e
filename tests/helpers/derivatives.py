"""Derivatives by differences, the referee of gradients."""

import numpy as np


def central_differences(function, at, step=1e-4):
    """The derivative of ``function`` by every entry of ``at``, one entry at a time."""
    derivative = np.empty_like(at)
    for index in np.ndindex(at.shape):
        change = np.zeros_like(at)
        change[index] = step
        derivative[index] = (function(at + change) - function(at - change)) / (2 * step)
    return derivative
