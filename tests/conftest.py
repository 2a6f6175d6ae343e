"""Projects to run commands in, and the mark ``slow`` on every test that has one."""

import atexit
import os
import shutil
import tempfile

import hypothesis
import pytest

from tests.helpers.projects import Commands, Project
from tests.helpers.quick import QUICK_METHODS

# No test depends on time: beside other work on the machine any example may take long.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")

# Exported networks are kept for the length of a session, and never among the user's own.
_cache = tempfile.TemporaryDirectory()
atexit.register(_cache.cleanup)
os.environ["AEZSL_CACHE"] = _cache.name

# Workers side by side, and the commands they run, have a core each: more threads would wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def pytest_collection_modifyitems(items):
    """Commands take seconds, so whatever has a project to run them in is slow; so is the contract of most methods."""
    for item in items:
        method = getattr(item.cls, "method", None) if hasattr(item, "cls") and hasattr(item.cls, "make_data") else None
        if "make_project" in getattr(item, "fixturenames", ()) or (method and method not in QUICK_METHODS):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def empty_runs(tmp_path_factory):
    """An MLflow database without a run: making its tables takes seconds, and every project would make them again."""
    import mlflow

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture(scope="session")
def commands():
    commands = Commands()
    yield commands
    commands.close()


@pytest.fixture(scope="session")
def make_project(tmp_path_factory, empty_runs, commands):
    def make(from_nothing=False):
        """A copy of the project; ``from_nothing`` as a clone has it, without a database."""
        project = Project.copy(tmp_path_factory.mktemp("project"), commands)
        if not from_nothing:
            shutil.copy(empty_runs, project.folder / "mlflow.db")
        return project

    return make
