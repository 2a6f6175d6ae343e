"""Graphs are exported once and kept; devices are chosen by name."""

import logging

import numpy as np
import pytest
import torch

from aezsl.encoders.images.engine import (
    choose_provider,
    export_graph,
    graph_folder,
    kept_graph,
    quantised_graph,
    run_graph,
)
from aezsl.errors import ParameterError

CPU, CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


class Mean(torch.nn.Module):
    def forward(self, images):
        return images.mean(dim=(2, 3))


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AEZSL_CACHE", str(tmp_path / "cache"))


def test_the_same_examples_give_the_same_quantised_graph():
    network = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), Mean())
    examples = np.random.default_rng(0).normal(size=(6, 3, 8, 8)).astype(np.float32)
    graph = export_graph(network, (3, 8, 8))
    first, again, others = (quantised_graph(graph, some) for some in (examples, examples, 3 * examples))
    assert first == again != others
    exact, rough = (run_graph(one, "cpu")(examples) for one in (graph, first))
    assert 0 < np.abs(rough - exact).max() < 0.1 * np.abs(exact).max()


def test_a_second_start_does_not_export_again():
    made = []

    def export():
        made.append(1)
        return export_graph(Mean(), (3, 8, 8))

    first, again = (kept_graph({"backbone": "mean"}, export) for _ in range(2))
    assert (first, len(made)) == (again, 1)
    kept_graph({"backbone": "mean", "weights": "others"}, export)
    assert len(made) == 2
    assert len(list(graph_folder().glob("*.onnx"))) == 2
    batch = np.random.default_rng(0).normal(size=(5, 3, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(run_graph(again, "cpu")(batch), batch.mean(axis=(2, 3)), atol=1e-6)


def test_images_one_by_one_have_the_bits_of_a_batch():
    graph = export_graph(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3, stride=2), torch.nn.ReLU(), Mean()), (3, 32, 32))
    batch = np.random.default_rng(0).normal(size=(5, 3, 32, 32)).astype(np.float32)
    together, each = (run_graph(graph, "cpu", one_by_one)(batch) for one_by_one in (False, True))
    assert each.shape == (5, 8)
    np.testing.assert_array_equal(each, together)


def test_a_damaged_graph_is_exported_again():
    made = []

    def export():
        made.append(1)
        return b"a graph"

    kept_graph({}, export)
    (path,) = graph_folder().glob("*.onnx")
    path.write_bytes(b"a grapf")
    assert kept_graph({}, export) == kept_graph({}, export) == b"a graph"
    assert len(made) == 2


def test_a_cache_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch, caplog):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("AEZSL_CACHE", str(tmp_path / "file"))
    assert kept_graph({}, lambda: b"graph") == b"graph"
    assert "could not be kept" in caplog.text


def test_the_device_is_the_one_asked_for_or_the_cpu_with_a_warning(caplog):
    assert choose_provider("auto", [CUDA, CPU]) == CUDA
    assert choose_provider("auto", ["CoreMLExecutionProvider", CPU]) == CPU
    assert choose_provider("coreml", ["CoreMLExecutionProvider", CPU]) == "CoreMLExecutionProvider"
    assert choose_provider("cpu", [CUDA, CPU]) == CPU
    assert not caplog.records
    assert choose_provider("cuda", [CPU]) == CPU
    assert "CUDAExecutionProvider" in caplog.text
    with pytest.raises(ParameterError, match="gpu"):
        choose_provider("gpu", [CPU])


def test_it_says_which_device_it_uses(caplog):
    with caplog.at_level(logging.INFO):
        run_graph(export_graph(Mean(), (3, 4, 4)))
    assert "features are computed by " in caplog.text
