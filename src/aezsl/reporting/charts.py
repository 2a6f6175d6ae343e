"""Line charts as inline SVG, coloured by the page's style sheet so that light, dark and print all fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

WIDTH, HEIGHT = 400, 280  # text keeps its size on a phone, which is 400 px wide
LEFT, RIGHT, TOP, BOTTOM = 52, 20, 12, 44
MOST_POINTS = 400


@dataclass(frozen=True)
class Line:
    """One curve."""

    label: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Mark:
    """One labelled point, or with ``y`` None a vertical line."""

    label: str
    x: float
    y: float | None = None


def line_chart(
    lines: Sequence[Line], x_label: str, y_label: str, marks: Sequence[Mark] = (), log_x: bool = False
) -> str:
    """An SVG of the curves with axes, and the legend below it."""
    warp = np.log10 if log_x else np.asarray
    xs = np.concatenate([warp(np.asarray(line.x, dtype=float)) for line in lines])
    ys = np.concatenate([np.asarray(line.y, dtype=float) for line in lines])
    x_ticks, y_ticks = ticks(xs.min(), xs.max()), ticks(ys.min(), ys.max())
    if log_x:
        x_ticks = np.arange(np.floor(xs.min()), np.ceil(xs.max()) + 1)
    x_low, x_high = min(xs.min(), x_ticks[0]), max(xs.max(), x_ticks[-1])
    y_low, y_high = min(ys.min(), y_ticks[0]), max(ys.max(), y_ticks[-1])

    def px(x: float) -> float:
        return float(LEFT + (warp(x) - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT))

    def py(y: float) -> float:
        return float(HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM))

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(f"{y_label} against {x_label}")}">']
    for tick in y_ticks:
        y = py(tick)
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    for tick in x_ticks:
        x = px(10**tick) if log_x else px(tick)
        label = f"{10**tick:g}" if log_x else f"{tick:g}"
        parts.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{label}</text>')
    parts.append(
        f'<text class="axis" x="{(LEFT + WIDTH) / 2}" y="{HEIGHT - 6}" text-anchor="middle">{escape(x_label)}</text>'
    )
    middle = (HEIGHT - BOTTOM + TOP) / 2
    parts.append(
        f'<text class="axis" x="13" y="{middle}" text-anchor="middle" transform="rotate(-90 13 {middle})">'
        f"{escape(y_label)}</text>"
    )
    legend = []
    for i, line in enumerate(lines):
        keep = np.unique(np.linspace(0, len(line.x) - 1, min(len(line.x), MOST_POINTS)).astype(int))
        points = [(px(line.x[j]), py(line.y[j])) for j in keep]
        parts.append(f'<polyline class="line c{i % 5}" points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in points)}"/>')
        if len(points) <= 25:
            parts += [f'<circle class="dot c{i % 5}" cx="{x:.1f}" cy="{y:.1f}" r="3.2"/>' for x, y in points]
        legend.append(_key(f'<path class="line c{i % 5}" d="M0 4H28"/>', line.label))
    for i, mark in enumerate(marks):
        x = px(mark.x)
        if mark.y is None:
            parts.append(f'<line class="at" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
            legend.append(_key('<path class="at" d="M0 4H28"/>', mark.label))
        else:
            shape = _diamond if i % 2 else _square
            parts.append(f'<path class="mark" d="{shape(x, py(mark.y), 5.5)}"/>')
            legend.append(_key(f'<path class="mark" d="{shape(14, 4, 4)}"/>', mark.label))
    parts.append("</svg>")
    return "".join(parts) + f'<div class="legend">{"".join(f"<span>{entry}</span>" for entry in legend)}</div>'


def ticks(low: float, high: float, wanted: int = 5) -> np.ndarray:  # type: ignore[type-arg]
    """Round numbers that cover the range; a flat line gets room above and below."""
    if high - low < 1e-9:
        low, high = low - 1, high + 1
    step = (high - low) / wanted
    size = 10 ** np.floor(np.log10(step))
    step = size * min((m for m in (1, 2, 2.5, 5, 10) if m * size >= step), default=10)
    ticks: np.ndarray = np.round(np.arange(np.floor(low / step), np.ceil(high / step) + 1) * step, 10)
    return ticks


def _key(shape: str, label: str) -> str:
    return f'<svg class="key" viewBox="0 0 28 8">{shape}</svg>{escape(label)}'


def _square(x: float, y: float, r: float) -> str:
    return f"M{x - r:.1f} {y - r:.1f}h{2 * r}v{2 * r}h{-2 * r}z"


def _diamond(x: float, y: float, r: float) -> str:
    return f"M{x:.1f} {y - 1.3 * r:.1f}L{x + 1.3 * r:.1f} {y:.1f}L{x:.1f} {y + 1.3 * r:.1f}L{x - 1.3 * r:.1f} {y:.1f}z"
