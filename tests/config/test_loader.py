"""What a run reads from conf: files, environments and the command line together."""

import shutil

import pytest
import yaml
from omegaconf import OmegaConf

from aezsl import settings
from aezsl.config import schema
from aezsl.config.loader import ConfigLoader, read_sources
from aezsl.errors import ParameterError
from aezsl.methods import METHODS, method_class
from tests.helpers import ROOT

CONF = ROOT / "conf"
ENVIRONMENTS = sorted(path.parent.name for path in CONF.glob("*/parameters.yml") if path.parent.name != "local")


def make_loader(env=None, conf=CONF, **given):
    values = OmegaConf.to_container(OmegaConf.create(given))
    return ConfigLoader(str(conf), env, values, **settings.CONFIG_LOADER_ARGS)


@pytest.fixture
def conf(tmp_path):
    """A copy of base, and an empty ``local``."""
    shutil.copytree(CONF / "base", tmp_path / "conf" / "base")
    (tmp_path / "conf" / "local").mkdir()
    return tmp_path / "conf"


@pytest.mark.parametrize("env", [env for env in ENVIRONMENTS if env != "base"])
def test_an_environment_has_its_own_values_and_says_nothing_else(env):
    own = yaml.safe_load((CONF / env / "parameters.yml").read_text()) or {}
    found = make_loader(env)["parameters"]
    assert set(found) == {*schema.shared_sections(), *METHODS}
    for name, section in own.items():
        if name in METHODS:
            assert found[name] == section
            grid = method_class(name).grid
            assert [key for key, values in section.get("grid", {}).items() if values == grid.get(key)] == []
        else:
            defaults = schema.section_class(name)().model_dump()
            assert [key for key in section if found[name][key] == defaults[key]] == []


def test_the_command_line_has_the_last_word():
    found = make_loader("own", selection={"n_folds": 2}, own={"name": "birds"})["parameters"]
    assert found["selection"]["n_folds"] == 2
    assert found["report"]["benchmark"] == found["export"]["benchmark"] == "birds"
    assert make_loader("own")["parameters"]["selection"]["n_folds"] == 5


def test_a_parameter_that_does_not_fit_is_told_with_file_and_line(conf):
    (conf / "local" / "parameters.yml").write_text("# mine\nlatem:\n  random_state: x\n")
    with pytest.raises(ParameterError, match=r"^conf/local/parameters\.yml:3: latem\.random_state"):
        make_loader(conf=conf)["parameters"]


def test_a_method_that_there_is_not_is_refused():
    assert make_loader(method="gzsl_eszsl")["parameters"]["predict"]["method"] == "gzsl_eszsl"
    with pytest.raises(ParameterError, match=r"aezls.*aezsl"):
        make_loader(method="aezls")["parameters"]


@pytest.mark.parametrize(
    ("given", "backbone"),
    [({"path": "mine.npz"}, "file"), ({"path": "mine.npz", "backbone": "vgg19+file"}, "vgg19+file"), ({}, "vgg19")],
)
def test_a_features_file_on_the_command_line_needs_no_word_about_the_backbone(given, backbone):
    assert make_loader("cub", feature_extraction=given)["parameters"]["feature_extraction"]["backbone"] == backbone


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({}, "aezsl"),
        ({"method": "eszsl"}, "eszsl"),
        ({"method": "eszsl", "predict": {"model": "models:/bird's/2"}}, "bird-s-2"),
        ({"predict": {"model": "models:/birds@best"}}, "birds@best"),
        ({"predict": {"model": "models:/../.."}}, "-"),
    ],
)
def test_answers_of_a_registered_model_do_not_lie_among_those_of_a_method(given, folder):
    catalog = make_loader(**given)["catalog"]
    answers = ("new_predictions", "new_predictions_table", "sorted_images", "new_gallery")
    assert {catalog[name]["filepath"].split("/")[-2] for name in answers} == {folder}
    assert catalog["mlflow_model"]["filepath"].split("/")[-2] == given.get("method", "aezsl")


@pytest.mark.parametrize(
    "name", ["../../x", "", "a/b", "a\\b", ".", "..", ".hidden", "x ", None, "a:b", "a\nb", "CON", "nul.x"]
)
def test_results_stay_below_data(name):
    with pytest.raises(ParameterError, match="benchmark"):
        make_loader("own", own={"name": name})["parameters"]


@pytest.mark.parametrize("name", ["birds", "my birds 2", "v1.2", 2024, "été"])
def test_a_folder_name_is_taken(name):
    assert make_loader("own", own={"name": name})["parameters"]["report"]["benchmark"] == str(name)


@pytest.mark.parametrize(("name", "env"), [("emoji", "base"), ("CUB", "cub"), ("tiny_imagenet", "tiny_imagenet")])
def test_results_of_own_data_do_not_mix_with_those_of_a_benchmark(name, env):
    with pytest.raises(ParameterError, match=f"{name}.*--env={env}"):
        make_loader("own", own={"name": name})["parameters"]


@pytest.mark.parametrize(
    ("file", "text", "named"),
    [
        ("parameters.yml", "split: {seed: 1", r"conf/local/parameters\.yml"),
        ("globals.yml", "benchmark: *x", "globals"),
        ("parameters.yml", "split: ${nothing:1}", "nothing"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(conf, file, text, named):
    (conf / "local" / file).write_text(text)
    with pytest.raises(ParameterError, match=named):
        make_loader(conf=conf)["parameters"]


@pytest.mark.parametrize("text", ["split: &a [*a]\n", "split: &a {folder: *a}\n"])
def test_a_value_that_holds_itself_is_told_in_a_sentence(conf, text):
    (conf / "local" / "parameters.yml").write_text(text)
    with pytest.raises(ParameterError) as caught:
        make_loader(conf=conf)["parameters"]
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(("given", "named"), [({"folder": "../x"}, r"split\.folder"), ([], "split")])
def test_values_that_cannot_be_resolved_are_told_by_name(given, named):
    with pytest.raises(ParameterError, match=named):
        make_loader(split=given)["parameters"]


def test_an_environment_that_there_is_not_is_refused_with_the_nearest():
    with pytest.raises(ParameterError, match=r"cubb.*\bcub\b"):
        make_loader("cubb")


def test_sources_of_semantics_are_one_word_of_the_command_line():
    assert read_sources("attributes") == [{"kind": "attributes"}]
    expected = [
        {"kind": "text", "encoder": "minilm", "of": "class_name"},
        {"kind": "bag_of_words", "max_features": 20},
    ]
    typed = "text:encoder=minilm:of=class_name+bag_of_words:max_features=20"
    assert read_sources(typed) == expected
    given = {"sources": typed}  # in place of those of the environment
    assert make_loader("dogs", semantic_embedding=given)["parameters"]["semantic_embedding"]["sources"] == expected
    for text, named in (
        ("text:minilm", "minilm"),
        ("words", "words"),
        ("text:encode=x", "encode"),
        ("wordnt", "wordnet"),
    ):
        with pytest.raises(ParameterError, match=rf"semantic_embedding\.sources.*{named}"):
            make_loader("dogs", semantic_embedding={"sources": text})["parameters"]
