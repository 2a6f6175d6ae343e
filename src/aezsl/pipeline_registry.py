"""All pipelines by name. Written out, because methods share one template instead of a folder each."""

from kedro.pipeline import Pipeline, pipeline

from aezsl.methods import METHODS
from aezsl.pipelines import (
    evaluation,
    export,
    feature_extraction,
    ingestion,
    predict,
    semantic_embedding,
    training,
)
from aezsl.pipelines.training.pipeline import create_problem_pipeline

#: What ``kedro run`` without a name runs.
DEFAULT_METHOD = "eszsl"


def create_method_pipeline(method: str) -> Pipeline:
    """Training and evaluation of one method, under its own namespace."""
    return pipeline(
        training.create_pipeline(method) + evaluation.create_pipeline(),
        namespace=method,
        inputs={"problem", "problem_recipe", "images"},
        parameters={
            "params:method": f"params:{method}",
            "params:selection": "params:selection",
            "params:evaluation": "params:evaluation",
            "params:gallery": "params:gallery",
        },
    )


def register_pipelines() -> dict[str, Pipeline]:
    """Name -> pipeline. Every method's pipeline is the whole road from raw files to metrics."""
    data = {
        "ingestion": ingestion.create_pipeline(),
        "feature_extraction": feature_extraction.create_pipeline(),
        "semantic_embedding": semantic_embedding.create_pipeline(),
    }
    road = sum(data.values(), Pipeline([])) + create_problem_pipeline("zsl")
    methods = {name: road + create_method_pipeline(name) for name in METHODS}
    use = {"predict": predict.create_pipeline(), "export": export.create_pipeline()}
    return {**data, **methods, **use, "__default__": methods[DEFAULT_METHOD]}
