"""What a run imports before its first node: nothing that only some nodes need."""

import subprocess
import sys

import pytest

from tests.helpers.projects import environment

#: Libraries that take long to import, and that nothing needs before a node does.
HEAVY = (
    *("dask", "matplotlib", "onnx", "onnxruntime", "sentence_transformers", "torch", "torchvision", "transformers"),
    *("sklearn.cluster", "sklearn.decomposition", "sklearn.linear_model", "sklearn.svm", "PIL.ImageCms"),
)

#: All that Kedro does before it calls the first node; the nodes themselves are left out.
TO_THE_FIRST_NODE = f"""
import sys
from pathlib import Path
from kedro.framework.session import KedroSession
from kedro.framework.startup import bootstrap_project
from kedro.runner import SequentialRunner

SequentialRunner._run = lambda self, *arguments: print("imported:", *[name for name in {HEAVY} if name in sys.modules])
bootstrap_project(Path.cwd())
with KedroSession.create() as session:
    session.run(tags=["ingestion", "training", "evaluation"])
"""


@pytest.mark.slow
def test_nothing_heavy_is_imported_before_the_first_node(make_project):
    folder = make_project().folder
    command = [sys.executable, "-c", TO_THE_FIRST_NODE]
    result = subprocess.run(command, cwd=folder, env=environment(), capture_output=True, text=True, timeout=600)
    lines = [line for line in result.stdout.splitlines() if line.startswith("imported:")]
    assert lines == ["imported:"], f"{lines}\n{result.stdout[-2000:]}\n{result.stderr[-3000:]}"
    assert "type hints" not in (folder / "info.log").read_text()  # Kedro warns of annotations it cannot resolve


@pytest.mark.slow
@pytest.mark.parametrize(("given", "found"), [({}, "true"), ({"MLFLOW_DISABLE_TELEMETRY": "false"}, "false")])
def test_nobody_is_told_of_runs_unless_the_user_says_so(given, found):
    own = {name: value for name, value in environment().items() if name != "MLFLOW_DISABLE_TELEMETRY"}
    command = [sys.executable, "-c", "import os, aezsl.settings; print(os.environ['MLFLOW_DISABLE_TELEMETRY'])"]
    result = subprocess.run(command, env=own | given, capture_output=True, text=True, timeout=600)
    assert result.stdout.strip() == found
