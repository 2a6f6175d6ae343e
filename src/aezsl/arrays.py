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
    """Rows at unit length; a row of zeros stays."""
    norms = np.linalg.norm(A, axis=1, keepdims=True)
    unit: Array = A / np.where(norms > 0, norms, 1)
    return unit


def digest(array: Array) -> bytes:
    """A fingerprint of the contents and the shape."""
    return blake2b(np.ascontiguousarray(array).data, person=str(array.shape).encode()[:16]).digest()
