"""A copy of the project to run commands in, so that tests never touch a user's data or runs."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.helpers import ROOT

TIMEOUT = 600


def environment(**more):
    """As a user has it who has installed the project, offline; the package is that of this checkout."""
    variables = os.environ | {"PYTHONPATH": str(ROOT / "src"), "HF_HUB_OFFLINE": "1", "COLUMNS": "300", "NO_COLOR": "1"}
    variables.pop("MLFLOW_TRACKING_URI", None)
    return variables | more


class Commands:
    """Runs ``python -m kedro``: each command in a process of its own, forked from one that has the libraries."""

    #: Elsewhere a process with libraries in it cannot be forked safely, and every command starts from nothing.
    forks = sys.platform == "linux"

    def __init__(self):
        self.server = None

    def run(self, folder, arguments):
        """The finished command, with its output."""
        if self.forks:
            return self.fork(folder, arguments)
        command = [sys.executable, "-m", "kedro", *arguments]
        options = {"cwd": folder, "env": environment(), "capture_output": True, "text": True, "timeout": TIMEOUT}
        return subprocess.run(command, **options)

    def close(self):
        if self.server is not None:
            self.server.communicate()  # the end of its input is the end of it

    def fork(self, folder, arguments, **kill):
        """As ``run``, on Linux, with the ``seconds`` that the processor took; ``signal`` is sent ``after`` so many."""
        if self.server is None:
            command = [sys.executable, "-P", str(ROOT / "tests/helpers/warm.py")]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self.server = subprocess.Popen(command, env=environment(), **pipes)
        with tempfile.TemporaryDirectory() as place:
            outputs = {name: Path(place, name) for name in ("stdout", "stderr")}
            for path in outputs.values():
                path.touch()
            job = {"folder": folder, "arguments": arguments, "timeout": TIMEOUT, **outputs, **kill}
            print(json.dumps(job, default=str), file=self.server.stdin, flush=True)
            code, seconds = self.server.stdout.readline().split()
            texts = {name: path.read_text(errors="replace") for name, path in outputs.items()}
        finished = subprocess.CompletedProcess(["kedro", *arguments], int(code), **texts)
        finished.seconds = float(seconds)
        return finished


class Project:
    """A folder with the project's configuration, and the commands that users type in it."""

    def __init__(self, folder, commands):
        self.folder, self.commands = folder, commands

    @classmethod
    def copy(cls, folder, commands):
        """As a clone has it, but for the package, which is imported from where it is installed."""
        shutil.copytree(ROOT / "conf", folder / "conf", ignore=shutil.ignore_patterns("local"))
        (folder / "conf" / "local").mkdir()
        for name in ("pyproject.toml", ".telemetry"):
            shutil.copy(ROOT / name, folder)
        (folder / "src").mkdir()
        return cls(folder, commands)

    def kedro(self, *arguments, check=True):
        """Run the command as a user types it, offline."""
        result = self.commands.run(self.folder, arguments)
        if check and result.returncode:
            pytest.fail(f"kedro {' '.join(arguments)} failed:\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}")
        return result

    def runs(self):
        """All MLflow runs of this project, the newest first."""
        experiments = [experiment.experiment_id for experiment in self._mlflow().search_experiments()]
        return self._mlflow().search_runs(experiments, order_by=["attributes.start_time DESC"])

    def tag(self, run, key, value):
        """Change a tag of an MLflow run."""
        self._mlflow().set_tag(run.info.run_id, key, value)

    def experiment(self, experiment_id):
        """The name of an MLflow experiment of this project."""
        return self._mlflow().get_experiment(experiment_id).name

    def registered(self, name):
        """All versions of a model in MLflow's model registry."""
        return self._mlflow().search_model_versions(f"name = '{name}'")

    def _mlflow(self):
        import mlflow

        return mlflow.MlflowClient(f"sqlite:///{self.folder}/mlflow.db")
