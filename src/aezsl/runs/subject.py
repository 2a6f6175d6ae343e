"""What a run is about: its method or methods, its data, and what MLflow calls it."""

from collections.abc import Mapping
from typing import Any

#: What pipelines that train nothing are for; all others train.
KINDS = {
    "predict": "prediction",
    "report": "report",
    "export": "export",
    "ingestion": "data",
    "feature_extraction": "data",
    "semantic_embedding": "data",
}

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
    from aezsl.reporting.formatting import full_label

    names, benchmark = pipeline_names(run_params), str(parameters["report"]["benchmark"])
    tags = {KIND: next((KINDS[name] for name in names if name in KINDS), "training"), BENCHMARK: benchmark}
    methods = named_methods(run_params)
    if not methods and tags[KIND] == "training":
        main = main_method(run_params)
        names = [main if name == "__default__" else name for name in names]
        methods = [main] if main in METHODS else []
    elif tags[KIND] in ("prediction", "export"):
        registered = parameters["predict"].get("model") if tags[KIND] == "prediction" else None
        methods = [] if registered else [parameters["predict"]["method"]]  # what a registered one is, its loading says
        names = [*names, *methods, *([registered] if registered else [])]
    if len(methods) == 1:
        tags[METHOD] = methods[0]
    if tags[KIND] in ("training", "data"):
        tags[SPLIT] = str(parameters["split"]["seed"])
    tags["mlflow.runName"] = run_name(", ".join(map(full_label, names)), tags)
    return tags


def run_name(what: str, tags: Mapping[str, str]) -> str:
    """As MLflow lists it: what was run, on which data, and on which split where that matters."""
    return " · ".join([what, tags[BENCHMARK], *([f"split {tags[SPLIT]}"] if SPLIT in tags else [])])
