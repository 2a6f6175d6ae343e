"""The labels of a pool, round by round: what a transductive method did, kept as changes."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd

from aezsl.arrays import Labels
from aezsl.evaluation.metrics import accuracy, per_class_accuracy


class LabelHistory:
    """Starts with the labels before the first round; ``record`` adds a round.

    True labels never reach a method: whoever has them asks ``table(true)`` for the accuracy of every round.
    """

    def __init__(self, start: Labels) -> None:
        self.start = np.asarray(start).copy()
        self.labels: Labels = self.start
        self._changes: list[tuple[Labels, Labels]] = []  # samples and their new labels, of every round
        self._numbers: list[dict[str, float]] = []
        self.note = ""  # what a reader of the table should know, such as why there is no round

    def record(self, labels: Labels, **numbers: float) -> None:
        """The labels after a round, and what else is known of it: objective, iterations, ..."""
        changed = np.flatnonzero(labels != self.labels)
        self._changes.append((changed, labels[changed].copy()))
        self._numbers.append(numbers)
        self.labels = labels.copy()

    def rounds(self) -> Iterator[Labels]:
        """The labels after each round."""
        labels = self.start.copy()
        for samples, new in self._changes:
            labels[samples] = new
            yield labels

    def table(self, true: Labels | None = None, with_start: bool = False) -> pd.DataFrame:
        """One row per round: its number, what was recorded, how many labels changed in it, how many differ from the
        start after it, classes in use; with true labels, -1 where one is not known, the accuracy of all labels, too.

        with_start : the start comes first, as round 0.
        """
        scored = true is not None and bool((true >= 0).any())
        described = [self._describe(0, self.start, 0, true if scored else None)] if with_start else []
        for number, labels in enumerate(self.rounds(), start=1):
            changed = len(self._changes[number - 1][0])
            row = self._describe(number, labels, changed, true if scored else None)
            described.append({"round": number, **self._numbers[number - 1], **row})
        columns = list(self._describe(0, self.start, 0, None))
        table = pd.DataFrame(described) if described else pd.DataFrame(columns=columns)
        return table.assign(note=self.note) if self.note else table

    def _describe(self, number: int, labels: Labels, changed: int, true: Labels | None) -> dict[str, float | None]:
        found: dict[str, float | None] = {"accuracy": None, "per_class_accuracy": None}
        if true is not None:
            known = true >= 0
            pair = true[known], labels[known]
            found = {"accuracy": accuracy(*pair), "per_class_accuracy": per_class_accuracy(*pair)}
        different = int((labels != self.start).sum())
        in_use = len(np.unique(labels))
        return {"round": number, "changed": changed, "differ_from_start": different, "classes_in_use": in_use, **found}

    def state(self) -> dict[str, Any]:
        """All of it as arrays."""
        sizes = np.array([len(samples) for samples, _ in self._changes], dtype=np.int64)
        samples, labels = (
            np.concatenate([pair[i] for pair in self._changes]) if self._changes else np.empty(0, dtype=np.int64)
            for i in (0, 1)
        )
        numbers = pd.DataFrame(self._numbers)
        columns = {f"number.{name}": numbers[name].to_numpy(dtype=np.float64) for name in numbers}
        note = np.array(self.note)
        return {"start": self.start, "sizes": sizes, "samples": samples, "labels": labels, "note": note, **columns}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The history that ``state`` was taken of."""
        history = cls(state["start"])
        history.note = str(state["note"])
        columns = {key.removeprefix("number."): state[key] for key in state if key.startswith("number.")}
        ends = np.cumsum(state["sizes"])
        for number, (size, end) in enumerate(zip(state["sizes"], ends, strict=True)):
            labels = history.labels.copy()
            labels[state["samples"][end - size : end]] = state["labels"][end - size : end]
            history.record(labels, **{name: float(values[number]) for name, values in columns.items()})
        return history
