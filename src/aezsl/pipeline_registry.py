"""All pipelines by name. Written out, because methods share one template instead of a folder each."""

from kedro.pipeline import Pipeline, pipeline

from aezsl.methods import METHODS, REFINES
from aezsl.pipelines import (
    comparison,
    end_to_end,
    evaluation,
    export,
    feature_extraction,
    ingestion,
    label_refinement,
    predict,
    qualitative,
    reporting,
    semantic_embedding,
    sensitivity,
    training,
)
from aezsl.pipelines.training.pipeline import create_problem_pipeline, create_recipe_pipeline

#: What ``kedro run`` without a name runs.
DEFAULT_METHOD = "aezsl_lr"

#: The methods of the paper's large-scale table that this project has, and the closed form beside them.
LARGE_SCALE = ("eszsl", "eszsl_net", "daezsl")

#: Parameters that all methods share.
SHARED = ("selection", "evaluation", "gallery", "calibration")

#: DAEZSL from images, its network trained with it.
END_TO_END = "daezsl_end_to_end"


def create_method_pipeline(method: str, setting: str = "zsl") -> Pipeline:
    """Training, label refinement where the method has it, and evaluation, under a namespace of its own.

    A method that refines another one brings that one's pipeline along, results and all.
    """
    prefix = "" if setting == "zsl" else f"{setting}_"
    inputs = {
        "problem": f"{prefix}problem",
        "problem_recipe": f"{prefix}problem_recipe",
        "images": "images",
        "candidates": "candidates",
    }
    before = Pipeline([])
    if base := REFINES.get(method):
        before = create_method_pipeline(base, setting)
        stage = label_refinement.create_pipeline(method, setting)
        inputs |= {"base_model": f"{prefix}{base}.model", "base_chosen": f"{prefix}{base}.chosen"}
    else:
        stage = training.create_pipeline(method, setting)
    stages = stage + create_recipe_pipeline() + evaluation.create_pipeline(method, setting)
    used = stages.inputs()
    inputs = {name: source for name, source in inputs.items() if name in used}
    shared = {f"params:{name}": f"params:{name}" for name in SHARED if f"params:{name}" in used}
    return before + pipeline(
        stages, namespace=prefix + method, inputs=inputs, parameters=shared | {"params:method": f"params:{method}"}
    )


def create_end_to_end_pipeline() -> Pipeline:
    """DAEZSL and its network trained together, then evaluated as every method is, under a namespace of its own."""
    stages = end_to_end.create_pipeline() + evaluation.create_pipeline("daezsl")
    shared = {"images", "semantics", "classes", "split", "attribute_names", "candidates"}
    parameters = {name: name for name in stages.inputs() if name.startswith("params:")}
    parameters["params:method"] = "params:daezsl"
    return pipeline(stages, namespace=END_TO_END, inputs=shared & stages.inputs(), parameters=parameters)


def register_pipelines() -> dict[str, Pipeline]:
    """Name -> pipeline. Every method's pipeline is the whole road from raw files to metrics."""
    data = {
        "ingestion": ingestion.create_pipeline(),
        "feature_extraction": feature_extraction.create_pipeline(),
        "semantic_embedding": semantic_embedding.create_pipeline(),
    }
    road = sum(data.values(), Pipeline([]))
    methods: dict[str, Pipeline] = {}
    for setting, prefix in (("zsl", ""), ("gzsl", "gzsl_")):
        start = road + create_problem_pipeline(setting)
        methods |= {prefix + name: start + create_method_pipeline(name, setting) for name in METHODS}
    figures = {
        f"sensitivity_{parameter}": methods["aezsl_lr"] + sensitivity.create_pipeline("aezsl_lr", parameter)
        for parameter in ("k", "lambda3")
    }
    parts = (methods[name] for name in LARGE_SCALE)
    figures["large_scale"] = sum(parts, Pipeline([])) + evaluation.create_large_scale_pipeline(LARGE_SCALE)
    from_images = data["ingestion"] + data["semantic_embedding"] + create_end_to_end_pipeline()
    # All methods in one run: they share the data, and --runner=ThreadRunner works at several of them at once.
    explained = methods["eszsl"] + methods["aezsl"] + qualitative.create_pipeline()
    table1 = sum((methods[name] for name in METHODS), comparison.create_pipeline()) + explained
    return {
        **data,
        **methods,
        **figures,
        END_TO_END: from_images,
        "qualitative": explained,
        "table1": table1,
        "report": reporting.create_pipeline(),
        "predict": predict.create_pipeline(),
        "export": export.create_pipeline(),
        "__default__": methods[DEFAULT_METHOD],
    }
