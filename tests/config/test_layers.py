"""The layers of kedro-viz. It drops all of a pipeline's layers where a dataset is made from one of a later layer."""

from functools import cache

import pytest
from kedro.io import DataCatalog

from aezsl import settings
from tests.helpers import ROOT
from tests.helpers.pipelines import registered

LAYERS = ("raw", "primary", "feature", "model_input", "models", "model_output", "reporting")
ENVIRONMENTS = sorted(path.name for path in (ROOT / "conf").iterdir() if path.is_dir() and path.name != "local")


def layer_finder(env):
    """The number of a dataset's layer, also where a pattern serves it; -1 for one without."""
    loader = settings.CONFIG_LOADER_CLASS(str(ROOT / "conf"), env, **settings.CONFIG_LOADER_ARGS)
    resolver = DataCatalog.from_config(loader["catalog"]).config_resolver

    @cache
    def find(name):
        metadata = resolver.resolve_pattern(name).get("metadata") or {}
        layer = metadata.get("kedro-viz", {}).get("layer")
        return -1 if layer is None else LAYERS.index(layer)

    return find


def backward_steps(pipeline, layer_of):
    """Outputs whose layer comes before the layer of something they are made from, through whatever is in between."""
    latest = {name: layer_of(name) for name in pipeline.inputs()}
    steps = []
    for node in pipeline.nodes:  # in the order of a run
        reached = max(latest[name] for name in node.inputs)
        for name in node.outputs:
            own = layer_of(name)
            if 0 <= own < reached:
                steps.append(f"{name}: {LAYERS[own]} from {LAYERS[reached]}")
            latest[name] = max(own, reached)
    return steps


@pytest.mark.parametrize(
    "env", [pytest.param(env, marks=[] if env == "base" else pytest.mark.slow) for env in ENVIRONMENTS]
)
def test_no_dataset_is_made_from_a_later_layer(env):
    layer_of = layer_finder(env)
    found = {name: backward_steps(pipeline, layer_of) for name, pipeline in registered().items()}
    assert {name: steps for name, steps in found.items() if steps} == {}


@pytest.mark.parametrize(
    ("name", "layer"),
    [
        ("images", "primary"),
        ("aezsl.model", "models"),
        ("gzsl_aezsl.calibration", "model_output"),
        ("aezsl.none", None),
    ],
)
def test_layers_are_found_by_name_and_by_pattern(name, layer):
    assert layer_finder("base")(name) == (-1 if layer is None else LAYERS.index(layer))
