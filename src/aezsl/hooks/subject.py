"""What a run is about, what MLflow calls it, and commands to type next."""

import json
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

#: As what Kedro knows the nodes that a split of ``kedro repeat`` has left to run.
SPLIT_OF_REPEAT = "repeat"

#: Tags by which runs are told apart in MLflow.
KIND, METHOD, BENCHMARK, SPLIT = "kind", "method", "benchmark", "split"


def pipeline_names(run_params: Mapping[str, Any]) -> list[str]:
    """What was asked for by name."""
    names: list[str] = list(run_params.get("pipeline_names") or [run_params.get("pipeline_name") or "__default__"])
    return names


def main_method(run_params: Mapping[str, Any]) -> str:
    """The method whose results are logged under their plain names: the one that gave the run its name."""
    from aezsl.pipeline_registry import DEFAULT_METHOD

    name = [*named_methods(run_params), *pipeline_names(run_params)][0]
    if name == "__default__" or name.startswith("sensitivity_"):
        return DEFAULT_METHOD
    return str(name)


def named_methods(run_params: Mapping[str, Any]) -> list[str]:
    """The methods that were asked for by name, in either setting."""
    from aezsl.methods import MethodRun

    return [name for name in pipeline_names(run_params) if MethodRun.parse(name).entry]


def methods_with_runs(run_params: Mapping[str, Any], measured: list[str]) -> list[str]:
    """The methods with a run of their own below this one: all that it measured, where it is not about one of them."""
    is_of_one = len(named_methods(run_params)) <= 1 and main_method(run_params) in measured
    return [] if is_of_one else measured


def describe_run(run_params: Mapping[str, Any], parameters: Mapping[str, Any]) -> dict[str, str]:
    """The tags of a run, its name among them: method, data and split.

    parameters : all of the run.
    """
    from aezsl.methods import METHODS
    from aezsl.pipeline_registry import ENTRIES
    from aezsl.reporting.formatting import full_label

    names, predict = pipeline_names(run_params), dict(parameters["predict"])
    kinds = {entry.name: entry.kind for entry in ENTRIES}
    kind = next((kinds[name] for name in names if kinds.get(name, "training") != "training"), "training")
    tags = {KIND: kind, BENCHMARK: str(dict(parameters["report"])["benchmark"])}
    methods = named_methods(run_params)
    if not methods and tags[KIND] == "training":
        main = main_method(run_params)
        names = [main if name == "__default__" else name for name in names]
        methods = [main] if main in METHODS else []
    elif tags[KIND] in ("prediction", "export"):
        registered = predict["model"] if tags[KIND] == "prediction" else None
        methods = [] if registered else [predict["method"]]  # what a registered one is, its loading says
        names = [*names, *methods, *([registered] if registered else [])]
    if len(methods) == 1:
        tags[METHOD] = methods[0]
    if tags[KIND] in ("training", "data"):
        tags[SPLIT] = str(dict(parameters["split"])["seed"])
    tags["mlflow.runName"] = run_name(", ".join(map(full_label, names)), tags)
    return tags


def run_name(what: str, tags: Mapping[str, str]) -> str:
    """As MLflow lists it: what was run, on which data, and on which split where that matters."""
    return " · ".join([what, tags[BENCHMARK], *([f"split {tags[SPLIT]}"] if SPLIT in tags else [])])


#: Sections of parameters that are about one command, not about the problem.
OF_ONE_COMMAND = ("predict", "export")


def next_command(run_params: Mapping[str, Any], pipeline: str, more: Mapping[str, str] | None = None) -> str:
    """``kedro run`` for another pipeline on the same problem: whatever was given stays, but settings of a method."""
    from aezsl.methods import METHODS

    left_out = {*OF_ONE_COMMAND, *METHODS}
    sections = (run_params.get("runtime_params") or {}).items()
    given = {name: values for name, values in sections if isinstance(values, Mapping) and name not in left_out}
    env = f" --env={run_params['env']}" if run_params.get("env") else ""
    flat = dict(flat_params(given))
    params = ",".join(f"{name}={value}" for name, value in {**flat, **(more or {})}.items())
    if any(shlex.quote(value) != value for value in flat.values()):  # lists, and folders with a blank
        params = shlex.quote(params)
    return f"kedro run{env} --pipeline={pipeline}" + (f" --params={params}" if params else "")


def short_path(path: Path) -> Path:
    """A place as the user would type it."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def flat_params(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Parameters by their full names, as the command line takes them."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat_params(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value if isinstance(value, str) else json.dumps(value)
