"""The network of DAEZSL: its loss without the decision matrices, its shared mapping and its masks."""

import math
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aezsl.errors import ParameterError


class _SquaredDecisions(torch.autograd.Function):
    r"""The sum over a batch of all squared decision values, :math:`\sum (M'M) \circ (VV') \circ (X'X)`.

    The three Gram matrices (d, d) are symmetric, so that each derivative is one product, where automatic
    differentiation would pay for two: :math:`2 M (VV' \circ X'X)` for M, and likewise for the others.
    """

    @staticmethod
    def forward(ctx: Any, M: Tensor, V: Tensor, X: Tensor) -> Tensor:
        MM, VV, XX = M.T @ M, V @ V.T, X.T @ X
        ctx.save_for_backward(M, V, X, MM, VV, XX)
        return (MM * VV).flatten().dot(XX.flatten())

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        M, V, X, MM, VV, XX = ctx.saved_tensors
        scale = 2 * gradients[0]
        return (
            scale * (M @ (VV * XX)) if ctx.needs_input_grad[0] else None,
            scale * ((MM * XX) @ V) if ctx.needs_input_grad[1] else None,
            scale * (X @ (MM * VV)) if ctx.needs_input_grad[2] else None,
        )


def adaptive_loss(X: Tensor, y: Tensor, W: Tensor, S: Tensor, M: Tensor | None, rho: float) -> Tensor:
    r"""The loss of a batch, :math:`\sum_i \|J^i - \bar Y_i\|_F^2 + R^i`, in memory O(d^2 + BC).

    :math:`J^i = (\bar X_i \circ M) W S'` is the (C, C) decision matrix of sample i under every mask. With
    :math:`V = W S'`, the sum of its squares is a quadratic form in x that the whole batch shares,

    .. math:: \sum_{c_1 c_2} (J^i_{c_1 c_2})^2 = x_i' (M'M \circ VV') x_i

    and everything else, the cross term as well as the hinge
    :math:`R^i = \sum_{c \ne c(i)} \max(0, J^i_{c,c(i)} - J^i_{c(i),c(i)} + \rho)`, needs only the column of the
    true class, :math:`J^i_{\cdot,c(i)} = M (x_i \circ v_{c(i)})`.

    X (B, d) features, y (B,) labels, W (d, a) mapping, S (C, a) semantics, M (C, d) masks; None stands for ones.
    """
    B, C = len(X), len(S)
    V = W @ S.T
    if M is None:  # every row of J is the same, so the hinge is a constant
        J = X @ V
        return C * (J.square().sum() - 2 * J.gather(1, y[:, None]).sum() + B) + B * (C - 1) * rho
    column = (X * V.T[y]) @ M.T  # (B, C)
    own = column.gather(1, y[:, None])
    squares: Tensor = _SquaredDecisions.apply(M, V, X)  # type: ignore[no-untyped-call]
    square = squares - 2 * column.sum() + B * C
    hinge = (column - own + rho).relu().sum() - B * rho  # the true class does not compete with itself
    return square + hinge


class AdaptiveNetwork(torch.nn.Module):
    """The shared mapping W (d, a), and the MLP that turns a class vector into its mask of d features.

    ``encoder`` makes features of the inputs and learns with the rest; None where inputs are features.
    """

    def __init__(self, d: int, a: int, hidden: int | None, generator: torch.Generator, zero: bool = False) -> None:
        """hidden: units of the MLP, None for masks of one. zero: W starts at zero and not at random."""
        super().__init__()
        self.encoder: torch.nn.Module | None = None
        self.W = torch.nn.Parameter(torch.zeros(d, a) if zero else glorot(d, a, generator))
        self.masked = hidden is not None
        if hidden is not None:
            self.A1 = torch.nn.Parameter(glorot(hidden, a, generator))
            self.b1 = torch.nn.Parameter(torch.zeros(hidden))
            self.A2 = torch.nn.Parameter(glorot(d, hidden, generator))
            self.b2 = torch.nn.Parameter(torch.zeros(d))

    @classmethod
    def started_at(cls, W: NDArray[np.floating[Any]], hidden: int | None, generator: torch.Generator) -> Self:
        """A network that classifies as W does until it is trained: masks of one half, W doubled."""
        network = cls(W.shape[0], W.shape[1], hidden, generator, zero=True)
        with torch.no_grad():
            network.W.copy_(torch.as_tensor(W if hidden is None else 2 * W, dtype=torch.float32))
            if hidden is not None:
                network.A2.zero_()
        return network

    def masks(self, S: Tensor, dropout: float = 0.0, generator: torch.Generator | None = None) -> Tensor | None:
        """Masks (C, d) in (0, 1). Units are dropped by our own generator, whose state a checkpoint can keep."""
        if not self.masked:
            return None
        h = torch.relu(S @ self.A1.T + self.b1)
        if dropout:
            kept = torch.rand(h.shape, generator=generator) >= dropout
            h = h * kept.to(h.device) / (1 - dropout)
        return torch.sigmoid(h @ self.A2.T + self.b2)

    def encode(self, inputs: Tensor) -> Tensor:
        """Features (B, d)."""
        if self.encoder is None:
            return inputs
        features: Tensor = self.encoder(inputs)
        return features

    def arrays(self) -> dict[str, NDArray[np.float32]]:
        """All weights but the encoder's as NumPy arrays."""
        own = self.named_parameters(recurse=False)
        return {name: value.detach().cpu().numpy().copy() for name, value in own}


def glorot(rows: int, columns: int, generator: torch.Generator) -> Tensor:
    """Uniform weights whose variance keeps signals at their size in both directions (Glorot and Bengio, 2010)."""
    bound = math.sqrt(6 / (rows + columns))
    return (2 * torch.rand(rows, columns, generator=generator) - 1) * bound


def pick_device(name: str) -> torch.device:
    """The named device; ``auto`` takes CUDA or MPS where there is one."""
    if name != "auto":
        try:
            return torch.device(name)
        except RuntimeError as error:
            raise ParameterError(f"device must be cpu, cuda, mps or auto, got {name!r}") from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
