"""Every parameter is checked before anything runs: its name, its kind, its range, its choices."""

import copy
import shutil

import click
import pytest
import yaml
from kedro.framework.cli.utils import _split_params
from omegaconf import OmegaConf

from aezsl import settings
from aezsl.commands.given import check_runner, read_by, split_params
from aezsl.config.loader import ConfigLoader
from aezsl.errors import ParameterError
from aezsl.kinds import Count, Fraction, Positive, accepts, choice, describe, joined, list_of
from aezsl.methods import METHODS
from aezsl.runs.parameters import check_configuration, sections
from tests.helpers import ROOT

CONF = ROOT / "conf"
ENVIRONMENTS = sorted(path.parent.name for path in CONF.glob("*/parameters.yml") if path.parent.name != "local")


def make_loader(env=None, conf=CONF, **given):
    values = OmegaConf.to_container(OmegaConf.create(given))
    return ConfigLoader(str(conf), env, values, **settings.CONFIG_LOADER_ARGS)


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


@pytest.fixture(scope="module")
def checked():
    """Check base with what a command gives, as ``--params`` reads it; the files are read once."""
    loader = make_loader("base")
    parameters, values, texts = loader["parameters"], loader["globals"], loader._texts("base")
    known = sections.all_sections()

    def check(monkeypatch, *typed, in_files=()):
        given = OmegaConf.to_container(OmegaConf.from_dotlist(list(typed)))
        filed = OmegaConf.from_dotlist(list(in_files))
        merged = OmegaConf.to_container(OmegaConf.merge(copy.deepcopy(parameters), filed, given))
        named = {**values, **({"method": given["method"]} if "method" in given else {})}
        monkeypatch.setattr("aezsl.runs.parameters.all_sections", lambda: known)
        check_configuration(merged, named, given, texts, {"own": {"": "${runtime_params:own.root,x}"}})

    return check


@pytest.fixture(scope="module")
def own():
    """Check the environment ``own`` under a name; the files are read once."""
    loader = make_loader("own")
    parameters, values = loader["parameters"], loader["globals"]
    texts = loader._texts("base") | loader._texts("own")

    def check(name):
        given = {"own": {"name": name}}
        check_configuration({**parameters, **given}, {**values, "benchmark": name}, given, texts, {})

    return check


@pytest.mark.parametrize("env", [None, *ENVIRONMENTS])
def test_every_environment_passes(env):
    make_loader(env).check()


def test_the_schema_and_base_have_the_same_names():
    base = make_loader("base")["parameters"]
    known = sections.all_sections()
    assert set(base) == set(known.names)
    for name in set(base) - set(METHODS):
        assert set(base[name]) == set(known.names[name].names), name


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("split.sede=1", "split.seed"),
        ("slpit.seed=1", "split.seed"),
        ("normalise.semantic=[l2]", "normalise.semantics"),
        ("aezsl.intt.tol=1", "aezsl.init.tol"),
        ("aezsl.init.tool=1", "aezsl.init.tol"),
        ("eszsl.grid.gama=[1]", "eszsl.grid.gamma"),
        ("feature_extraction.bacth_size=4", "feature_extraction.batch_size"),
        ("ingestion.complet=true", "ingestion.complete"),
        ("predict.clases=x", "predict.classes"),
        ("predict.images.x=1", "predict.images"),
        ("galery.rows=2", "gallery.rows"),
        ("aezsl_lr_balancd.init.k=2", "aezsl_lr_balanced.init.k"),
        ("method=aezls", "aezsl"),
        ("semantic_embedding.sources=[{kind: txt}]", "text"),
        ("semantic_embedding.sources=[{kind: text, encodr: minilm}]", "encoder"),
        ("feature_extraction.on_error=skp", "skip"),
        ("selection.rule=frist", "first"),
        ("aezsl.init.solver=drect", "direct"),
    ],
)
def test_a_misspelt_word_is_refused_with_the_nearest_one(checked, monkeypatch, typed, meant):
    with pytest.raises(ParameterError, match=rf"--params: .*did you mean \S*{meant}\?"):
        checked(monkeypatch, typed)


