"""DAEZSL's training when it is cut short, and when its features are larger than the memory."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
import torch

from aezsl.methods import make_method
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from tests.helpers import ROOT
from tests.helpers.checkpoints import Interrupted
from tests.synthetic import make_synthetic

QUICK = {"epochs": 12, "learning_rate": 0.02, "batch_size": 32}
SMALL = {"epochs": 6, "validation_fraction": 0.0, "learning_rate": 0.02}


class TestCheckpoints:
    data = make_synthetic()

    @pytest.mark.parametrize("after", [1, 4, 14])  # in the search, later in it, in the final training
    def test_an_interrupted_training_ends_with_the_same_weights(self, tmp_path, after):
        params = {**QUICK, "patience": 12}
        expected = make_method("daezsl", **params).fit(*self.data[:3])
        with pytest.raises(KeyboardInterrupt):
            make_method("daezsl", **params).fit_resumable(*self.data[:3], Interrupted(tmp_path, after))
        resumed = make_method("daezsl", **params).fit_resumable(*self.data[:3], CheckpointFolder(tmp_path))
        assert expected.get_state().keys() == resumed.get_state().keys()
        for name, value in expected.get_state().items():
            np.testing.assert_array_equal(resumed.get_state()[name], value, err_msg=name)

    def test_a_finished_training_computes_nothing_again(self, tmp_path):
        model = make_method("daezsl", **SMALL).fit_resumable(*self.data[:3], CheckpointFolder(tmp_path))
        written = (tmp_path / "final.pt").stat().st_mtime_ns
        again = make_method("daezsl", **SMALL).fit_resumable(*self.data[:3], CheckpointFolder(tmp_path))
        assert (tmp_path / "final.pt").stat().st_mtime_ns == written
        np.testing.assert_array_equal(again.W_, model.W_)

    def test_a_checkpoint_of_other_data_or_settings_is_not_used(self, tmp_path):
        make_method("daezsl", **SMALL).fit_resumable(*self.data[:3], CheckpointFolder(tmp_path))
        X = self.data.X + 0.01
        for params, inputs in (({**SMALL, "rho": 0.1}, self.data.X), (SMALL, X)):
            fresh = make_method("daezsl", **params).fit(inputs, *self.data[1:3])
            resumed = make_method("daezsl", **params).fit_resumable(inputs, *self.data[1:3], CheckpointFolder(tmp_path))
            np.testing.assert_array_equal(resumed.W_, fresh.W_)

    def test_the_checkpoint_holds_settings_and_random_state_and_no_code(self, tmp_path):
        make_method("daezsl", **SMALL).fit_resumable(*self.data[:3], CheckpointFolder(tmp_path))
        state = torch.load(tmp_path / "final.pt", weights_only=True)
        assert state["config"]["learning_rate"] == 0.02
        assert state["generator"].dtype == torch.uint8
        assert len(state["history"]["loss"]) == 6
        assert [path.name for path in tmp_path.iterdir()] == ["final.pt"]  # no temporary file is left

    def test_a_damaged_checkpoint_is_reported_and_passed_over(self, tmp_path, caplog):
        folder = CheckpointFolder(tmp_path)
        (tmp_path / "final.pt").write_bytes(b"not a checkpoint")
        model = make_method("daezsl", **SMALL).fit_resumable(*self.data[:3], folder)
        assert "training starts again" in caplog.text
        np.testing.assert_array_equal(model.W_, make_method("daezsl", **SMALL).fit(*self.data[:3]).W_)

    @pytest.mark.parametrize("damage", ["list", "no network", "another network", "history of words"])
    def test_a_checkpoint_that_holds_something_else_is_passed_over(self, tmp_path, caplog, damage):
        folder = CheckpointFolder(tmp_path)
        params = {**SMALL, "validation_fraction": 0}
        expected = make_method("daezsl", **params).fit_resumable(*self.data[:3], folder)
        state = folder.load("final")
        damaged = {
            "list": [1, 2],
            "no network": {key: value for key, value in state.items() if key != "network"},
            "another network": {**state, "network": {"W": state["network"]["W"][:2]}},
            "history of words": {**state, "history": {"loss": ["a"], "accuracy": []}},
        }
        folder.save("final", damaged[damage])
        again = make_method("daezsl", **params).fit_resumable(*self.data[:3], folder)
        np.testing.assert_array_equal(again.W_, expected.W_)
        assert "training starts again at the beginning" in caplog.text

    @pytest.mark.slow
    def test_a_killed_process_leaves_a_training_to_go_on_with(self, tmp_path):
        script = (
            "import sys; sys.path.insert(0, '.')\n"
            "from tests.synthetic import make_synthetic\n"
            "from aezsl.methods import make_method\n"
            "from aezsl.methods.daezsl.checkpoint import CheckpointFolder\n"
            f"model = make_method('daezsl', **{KILLED!r})\n"
            f"model.fit_resumable(*make_synthetic()[:3], CheckpointFolder({str(tmp_path)!r}))\n"
        )
        environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
        process = subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, env=environment, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while not (tmp_path / "final.pt").exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "it ended before it could be killed"
        state = torch.load(tmp_path / "final.pt", weights_only=True)
        assert 0 < len(state["history"]["loss"]) < KILLED["epochs"]
        model = make_method("daezsl", **KILLED).fit_resumable(*self.data[:3], CheckpointFolder(tmp_path))
        np.testing.assert_array_equal(model.W_, make_method("daezsl", **KILLED).fit(*self.data[:3]).W_)


#: Long enough to be killed in the middle, short enough to be done twice.
KILLED = {**SMALL, "epochs": 60, "batch_size": 4}


MAPPED = """
import resource, sys
import numpy as np, pyarrow as pa, torch, aezsl.methods.daezsl.training
from aezsl.methods import make_method
with pa.memory_map(sys.argv[1]) as source:
    column = pa.ipc.open_file(source).read_all()["vector"].chunk(0)  # no copy: the table is the file
    X = column.flatten().to_numpy(zero_copy_only=True).reshape(len(column), -1)
    y, S = np.arange(len(X)) % 6, np.random.default_rng(0).normal(size=(6, 8))
    make_method("daezsl", epochs=1, batch_size=512).fit(X[:5000], y[:5000], S)  # libraries take their room once
    held = int(next(line for line in open("/proc/self/status") if line.startswith("VmData")).split()[1]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (held + X.nbytes // 2, held + X.nbytes // 2))
    model = make_method("daezsl", epochs=1, batch_size=512).fit(X, y, S)
    print(len(model.history_accuracy_), X.nbytes)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory limits are those of Linux")
def test_trains_from_a_mapped_file_larger_than_the_memory_allowed(tmp_path):
    rows, d = 150_000, 512  # 307 MB, of which half may be held
    flat = np.lib.format.open_memmap(tmp_path / "x.npy", mode="w+", dtype=np.float32, shape=(rows * d,))
    flat[:] = 0.5
    flat[::7] = 1.0
    table = pa.table({"vector": pa.FixedSizeListArray.from_arrays(pa.array(flat), d)})
    with pa.OSFile(str(tmp_path / "x.arrow"), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", MAPPED, str(tmp_path / "x.arrow")]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.split() == ["2", str(rows * d * 4)]
