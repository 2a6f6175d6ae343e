"""What a network is trained from: stored features, or anything that an encoder turns into features as it learns."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from aezsl.arrays import Array, Labels

if TYPE_CHECKING:
    import torch


#: Samples that are handled together where all of them would not fit in memory: features may be a mapped file.
BLOCK = 4096


class Inputs(Protocol):
    """Samples by number. Implementations touch files where they have to; the methods do not."""

    encoder: "torch.nn.Module | None"  # turns inputs into features (B, d) and is trained with the rest; None: no need
    width: int  # d

    def __len__(self) -> int:
        """How many samples there are."""

    def stream(self, batches: "Sequence[torch.Tensor]", generator: "torch.Generator") -> "Iterator[torch.Tensor]":
        """Inputs of one batch of sample numbers after the other. Only ``generator`` may decide anything by chance."""

    def features(self, rows: Labels, encoder: "torch.nn.Module | None") -> Array:
        """Features (len(rows), d) as prediction sees them, by the encoder at its present state."""

    def fingerprint(self) -> str:
        """Changes with the samples."""


class StoredFeatures:
    """Features (n, d) that are there already, in memory or in a mapped file."""

    def __init__(self, X: Array) -> None:
        self.encoder: torch.nn.Module | None = None
        self.X = X
        self.width = X.shape[1]

    def __len__(self) -> int:
        return len(self.X)

    def stream(self, batches: "Sequence[torch.Tensor]", generator: "torch.Generator") -> "Iterator[torch.Tensor]":
        """The rows of every batch, read when it is needed."""
        import torch

        return (torch.as_tensor(self.X[batch.numpy()], dtype=torch.float32) for batch in batches)

    def features(self, rows: Labels, encoder: Any = None) -> Array:
        """The rows themselves; all of them without a copy."""
        return self.X if len(rows) == len(self.X) else self.X[rows]

    def fingerprint(self) -> str:
        """A digest of all features, a block at a time."""
        digest = hashlib.sha256(f"{self.X.shape} {self.X.dtype}".encode())
        for i in range(0, len(self.X), BLOCK):
            digest.update(np.ascontiguousarray(self.X[i : i + BLOCK]).data)
        return digest.hexdigest()
