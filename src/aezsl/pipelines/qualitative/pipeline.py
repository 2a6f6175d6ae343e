"""models of ESZSL and AEZSL -> where they differ, and why."""

from kedro.pipeline import Pipeline, node, pipeline

from aezsl.reporting.cases import draw_cases, draw_mapping
from aezsl.reporting.explanations import explain_cases, explain_mapping


def create_pipeline() -> Pipeline:
    """Qualitative analysis; needs the pipelines of ESZSL and AEZSL before it."""
    nodes = [
        node(
            explain_cases,
            {
                "problem": "problem",
                "eszsl": "eszsl_classifier",
                "aezsl": "aezsl_classifier",
                "split": "split",
                "images": "images",
                "attribute_names": "attribute_names",
                "semantic_embedding": "params:semantic_embedding",
                "settings": "params:qualitative",
            },
            "explained_cases",
            name="explain_cases",
        ),
        node(
            explain_mapping,
            {
                "problem": "problem",
                "eszsl": "eszsl_classifier",
                "aezsl": "aezsl_classifier",
                "cases": "explained_cases",
                "settings": "params:qualitative",
            },
            "explained_mapping",
            name="explain_mapping",
        ),
        node(draw_cases, "explained_cases", "explained_cases_figure", name="draw_cases"),
        node(draw_mapping, "explained_mapping", "explained_mapping_figure", name="draw_mapping"),
    ]
    classifiers = {f"{name}_classifier": f"{name}.classifier" for name in ("eszsl", "aezsl")}
    return pipeline(Pipeline(nodes, tags="qualitative"), inputs=classifiers)
