"""Every parameter is checked before anything runs: its name, its kind, its range, its choices."""

import pytest
from kedro.validation import TypeExtractor
from omegaconf import OmegaConf

from aezsl.config import schema
from aezsl.encoders.texts.semantics import KINDS, EmbeddingSettings, source_settings
from aezsl.errors import ParameterError
from aezsl.methods import METHODS, method_class
from tests.helpers.pipelines import registered


def complete(*typed, texts=None, elsewhere=None, in_files=()):
    """The parameters that a command gives, as ``--params`` reads it, over those of files."""
    given = OmegaConf.to_container(OmegaConf.from_dotlist(list(typed)))
    merged = OmegaConf.to_container(OmegaConf.merge(OmegaConf.from_dotlist(list(in_files)), given))
    return schema.complete(merged, given, texts or {}, elsewhere or {})


def test_what_nobody_gives_has_its_default_and_methods_have_theirs_in_the_class():
    expected = {name: section().model_dump() for name, section in schema.shared_sections().items()}
    assert complete() == expected | {name: {} for name in METHODS}


def test_a_value_given_is_the_only_one_that_changes():
    found = complete("split.seed=3", "aezsl.lambda1=0.1", "aezsl.grid.lambda3=[1.0, 10.0]")
    assert found["split"] == {**complete()["split"], "seed": 3}
    assert found["aezsl"] == {"lambda1": 0.1, "grid": {"lambda3": [1.0, 10.0]}}
    settings = schema.section_class("aezsl")(**found["aezsl"])
    assert (settings.fixed, settings.searched) == ({"lambda1": 0.1}, {"lambda3": [1.0, 10.0]})


def test_the_schema_is_what_the_nodes_are_annotated_with(caplog):
    """Kedro builds the classes that nodes name; it warns where two of them differ."""
    found = TypeExtractor(registered()).extract_types_from_pipelines()
    assert {name: found.get(name) for name in METHODS} == {name: schema.section_class(name) for name in METHODS}
    assert {name: section for name, section in found.items() if name not in METHODS} == schema.shared_sections()
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("split.sede=1", "split.seed"),
        ("slpit.seed=1", "split"),
        ("normalise.semantic=[l2]", "normalise.semantics"),
        ("aezsl.tool=1", "aezsl.tol"),
        ("aezsl.init.tol=1", "aezsl.tol"),  # as it was written once
        ("eszsl.grid.gama=[1]", "eszsl.grid.gamma"),
        ("aezsl_lr_balancd.k=2", "aezsl_lr_balanced"),
        ("semantic_embedding.sources=[{kind: txt}]", "text"),
        ("feature_extraction.on_error=skp", "skip"),
        ("aezsl.solver=drect", "direct"),
    ],
)
def test_a_misspelt_word_is_refused_with_the_nearest_one(typed, meant):
    with pytest.raises(ParameterError, match=rf"^--params: .*{typed.partition('=')[0]}.*\b{meant}\b"):
        complete(typed)


def test_a_misspelt_place_of_data_is_refused_with_the_nearest_one():
    files = {"catalog.yml": "folder: ${runtime_params:predict.images,null}"}
    with pytest.raises(ParameterError, match=r"parameter predict\.image: did you mean predict\.images"):
        complete("predict.image=holiday", texts=files)


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
        "calibration.per_class='no'",
        "selection.n_folds=0",
        "selection.n_folds='3'",
        "selection.fraction=.nan",
        "feature_extraction.batch_size=true",
        "feature_extraction.backbone=''",
        "feature_extraction.backbone=[{backbone: vgg19, wieghts: mine.pth}]",
        "feature_extraction.backbone=[{weights: mine.pth}]",
        "sensitivity.k=[]",
        "sensitivity.k=[80,a]",
        "semantic_embedding.sources=[]",
        "semantic_embedding.sources=[text]",
        "semantic_embedding.sources=[{kind: word_vectors}]",
        "semantic_embedding.sources=[{kind: text, encodr: minilm}]",
        "semantic_embedding.sources=[{kind: bag_of_words, max_features: 0}]",
        "normalise.features=[l1]",
        "normalise.features=l2/",
        "normalise.features=[[l1],[l2]]",
        "aezsl=3",
        "aezsl.lambda1=null",
        "aezsl.grid=null",
        "aezsl.grid.lambda1=0.1",
        "aezsl.grid.lambda1=[]",
        "aezsl.grid.lambda1=[a]",
        "eszsl.grid.gamma=[0]",
        "daezsl.learning_rate='1e-3'",
        "daezsl.learning_rate=-1",
        "predict.method=eszsl",  # it follows from another one
        "report.benchmark=x",
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(typed):
    name = typed.partition("=")[0].removesuffix(".x")
    with pytest.raises(ParameterError, match=rf"^--params: .*\b{name}\b"):
        complete(typed)


