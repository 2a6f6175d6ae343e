"""A copy of the project to run commands in, so that tests never touch a user's data or runs."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Workers side by side, and the commands they run, have a core each: more threads would wait for each other.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


class Project:
    def __init__(self, folder: Path):
        self.folder = folder

    def kedro(self, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run the command as a user types it, offline."""
        environment = os.environ | {
            "PYTHONPATH": str(ROOT / "src"),
            "HF_HUB_OFFLINE": "1",
            "COLUMNS": "300",
            "NO_COLOR": "1",
        }
        environment.pop("MLFLOW_TRACKING_URI", None)
        result = subprocess.run(
            [sys.executable, "-m", "kedro", *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        if check and result.returncode:
            pytest.fail(f"kedro {' '.join(arguments)} failed:\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}")
        return result

    def runs(self):
        """All MLflow runs of this project, the newest first."""
        import mlflow

        client = mlflow.MlflowClient(f"sqlite:///{self.folder}/mlflow.db")
        experiments = [experiment.experiment_id for experiment in client.search_experiments()]
        return client.search_runs(experiments, order_by=["attributes.start_time DESC"])

    def experiment(self, experiment_id: str) -> str:
        """The name of an MLflow experiment of this project."""
        import mlflow

        return mlflow.MlflowClient(f"sqlite:///{self.folder}/mlflow.db").get_experiment(experiment_id).name


@pytest.fixture(scope="session")
def empty_runs(tmp_path_factory):
    """An MLflow database without a run: making its tables takes seconds, and every project would make them again."""
    import mlflow

    path = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    mlflow.MlflowClient(f"sqlite:///{path}").search_experiments()
    return path


@pytest.fixture(scope="session")
def make_project(tmp_path_factory, empty_runs):
    def make(from_nothing: bool = False) -> Project:
        """A copy of the project; ``from_nothing`` as a clone has it, without a database."""
        folder = tmp_path_factory.mktemp("project")
        shutil.copytree(ROOT / "conf", folder / "conf", ignore=shutil.ignore_patterns("local"))
        (folder / "conf" / "local").mkdir()
        for name in ("pyproject.toml", ".telemetry"):
            shutil.copy(ROOT / name, folder)
        if not from_nothing:
            shutil.copy(empty_runs, folder / "mlflow.db")
        (folder / "src").mkdir()  # the package itself is imported from where it is installed
        return Project(folder)

    return make
