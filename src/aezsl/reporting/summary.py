"""The last lines of a run: results as a small table, what learning from the pool did, where to look next."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from aezsl.arrays import Array


@dataclass(frozen=True)
class MethodResult:
    """What a run has left of one method."""

    name: str
    metrics: Mapping[str, float]
    record: Mapping[str, Any]
    #: What it starts from and how right that is, where no line of its own says so.
    start: tuple[str, float] | None = None

    @property
    def seconds(self) -> float:
        """What fitting, adapting and ranking took together."""
        return float(sum(self.record.get(f"{stage}_seconds", 0.0) for stage in ("fit", "adapt", "rank")))


#: Columns: heading, and the metrics of which the first that was measured is shown.
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "per class": ("per_class_accuracy",),
    "hit@5": ("hit_at_5",),
    "seen": ("gzsl_seen_calibrated", "gzsl_seen"),
    "unseen": ("gzsl_unseen_calibrated", "gzsl_unseen"),
    "harmonic": ("gzsl_harmonic_calibrated", "gzsl_harmonic"),
}


def results_table(results: Sequence[MethodResult]) -> str:
    """One line per method: its accuracies in per cent, with their intervals where there are some, and its seconds.

    A column that no method has a figure for is left out; so are methods without any, whose images have no labels.
    What a method starts from stands above it where that is no method of the table.
    """
    measured = [result for result in results if result.metrics]
    shown = {
        heading: keys for heading, keys in COLUMNS.items() if any(_cell(result.metrics, keys) for result in measured)
    }
    if not shown:
        return ""
    rows = [["method", *shown, "seconds"]]
    for result in measured:
        if result.start:
            begun, accuracy = result.start
            rows.append([begun, f"{accuracy:.1%}", *[""] * len(shown)])
        cells = (_cell(result.metrics, keys) for keys in shown.values())
        rows.append([result.name, *cells, f"{result.seconds:,.1f}"])
    return _aligned(rows)


def photo_results(table: pd.DataFrame) -> str:
    """One line per method on photos: per-class accuracy and its gain over the first one, with intervals."""
    if table.empty:
        return ""
    rows = [["method", "per class", "gain over one mapping"]]
    for row in table.to_dict("records"):
        accuracy = f"{row['per_class_accuracy']:.1%} ({100 * row['low']:.1f} to {100 * row['high']:.1f})"
        gain = f"{100 * row['gain']:+.1f} ({100 * row['gain_low']:+.1f} to {100 * row['gain_high']:+.1f})"
        rows.append([str(row["method"]), accuracy, "" if len(rows) == 1 else gain])
    return _aligned(rows)


def _cell(metrics: Mapping[str, float], keys: Sequence[str]) -> str:
    key = next((key for key in keys if key in metrics), None)
    if key is None:
        return ""
    interval = ""
    if f"{key}_low" in metrics and f"{key}_high" in metrics:
        interval = f" ({100 * metrics[f'{key}_low']:.1f} to {100 * metrics[f'{key}_high']:.1f})"
    return f"{metrics[key]:.1%}{interval}"


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    """The first column to the left, the others to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = (
        "  ".join(
            cell.rjust(width) if i else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def describe_pool(name: str, history: pd.DataFrame, n_images: int, own_way: str = "") -> str:
    """What a method that learns from the pool did to the labels it began with.

    own_way : its normalisation, where the base alone has another one.
    """
    note = f" ({history['note'].iloc[0]})" if "note" in history and len(history) else ""
    if history.empty or not int(history["differ_from_start"].iloc[-1]):
        why = note or ": what it would do did not gain on validation classes, or gained no more than chance explains"
        return f"{name} changed none of {n_images:,} labels{why}"
    changed = int(history["differ_from_start"].iloc[-1])
    before, after = history["per_class_accuracy"].iloc[0], history["per_class_accuracy"].iloc[-1]
    gained = "" if pd.isna(before) or pd.isna(after) else f": {before:.1%} -> {after:.1%}"
    why = f" (normalised by {own_way})" if own_way else ""
    return f"{name} changed {changed:,} of {n_images:,} labels{gained}{why}"


def better_method(
    name: str,
    accuracies: Mapping[str, float],
    best_known: str,
    command: Callable[[str], str] = "kedro run --pipeline={}".format,
) -> str:
    """The method that did better on the same problem, with its command; or the one worth a try, if it was not run.

    accuracies : per-class accuracy of every method that was run on this problem. best_known : the method to try.
    command : what runs a pipeline on the same data.
    """
    own = accuracies.get(name)
    if own is None:
        return ""
    best = max(accuracies, key=lambda method: accuracies[method])
    if accuracies[best] > own:
        return f"on these data {best} reached {accuracies[best]:.1%}: {command(best)}"
    if best_known not in accuracies:
        return f"worth a try, it gained with every kind of pool that was measured: {command(best_known)}"
    return ""


def alike_pairs(S_seen: Array, S_target: Array, names: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs of target classes that are described more alike than any two seen classes, the most alike first.

    Nothing in training teaches a model to tell two classes apart whose vectors are that close. Closeness is the cosine
    of the vectors as methods see them.
    """
    seen, targets = _cosines(S_seen), _cosines(S_target)
    limit = max((seen[pair] for pair in combinations(range(len(S_seen)), 2)), default=np.inf)
    pairs = [pair for pair in combinations(range(len(S_target)), 2) if targets[pair] > limit]
    return [(names[i], names[j]) for i, j in sorted(pairs, key=lambda pair: -targets[pair])]


def describe_alike(pairs: Sequence[tuple[str, str]], shown: int = 3) -> str:
    """A sentence that names the most alike ones; empty where there are none."""
    if not pairs:
        return ""
    named = "; ".join(" and ".join(pair) for pair in pairs[:shown])
    more = f" (and {len(pairs) - shown} more pairs)" if len(pairs) > shown else ""
    return f"described more alike than any two seen classes, and likely to be mixed up: {named}{more}"


def _cosines(S: Array) -> Array:
    lengths = np.linalg.norm(S, axis=1, keepdims=True)
    unit = S / np.where(lengths > 0, lengths, 1.0)
    cosines: Array = unit @ unit.T
    return cosines
