"""Whole pipelines, put together from the stages in ``pipelines``, each method under a namespace of its own."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from kedro.pipeline import Pipeline, pipeline

from aezsl.methods import METHODS, MethodRun, Setting, in_setting
from aezsl.pipelines import (
    end_to_end,
    evaluation,
    feature_extraction,
    ingestion,
    label_refinement,
    method,
    photos,
    problem,
    reporting,
    semantic_embedding,
)
from aezsl.pipelines.method.pipeline import create_ranking_node
from aezsl.reporting.controls import METHOD
from aezsl.reporting.weightings import Variant

#: Parameters that all methods share.
SHARED = ("selection", "confidence", "evaluation", "gallery", "calibration")

#: DAEZSL from images, its network trained with it.
END_TO_END = "daezsl_end_to_end"

#: The photo model with own classes.
OWN = "photos_own"


def create_method_pipeline(name: str, setting: Setting = "zsl") -> Pipeline:
    """Select, fit, adapt, rank, evaluate: the stages of one method, under a namespace of its own.

    A method that refines another one brings that one's pipeline along, results and all.
    """
    entry, run = METHODS[name], MethodRun(name, setting)
    inputs = {dataset: in_setting(dataset, setting) for dataset in ("problem", "problem_recipe")}
    inputs |= {"images": "images", "candidates": "candidates", "selections": "selections"}
    before, stages = Pipeline([]), method.create_pipeline(entry, setting)
    if run.base:
        before = create_method_pipeline(run.base.method, setting)
        parts = ("model", "alternatives", "normalisation", "classifier")
        inputs |= {f"base_{part}": f"{run.base.name}.{part}" for part in parts}
    if entry.pool:
        stages += label_refinement.create_pipeline(entry)
    stages += evaluation.create_pipeline(name, setting)
    used = stages.inputs()
    inputs = {dataset: source for dataset, source in inputs.items() if dataset in used}
    shared = {f"params:{key}": f"params:{key}" for key in SHARED if f"params:{key}" in used}
    return before + pipeline(
        stages,
        namespace=run.name,
        inputs=inputs,
        parameters=shared | {"params:method": f"params:{name}"},
    )


def create_variant_pipeline(variant: Variant) -> Pipeline:
    """The stages of a method under one weighting to its metrics, under a namespace of its own, without pictures."""
    if variant.name == variant.method:
        return create_method_pipeline(variant.method)
    return _to_metrics(variant.method, variant.name, {"weighting": variant.weighting})


def create_control_pipeline(control: str) -> Pipeline:
    """The stages of the method that is controlled, on a problem with other vectors of its classes."""
    before = reporting.create_control(control)
    return _to_metrics(
        METHOD, f"{METHOD}_{control}", None, before, {"own_problem": "problem", "own_recipe": "problem_recipe"}
    )


def _to_metrics(
    name: str,
    namespace: str,
    variant: dict[str, Any] | None,
    before: Pipeline | None = None,
    given: Mapping[str, str] = MappingProxyType({}),
) -> Pipeline:
    """The stages of a method to its metrics, without pictures, under a namespace; ``given`` is what is not its own."""
    stages = method.create_pipeline(METHODS[name], variant=variant) + evaluation.create_pipeline(name)
    stages = ((before or Pipeline([])) + stages).to_outputs("metrics", "predictions", "record")
    shared = {
        dataset: dataset for dataset in {"problem", "problem_recipe", "candidates", "selections"} & stages.inputs()
    }
    parameters = {key: key for key in stages.inputs() if key.startswith("params:")}
    parameters["params:method"] = f"params:{name}"
    return pipeline(stages, namespace=namespace, inputs=shared | dict(given), parameters=parameters)


def create_end_to_end_pipeline() -> Pipeline:
    """DAEZSL and its network trained together, then ranked and evaluated as every method is."""
    stages = end_to_end.create_pipeline() + Pipeline([create_ranking_node()], tags="training")
    stages += evaluation.create_pipeline("daezsl")
    shared = {"images", "semantics", "classes", "split", "attribute_names", "candidates"}
    parameters = {name: name for name in stages.inputs() if name.startswith("params:")}
    parameters["params:method"] = "params:daezsl"
    return pipeline(stages, namespace=END_TO_END, inputs=shared & stages.inputs(), parameters=parameters)


def create_own_pipeline(setting: Setting) -> Pipeline:
    """Own images beside what a network knows, ranked and evaluated as every method is."""
    stages = photos.create_own(setting) + Pipeline([create_ranking_node(setting)], tags="training")
    stages += evaluation.create_pipeline("aezsl_heads", setting)
    shared = {"images", "semantics", "classes", "split", "attribute_names", "candidates"}
    parameters = {name: name for name in stages.inputs() if name.startswith("params:")}
    name = in_setting(OWN, setting)
    return pipeline(stages, namespace=name, inputs=shared & stages.inputs(), parameters=parameters)


def union(*pipelines: Pipeline) -> Pipeline:
    """All nodes of some pipelines, which may share some; added one by one, all would be sorted again each time."""
    return Pipeline({node for one in pipelines for node in one.nodes})


@cache
def data_pipeline(setting: Setting) -> Pipeline:
    """Raw files -> the problem that all methods of a setting share."""
    stages = (ingestion, feature_extraction, semantic_embedding)
    return union(*(stage.create_pipeline() for stage in stages), problem.create_pipeline(setting))


@cache
def whole_pipeline(name: str, setting: Setting = "zsl") -> Pipeline:
    """Raw files -> metrics of one method."""
    return union(data_pipeline(setting), create_method_pipeline(name, setting))
