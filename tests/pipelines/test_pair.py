"""Methods of a pair of encoders: through their pipelines, and refused where there is no pair."""

import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.pipeline import Pipeline, node

from aezsl.data.normalise import Normaliser, NormaliseSettings
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.errors import DataError
from aezsl.hooks.checks import Checks
from aezsl.methods import METHODS, UNPAIRED, method_class
from aezsl.whole_pipelines import create_method_pipeline
from tests.helpers.problems import make_problem, run
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_pair

PAIRED = sorted(set(METHODS) - set(UNPAIRED))


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_a_stated_pair_goes_the_road_of_all_methods(name, setting):
    problem = make_problem(setting, make_pair(n_seen=16, n_unseen=5, per_class=10))
    prefix = "" if setting == "zsl" else "gzsl_"
    catalog = run(create_method_pipeline(name, setting), problem, [name], prefix, fixed={"stated_pair": True})
    metric = "per_class_accuracy" if setting == "zsl" else "gzsl_accuracy"
    assert catalog.load(f"{prefix}{name}.metrics")[metric] > 0.3


def test_what_is_not_a_pair_is_refused_by_name(tmp_path):
    problem = make_problem("zsl", make_pair(n_seen=16, n_unseen=5, per_class=10))
    recipe = make_recipe()[0]
    with pytest.raises(DataError, match=r"resnet18.*cosine\.stated_pair"):
        run(create_method_pipeline("cosine"), problem, ["cosine"], recipe=recipe)


@pytest.mark.parametrize("name", PAIRED)
def test_what_is_not_a_pair_is_refused_before_the_first_node(name, tmp_path, monkeypatch):
    """Features of a large data set would be computed in vain."""
    (tmp_path / "config.json").write_text('{"text_config": {}, "vision_config": {}}')
    monkeypatch.chdir(tmp_path.parent)
    settings = method_class(name).settings()
    given = {
        f"params:{name}": settings(),
        "params:feature_extraction": ExtractionSettings(backbone=tmp_path.name),
        "params:semantic_embedding": EmbeddingSettings(sources=[{"kind": "auto", "encoder": str(tmp_path)}]),
        "params:normalise": NormaliseSettings(features="l2/sqrt+l2", semantics=["l2"]),
    }

    def check(**changed):
        values = given | {f"params:{key}": value for key, value in changed.items()}
        pipeline = Pipeline([node(lambda *_: 0, list(values), "out")])
        Checks().before_pipeline_run(
            {}, pipeline, DataCatalog({name: MemoryDataset(value) for name, value in values.items()})
        )

    check()
    for changed, named in (
        ({"semantic_embedding": EmbeddingSettings(sources=[{"kind": "text"}])}, "minilm"),
        ({"feature_extraction": ExtractionSettings(backbone="efficientnet_lite0")}, "efficientnet_lite0"),
        ({"normalise": NormaliseSettings(features="l2", semantics="centre+l2")}, "centre"),
    ):
        with pytest.raises(DataError, match=f"^{name} .*{named}"):
            check(**changed)
        check(**changed, **{name: settings(stated_pair=True)})


def test_a_pair_must_be_one_model_and_unmoved(tmp_path):
    (tmp_path / "config.json").write_text('{"text_config": {}, "vision_config": {}}')
    backbone = {"parts": [{"backbone": str(tmp_path), "weights": "default", "layer": None}], "fingerprint": ""}
    text = {"kind": "text", "encoder": str(tmp_path)}
    whole = {"backbone": backbone, "sources": [text], "features": Normaliser(("l2",)), "semantics": Normaliser()}
    make_recipe(**whole)[0].require_pair("cosine")
    for change, named in (
        ({"sources": [{"kind": "text", "encoder": "minilm"}]}, "minilm"),
        ({"sources": [text, {"kind": "attributes"}]}, "attributes"),
        ({"features": Normaliser(("sqrt", "l2"))}, "sqrt"),
    ):
        with pytest.raises(DataError, match=named):
            make_recipe(**(whole | change))[0].require_pair("cosine")
    (tmp_path / "config.json").write_text('{"model_type": "vit"}')
    with pytest.raises(DataError, match=tmp_path.name):
        make_recipe(**whole)[0].require_pair("cosine")