@pytest.mark.parametrize(
    "typed",
    [
        ("split.seed=3", "split.unseen_fraction=0.5"),
        ("aezsl.grid.lambda3=[0.1]", "aezsl.solver=alternating", "aezsl_lr.lambda1=1"),
        ("semantic_embedding.sources=[{kind: attributes},{kind: text}]", "normalise.features=[]"),
        ("normalise.features=[[],[sqrt,centre,l2]]", "normalise.semantics=l2/centre+l2"),
        ("ingestion.groups=Objects", "selection.fraction=null", "aezsl_lr.n_components=null"),
        ("feature_extraction.backbone=[vgg19,{backbone: resnet18, layer: fc, path: null}]",),
        ("daezsl.learning_rate=1e-3", "aezsl_t.totals=estimated", "eszsl=null"),
    ],
)
def test_what_is_meant_passes(typed):
    complete(*typed)


def test_all_problems_are_told_at_once_and_where_they_stand():
    texts = {
        "conf/base/parameters.yml": "gallery: {rows: 1}\nown: {root: '${runtime_params:own.root}'}\n",
        "conf/local/parameters.yml": "split: {seed: 1}\ngallery:\n  columns: 2\n  rows: 0\nlatem:\n  {random_state: x}",
    }
    with pytest.raises(ParameterError) as refused:
        complete("split.sede=1", "own.root=/x", in_files=["gallery.rows=0", "latem.random_state=x"], texts=texts)
    places = {line.partition(": ")[2].split(" ")[0].rstrip(":"): line for line in str(refused.value).splitlines()}
    assert places.pop("unknown").startswith("--params: unknown parameter split.sede")
    assert {name: line.partition(": ")[0] for name, line in places.items()} == {
        "gallery.rows": "conf/local/parameters.yml:4",
        "latem.random_state": "conf/local/parameters.yml:6",
    }


def test_what_another_environment_reads_is_refused_with_its_name():
    with pytest.raises(ParameterError, match=r"own\.root.*--env=own"):
        complete("own.root=/x", elsewhere={"own": {"": "${runtime_params:own.root,x}"}})


@pytest.mark.parametrize("value", ["''", "[]", "{a: 1}"])
def test_what_files_read_is_one_value(value):
    texts = {"conf/own/catalog.yml": "root: ${runtime_params:own.root,x}"}
    assert complete("own.root=5", texts=texts) == complete()
    with pytest.raises(ParameterError, match=r"^--params: own\.root"):
        complete(f"own.root={value}", texts=texts)


@pytest.mark.parametrize("section", schema.shared_sections().values(), ids=lambda section: section.__name__)
def test_every_setting_is_explained(section):
    assert section.meanings().keys() >= section.model_fields.keys()


@pytest.mark.parametrize("kind", [*KINDS, "auto"])
def test_every_kind_of_semantics_is_listed_with_its_settings(kind):
    (line,) = [line for line in EmbeddingSettings.__doc__.splitlines() if line.strip().startswith(f"* {kind}")]
    assert [name for name in source_settings(kind).model_fields if name not in line] == []


@pytest.mark.parametrize("name", METHODS)
def test_every_value_that_a_class_searches_is_of_its_kind(name):
    method_class(name).settings()(grid=method_class(name).grid)
