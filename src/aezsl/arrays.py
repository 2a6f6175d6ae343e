"""Names for the arrays that everything here passes around, and the few things done to any of them."""

from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: Real numbers of any precision.
Array = NDArray[np.floating[Any]]
#: Row numbers, classes, samples: whole numbers of any width.
Labels = NDArray[np.integer[Any]]
#: As features and class vectors are stored.
Float32 = NDArray[np.float32]
Mask = NDArray[np.bool_]


def unit_rows(A: Array) -> Array:
    """Rows at unit length, also those whose squares would overflow or vanish; a row of zeros stays."""
    with np.errstate(over="ignore"):
        norms = np.linalg.norm(A, axis=1, keepdims=True)
    limits = np.finfo(norms.dtype)
    far = ((norms < np.sqrt(limits.tiny) / limits.eps) | np.isposinf(norms))[:, 0]
    far[far] = np.isfinite(A[far]).all(axis=1)
    if far.any() and A[far].any():
        largest = np.abs(A[far]).max(axis=1, keepdims=True)
        A = A.astype(norms.dtype)  # a copy
        A[far] /= np.where(largest > 0, largest, 1)
        norms[far] = np.linalg.norm(A[far], axis=1, keepdims=True)
    unit: Array = A / np.where(norms > 0, norms, 1)
    return unit


def digest(array: Array) -> bytes:
    """A fingerprint of the contents and the shape."""
    return blake2b(np.ascontiguousarray(array).data, person=str(array.shape).encode()[:16]).digest()