@pytest.mark.parametrize(
    "typed",
    [
        "unheard.of=1",
        "split=3",
        "split.seed=abc",
        "split.seed=-1",
        "split.seed=1.5",
        "split.seed=null",
        "split.seed.x=1",
        "split.unseen_fraction=2",
        "split.unseen_fraction=0",
        "split.seen_test_fraction=1",
        "calibration.seen_test_fraction=-0.1",
        "calibration.per_class='no'",
        "calibration.criterion=best",
        "selection.n_folds=0",
        "selection.n_folds='3'",
        "selection.fraction=1",
        "selection.fraction=.nan",
        "evaluation.n_confusions=-1",
        "gallery.rows=0",
        "feature_extraction.batch_size=0",
        "feature_extraction.batch_size=true",
        "feature_extraction.backbone=''",
        "sensitivity.k=[]",
        "sensitivity.k=[80,a]",
        "sensitivity.lambda3=1",
        "semantic_embedding.sources=[]",
        "semantic_embedding.sources=[text]",
        "semantic_embedding.sources=[{kind: word_vectors}]",
        "normalise.features=[l1]",
        "normalise.features=sqrt+l1",
        "normalise.features=[[l1],[l2]]",
        "normalise.features=l2/",
        "normalise.semantics=''",
        "ingestion.complete=1",
        "aezsl.init=null",
        "aezsl.grid=null",
        "aezsl.grid.lambda1=0.1",
        "aezsl.grid.lambda1='0.1'",
        "aezsl.grid.lambda1=[]",
        "aezsl.grid.lambda1=[a]",
        "aezsl.init.max_iter=1.5",
        "aezsl_lr.init.centre='no'",
        "aezsl_lr.init.lambda1=much",
        "daezsl.init.learning_rate='1e-3'",
        "daezsl.init.learning_rate=-1",
        "daezsl.init.dropout=1",
        "daezsl.init.device=''",
        "eszsl.grid.gamma=[0]",
        "sync.init.loss=l2",
        "aezsl_t.init.balance=1.5",
        "aezsl_lr.init.lambda3=-1",
        "predict.method=eszsl",
        "predict.images=''",
        "predict.images=5",
        "predict.images=null",
        "report.benchmark=x",
        "export.benchmark=x",
        "feature_extraction.backbone=[{backbone: vgg19, wieghts: mine.pth}]",
        "feature_extraction.backbone=[{weights: mine.pth}]",
        "semantic_embedding.sources=[{kind: bag_of_words, max_features: 0}]",
        "semantic_embedding.sources=[{kind: class_vectors, path: x, missing: skip}]",
    ],
)
def test_what_cannot_be_meant_is_refused(checked, monkeypatch, typed):
    name = typed.partition("=")[0].removesuffix(".x")
    with pytest.raises(ParameterError, match=rf"^--params: .*{name}"):
        checked(monkeypatch, typed)


@pytest.mark.parametrize(
    "typed",
    [
        ("split.seed=3", "split.unseen_fraction=0.5"),
        ("aezsl.grid.lambda3=[0.1]", "aezsl.init.solver=alternating", "aezsl_lr.init.lambda1=1"),
        ("method=gzsl_eszsl", "predict.images=/here", "predict.classes=null"),
        (
            "semantic_embedding.sources=[{kind: attributes},{kind: text}]",
            "normalise.features=[]",
            "normalise.semantics=sqrt+l2",
        ),
        ("normalise.features=[[],[sqrt,centre,l2]]", "normalise.semantics=l2/centre+l2"),
        ("ingestion.groups=Objects", "selection.fraction=null", "aezsl_lr.init.n_components=null"),
        ("feature_extraction.backbone=[vgg19,{backbone: resnet18, layer: fc, path: null}]",),
        ("daezsl.init.learning_rate=1e-3", "aezsl_t.init.totals=estimated"),
    ],
)
def test_what_is_meant_passes(checked, monkeypatch, typed):
    checked(monkeypatch, *typed)


def test_the_file_of_the_section_is_named(tmp_path):
    """Several methods have a parameter of that name."""
    conf = tmp_path / "conf"
    shutil.copytree(CONF / "base", conf / "base")
    (conf / "local").mkdir()
    file = conf / "base/parameters/latem.yml"
    file.write_text(file.read_text().replace("random_state: 0", "random_state: x"))
    with pytest.raises(ParameterError, match=r"^conf/base/parameters/latem\.yml: latem\.init\.random_state must be"):
        make_loader(conf=conf).check()


def test_all_problems_are_told_at_once_and_where_they_stand(checked, monkeypatch):
    with pytest.raises(ParameterError) as refused:
        checked(monkeypatch, "split.sede=1", "own.root=/x", in_files=["gallery.rows=0", "predict.images=/x"])
    told = sorted(str(refused.value).splitlines())
    assert told == [
        "--params: own.root is read with --env=own only",
        "--params: unknown parameter split.sede: did you mean split.seed?",
        "base/parameters_gallery.yml: gallery.rows must be a whole number of at least 1, got 0".replace(
            "base", "conf/base"
        ),
        "predict.images is taken from the command line only: give it as --params=predict.images=...",
    ]


@pytest.mark.parametrize(
    "name", ["../../x", "", "a/b", "a\\b", ".", "..", ".hidden", "x ", None, "a:b", "a\nb", "CON", "nul.x"]
)
def test_results_stay_below_data(own, name):
    with pytest.raises(ParameterError, match=r"own\.name must be"):
        own(name)


