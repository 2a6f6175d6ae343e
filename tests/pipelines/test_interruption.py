"""Feature extraction killed in the middle, by the signal that no program can catch."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet as pq
from PIL import Image

from aezsl.data.vector_store import VectorStore
from tests.helpers.projects import environment

N_IMAGES, SHARD = 160, 16


def write_images(root):
    rng = np.random.default_rng(0)
    for i in range(N_IMAGES):
        path = root / f"images/{'ab'[i % 2]}/{i:03d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(path)
    (root / "classes.csv").write_text("class_name,role,size\na,seen,1\nb,seen,2\nc,unseen,3\n")


def start_and_kill(project, command, store, log):
    """Run until three shards are on disk, then kill; the shards that were there."""
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "kedro", *command],
            cwd=project.folder,
            env=environment(),
            stderr=output,
            stdout=output,
        )
        try:
            for _ in range(30_000):
                assert process.poll() is None, log.read_text()[-3000:]
                if len(list(store.glob("*/*.parquet"))) >= 3:
                    break
                time.sleep(0.01)
        finally:
            os.kill(process.pid, signal.SIGKILL)
            process.wait(60)
    assert process.returncode == -signal.SIGKILL
    return sorted(store.glob("*/*.parquet"))


def test_a_kill_loses_no_finished_shard(make_project, tmp_path):
    project = make_project()
    write_images(project.folder / "data/01_raw/own")
    store = project.folder / "data/04_feature/own/features"
    command = ["run", "--env=own", "--pipelines=ingestion,feature_extraction"]
    sizes = f"feature_extraction.shard_size={SHARD},feature_extraction.batch_size=4"
    command.append(f"--params={sizes},feature_extraction.backbone=efficientnet_lite0")
    shards = start_and_kill(project, command, store, tmp_path / "log.txt")
    kept = sum(pq.read_metadata(path).num_rows for path in shards)  # all of them whole
    assert 3 * SHARD <= kept < N_IMAGES
    written = [path.stat().st_mtime_ns for path in shards]

    again = project.kedro(*command)
    assert f"{kept:,} of {N_IMAGES:,} are there already" in again.stderr  # it begins where the killed run has ended
    assert [path.stat().st_mtime_ns for path in shards] == written
    rows = sum(pq.read_metadata(path).num_rows for path in store.glob("*/*.parquet"))
    assert rows == len(VectorStore(store).load().ids) == N_IMAGES  # none twice, none missing
