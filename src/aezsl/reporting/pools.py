"""Pools as they come: what a pool gains over no pool, as a table, in words and as a picture."""

from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.draws import Cell
from aezsl.evaluation.intervals import paired_interval
from aezsl.reporting.figures import CAPTION_SIZE, LIGHT_GREY, TEXT_SIZE, TITLE_SIZE, Figure, new_figure
from aezsl.reporting.formatting import method_label, to_markdown

#: Gain, in points, at which the colour of a cell is fullest.
FULLEST = 20.0

NOTE = (
    "Points of per-class accuracy over the classes that are present, against the same method without a pool on the "
    "same images. Intervals are 95%, paired: Student's over the draws; where there is one draw only, of a bootstrap "
    "over classes and images."
)


def tabulate_pools(draws: pd.DataFrame) -> tuple[pd.DataFrame, str, dict[str, float]]:
    """A row per method and cell, in per cent; the gains as Markdown, a table per method; and as metrics by name."""
    keys = ["method", *Cell._fields, "state"]
    table = pd.DataFrame([{**dict(zip(keys, key, strict=True)), **_summary(own)} for key, own in _by(draws, keys)])
    ran = table[table["state"] == "run"]
    parts = [_in_words(method, own) for method, own in _by(table, ["method"])]
    metrics: dict[str, float] = {}
    for (method,), own in _by(ran, ["method"]):
        metrics |= {f"{method}.mean_gain": own["gain"].mean(), f"{method}.worst_gain": own["gain"].min()}
        metrics |= {f"{method}.gain.{cell_of(row).name}": row["gain"] for row in own.to_dict("records")}
    return (
        table,
        "\n\n".join([*parts, *_left_out(table), NOTE]) + "\n",
        {key: float(value) / 100 for key, value in metrics.items()},
    )


def _by(table: pd.DataFrame, keys: list[str]) -> Any:
    return table.groupby(keys, sort=False, dropna=False)


def _summary(own: pd.DataFrame) -> dict[str, float]:
    """What the draws of a cell come to; nothing where it was left out."""
    names = ("draws", "images", "present", "base", "accuracy", "gain", "low", "high", "worst_draw")
    if own["accuracy"].isna().all():
        return dict.fromkeys(names, np.nan)
    gains = (own["accuracy"] - own["base"]).to_numpy()
    low, high = paired_interval(gains) if len(gains) > 1 else (own["low"].iloc[0], own["high"].iloc[0])
    means = [100 * own[name].mean() for name in ("base", "accuracy")]
    points = [100 * value for value in (gains.mean(), low, high, gains.min())]
    return dict(zip(names, [len(own), own["images"].mean(), own["present"].mean(), *means, *points], strict=True))


def cell_of(row: Any) -> Cell:
    """The cell of a row."""
    return Cell(str(row["classes"]), str(row["size"]), bool(row["stream"]))


def _in_words(key: tuple[str], own: pd.DataFrame) -> str:
    """One method: a line per kind of pool, a column per size."""
    lines: dict[str, dict[str, str]] = {}
    for row in own.to_dict("records"):
        base, accuracy, gain, low, high = (row[name] for name in ("base", "accuracy", "gain", "low", "high"))
        text = f"{base:.1f} → {accuracy:.1f}, {gain:+z.1f} ({low:+z.1f} to {high:+z.1f})"
        lines.setdefault(cell_of(row).row, {})[str(row["size"])] = text if row["state"] == "run" else ""
    shown = pd.DataFrame([{"present": line, **cells} for line, cells in lines.items()]).fillna("")
    shown = shown[["present", *_by_size(own)]]
    ran = own[own["state"] == "run"]
    means = f"Mean gain {ran['gain'].mean():+.1f}, worst cell {ran['gain'].min():+.1f}."
    return f"## {method_label(*key)}\n\n{to_markdown(shown)}\n\n{means}"


def _left_out(table: pd.DataFrame) -> list[str]:
    """Why there are no figures of some cells, the same for all methods."""
    rows = table[table["state"] != "run"].to_dict("records")
    reasons = (f"{cell_of(row).row}, batch {row['size']}: {row['state'].removeprefix('left out: ')}" for row in rows)
    return [f"Left out: {text}." for text in ["; ".join(dict.fromkeys(reasons))] if text]


def _by_size(table: pd.DataFrame) -> list[str]:
    """The sizes of batches that were measured, small ones first."""
    return sorted(
        set(table.loc[table["state"] == "run", "size"].astype(str)), key=lambda size: (size == "all", len(size), size)
    )


def draw_gains(table: pd.DataFrame) -> Figure:
    """A heat map per method, kinds of pools against sizes of batches."""
    methods = list(dict.fromkeys(table["method"]))
    cells = [cell_of(row) for row in table.to_dict("records")]
    rows, columns = list(dict.fromkeys(cell.row for cell in cells)), _by_size(table)
    figure = new_figure(2.6 + 1.0 * len(columns) * len(methods), 1.6 + 0.42 * len(rows))
    panels = figure.subplots(1, len(methods), sharey=True, squeeze=False)[0]
    for method, axes in zip(methods, panels, strict=True):
        own = table[(table["method"] == method) & (table["state"] == "run")].to_dict("records")
        gains = np.full((len(rows), len(columns)), np.nan)
        for row in own:
            gains[rows.index(cell_of(row).row), columns.index(str(row["size"]))] = row["gain"]
        shown = axes.imshow(gains, cmap="PuOr", vmin=-FULLEST, vmax=FULLEST, aspect="auto")
        for place, gain in np.ndenumerate(gains):
            text, colour = ("–", "black") if np.isnan(gain) else (f"{gain:+z.1f}", _ink(gain))
            axes.text(place[1], place[0], text, ha="center", va="center", fontsize=TEXT_SIZE, color=colour)
        axes.set_facecolor(LIGHT_GREY)
        axes.set_xticks(range(len(columns)), columns, fontsize=TEXT_SIZE)
        axes.set_yticks(range(len(rows)), rows, fontsize=TEXT_SIZE)
        axes.set_xlabel("Images in a batch", fontsize=TEXT_SIZE)
        axes.set_title(method_label(method), fontsize=TITLE_SIZE)
    bar = figure.colorbar(shown, ax=list(panels), shrink=0.9)
    bar.set_label("Gain over no pool, points", fontsize=TEXT_SIZE)
    bar.ax.tick_params(labelsize=CAPTION_SIZE)
    return figure


def _ink(gain: float) -> str:
    """White where the colour of the cell is dark."""
    return "white" if abs(gain) > 0.7 * FULLEST else "black"
