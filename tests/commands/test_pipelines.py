from click.testing import CliRunner

from aezsl.cli import cli
from aezsl.commands.pipelines import describe_pipelines
from tests.helpers.pipelines import registered


def test_every_pipeline_has_its_line():
    described = describe_pipelines()
    expected = {name for name in registered() if not name.startswith(("gzsl_", "__"))}
    assert set(described) == expected | {"gzsl_<method>", "gzsl_photos_own"}
    assert [name for name, what in described.items() if len(what) < 20 or "\n" in what] == []


def test_the_command_prints_them():
    printed = CliRunner().invoke(cli, ["pipelines"]).output
    assert len(printed.splitlines()) == len(describe_pipelines())
    assert "kedro run without a name" in next(line for line in printed.splitlines() if line.startswith("aezsl_lr "))
