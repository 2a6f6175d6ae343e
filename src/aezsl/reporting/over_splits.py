"""Methods over several class splits: means, deviations, and differences paired by split."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from aezsl.evaluation.intervals import LEVEL, paired_interval
from aezsl.evaluation.metrics import MetricTable, bounds, metrics_in
from aezsl.methods import MethodRun, Setting, in_setting
from aezsl.reporting.formatting import emphasis, method_label, to_latex, to_markdown

#: Differences smaller than this, in points, are ties: sums of class shares carry rounding.
ROUNDING = 1e-9

#: By setting: the metric that differences are of, and the table whose metrics stand beside it.
HEADLINES: dict[Setting, tuple[str, MetricTable]] = {
    "zsl": ("per_class_accuracy", "table1"),
    "gzsl": ("gzsl_harmonic_calibrated", "generalized"),
}

#: What stands before the settings of a repeat, in the note of its table.
SETTINGS_FOLLOW = " Settings: "

#: Metrics of lists of candidates that are sizes.
SIZES = ("n_classes", "n_images")


def default_reference(names: Sequence[str]) -> str:
    """ESZSL, or else the base of one of the methods, or else the first: the method, of whichever setting."""
    runs = [MethodRun.parse(name) for name in names]
    methods = [run.method for run in runs]
    bases = [run.base.method for run in runs if run.base]
    return next((name for name in ("eszsl", *bases) if name in methods), methods[0])


def tabulate_splits(measured: Mapping[int, Mapping[str, Mapping[str, float]]]) -> pd.DataFrame:
    """One row per split and method, metrics in per cent. ``measured``: seed -> method -> metrics."""
    rows = [
        {"seed": seed, "method": name}
        | {key: 100 * value for key, value in metrics.items() if key.rpartition(".")[2] not in SIZES}
        for seed, methods in measured.items()
        for name, metrics in methods.items()
    ]
    return pd.DataFrame(rows)


def summarise_splits(splits: pd.DataFrame, reference: str, overlap: float) -> pd.DataFrame:
    """One row per method and metric: mean and standard deviation over splits, and the difference to the reference.

    splits : see ``tabulate_splits``. reference : a method, the same in both settings. overlap : unseen classes per seen
    one, see ``paired_interval``. Differences, intervals and wins, ties and losses are paired by split; the interval of
    a single split, and everything where the reference was not run, is empty.
    """
    rows = []
    others = {"seed", "method"} | bounds()
    metrics = [column for column in splits.columns if column.rpartition(".")[2] not in others]
    for metric in metrics:
        values = splits.pivot_table(metric, index="seed", columns="method", dropna=False)
        for name in dict.fromkeys(splits["method"]):
            own = values[name].dropna()
            if own.empty:
                continue
            rows.append(
                {"method": name, "metric": metric, "splits": len(own), "mean": own.mean(), "std": own.std(ddof=1)}
                | _paired(values, name, in_setting(reference, MethodRun.parse(name).setting), overlap)
            )
    return pd.DataFrame(rows)


def _paired(values: pd.DataFrame, name: str, reference: str, overlap: float) -> dict[str, Any]:
    if name == reference or reference not in values:
        return {}
    differences = (values[name] - values[reference]).dropna().to_numpy(dtype=float)
    if not len(differences):
        return {}
    low, high = paired_interval(differences, overlap)
    ties = np.abs(differences) < ROUNDING
    wins, losses = int(((differences > 0) & ~ties).sum()), int(((differences < 0) & ~ties).sum())
    found = {"reference": reference, "difference": differences.mean(), "low": low, "high": high}
    return found | {"wins": wins, "ties": int(ties.sum()), "losses": losses}


def show_splits(summary: pd.DataFrame, setting: Setting, metric: str | None = None) -> pd.DataFrame:
    """The table to read, of one setting, the best mean first: ``mean ± deviation``, differences, wins/ties/losses."""
    summary, ranked, shown = _ranked(summary, setting, metric)
    cells = {(row["method"], row["metric"]): _spread(row["mean"], row["std"]) for row in summary.to_dict("records")}
    return pd.DataFrame(
        {
            "Method": [method_label(name) for name in ranked["method"]],
            **{label: [cells.get((name, key), "") for name in ranked["method"]] for key, label in shown.items()},
            **_difference_columns(ranked),
            "Splits": ranked["splits"].tolist(),
        }
    )


def mark_splits(summary: pd.DataFrame, table: pd.DataFrame, setting: Setting, metric: str | None) -> pd.DataFrame:
    """Which cells of the table to read are the best mean of their column, and which the second."""
    summary, ranked, shown = _ranked(summary, setting, metric)
    means = summary.pivot_table("mean", index="method", columns="metric", dropna=False).reindex(ranked["method"])
    marks = pd.DataFrame("", index=table.index, columns=table.columns)
    return marks.assign(**{label: emphasis(means[key].tolist()) for key, label in shown.items() if key in means})


def _ranked(
    summary: pd.DataFrame, setting: Setting, metric: str | None
) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, str]]:
    """The rows of a setting, those of the headline from the best one on, and the metrics to show."""
    headline, table = HEADLINES[setting]
    headline = metric or headline
    summary = summary[[MethodRun.parse(name).setting == setting for name in summary["method"]]]
    ranked = summary[summary["metric"] == headline].sort_values("mean", ascending=False, kind="stable")
    return summary, ranked, _shown_metrics(table, headline)


def _difference_columns(ranked: pd.DataFrame) -> dict[str, list[str]]:
    found = ranked["reference"].dropna() if "reference" in ranked else pd.Series(dtype=object)
    if found.empty:
        return {}
    rows = [row if row["reference"] == row["reference"] else None for row in ranked.to_dict("records")]
    interval = [_interval(row["low"], row["high"]) if row else "" for row in rows]
    return {
        f"To {method_label(found.iloc[0])}": [f"{row['difference']:+.1f}" if row else "" for row in rows],
        f"{100 * LEVEL:.0f}% interval": interval,
        "Wins/ties/losses": [f"{row['wins']:.0f}/{row['ties']:.0f}/{row['losses']:.0f}" if row else "" for row in rows],
    }


def _interval(low: float, high: float) -> str:
    return "" if np.isnan(low) else f"{low:+.1f} to {high:+.1f}"


def _spread(mean: float, std: float) -> str:
    return f"{mean:.1f}" if np.isnan(std) else f"{mean:.1f} ± {std:.1f}"


def _shown_metrics(table: MetricTable, headline: str) -> dict[str, str]:
    """Key -> label of the columns: the metrics that the page shows, the headline among them."""
    shown = {
        f"{m.key}_calibrated" if m.calibrated else m.key: f"{m.label} %"
        for m in metrics_in(table)
        if m.on_page and not m.bound
    }
    return shown if headline in shown else shown | {headline: f"{headline} %"}


def describe_splits(seeds: Sequence[int], overlap: float, metric: str) -> str:
    """How the figures were made, in words."""
    if len(seeds) == 1:
        return f"One class split, seed {seeds[0]}, in per cent: no deviation, no interval."
    return (
        f"Mean and standard deviation over {len(seeds)} class splits, seeds {', '.join(map(str, seeds))}, in per cent. "
        f"Differences of {metric} are paired by split. Their interval is Student's at {100 * LEVEL:.0f}%; as splits "
        f"overlap, with the variance of Nadeau and Bengio (2003): that of the differences times 1/{len(seeds)} + "
        f"{overlap:.3f}, the unseen classes per seen one."
    )


def write_splits(summary: pd.DataFrame, notes: Mapping[Setting, str], metric: str | None = None) -> tuple[str, str]:
    """Markdown and LaTeX of all settings that were run. ``notes``: setting -> ``describe_splits``."""
    markdown, latex = [], []
    for setting, note in notes.items():
        table = show_splits(summary, setting, metric)
        marks = mark_splits(summary, table, setting, metric)
        markdown.append(f"{to_markdown(table, marks=marks)}\n\n{note}\n")
        # A paper has no use for settings, which may name folders.
        caption = f"{note.partition(SETTINGS_FOLLOW)[0]} The best mean of a column is bold, the second underlined."
        latex.append(to_latex(table, marks=marks, caption=caption, label=f"tab:splits-{setting}"))
    return "\n".join(markdown), "\n".join(latex)
