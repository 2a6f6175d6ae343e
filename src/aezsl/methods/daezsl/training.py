"""The loop that trains the network of DAEZSL, and resumes where it was interrupted."""

import copy
import logging
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from aezsl.errors import DataError
from aezsl.machine.screen import progress_bar
from aezsl.methods.daezsl.inputs import Inputs
from aezsl.methods.daezsl.network import AdaptiveNetwork, adaptive_loss

log = logging.getLogger(__name__)


class Checkpoint(Protocol):
    """Where training keeps its state between epochs; this module itself touches no file."""

    def load(self, phase: str) -> dict[str, Any] | None:
        """The state that was saved last in this phase, if any."""

    def save(self, phase: str, state: dict[str, Any]) -> None:
        """Keep the state in place of the last one, all of it or nothing."""


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
    with progress_bar(total=settings.epochs, initial=done, desc=f"training ({phase})", unit="epoch") as bar:
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
