from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest

from aezsl.methods import METHODS, make_method
from aezsl.methods.shared import linalg
from aezsl.methods.shared.linalg import row_space_eigh, shared_decompositions
from aezsl.selection import cross_validate
from tests.synthetic import make_synthetic


@pytest.fixture
def counted(monkeypatch):
    """Shapes of the matrices that were really decomposed, with nothing shared from before."""
    made, decompose = [], linalg._row_space_eigh
    monkeypatch.setattr(linalg, "_shared", {})
    monkeypatch.setattr(linalg, "_row_space_eigh", lambda X: (made.append(X.shape), decompose(X))[1])
    return made


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_decomposition_restores_the_gram_matrix(shape):
    X = np.random.default_rng(0).normal(size=shape)
    U, l = row_space_eigh(X)
    np.testing.assert_allclose((U * l) @ U.T, X.T @ X, atol=1e-10)
    np.testing.assert_allclose(U.T @ U, np.eye(8), atol=1e-12)
    assert (np.diff(l) <= 0).all()


def test_equal_samples_are_decomposed_once_and_only_where_sharing_is_wanted(counted):
    X = np.random.default_rng(0).normal(size=(30, 8))
    with shared_decompositions():
        first, again, other = row_space_eigh(X), row_space_eigh(X.copy()), row_space_eigh(X + 1)
    assert first[0] is again[0]
    assert other[0] is not first[0]
    assert len(counted) == 2
    alone = row_space_eigh(X)
    assert len(counted) == 3
    np.testing.assert_array_equal(alone[0], first[0])
    with pytest.raises(ValueError, match="read-only"):
        first[0][0, 0] = 1.0


def test_threads_wait_for_the_one_that_began(counted):
    X = np.random.default_rng(0).normal(size=(300, 80))
    with shared_decompositions(), ThreadPoolExecutor(4) as pool:
        found = [pool.submit(copy_context().run, row_space_eigh, X) for _ in range(8)]
    assert len({id(future.result()[0]) for future in found}) == 1
    assert len(counted) == 1


def test_the_oldest_are_forgotten_when_there_are_too_many(counted, monkeypatch):
    monkeypatch.setattr(linalg, "SHARED_BYTES", 2 * 8 * 9 * 8)  # two of (8, 8) and (8,)
    samples = [np.random.default_rng(seed).normal(size=(30, 8)) for seed in range(3)]
    with shared_decompositions():
        for X in (*samples, samples[2], samples[1], samples[0]):
            row_space_eigh(X)
    assert len(counted) == 4  # the first one twice


def test_what_fails_is_not_kept(counted, monkeypatch):
    X = np.ones((3, 2))
    with shared_decompositions():
        with monkeypatch.context() as broken:
            broken.setattr(linalg, "_row_space_eigh", lambda X: (_ for _ in ()).throw(MemoryError()))
            with pytest.raises(MemoryError):
                row_space_eigh(X)
        row_space_eigh(X)
    assert len(counted) == 1


def test_methods_selected_on_the_same_folds_share_them(counted):
    data = make_synthetic()
    folds = [np.arange(3), np.arange(3, 6)]
    for name, grid in {
        "eszsl": {"lam": [0.1, 1.0]},
        "sync": {"lam": [0.1, 1.0]},
        "aezsl": {"lambda1": [0.1, 1.0]},
    }.items():
        assert name in METHODS
        cross_validate(make_method(name), *data[:3], folds, grid)
    d = data.X.shape[1]
    assert sum(shape[1] == d for shape in counted) == len(folds)
