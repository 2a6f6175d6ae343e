"""chosen parameters -> accuracy against one of them, the paper's figures of robustness."""

from kedro.pipeline import Pipeline, node, pipeline

from aezsl.pipelines import with_fixed
from aezsl.pipelines.sensitivity.nodes import vary_parameter
from aezsl.reporting.figures import draw_sensitivity


def create_pipeline(method: str, parameter: str) -> Pipeline:
    """Sensitivity of a method to one parameter, under its namespace; needs the method's own pipeline before it."""
    nodes = Pipeline(
        [
            node(
                with_fixed(vary_parameter, name=method, parameter=parameter),
                ["problem", "normalisation", "chosen", "params:sensitivity"],
                f"sensitivity_{parameter}",
                name=f"vary_{parameter}",
            ),
            node(
                with_fixed(draw_sensitivity, name=method, parameter=parameter),
                [f"sensitivity_{parameter}", "chosen"],
                f"sensitivity_{parameter}_curve",
                name=f"draw_sensitivity_{parameter}",
            ),
        ],
        tags="sensitivity",
    )
    values = {"params:sensitivity": "params:sensitivity"}
    return pipeline(nodes, namespace=method, inputs={"problem"}, parameters=values)
