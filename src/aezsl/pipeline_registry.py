"""All pipelines by name. Written out, because methods share one template instead of a folder each."""

from collections.abc import Callable, Sequence
from functools import cache, partial

from kedro.pipeline import Pipeline, pipeline

from aezsl.methods import METHODS, SETTINGS, UNPAIRED, MethodRun, Setting, in_setting
from aezsl.pipelines import (
    ablation,
    comparison,
    end_to_end,
    evaluation,
    export,
    feature_extraction,
    ingestion,
    label_refinement,
    method,
    predict,
    problem,
    qualitative,
    reporting,
    semantic_embedding,
    sensitivity,
)
from aezsl.pipelines.method.pipeline import create_ranking_node
from aezsl.reporting.weightings import VARIANTS, Variant

#: What ``kedro run`` without a name runs.
DEFAULT_METHOD = "aezsl_lr"

#: Parameters that all methods share.
SHARED = ("selection", "confidence", "evaluation", "gallery", "calibration")

#: DAEZSL from images, its network trained with it.
END_TO_END = "daezsl_end_to_end"


def create_method_pipeline(name: str, setting: Setting = "zsl") -> Pipeline:
    """Select, fit, adapt, rank, evaluate: the road of one method, under a namespace of its own.

    A method that refines another one brings that one's pipeline along, results and all.
    """
    entry, run = METHODS[name], MethodRun(name, setting)
    inputs = {dataset: in_setting(dataset, setting) for dataset in ("problem", "problem_recipe")}
    inputs |= {"images": "images", "candidates": "candidates"}
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
    """The road of a method under one weighting to its metrics, under a namespace of its own, without pictures."""
    if variant.name == variant.method:
        return create_method_pipeline(variant.method)
    stages = method.create_pipeline(METHODS[variant.method], variant={"weighting": variant.weighting})
    stages = (stages + evaluation.create_pipeline(variant.method)).to_outputs("metrics", "predictions", "record")
    inputs = {"problem", "problem_recipe", "candidates"} & stages.inputs()
    parameters = {name: name for name in stages.inputs() if name.startswith("params:")}
    parameters["params:method"] = f"params:{variant.method}"
    return pipeline(stages, namespace=variant.name, inputs=inputs, parameters=parameters)


def create_end_to_end_pipeline() -> Pipeline:
    """DAEZSL and its network trained together, then ranked and evaluated as every method is."""
    stages = end_to_end.create_pipeline() + Pipeline([create_ranking_node()], tags="training")
    stages += evaluation.create_pipeline("daezsl")
    shared = {"images", "semantics", "classes", "split", "attribute_names", "candidates"}
    parameters = {name: name for name in stages.inputs() if name.startswith("params:")}
    parameters["params:method"] = "params:daezsl"
    return pipeline(stages, namespace=END_TO_END, inputs=shared & stages.inputs(), parameters=parameters)


def joined(*pipelines: Pipeline) -> Pipeline:
    """All nodes of some pipelines, which may share some; added one by one, all would be sorted again each time."""
    return Pipeline({node for one in pipelines for node in one.nodes})


def register_pipelines() -> dict[str, Pipeline]:
    """Name -> pipeline, for Kedro: those that its command names, else all. Making all takes a second."""
    from kedro.framework import project

    names = project.pipelines._requested_pipelines
    return create_pipelines(None if names is None else [name for name in names if name in pipeline_names()])


def create_pipelines(names: Sequence[str] | None = None) -> dict[str, Pipeline]:
    """Name -> pipeline, of all or of some. Every method's pipeline is the whole road from raw files to metrics."""
    makers = _makers()
    return {name: makers[name]() for name in (makers if names is None else names)}


def pipeline_names() -> list[str]:
    """Of all pipelines; none is made."""
    return list(_makers())


def _makers() -> dict[str, Callable[[], Pipeline]]:
    """Name -> what makes the pipeline. Parts that several of them share are made once."""
    stages = {
        "ingestion": cache(ingestion.create_pipeline),
        "feature_extraction": cache(feature_extraction.create_pipeline),
        "semantic_embedding": cache(semantic_embedding.create_pipeline),
    }

    @cache
    def start(setting: Setting) -> Pipeline:
        return joined(*(stage() for stage in stages.values()), problem.create_pipeline(setting))

    @cache
    def one(name: str, setting: Setting = "zsl") -> Pipeline:
        return joined(start(setting), create_method_pipeline(name, setting))

    def curve(parameter: str) -> Pipeline:
        return joined(one("aezsl_lr"), sensitivity.create_pipeline("aezsl_lr", parameter))

    def weightings() -> Pipeline:
        return joined(start("zsl"), *map(create_variant_pipeline, VARIANTS), ablation.create_pipeline(VARIANTS))

    def large_scale() -> Pipeline:
        names = [entry.name for entry in METHODS.values() if entry.large_scale]
        return joined(*map(one, names), evaluation.create_large_scale_pipeline(names))

    def from_images() -> Pipeline:
        return joined(stages["ingestion"](), stages["semantic_embedding"](), create_end_to_end_pipeline())

    @cache
    def explained() -> Pipeline:
        return joined(one("eszsl"), one("aezsl"), qualitative.create_pipeline())

    def table(names: Sequence[str]) -> Pipeline:
        """All methods in one run: they share the data, and --runner=ThreadRunner works at several of them at once."""
        return joined(*map(one, names), comparison.create_pipeline(list(names)), explained())

    return {
        **stages,
        **{in_setting(name, setting): partial(one, name, setting) for setting in SETTINGS for name in METHODS},
        **{f"sensitivity_{parameter}": partial(curve, parameter) for parameter in ("k", "lambda3")},
        "ablation_weighting": weightings,
        "large_scale": large_scale,
        END_TO_END: from_images,
        "qualitative": explained,
        "table1": partial(table, UNPAIRED),
        "table1_pair": partial(table, list(METHODS)),
        "report": reporting.create_pipeline,
        "predict": predict.create_pipeline,
        "export": export.create_pipeline,
        "__default__": partial(one, DEFAULT_METHOD),
    }
