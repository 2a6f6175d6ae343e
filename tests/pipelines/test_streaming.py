"""The road from stored shards to a trained DAEZSL, in less memory than the features would take."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorChunk, VectorSet
from tests.helpers.projects import environment

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="memory limits are those of Linux"),
]

ROWS, WIDTH, SHARDS, CLASSES = 120_000, 512, 12, 8  # 246 MB of float32

RUN = """
import resource, sys
from pathlib import Path
import numpy as np, pandas as pd, torch, pyarrow.parquet, aezsl.methods.daezsl.training
from aezsl.datasets.places import MappedArraysDataset
from aezsl.data.vector_store import VectorStore
from aezsl.pipelines.method.nodes import adapt, fit_by_epochs, rank_targets
from aezsl.encoders.assembly import assemble_problem
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.data.normalise import NormaliseSettings
from aezsl.data.vectors import Vectors
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.texts.semantics import EmbeddingSettings
folder, allowed = Path(sys.argv[1]), int(sys.argv[2])
split, classes = pd.read_parquet(folder / "split.parquet"), pd.read_parquet(folder / "classes.parquet")
held = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (held + allowed, held + allowed))
features = VectorStore(folder / "features", streamed=sys.argv[3] == "streamed").load()
store = MappedArraysDataset(filepath=str(folder / "mapped")).load()
semantics = Vectors(classes["class_name"].to_numpy(), np.random.default_rng(0).normal(size=(len(classes), 6)))
problem, summary, recipe = assemble_problem(
    features=features, semantics=semantics, classes=classes, split=split, unreadable={}, attribute_names=[],
    normalise=NormaliseSettings(features=["sqrt", "centre", "l2"], semantics=["l2"]),
    extraction=ExtractionSettings(backbone="file"), embedding=EmbeddingSettings(), store=store,
    setting="zsl",
)
parameters = {"epochs": 1, "batch_size": 2048, "validation_fraction": 0.0}
checkpoint = CheckpointFolder(folder / "checkpoint")
(way,) = problem.normalisations
trained, cost, history = fit_by_epochs(problem, way, parameters, recipe, {}, checkpoint, "daezsl")
classifier, adapt_cost = adapt(trained, problem, way)
ranking, record = rank_targets(classifier, problem, way, cost, adapt_cost)
print(summary["n_train"], len(history), len(ranking.classes))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A store of features, in shards, and the tables that go with it."""
    folder = tmp_path_factory.mktemp("streaming")
    store, rng = VectorStore(folder / "features"), np.random.default_rng(0)
    ids = np.array([f"image {i}" for i in range(ROWS)])
    for part in np.array_split(ids, SHARDS):
        vectors = rng.random((len(part), WIDTH), dtype=np.float32)
        store.add(VectorChunk("net", part.tolist(), [""] * len(part), vectors))
    store.use(VectorSet("net", {"backbone": "file"}))
    names = np.array([f"class {i}" for i in range(CLASSES)])
    roles = np.where(np.arange(CLASSES) < CLASSES - 2, "seen", "unseen")
    label = np.arange(ROWS) % CLASSES
    pd.DataFrame({"class_name": names, "role": roles}).to_parquet(folder / "classes.parquet")
    use = np.where(roles[label] == "seen", "train", "test")
    pd.DataFrame({"image_id": ids, "class_name": names[label], "zsl": use}).to_parquet(folder / "split.parquet")
    return folder


def run(folder, how):
    allowed = str(ROWS * WIDTH * 4 * 3 // 4)
    command = [sys.executable, "-c", RUN, str(folder), allowed, how]
    return subprocess.run(
        command, capture_output=True, text=True, env=environment(OMP_NUM_THREADS="1", ARROW_NUM_THREADS="1")
    )


def test_problem_training_and_ranking_stay_below_the_size_of_the_features(folder):
    result = run(folder, "streamed")
    assert result.returncode == 0, result.stderr[-3000:]
    n_train = ROWS * (CLASSES - 2) // CLASSES
    assert result.stdout.split() == [str(n_train), "1", str(ROWS - n_train)]


def test_the_limit_is_one_that_loading_everything_breaks(folder):
    result = run(folder, "loaded")
    assert result.returncode != 0
    assert "memory" in result.stderr.lower() or "alloc" in result.stderr.lower()
