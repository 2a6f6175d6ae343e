"""What a run prints while it works and when it is done."""

import json
import time
from functools import partial
from pathlib import Path
from typing import Any

import click
import pandas as pd
from kedro.framework.hooks import hook_impl
from kedro.io import DataCatalog
from kedro.pipeline import Node, Pipeline

from aezsl.data.normalise import in_words
from aezsl.data.problem import Problem
from aezsl.datasets.files import dataset_path
from aezsl.evaluation.confidence import NONE_OF_THESE, Confidence
from aezsl.hooks.crash import LOG_FILE
from aezsl.hooks.subject import SPLIT_OF_REPEAT, main_method, next_command, pipeline_names, short_path
from aezsl.machine.screen import VERBOSE, report, say
from aezsl.methods import MethodRun, in_setting
from aezsl.pipeline_registry import ENTRIES, OF_METHODS
from aezsl.reporting.summary import (
    MethodResult,
    alike_pairs,
    better_method,
    describe_alike,
    describe_pool,
    photo_results,
    results_table,
)

#: Nodes that take less than this many seconds are not mentioned.
WORTH_A_LINE = 1.0

#: The exit code where new images cannot be read, as of ``classify``; and how many of them are listed.
UNREAD, LISTED = 3, 20

#: A method that gained with every kind of pool that was measured (data/results/pools.md).
BEST_KNOWN = "aezsl_t"

#: Those that show test images, where there are any.
OF_IMAGES = ("gallery", "reliability_curve", "refinement_curve", "predictions_table")


class Closing:
    """A line for every node that takes its time; at the end the results, and where to look next."""

    def __init__(self) -> None:
        self._started: dict[str, float] = {}
        self._done = 0

    @hook_impl
    def before_pipeline_run(self, pipeline: Pipeline) -> None:
        """Count the nodes."""
        self._done = 0
        report(done=0, total=len(pipeline.nodes))

    @hook_impl
    def before_node_run(self, node: Node) -> None:
        """Start the node's clock."""
        self._started[node.name] = time.monotonic()

    @hook_impl
    def after_node_run(self, node: Node) -> None:
        """Say that the node is done."""
        self._done += 1
        report(done=self._done)
        seconds = time.monotonic() - self._started.pop(node.name, time.monotonic())
        if seconds >= WORTH_A_LINE:
            say(f"{seconds:6.1f} s  {_spoken(node.name)}")

    @hook_impl(trylast=True)  # it may end the command
    def after_pipeline_run(self, run_params: dict[str, Any], pipeline: Pipeline, catalog: DataCatalog) -> None:
        """Print the end; a split of a repeat has none, its results are in the lines of its methods.

        Where new images could not be read, the exit code tells it.
        """
        if SPLIT_OF_REPEAT in pipeline_names(run_params):
            return
        outputs = pipeline.all_outputs()
        blocks = [
            *_results(outputs, catalog, run_params),
            *_named(outputs, catalog),
            unread := _unread(outputs, catalog),
            _photos(outputs, catalog),
            _registered(outputs, catalog, run_params),
            _places(outputs, catalog, main_method(run_params)),
            "\n".join(_next_commands(outputs, catalog, run_params)),
        ]
        say("\n" + "\n\n".join(block for block in blocks if block) + "\n")
        if unread:
            raise click.exceptions.Exit(UNREAD)


def _spoken(name: str) -> str:
    """A node's name in words, behind the method it belongs to."""
    space, _, node = name.rpartition(".")
    return ": ".join(part for part in (space, node.replace("_", " ")) if part)


