"""The network of DAEZSL: its loss without the decision matrices, its masks, and the loop that trains it."""

import copy
import logging
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from aezsl.errors import DataError, ParameterError
from aezsl.machine.progress import progress_bar
from aezsl.methods.daezsl.inputs import Inputs


class Checkpoint(Protocol):
    """Where training keeps its state between epochs; this module itself touches no file."""

    def load(self, phase: str) -> dict[str, Any] | None:
        """The state that was saved last in this phase, if any."""

    def save(self, phase: str, state: dict[str, Any]) -> None:
        """Keep the state in place of the last one, all of it or nothing."""


log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Settings:
    """What training depends on beside the data; part of every checkpoint."""

    epochs: int
    batch_size: int
    learning_rate: float
    mapping_rate: float
    rho: float
    dropout: float
    patience: int | None


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


def train(
    network: AdaptiveNetwork,
    inputs: Inputs,
    rows: NDArray[np.integer[Any]],
    y: NDArray[np.integer[Any]],
    S: NDArray[np.floating[Any]],
    settings: Settings,
    generator: torch.Generator,
    device: torch.device,
    validate: Callable[[], float] | None = None,
    checkpoint: Checkpoint | None = None,
    phase: str = "fit",
    origin: str = "",
) -> dict[str, NDArray[np.floating[Any]]]:
    """Train in place; the network ends with the weights of its last epoch.

    rows : numbers of the samples to learn from; y : their labels, rows of S.
    validate : accuracy on classes left out, asked before the first and after every epoch. Training stops
        after ``settings.patience`` epochs without a new best.
    checkpoint : keeps everything that the next epoch depends on; a later call resumes from there. A checkpoint
        of other settings, or of another ``origin`` (which stands for the data), is not used.
    Returns ``loss``, the mean loss of a sample during each epoch, and ``accuracy``, one number more, from epoch 0.
    """
    network.to(device)
    samples, targets = torch.as_tensor(rows), torch.as_tensor(y)
    semantics = torch.as_tensor(S, dtype=torch.float32, device=device)
    others = [weight for name, weight in network.named_parameters() if name != "W"]  # of the MLP, of the encoder
    groups = [{"params": [network.W], "lr": settings.mapping_rate}, {"params": others, "lr": settings.learning_rate}]
    optimizer = torch.optim.Adagrad(groups if others else groups[:1])
    history: dict[str, list[float]] = {"loss": [], "accuracy": [validate()] if validate else []}

    # Resume an interrupted training where it stopped.
    config = {**asdict(settings), "origin": origin}
    saved = checkpoint.load(phase) if checkpoint else None
    if saved and saved.get("config") == config:
        history = _resume(saved, network, optimizer, generator) or history

    done = len(history["loss"])
    with progress_bar(
        total=settings.epochs, initial=done, desc=f"training ({phase})", unit="epoch", leave=False
    ) as bar:
        while len(history["loss"]) < settings.epochs and not _stalled(history["accuracy"], settings.patience):
            total = 0.0
            network.train()
            batches = torch.split(torch.randperm(len(rows), generator=generator), settings.batch_size)
            stream = inputs.stream([samples[batch] for batch in batches], generator)
            for batch, given in zip(batches, stream, strict=True):
                X, labels = network.encode(given.to(device)), targets[batch].to(device)
                M = network.masks(semantics, settings.dropout, generator)
                loss = adaptive_loss(X, labels, network.W, semantics, M, settings.rho)
                optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimizer.step()
                total += loss.item()
            if not math.isfinite(total):
                raise DataError(
                    f"the loss is {total} after epoch {len(history['loss']) + 1}: lower learning_rate "
                    f"(now {settings.learning_rate}) or bring features and semantics to unit length"
                )
            history["loss"].append(total / len(rows))
            if validate:
                history["accuracy"].append(validate())
            bar.update()
            bar.set_postfix({name: f"{values[-1]:.4g}" for name, values in history.items() if values})
            if checkpoint:
                state = {"network": network.state_dict(), "optimizer": optimizer.state_dict()}
                checkpoint.save(
                    phase, {**state, "generator": generator.get_state(), "history": history, "config": config}
                )
    return {name: np.array(values) for name, values in history.items()}


def _resume(
    saved: dict[str, Any], network: AdaptiveNetwork, optimizer: torch.optim.Optimizer, generator: torch.Generator
) -> dict[str, list[float]] | None:
    """Take over what a checkpoint holds, and its history; None, and nothing changed, where it is damaged."""
    before = copy.deepcopy((network.state_dict(), optimizer.state_dict())), generator.get_state()
    try:
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
        generator.set_state(saved["generator"])
        return {name: [float(value) for value in saved["history"][name]] for name in ("loss", "accuracy")}
    except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
        log.warning("the checkpoint is damaged (%s): training starts again at the beginning", error)
        (weights, steps), state = before
        network.load_state_dict(weights)
        optimizer.load_state_dict(steps)
        generator.set_state(state)
        return None


def _stalled(accuracy: list[float], patience: int | None) -> bool:
    """No new best for ``patience`` epochs."""
    return patience is not None and bool(accuracy) and len(accuracy) - 1 - int(np.argmax(accuracy)) >= patience
