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


TOLD = {"MLFLOW_DISABLE_TELEMETRY": "true", "ORT_DISABLE_TELEMETRY": "1"}


@pytest.mark.slow
@pytest.mark.parametrize("given", [{}, {"MLFLOW_DISABLE_TELEMETRY": "false"}])
def test_nobody_is_told_of_runs_unless_the_user_says_so(given):
    own = {name: value for name, value in environment().items() if name not in TOLD}
    command = [sys.executable, "-c", f"import os, aezsl; print({{name: os.environ[name] for name in {[*TOLD]}}})"]
    result = subprocess.run(command, env=own | given, capture_output=True, text=True, timeout=600)
    assert result.stdout.strip() == str(TOLD | given)


#: A network is run.
RUN = """
from onnx import TensorProto, helper
from aezsl.encoders.images.engine import run_graph
x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [1]) for name in "xy")
graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", [x], [y])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
run_graph(model.SerializeToString(), "cpu")
"""


@pytest.mark.slow
def test_a_network_notes_nothing_about_the_machine(tmp_path):
    own = {name: value for name, value in environment(HOME=str(tmp_path)).items() if name not in TOLD}
    subprocess.run([sys.executable, "-c", RUN], env=own, check=True, timeout=600)
    assert list(tmp_path.rglob("*")) == []
