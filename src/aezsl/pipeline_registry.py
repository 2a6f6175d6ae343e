"""All pipelines by name. Written out, because methods share one template instead of a folder each."""

from kedro.pipeline import Pipeline, pipeline

from aezsl.methods import METHODS, UNPAIRED
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


def create_method_pipeline(name: str, setting: str = "zsl") -> Pipeline:
    """Select, fit, adapt, rank, evaluate: the road of one method, under a namespace of its own.

    A method that refines another one brings that one's pipeline along, results and all.
    """
    entry = METHODS[name]
    prefix = "" if setting == "zsl" else f"{setting}_"
    inputs = {
        "problem": f"{prefix}problem",
        "problem_recipe": f"{prefix}problem_recipe",
        "images": "images",
        "candidates": "candidates",
    }
    before, stages = Pipeline([]), method.create_pipeline(entry, setting)
    if entry.refines:
        before = create_method_pipeline(entry.refines, setting)
        parts = ("model", "chosen", "normalisation", "classifier")
        inputs |= {f"base_{part}": f"{prefix}{entry.refines}.{part}" for part in parts}
    if entry.pool:
        stages += label_refinement.create_pipeline(entry)
    stages += evaluation.create_pipeline(name, setting)
    used = stages.inputs()
    inputs = {dataset: source for dataset, source in inputs.items() if dataset in used}
    shared = {f"params:{key}": f"params:{key}" for key in SHARED if f"params:{key}" in used}
    return before + pipeline(
        stages,
        namespace=prefix + name,
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
    """Name -> pipeline. Every method's pipeline is the whole road from raw files to metrics."""
    data = {
        "ingestion": ingestion.create_pipeline(),
        "feature_extraction": feature_extraction.create_pipeline(),
        "semantic_embedding": semantic_embedding.create_pipeline(),
    }
    road = joined(*data.values())
    methods: dict[str, Pipeline] = {}
    for setting, prefix in (("zsl", ""), ("gzsl", "gzsl_")):
        start = road + problem.create_pipeline(setting)
        methods |= {prefix + name: start + create_method_pipeline(name, setting) for name in METHODS}
    figures = {
        f"sensitivity_{parameter}": methods["aezsl_lr"] + sensitivity.create_pipeline("aezsl_lr", parameter)
        for parameter in ("k", "lambda3")
    }
    start = road + problem.create_pipeline("zsl")
    variants = (create_variant_pipeline(variant) for variant in VARIANTS)
    figures["ablation_weighting"] = joined(start, *variants, ablation.create_pipeline(VARIANTS))
    large_scale = [entry.name for entry in METHODS.values() if entry.large_scale]
    table = evaluation.create_large_scale_pipeline(large_scale)
    figures["large_scale"] = joined(*(methods[name] for name in large_scale), table)
    from_images = data["ingestion"] + data["semantic_embedding"] + create_end_to_end_pipeline()
    # All methods in one run: they share the data, and --runner=ThreadRunner works at several of them at once.
    explained = methods["eszsl"] + methods["aezsl"] + qualitative.create_pipeline()
    tables = {
        title: joined(*(methods[name] for name in names), comparison.create_pipeline(names), explained)
        for title, names in (("table1", UNPAIRED), ("table1_pair", list(METHODS)))
    }
    return {
        **data,
        **methods,
        **figures,
        END_TO_END: from_images,
        "qualitative": explained,
        **tables,
        "report": reporting.create_pipeline(),
        "predict": predict.create_pipeline(),
        "export": export.create_pipeline(),
        "__default__": methods[DEFAULT_METHOD],
    }
