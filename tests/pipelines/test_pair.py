"""Methods of a pair of encoders: through their pipelines, and refused where there is no pair."""

import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node

from aezsl.data.normalise import Normaliser
from aezsl.errors import DataError
from aezsl.hooks import BeforeAnythingRuns
from aezsl.methods import METHODS, UNPAIRED
from aezsl.pipeline_registry import create_method_pipeline
from tests.helpers.problems import make_problem, parameters, run
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_pair

PAIRED = sorted(set(METHODS) - set(UNPAIRED))


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_a_stated_pair_goes_the_road_of_all_methods(name, setting):
    problem = make_problem(setting, make_pair(n_seen=16, n_unseen=5, per_class=10))
    files = parameters(f"parameters/{name}.yml")
    files[name]["init"]["stated_pair"] = True
    prefix = "" if setting == "zsl" else "gzsl_"
    catalog = run(create_method_pipeline(name, setting), problem, [name], prefix, parameter_files=files)
    metric = "per_class_accuracy" if setting == "zsl" else "gzsl_accuracy"
    assert catalog.load(f"{prefix}{name}.metrics")[metric] > 0.3


def test_what_is_not_a_pair_is_refused_by_name(tmp_path):
    problem = make_problem("zsl", make_pair(n_seen=16, n_unseen=5, per_class=10))
    recipe = make_recipe()[0]
    with pytest.raises(DataError, match=r"cosine needs a pair .*; got .*resnet18.*cosine\.init\.stated_pair=true"):
        run(create_method_pipeline("cosine"), problem, ["cosine"], recipe=recipe)


@pytest.mark.parametrize("name", PAIRED)
def test_what_is_not_a_pair_is_refused_before_the_first_node(name, tmp_path, monkeypatch):
    """Features of a large data set would be computed in vain."""
    (tmp_path / "config.json").write_text('{"text_config": {}, "vision_config": {}}')
    monkeypatch.chdir(tmp_path.parent)
    pair = {"backbone": tmp_path.name, "weights": "default", "layer": None, "path": None}
    given = {
        f"params:{name}": {"init": {"stated_pair": False}, "grid": {}},
        "params:feature_extraction": pair,
        "params:semantic_embedding": {"sources": [{"kind": "auto", "encoder": str(tmp_path)}]},
        "params:normalise": {"features": "l2/sqrt+l2", "semantics": ["l2"]},
    }

    def check(**changed):
        values = given | {f"params:{key}": value for key, value in changed.items()}
        pipeline = Pipeline([node(lambda *_: 0, list(values), "out")])
        BeforeAnythingRuns().before_pipeline_run(
            {}, pipeline, DataCatalog({name: MemoryDataset(value) for name, value in values.items()})
        )

    check()
    for changed, message in (
        ({"semantic_embedding": {"sources": [{"kind": "text"}]}}, f"{name} needs a pair .* got .*, minilm"),
        ({"feature_extraction": pair | {"backbone": "efficientnet_lite0"}}, f"{name} needs a pair"),
        ({"normalise": {"features": "l2", "semantics": "centre+l2"}}, f"{name} compares .* normalise has 'centre'"),
    ):
        with pytest.raises(DataError, match=message):
            check(**changed)
        check(**changed, **{name: {"init": {"stated_pair": True}, "grid": {}}})


def test_a_pair_must_be_one_model_and_unmoved(tmp_path):
    (tmp_path / "config.json").write_text('{"text_config": {}, "vision_config": {}}')
    backbone = {"parts": [{"backbone": str(tmp_path), "weights": "default", "layer": None}], "fingerprint": ""}
    text = {"kind": "text", "encoder": str(tmp_path)}
    whole = {"backbone": backbone, "sources": [text], "features": Normaliser(("l2",)), "semantics": Normaliser()}
    make_recipe(**whole)[0].require_pair("cosine")
    for change, message in (
        ({"sources": [{"kind": "text", "encoder": "minilm"}]}, "needs a pair"),
        ({"sources": [text, {"kind": "attributes"}]}, "needs a pair"),
        ({"features": Normaliser(("sqrt", "l2"))}, "normalise has 'sqrt', which moves them"),
    ):
        with pytest.raises(DataError, match=message):
            make_recipe(**(whole | change))[0].require_pair("cosine")
    (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    with pytest.raises(DataError, match="needs a pair"):
        make_recipe(**whole)[0].require_pair("cosine")
