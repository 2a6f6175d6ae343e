"""Results on disk -> tables, and the page people open."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

import aezsl
from aezsl.methods import METHODS
from aezsl.provenance import git_commit, now, versions
from aezsl.reporting import tables
from aezsl.reporting.charts import Line, Mark, line_chart
from aezsl.reporting.comparison import to_markdown
from aezsl.reporting.pictures import data_uri
from aezsl.reporting.results import Results
from aezsl.reporting.tables import Table

#: Pictures of single images are this wide on the page.
THUMBNAIL = 96
#: Classes shown at each end of the gains; the files hold all.
MOST_GAINS = 12


def make_tables(results: Results) -> dict[str, Table]:
    """All tables that the results allow."""
    made = {
        "table1": tables.conventional(results),
        "generalized": tables.generalized(results),
        "large_scale": tables.large_scale(results),
        "per_class_gains": tables.gains(results),
        "selection": tables.selection(results),
        "origins": tables.origins(results),
    }
    return {key: table for key, table in made.items() if table is not None}


def write_tables(made: dict[str, Table]) -> dict[str, str]:
    """Every table as CSV and as Markdown, by file name."""
    files = {}
    for key, table in made.items():
        files[f"{key}.csv"] = table.frame.to_csv(index=False)
        files[f"{key}.md"] = f"# {table.title}\n\n{to_markdown(table.frame)}\n\n{table.note}\n"
    return files


def make_page(results: Results, made: dict[str, Table], parameters: dict[str, Any]) -> str:
    """One HTML page that needs no other file and no network."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    settings = parameters["report"]
    template = environment.get_template("page.html.j2")
    return template.render(
        benchmark=settings["benchmark"],
        made=now(),
        commit=git_commit(Path(aezsl.__file__).parent),
        tables=made,
        problem=results.mapping("problem", "summary") or results.mapping("problem", "gzsl_summary"),
        best=_best(made["table1"].frame),
        gains=_both_ends(made.get("per_class_gains")),
        refinement=_refinement(results),
        sensitivity=list(_sensitivity(results)),
        seen_unseen=list(_seen_unseen(results)),
        cases=_with_pictures(results.mapping("qualitative", "cases")),
        mapping=results.mapping("qualitative", "mapping"),
        gallery=_gallery(results, settings["gallery_width"]),
        not_run=_not_run(results),
        stale=tables.stale(results),
        facts=_facts(parameters),
        versions=versions(),
    )


def _best(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The best method of each kind."""
    ran = frame.dropna(subset=["accuracy"]).sort_values("accuracy", ascending=False, kind="stable")
    best = [group.iloc[0] for _, group in ran.groupby("kind", sort=True)]
    return [{str(key): value for key, value in row.items()} for row in best]


def _both_ends(table: Table | None) -> list[dict[str, Any]]:
    if table is None:
        return []
    frame = table.frame
    ends = pd.concat([frame[frame["gain"] > 0].head(MOST_GAINS), frame[frame["gain"] < 0].tail(MOST_GAINS)])
    return [{str(key): value for key, value in row.items()} for row in ends.to_dict("records")]


def _refinement(results: Results) -> str:
    """All refinement histories of labelled data in one chart."""
    lines = []
    for name in (entry.name for entry in METHODS.values() if entry.pool):
        history = results.table(name, "refinement_history")
        if history is not None and len(history) and history["accuracy"].notna().all() and tables.current(results, name):
            lines.append(Line(name, history["round"].tolist(), (100 * history["accuracy"]).tolist()))
    return line_chart(lines, "Round", "Accuracy of all labels (%)") if lines else ""


def _sensitivity(results: Results) -> Iterator[tuple[str, str]]:
    for name in METHODS:
        for parameter in ("k", "lambda3"):
            table = results.table(name, f"sensitivity_{parameter}")
            if table is None or not tables.current(results, name):
                continue
            x = table[parameter].tolist()
            lines = [
                Line("per image", x, (100 * table["accuracy"]).tolist()),
                Line("per class", x, (100 * table["per_class_accuracy"]).tolist()),
            ]
            chosen = (results.mapping(name, "chosen") or {}).get(parameter)
            marks = []
            if chosen is not None and min(x) <= chosen <= max(x):
                marks.append(Mark(f"chosen: {chosen:g}", chosen))
            log_x = min(x) > 0 and max(x) / min(x) > 50
            yield f"{name}: {parameter}", line_chart(lines, parameter, "Accuracy (%)", marks, log_x)


def _seen_unseen(results: Results) -> Iterator[tuple[str, str]]:
    for name in METHODS:
        curve, points = (results.table(f"gzsl_{name}", kind) for kind in ("seen_unseen", "seen_unseen_points"))
        if curve is None or points is None or not tables.current(results, f"gzsl_{name}"):
            continue
        line = Line(name, (100 * curve["unseen"]).tolist(), (100 * curve["seen"]).tolist())
        marks = [
            Mark(f"{row['point']} (constant {row['constant']:.3g})", 100 * row["unseen"], 100 * row["seen"])
            for row in points.to_dict("records")
        ]
        yield name, line_chart([line], "Accuracy on unseen classes (%)", "Accuracy on seen classes (%)", marks)


def _with_pictures(explained: dict[str, Any] | None) -> dict[str, Any] | None:
    for case in (explained or {}).get("cases", []):
        case["pictures"] = [data_uri(path, THUMBNAIL) for path in case["pictures"]]
        for neighbour in case["neighbours"] + case["confused_neighbours"]:
            neighbour["picture"] = data_uri(neighbour["picture"], THUMBNAIL)
    return explained


def _gallery(results: Results, width: int) -> dict[str, str] | None:
    """The picture of the best method that has one."""
    frame = tables.conventional(results).frame.sort_values("accuracy", ascending=False, kind="stable")
    for name in frame["method"]:
        uri = data_uri(results.path(name, "gallery.png"), width)
        if uri and tables.current(results, name):
            return {"method": name, "picture": uri}
    return None


def _not_run(results: Results) -> list[tuple[str, str]]:
    """What is missing, and the command that makes it."""
    missing = [(f"method {name}", name) for name in METHODS if not results.path(name, "metrics")]
    missing += [
        (f"{name} in the generalized setting", f"gzsl_{name}")
        for name in ("eszsl", "aezsl")
        if not results.path(f"gzsl_{name}", "metrics")
    ]
    missing += [
        (f"sensitivity to {parameter}", f"sensitivity_{parameter}")
        for parameter in ("k", "lambda3")
        if not results.path("aezsl_lr", f"sensitivity_{parameter}")
    ]
    if not results.path("qualitative", "cases"):
        missing.append(("qualitative analysis", "qualitative"))
    return missing


def _facts(parameters: dict[str, Any]) -> list[tuple[str, str]]:
    """Settings a result depends on, as they are now."""
    shown = ("feature_extraction", "semantic_embedding", "normalise", "ingestion", "split", "selection", "calibration")
    return [
        (f"{section}.{key}", str(value))
        for section in shown
        for key, value in parameters.get(section, {}).items()
        if value is not None
    ]
