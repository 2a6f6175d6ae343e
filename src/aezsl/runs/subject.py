"""What a run is about."""

from typing import Any


def main_method(run_params: dict[str, Any]) -> str:
    """The method whose results are logged under their plain names: the one that gave the run its name."""
    from aezsl.methods import METHODS
    from aezsl.pipeline_registry import DEFAULT_METHOD

    names = run_params.get("pipeline_names") or [run_params.get("pipeline_name") or "__default__"]
    name = next((name for name in names if name.removeprefix("gzsl_") in METHODS), names[0])
    if name == "__default__" or name.startswith("sensitivity_"):
        return DEFAULT_METHOD
    return str(name)
