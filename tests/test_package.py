"""``kedro package``: a wheel and a configuration that run in another folder, without this checkout."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers import ROOT
from tests.helpers.projects import environment

pytestmark = pytest.mark.slow

#: The command as it is, but that the build takes setuptools from here instead of the network.
PACKAGE = """
import sys
from kedro.framework.cli import cli, project
call = project.call
project.call = lambda command, **of: call([*command, "--no-isolation"] if "build" in command else command, **of)
sys.argv = ["kedro", "package"]
cli.main()
"""


def python(folder, *arguments, path):
    """Run Python in a folder, with the package from ``path`` only."""
    command = [sys.executable, *map(str, arguments)]
    result = subprocess.run(command, cwd=folder, env=environment(PYTHONPATH=str(path)), capture_output=True, text=True)
    assert result.returncode == 0, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}"
    return result.stdout


@pytest.fixture(scope="module")
def packaged(tmp_path_factory):
    """The folder that the command writes, from a copy of the project."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("src", "conf"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "README.md", ".telemetry"):
        shutil.copy(ROOT / name, folder)
    python(folder, "-c", PACKAGE, path=folder / "src")
    return folder / "dist"


@pytest.fixture(scope="module")
def wheel(packaged):
    (wheel,) = packaged.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--disable-pip-version-check"]
    python(folder, *pip, "--target", folder, wheel, path="")
    return folder


def test_every_file_that_the_package_needs_is_in_the_wheel(wheel):
    package = ROOT / "src"
    expected = {str(path.relative_to(package)) for path in (package / "aezsl").rglob("*") if path.is_file()}
    expected = {name for name in expected if "__pycache__" not in name and not name.endswith(".md")}
    assert {Path(name).suffix for name in expected} >= {".py", ".txt", ".j2"}
    assert expected <= set(zipfile.ZipFile(wheel).namelist())


def test_the_installed_package_runs_in_another_folder(packaged, installed, empty_runs, tmp_path):
    where = python(tmp_path, "-c", "import aezsl; print(aezsl.__file__)", path=installed)
    assert Path(where.strip()).parent == installed / "aezsl"
    shutil.copy(empty_runs, tmp_path / "mlflow.db")
    conf = packaged / "conf-aezsl.tar.gz"
    python(tmp_path, "-m", "aezsl", "--pipelines=ingestion,report", f"--conf-source={conf}", path=installed)
    images = pd.read_parquet(tmp_path / "data/03_primary/emoji/images.parquet")
    assert len(images) == 147 * 32
    assert "kedro run --pipeline=aezsl<" in (tmp_path / "data/08_reporting/emoji/report/index.html").read_text()
