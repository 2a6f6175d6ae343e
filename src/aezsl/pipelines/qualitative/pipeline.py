"""models of ESZSL and AEZSL -> where they differ, and why."""

from kedro.pipeline import Pipeline, node, pipeline

from aezsl.reporting.cases import draw_cases, draw_mapping
from aezsl.reporting.explanations import explain_cases, explain_mapping


def create_pipeline() -> Pipeline:
    """Qualitative analysis; needs the pipelines of ESZSL and AEZSL before it."""
    models = {
        "problem": "problem",
        "eszsl": "eszsl_classifier",
        "eszsl_normalisation": "eszsl_normalisation",
        "aezsl": "aezsl_classifier",
        "aezsl_normalisation": "aezsl_normalisation",
    }
    nodes = [
        node(
            explain_cases,
            {
                **models,
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
                **models,
                "cases": "explained_cases",
                "settings": "params:qualitative",
            },
            "explained_mapping",
            name="explain_mapping",
        ),
        node(draw_cases, "explained_cases", "explained_cases_figure", name="draw_cases"),
        node(draw_mapping, "explained_mapping", "explained_mapping_figure", name="draw_mapping"),
    ]
    inputs = {
        f"{name}_{part}": f"{name}.{part}" for name in ("eszsl", "aezsl") for part in ("classifier", "normalisation")
    }
    return pipeline(Pipeline(nodes, tags="qualitative"), inputs=inputs)
