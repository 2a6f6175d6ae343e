"""Nodes and tasks on a Dask cluster; those that kill their worker do so once, if they are told where to note it."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from kedro.io import DataCatalog, MemoryDataset
from kedro.runner import SequentialRunner
from PIL import Image

from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.errors import DataError
from aezsl.machine.workers import Workers, workers, working_on
from aezsl.methods import make_method
from aezsl.selection import class_folds, cross_validate
from tests.synthetic import make_synthetic


def die_once(mark):
    if mark and not Path(mark).exists():
        Path(mark).touch()
        os.kill(os.getpid(), signal.SIGKILL)


def block_sum(block, X, mark):
    if block.start == 40:
        die_once(mark)
    return X[block].T @ X[block]


def gram(X, mark=None):
    blocks = [slice(i, i + 10) for i in range(0, len(X), 10)]
    return sum(workers().map(block_sum, blocks, X, mark))


def listed_gram(X):
    return gram(X).tolist(), type(workers()).__name__


def die_then_sum(X, mark):
    die_once(mark)
    return X.sum(axis=0)


@dataclass(frozen=True)
class DeadlyWorkers(Workers):
    """Those of a node, but for one task of one kind, which is killed once: the second of all that are carried out."""

    there: Workers = None
    kind: str = ""
    mark: str | None = None

    @property
    def elsewhere(self):
        return self.there.elsewhere

    def map(self, function, items, *shared):
        mark = self.mark if function.__name__ == self.kind else None
        return self.there.map(DeadlyTask(function, mark), enumerate(items), *shared)


@dataclass(frozen=True)
class DeadlyTask:
    function: Callable
    mark: str | None

    def __call__(self, item, *shared):
        if item[0] == 1:
            die_once(self.mark)
        return self.function(item[1], *shared)


def work_among_the_dying(work, kind, mark):
    with working_on(DeadlyWorkers(workers().n, there=workers(), kind=kind, mark=mark)):
        return work()


def statistics():
    from aezsl.data.statistics import SeenStatistics

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9_000, 5)).astype(np.float32), rng.integers(0, 4, 9_000)
    found = SeenStatistics.from_samples(X, y, 4).without(X, y, np.array([1]))
    return found.gram, found.sums


def spread():
    from aezsl.data.mapped_arrays import Rows
    from aezsl.data.statistics import class_squares

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9_000, 5)).astype(np.float32), rng.integers(0, 4, 9_000)
    return class_squares(Rows(X, slice(None)), y, np.zeros(5), np.eye(5), rng.normal(size=(4, 5)))


def streamed_aezsl():
    data = make_synthetic()
    model = make_method("aezsl", lambda1=0.1, lambda2=0.1, lambda3=1.0, memory_mb=0.01)  # so that targets are streamed
    return model.fit(data.X, data.y, data.S).adapt(data.S_new).classifiers


def grid():
    data = make_synthetic()
    folds = class_folds(len(data.S), len(data.S_new), n_folds=3)
    tables = [
        cross_validate(make_method("eszsl"), X, data.y, data.S, folds, {"gamma": [0.1, 1.0], "lam": [1.0]})
        for X in (data.X, data.X.astype(np.float32))
    ]
    return [table.to_numpy() for table in tables]


def ranking():
    from aezsl.evaluation import ranking

    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(9_000, 5)).astype(np.float32), rng.normal(size=(5, 40))
    with pytest.MonkeyPatch.context() as patch:  # on whichever worker this runs: only large products are tasks
        patch.setattr(ranking, "LARGE_PRODUCT", 1)
        found = ranking.top_k_products(X, P, 3)
    return found.classes, found.scores


def always_die(X):
    os.kill(os.getpid(), signal.SIGKILL)


def hold_too_much(X):
    kept = np.ones(300_000_000)  # 2.4 GB, where a worker has 2
    time.sleep(60)
    return kept


def refuse(X):
    raise DataError("expected something else: change it")


class DyingBackbone:
    """Three numbers of every image; dies of a black one."""

    fingerprint, config = "mean", {}

    def __init__(self, mark):
        self.mark = mark

    def load(self):
        return lambda image: np.asarray(image, dtype=np.float32), self.encode

    def encode(self, batch):
        if (batch == 0).all(axis=(1, 2, 3)).any():
            die_once(self.mark)
        return batch.mean(axis=(1, 2))


def make_images(folder, black):
    """The table of 18 small images, one of them black."""
    rng = np.random.default_rng(0)
    paths = [folder / f"{i}.png" for i in range(18)]
    for i, path in enumerate(paths):
        Image.fromarray((i != black) * rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)).save(path)
    return pd.DataFrame({"image_id": [path.stem for path in paths], "path": list(map(str, paths))})


def stored_ids(store):
    shards = sorted((store.folder / "mean").glob("*.parquet"))
    return [image_id for shard in shards for image_id in pq.read_table(shard)["image_id"].to_pylist()]


def extract(images, store, mark):
    settings = ExtractionSettings(batch_size=2, shard_size=4)
    return extract_to_store(DyingBackbone(mark), images, store, settings)[0].fingerprint


class WaitingBackbone:
    """Three numbers of every image, which are noted; waits at a black one for as long as it is told to."""

    fingerprint, config = "mean", {}

    def __init__(self, log, waits):
        self.log, self.waits = log, waits

    def load(self):
        return lambda image: np.asarray(image, dtype=np.float32), self.encode

    def encode(self, batch):
        if self.waits and (batch == 0).all(axis=(1, 2, 3)).any():
            time.sleep(600)
        with Path(self.log).open("a") as log:
            log.write("image\n" * len(batch))
        return batch.mean(axis=(1, 2))


def extract_waiting(images, store, log, waits):
    settings = ExtractionSettings(batch_size=2, shard_size=4)
    return extract_to_store(WaitingBackbone(log, waits), images, store, settings)[0].fingerprint


def result(pipeline, runner=None, **inputs):
    catalog = DataCatalog({name: MemoryDataset(value) for name, value in inputs.items()})
    outputs = (runner or SequentialRunner()).run(pipeline, catalog)
    return {name: dataset.load() for name, dataset in outputs.items()}
