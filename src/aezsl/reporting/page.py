"""Results on disk -> the page people open."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pandas as pd

import aezsl
from aezsl.machine.provenance import git_commit, now, versions
from aezsl.methods import METHODS, in_setting
from aezsl.reporting import figures as style
from aezsl.reporting.comparison import HEADLINE
from aezsl.reporting.formatting import ReportSettings, Table, full_label, write_tables
from aezsl.reporting.pictures import data_uri
from aezsl.reporting.published import published_column
from aezsl.reporting.results import Results
from aezsl.reporting.tables import make_tables

#: Classes shown at each end of the gains; the files hold all.
MOST_GAINS = 12

#: Methods whose probabilities are drawn.
MOST_RELIABILITIES = 4

#: Parameters whose sensitivity has a pipeline, and methods that the report misses in the generalized setting.
SENSITIVITIES, GENERALIZED = ("k", "lambda3"), ("eszsl", "aezsl")


#: Sections of parameters that the page lists.
SHOWN = ("feature_extraction", "semantic_embedding", "normalise", "ingestion", "split", "selection", "calibration")


@dataclass(frozen=True)
class Picture:
    """A figure that a run has left."""

    uri: str
    alt: str


def make_report(results: Results, settings: ReportSettings, *shown: Any) -> tuple[dict[str, str], str]:
    """The tables as files by name, and the page."""
    tables = make_tables(results, settings)
    return write_tables(tables), make_page(results, tables, settings, *shown)


def make_page(results: Results, tables: dict[str, Table], settings: ReportSettings, *shown: Any) -> str:
    """One HTML page that needs no other file and no network.

    shown : the sections of parameters that the page lists, in the order of SHOWN.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = FileSystemLoader(Path(__file__).parent)
    environment = Environment(
        loader=folder, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"short_name": style.short_name, "readable_name": style.readable_name}
    gains = _both_ends(tables.get("per_class_gains"))
    template = environment.get_template("page.html.j2")
    return template.render(
        benchmark=settings.benchmark,
        env=f" --env={settings.env}" if settings.env else "",
        made=now(),
        commit=git_commit(Path(aezsl.__file__).parent),
        style=style,
        tables=tables,
        published=published_column(settings.data_set),
        problem=results.mapping("problem", "summary") or results.mapping("problem", "gzsl_summary"),
        best=_best(tables["table1"].frame),
        gains=gains,
        furthest=_round_up(max((abs(row["gain"]) for row in gains), default=0.0)),
        cases=results.mapping("qualitative", "cases"),
        mapping=results.mapping("qualitative", "mapping"),
        pictures=_pictures(results, tables["table1"].frame, settings.gallery_width),
        not_run=_not_run(results),
        stale=[full_label(name) for name in results.stale],
        facts=_facts(dict(zip(SHOWN, shown, strict=True))),
        versions=versions(),
    )


def _pictures(results: Results, table1: pd.DataFrame, gallery_width: int) -> dict[str, list[Picture]]:
    """The figures of the runs, by the place they have on the page."""
    by_accuracy = table1["method"]  # the best first
    generalized = [in_setting(name, "gzsl") for name in METHODS]
    names = "Images with the names that {} gives them"
    if table1[HEADLINE].notna().any():
        names += "; ticks mark right ones, crosses wrong ones"
    why = "Images that AEZSL gets right and ESZSL wrong, and the seen classes nearest to theirs"
    weights = "Seen classes by their weight in the mapping"
    found = {
        "gallery": islice(_find(results, by_accuracy, "gallery", names, gallery_width), 1),  # of the best method
        "seen_unseen": _find(results, generalized, "seen_unseen_curve", "Seen against unseen accuracy of {}"),
        "reliability": islice(  # of the best methods
            _find(results, by_accuracy, "reliability_curve", "Probabilities of {} beside the share of right names"),
            MOST_RELIABILITIES,
        ),
        "refinement": _find(results, METHODS, "refinement_curve", "Refinement by {}, round by round"),
        "sensitivity": chain.from_iterable(
            _find(results, METHODS, f"sensitivity_{parameter}", f"Accuracy of {{}} against {parameter}")
            for parameter in SENSITIVITIES
        ),
        "pools": _find(results, ["realistic"], "figure", "Gains of a pool over no pool, by classes present and batch"),
        "cases": _find(results, ["qualitative"], "cases", why, gallery_width),
        "mapping": _find(results, ["qualitative"], "mapping", weights),
    }
    return {place: list(pictures) for place, pictures in found.items()}


def _find(results: Results, names: Iterable[str], kind: str, alt: str, width: int | None = None) -> Iterator[Picture]:
    """The pictures of one kind of all names that have it; ``{}`` in ``alt`` is the name, ``width`` as ``data_uri``."""
    for name in names:
        if uri := data_uri(results.picture(name, kind), width):
            yield Picture(uri, alt.format(full_label(name)))


def _best(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The best method of each kind."""
    ran = frame.dropna(subset=[HEADLINE])
    best = [group.iloc[0] for _, group in ran.groupby("kind", sort=True)]
    return [{str(key): value for key, value in row.items()} for row in best]


def _both_ends(table: Table | None) -> list[dict[str, Any]]:
    if table is None:
        return []
    frame = table.frame
    ends = pd.concat([frame[frame["gain"] > 0].head(MOST_GAINS), frame[frame["gain"] < 0].tail(MOST_GAINS)])
    return [{str(key): value for key, value in row.items()} for row in ends.to_dict("records")]


def _round_up(points: float) -> int:
    """The end of an axis: the next multiple of twenty points, so that its half is a round number, too."""
    return max(20, 20 * math.ceil(points / 20))


def _not_run(results: Results) -> list[tuple[str, str]]:
    """Which analyses are missing, and the commands that make them; methods stand in the table of methods."""
    missing = [
        (full_label(name), name)
        for name in (in_setting(method, "gzsl") for method in GENERALIZED)
        if not results.path(name, "metrics")
    ]
    missing += [
        (f"sensitivity to {parameter}", f"sensitivity_{parameter}")
        for parameter in SENSITIVITIES
        if not results.path("aezsl_lr", f"sensitivity_{parameter}")
    ]
    if not results.path("realistic", "table"):
        missing.append(("pools as they come", "realistic"))
    if not results.path("qualitative", "cases"):
        missing.append(("why AEZSL differs from ESZSL", "qualitative"))
    return missing


def _facts(parameters: dict[str, Any]) -> list[tuple[str, str]]:
    """Settings a result depends on, as they are now."""
    return [
        (f"{section}.{key}", str(value))
        for section, values in parameters.items()
        for key, value in dict(values).items()
        if value is not None
    ]
