"""chosen parameters -> accuracy against one of them, the paper's figures of robustness."""

from kedro.pipeline import Pipeline, node

from aezsl.pipelines.sensitivity.nodes import draw_sensitivity, vary_parameter
from aezsl.pipelines.training.pipeline import bound


def create_pipeline(method: str, parameter: str) -> Pipeline:
    """Sensitivity of a method to one parameter; needs the method's own pipeline before it."""
    return Pipeline(
        [
            node(
                bound(vary_parameter, name=method, parameter=parameter),
                ["problem", f"{method}.chosen", f"params:sensitivity.{parameter}"],
                f"{method}.sensitivity_{parameter}",
                name=f"vary_{parameter}",
            ),
            node(
                bound(draw_sensitivity, name=method, parameter=parameter),
                [f"{method}.sensitivity_{parameter}", f"{method}.chosen"],
                f"{method}.sensitivity_{parameter}_curve",
                name=f"draw_sensitivity_{parameter}",
            ),
        ],
        tags="sensitivity",
    )