def _results(outputs: set[str], catalog: DataCatalog, run_params: dict[str, Any]) -> list[str]:
    main = main_method(run_params)
    names = sorted(name.removesuffix(".metrics") for name in outputs if name.endswith(".metrics"))
    pools = [name for name in names if f"{name}.refinement_history" in outputs]
    histories = {name: catalog.load(f"{name}.refinement_history") for name in pools}
    own_ways = {name: _own_way(name, catalog) for name in pools}
    starts = {name: _start(name, histories[name], own_ways[name], catalog) for name in pools}
    results = [
        MethodResult(name, catalog.load(f"{name}.metrics"), catalog.load(f"{name}.record"), starts.get(name))
        for name in sorted(names, key=lambda name: name == main)
    ]
    sizes = {name: len(catalog.load(f"{name}.predictions")) for name in pools}
    sentences = [describe_pool(name, histories[name], size, own_ways[name]) for name, size in sizes.items() if size]
    unmeasured = [result.name for result in results if not result.metrics]
    sentences += [f"{name}: no accuracy: there are no test images with labels" for name in unmeasured]
    if main in unmeasured:
        told = [sentence for sentence in _expectations(catalog, main) if sentence]
        report(expected=told)
        sentences += told
    if f"{main}.record" in outputs:
        command = partial(next_command, run_params)
        sentences.append(better_method(main, _accuracies(catalog, main), BEST_KNOWN, command))
    return [results_table(results), "\n".join(sentence for sentence in sentences if sentence)]


def _start(name: str, history: pd.DataFrame, own_way: str, catalog: DataCatalog) -> tuple[str, float] | None:
    """What a method starts from and how right that is, where it is not its base as that stands in the table."""
    base = MethodRun.parse(name).base
    before = history["per_class_accuracy"].iloc[0] if base and len(history) else None
    if base is None or before is None or pd.isna(before):
        return None
    begun = catalog.load(f"{name}.chosen").get("start", base.method)
    if begun == base.method and not own_way:
        return None
    return f"{begun}, normalised as {name}" if own_way else begun, float(before)


def _own_way(name: str, catalog: DataCatalog) -> str:
    """The normalisation of a method that refines another one, if the latter has chosen differently for itself."""
    base = MethodRun.parse(name).base
    if not base:
        return ""
    own, other = (catalog.load(f"{method}.normalisation") for method in (name, base.name))
    return "" if own == other else in_words(own)


def _expectations(catalog: DataCatalog, main: str) -> list[str]:
    """What can be said of names that nobody can check."""
    run = MethodRun.parse(main)
    problem: Problem = catalog.load(in_setting("problem", run.setting) if run.entry else f"{main}.problem")
    own = problem.normalised(catalog.load(f"{main}.normalisation"))
    confidence = Confidence.from_mapping(catalog.load(f"{main}.confidence"))
    expectation = confidence.expectation
    return [
        expectation.in_words(len(problem.S_unseen)) if expectation else "",
        describe_alike(alike_pairs(own.S_seen, own.S_unseen, own.unseen_names)),
    ]


def _accuracies(catalog: DataCatalog, main: str) -> dict[str, float]:
    """Per-class accuracy of every method that was run on the problem of this run."""
    fingerprint = catalog.load(f"{main}.record")["problem_fingerprint"]
    folder = dataset_path(catalog, f"{main}.metrics").parent.parent
    found = {}
    for file in sorted(folder.glob("*/metrics.json")):
        try:
            metrics, record = (
                json.loads((file.parent / f"{part}.json").read_text(encoding="utf-8")) for part in ("metrics", "record")
            )
        except (OSError, ValueError):  # of a run that was stopped while it wrote
            continue
        if record.get("problem_fingerprint") == fingerprint and "per_class_accuracy" in metrics:
            found[file.parent.name] = float(metrics["per_class_accuracy"])
    return found


def _named(outputs: set[str], catalog: DataCatalog) -> list[str]:
    """How many images got a name whose own one nobody knows."""
    sentences = []
    for name in sorted(outputs):
        if name.rpartition(".")[2] in ("predictions", "new_predictions"):
            predictions = catalog.load(name)
            unknown = predictions[predictions["true"].isna()]
            if len(unknown):
                none = int(unknown["none_of_these"].sum())
                but = f", {none:,} of them {NONE_OF_THESE!r}" if none else ""
                confidence = f"{name.rpartition('.')[0]}.confidence"
                if confidence in outputs and (why := _why_all_are_named(catalog.load(confidence), name, catalog)):
                    but = f": every one, as {why}"
                sentences.append(f"{len(unknown):,} image{'s' if len(unknown) > 1 else ''} named{but}")
    return list(dict.fromkeys(sentences))  # a method and its base say the same


