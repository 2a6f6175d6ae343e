"""models of ESZSL and AEZSL -> where they differ, and why."""

from kedro.pipeline import Pipeline, node, pipeline

from aezsl.reporting.cases import draw_cases, draw_mapping
from aezsl.reporting.explanations import explain_cases, explain_mapping


def create_pipeline() -> Pipeline:
    """Qualitative analysis; needs the pipelines of ESZSL and AEZSL before it."""
    nodes = [
        node(
            explain_cases,
            [
                "problem",
                "eszsl_model",
                "aezsl_model",
                "split",
                "images",
                "attribute_names",
                "params:semantic_embedding",
                "params:qualitative",
            ],
            "explained_cases",
            name="explain_cases",
        ),
        node(
            explain_mapping,
            ["problem", "eszsl_model", "aezsl_model", "explained_cases", "params:qualitative"],
            "explained_mapping",
            name="explain_mapping",
        ),
        node(draw_cases, "explained_cases", "explained_cases_figure", name="draw_cases"),
        node(draw_mapping, "explained_mapping", "explained_mapping_figure", name="draw_mapping"),
    ]
    models = {"eszsl_model": "eszsl.model", "aezsl_model": "aezsl.model"}
    return pipeline(Pipeline(nodes, tags="qualitative"), inputs=models)
