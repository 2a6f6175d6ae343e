"""Names of nodes, tags, datasets and versions that a command gives: known ones, or the nearest is told."""

import click
import pytest
from aezsl.commands.given import read_by
from aezsl.runs import asked
from aezsl.runs.asked import CHOICES, check_choice, check_pipelines, check_versions
from kedro.framework.cli.utils import _config_file_callback, _split_load_versions, _split_params
from kedro.pipeline import Pipeline, node

from aezsl.errors import ParameterError


def copy(value):
    return value


PIPELINE = Pipeline(
    [
        node(copy, "features", "problem", name="assemble_problem", tags="assembly"),
        node(copy, "problem", "eszsl.model", name="fit_model", namespace="eszsl", tags="training"),
    ]
)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"node_names": ["asemble_problem"]}, "--nodes: no node 'asemble_problem'.*did you mean assemble_problem"),
        ({"node_names": ["fit_model"]}, "did you mean eszsl.fit_model"),
        ({"from_nodes": ["FIT"]}, "--from-nodes.*did you mean eszsl.fit_model"),
        ({"to_nodes": ["nonsense"]}, "--to-nodes.*there are assemble_problem, eszsl.fit_model"),
        ({"tags": ["training", "trainng"]}, "--tags: no tag 'trainng'.*did you mean training"),
        ({"namespaces": ["eszl"]}, "--namespaces.*did you mean eszsl"),
        ({"from_inputs": ["featurs"]}, "--from-inputs.*did you mean features"),
        ({"to_outputs": ["model"]}, "--to-outputs.*did you mean eszsl.model"),
        ({"node_names": ["assemble_problem"], "tags": ["training"]}, "in all of --nodes=assemble_problem, --tags=tra"),
    ],
)
def test_what_is_not_of_the_pipeline_is_refused_with_the_nearest_name(given, told):
    with pytest.raises(ParameterError, match=told):
        check_choice(PIPELINE, given)


def test_what_is_of_the_pipeline_is_taken():
    names = (["eszsl.fit_model"], ["assemble_problem"], ["eszsl.fit_model"], ["training"], ["eszsl"], ["features"])
    check_choice(PIPELINE, dict(zip(CHOICES, names, strict=False)))
    check_choice(PIPELINE, {"to_outputs": ["eszsl.model"], "tags": []})


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("aezls_lr", "no pipeline 'aezls_lr': did you mean aezsl_lr?"),
        ("aezsl,gzsl_eszsl", "several are --pipelines=aezsl,gzsl_eszsl"),
        ("aezsl,eszzl", "did you mean"),
    ],
)
def test_a_pipeline_that_there_is_not_is_refused(monkeypatch, name, told):
    class Requested(dict):
        _requested_pipelines = (name,)

    monkeypatch.setattr(asked, "pipelines", Requested())
    with pytest.raises(ParameterError) as refused:
        check_pipelines()
    assert told in str(refused.value)


def test_versions_are_of_datasets_that_keep_them():
    catalog = {"a": {"type": "x", "versioned": True}, "b": {"type": "x"}, "{m}.c": {"type": "x", "versioned": True}}
    check_versions({"a": "1", "eszsl.c": "2"}, catalog)
    for name in ("b", "nothing"):
        with pytest.raises(ParameterError, match=f"--load-versions: '{name}' is not a dataset that keeps versions"):
            check_versions({name: "1"}, catalog)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--runner-params", "is_asinc=1"], "SequentialRunner has no 'is_asinc': did you mean is_async"),
        (["--runner", "ThreadRunner", "--runner-params", "zzz=1"], "ThreadRunner has no 'zzz': there are"),
        (["--config", "{folder}/empty.yml"], "a section run"),
        (["--config", "{folder}/broken.yml"], "a section run"),
        (["--config", "{folder}/misspelt.yml"], "Key `piplines`"),
        (["--load-versions", "x"], "dataset_name:"),
    ],
)
def test_options_of_kedro_s_run_are_refused_in_words(tmp_path, arguments, told):
    (tmp_path / "empty.yml").write_text("other: 1\n")
    (tmp_path / "misspelt.yml").write_text("run: {piplines: x}\n")
    (tmp_path / "broken.yml").write_text("run: [\n")
    options = [
        click.Option(["--runner"]),
        click.Option(["--runner-params"], default="", callback=_split_params),
        click.Option(["--config"], callback=_config_file_callback),
        click.Option(["--load-versions"], default="", callback=_split_load_versions),
    ]
    command = click.Command("run", params=options, callback=lambda **_: None)
    read_by(command)
    with pytest.raises(click.UsageError, match=told):
        command.main([part.format(folder=tmp_path) for part in arguments], "run", standalone_mode=False)