@pytest.mark.parametrize("name", ["birds", "my birds 2", "v1.2", 2024, "été"])
def test_a_folder_name_is_taken(own, name):
    own(name)


def test_the_name_on_the_command_line_is_checked():
    make_loader("own", own={"name": "birds"}).check()
    with pytest.raises(ParameterError, match=r"own\.name must be"):
        make_loader("own", own={"name": "../birds"}).check()


@pytest.mark.parametrize(("name", "env"), [("emoji", "base"), ("CUB", "cub"), ("tiny_imagenet", "tiny_imagenet")])
def test_results_of_own_data_do_not_mix_with_those_of_a_benchmark(name, env):
    with pytest.raises(ParameterError, match=rf"own\.name must be a name of its own, got '{name}'.*--env={env} "):
        make_loader("own", own={"name": name}).check()


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("parameters.yml", "split: {seed: 1", "conf/local/parameters.yml cannot be read"),
        ("globals.yml", "benchmark: *x", "conf/local/globals.yml cannot be read"),
        ("parameters.yml", "split: ${nothing:1}", "Unsupported interpolation type nothing"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path, file, text, told):
    conf = tmp_path / "conf"
    shutil.copytree(CONF / "base", conf / "base")
    (conf / "local").mkdir()
    (conf / "local" / file).write_text(text)
    with pytest.raises(ParameterError, match=told):
        make_loader(conf=conf).check()


@pytest.mark.parametrize(
    ("given", "told"),
    [({"split": {"folder": "../x"}}, "^split.folder must be a folder below"), ({"split": []}, "cannot be read")],
)
def test_values_that_cannot_be_resolved_are_told_in_a_sentence(given, told):
    with pytest.raises(ParameterError, match=told):
        make_loader(**given).check()


@pytest.mark.parametrize("value", ["own.name=*", "own.name=%2e", "own.root=@x", "split.seed=[1", "split.seed={"])
def test_values_that_are_not_yaml_are_told_in_a_sentence(value):
    command = click.Command("run", params=[click.Option(["--params"], callback=_split_params)])
    read_by(command)
    with pytest.raises(click.UsageError, match="name=value pairs"):
        command.make_context("run", ["--params", value])


@pytest.mark.parametrize(
    ("runner", "hint"), [("ThreadRuner", "did you mean ThreadRunner"), ("zzz.x", "there are SequentialRunner")]
)
def test_a_runner_that_there_is_not_is_refused(runner, hint):
    command = click.Command("run", params=[click.Option(["--runner"])])
    read_by(command)
    assert command.make_context("run", ["--runner", "ThreadRunner"]).params == {"runner": "ThreadRunner"}
    with pytest.raises(click.UsageError, match=hint):
        command.make_context("run", ["--runner", runner])


def test_kedro_s_own_run_reads_its_options_so():
    import aezsl.cli

    callbacks = {option.name: option.callback for option in aezsl.cli.run.params}
    assert (callbacks["params"], callbacks["runner"]) == (split_params, check_runner)


def test_an_environment_that_there_is_not_is_refused():
    with pytest.raises(ParameterError, match=r"no environment .cubb.: did you mean cub\? There are: awa2, base, cub"):
        make_loader("cubb")


def test_a_global_that_nothing_refers_to_is_refused(tmp_path):
    (tmp_path / "base").mkdir()
    (tmp_path / "local").mkdir()
    for file in CONF.glob("base/**/*.yml"):
        (tmp_path / "base" / file.name).write_text(file.read_text())
    (tmp_path / "local" / "globals.yml").write_text(yaml.safe_dump({"benchmrk": "x"}))
    with pytest.raises(ParameterError, match="nothing refers to benchmrk: did you mean benchmark"):
        make_loader(conf=tmp_path).check()


@pytest.mark.parametrize(
    ("kind", "good", "bad", "said"),
    [
        (Positive, [1, 0.5], [0, -1, True, "1", float("inf"), None], "a number above 0"),
        (Fraction | None, [0.5, None], [0, 1, "x"], "a number above 0 and below 1 or null"),
        (Count, [1], [0, 1.0, "1"], "a whole number of at least 1"),
        (choice(["a", "b"]), ["a"], ["c", None, 1], "a or b"),
        (joined(["a", "b"]), ["a", "b+a"], ["", "a + b", "a+c", "a/b", ["a"]], "a text of a, b, joined by +"),
        (
            joined(["a"], alternatives=True),
            ["a", "a/a+a"],
            ["a/", "b/a"],
            "a text of a, joined by +, alternatives by /",
        ),
        (list_of(bool, at_least=1), [[True]], [[], True, ["no"]], "a list of at least 1, each true or false"),
    ],
)
def test_kinds_accept_and_describe(kind, good, bad, said):
    assert [value for value in good if not accepts(kind, value)] == []
    assert [value for value in bad if accepts(kind, value)] == []
    assert describe(kind) == said