def _why_all_are_named(confidence: dict[str, Any], name: str, catalog: DataCatalog) -> str:
    """Why no image of these predictions is none of the classes; empty where one might be."""
    rule = confidence["stacking"] if name.startswith("gzsl_") and confidence["stacking"] else confidence
    if rule["threshold"]:
        return ""
    settings = dict(catalog.load("params:confidence"))
    if rule["temperature"] is None:
        return "probabilities were not calibrated" if settings["calibrate"] else "confidence.calibrate is false"
    if settings["none_share"] == 0:
        return "confidence.none_share is 0"
    return f"nothing showed when to say {NONE_OF_THESE!r}"


def _unread(outputs: set[str], catalog: DataCatalog) -> str:
    """Which new images have no name, as they cannot be read."""
    reasons = catalog.load("new_unreadable_images").values() if "new_unreadable_images" in outputs else ()
    more = [f"and {len(reasons) - LISTED} more"] if len(reasons) > LISTED else []
    lines = "\n  ".join([*list(reasons)[:LISTED], *more])
    return f"{len(reasons)} file{'s' if len(reasons) > 1 else ''} cannot be read:\n  {lines}" if reasons else ""


def _photos(outputs: set[str], catalog: DataCatalog) -> str:
    """How right the photo model was, beside one mapping without weights; only where the photos' names are known."""
    if "photo_table" not in outputs:
        return ""
    return photo_results(catalog.load("photo_table"))


def _registered(outputs: set[str], catalog: DataCatalog, run_params: dict[str, Any]) -> str:
    """Where MLflow's registry has the model, and how to use it from there."""
    uri = getattr(catalog.get("mlflow_model"), "registered", None) if "mlflow_model" in outputs else None
    if uri is None:
        return ""
    given = {"predict.model": uri, "predict.images": "<folder>"}
    return f"registered as {uri}: {next_command(run_params, 'predict', given)}"


def _places(outputs: set[str], catalog: DataCatalog, main: str) -> str:
    """What is worth looking at, and where it lies: results of the main method, and those of no method."""
    shows = {part: what for entry in ENTRIES for part, what in entry.shows.items()} | OF_METHODS
    wanted = {name: what for part, what in shows.items() for name in (part, f"{main}.{part}") if name in outputs}
    if f"{main}.predictions" in outputs and (labels := catalog.load(f"{main}.predictions")["true"]).isna().all():
        empty = ("reliability_curve",) if len(labels) else OF_IMAGES  # pictures without anything to look at
        wanted = {name: what for name, what in wanted.items() if name not in (f"{main}.{part}" for part in empty)}
    found = {name: what for name, what in wanted.items() if catalog.exists(name)}  # some are made on request only
    width = max(map(len, found.values()), default=0)
    return "\n".join(f"{what:<{width}}  {_short(catalog, name)}" for name, what in found.items())


def _short(catalog: DataCatalog, name: str) -> Path:
    """The place of a dataset as the user would type it."""
    return short_path(dataset_path(catalog, name))


def _next_commands(outputs: set[str], catalog: DataCatalog, run_params: dict[str, Any]) -> list[str]:
    """What to type next, as this command was typed: with its environment and its parameters."""
    main = main_method(run_params)
    commands = []
    if any(name.endswith(".metrics") for name in outputs):
        commands.append((next_command(run_params, "report"), "one page of everything that was run"))
    if f"{main}.model" in outputs:
        new_images = {"method": main, "predict.images": "<folder>"}
        if dict(catalog.load("params:feature_extraction"))["backbone"] == "file":
            new_images["predict.backbone"] = "<what made the file>"
        commands.append((next_command(run_params, "predict", new_images), "names for new images"))
    if "new_predictions" in outputs and "mlflow_model" not in outputs:
        settings = dict(catalog.load("params:predict"))
        if not settings["model"]:  # a registered one has been exported
            commands.append((next_command(run_params, "export", {"method": settings["method"]}), "to serve"))
    if "mlflow_model" in outputs:
        commands.append((f"aezsl serve {_short(catalog, 'mlflow_model')}", "see src/aezsl/serving/README.md"))
    lines = [f"{command}   # {why}" for command, why in commands]
    return [*lines, f"(all lines: {LOG_FILE}; {VERBOSE}=1 shows them)"]
