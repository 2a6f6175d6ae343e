"""Every node runs alone, from what a full run has left on disk: --nodes, --from-nodes, a task per node in Airflow."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline
from kedro.runner import SequentialRunner

from aezsl import settings
from aezsl.config.schema import section_class
from aezsl.methods import METHODS, method_class
from tests.helpers import ROOT
from tests.helpers.colours import COLOURS, encode, picture
from tests.helpers.pipelines import registered

PIPELINES = ("aezsl_lr", "gzsl_aezsl_t", "table1")


@cache
def configuration():
    """Of own images, with one point per grid: grids are tested elsewhere."""
    grids = {
        name: {"grid": {key: [values[len(values) // 2]] for key, values in method_class(name).grid.items()}}
        for name in METHODS
    }
    given = {**grids, "normalise": {"features": "l2", "semantics": "l2"}, "selection": {"n_folds": 1}}
    given |= {"gallery": {"rows": 1, "columns": 2}, "feature_extraction": {"path": "features.npz"}}
    loader = settings.CONFIG_LOADER_CLASS(str(ROOT / "conf"), "own", given, **settings.CONFIG_LOADER_ARGS)
    return loader["catalog"], loader["parameters"]


def make_catalog(inputs):
    """A catalog as every process makes it: whatever it knows of a former run is on disk."""
    entries, parameters = configuration()
    catalog = DataCatalog.from_config(entries)
    for name in inputs:
        if name.startswith("params:"):
            section = name.removeprefix("params:")
            catalog[name] = MemoryDataset(section_class(section)(**parameters[section]))
    return catalog


def run(nodes):
    pipeline = Pipeline(nodes)
    SequentialRunner().run(pipeline, make_catalog(pipeline.inputs()))


def all_nodes():
    return sorted({node for name in PIPELINES for node in registered()[name].nodes}, key=lambda node: node.name)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with all that a full run leaves."""
    folder = tmp_path_factory.mktemp("project")
    root, pixels = folder / "data/01_raw/own", {}
    for name in COLOURS:
        (root / "images" / name).mkdir(parents=True)
        for shade in range(5):
            content = picture(name, 9 * shade)
            (root / "images" / name / f"{shade}.png").write_bytes(content)
            pixels[f"images/{name}/{shade}.png"] = encode([content])[0]
    np.savez(folder / "features.npz", X=np.array(list(pixels.values())), image_id=list(pixels))
    rows = [(name, role, *colour) for name, (role, _, colour) in COLOURS.items()]
    pd.DataFrame(rows, columns=["class_name", "role", "red", "green", "blue"]).to_csv(root / "classes.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        run(all_nodes())
        yield folder


def metrics(folder):
    return {path: json.loads(path.read_text()) for path in folder.glob("data/08_reporting/own/*/metrics.json")}


@pytest.mark.slow
def test_every_node_runs_alone_and_changes_no_figure(finished):
    before = metrics(finished)
    assert {path.parent.name for path in before} >= {"aezsl_lr", "gzsl_aezsl_t", "conse"}
    for node in all_nodes():
        run([node])
    assert metrics(finished) == before


def test_nothing_between_nodes_is_in_memory_only():
    catalog = make_catalog([])
    for name, pipeline in registered().items():
        between = pipeline.all_outputs() & pipeline.all_inputs()
        lost = [dataset for dataset in sorted(between) if isinstance(catalog.get(dataset), MemoryDataset)]
        assert not lost, name
