"""The neighbourhood graph of the label refinement against the literal one."""

import numpy as np
import pytest

from aezsl.methods.shared.graph import Smoothness, heat_kernel_graph, laplacian
from tests.oracles import refinement as oracle


@pytest.mark.parametrize("n_neighbors", [1, 5, 500])
def test_graph_equals_the_literal_one(n_neighbors, monkeypatch):
    monkeypatch.setattr("aezsl.methods.shared.graph.BLOCK_ENTRIES", 700)  # several blocks
    X = np.random.default_rng(0).normal(size=(60, 8))
    W = heat_kernel_graph(X, n_neighbors)
    np.testing.assert_allclose(W.toarray(), oracle.graph_weights(X, n_neighbors), rtol=1e-10, atol=1e-14)
    H = laplacian(W).toarray()
    np.testing.assert_allclose(H, oracle.laplacian(W.toarray()), atol=1e-14)
    assert np.linalg.eigvalsh(H).min() > -1e-12


def test_graph_of_duplicates_and_of_one_sample():
    W = heat_kernel_graph(np.ones((4, 3)), 2)
    assert W.diagonal().max() == 0
    assert set(W.data) == {1.0}
    assert heat_kernel_graph(np.ones((1, 3)), 2).nnz == 0


def test_smoothness_follows_the_samples_that_leave():
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(60, 8)), rng.normal(size=(60, 5))
    W = heat_kernel_graph(X, 4)
    smoothness, left = Smoothness(W, Z), np.arange(60)
    for gone in np.split(rng.permutation(60), [1, 20, 40]):
        smoothness.remove(gone)
        left = np.setdiff1d(left, gone)
        expected = Z[left].T @ oracle.laplacian(W.toarray()[np.ix_(left, left)]) @ Z[left]
        np.testing.assert_allclose(smoothness.value, expected, atol=1e-12)
