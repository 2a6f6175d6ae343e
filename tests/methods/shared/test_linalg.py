import numpy as np
import pytest

from aezsl.data.statistics import SeenStatistics
from aezsl.machine.workers import Once
from aezsl.methods import make_method
from aezsl.methods.core import seen
from aezsl.methods.shared.linalg import centred_moment_eigh, moment_eigh, row_space_eigh
from aezsl.selection import cross_validate
from tests.synthetic import make_synthetic


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
def test_decomposition_restores_the_gram_matrix(shape):
    X = np.random.default_rng(0).normal(size=shape)
    y = np.arange(shape[0]) % 4
    for U, l in (row_space_eigh(X), moment_eigh(SeenStatistics.from_samples(X, y, 4))):
        np.testing.assert_allclose((U * l) @ U.T, X.T @ X, atol=1e-10)
        np.testing.assert_allclose(U.T @ U, np.eye(8), atol=1e-12)
        assert (np.diff(l) <= 0).all()
        with pytest.raises(ValueError, match="read-only"):
            U[0, 0] = 1.0


@pytest.mark.parametrize("shape", [(30, 8), (8, 30)])
@pytest.mark.parametrize("far", [0.0, 100.0])
def test_samples_are_centred_by_their_statistics(shape, far):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(shape[0], 5)) @ rng.normal(size=(5, shape[1])) + far  # five directions, none of them the mean
    mean, U, l = centred_moment_eigh(SeenStatistics.from_samples(X, np.arange(shape[0]) % 4, 4))
    np.testing.assert_allclose(mean, X.mean(axis=0), rtol=1e-12)
    assert U.shape == (shape[1], 5)  # nothing of what rounding left of the mean
    np.testing.assert_allclose((U * l) @ U.T, (X - mean).T @ (X - mean), atol=1e-9 * max(far, 1))


@pytest.mark.parametrize("share", [True, False])
def test_methods_selected_on_the_same_folds_share_them_where_that_is_wanted(monkeypatch, share):
    made = []
    monkeypatch.setattr(seen, "moment_eigh", lambda statistics: made.append(statistics) or moment_eigh(statistics))
    data = make_synthetic()
    folds = [np.arange(3), np.arange(3, 6)]
    shared = Once() if share else None
    methods = {"eszsl": "lam", "sync": "lam", "aezsl": "lambda1"}
    for name, parameter in methods.items():
        cross_validate(make_method(name), *data[:3], folds, {parameter: [0.1, 1.0]}, shared=shared)
    assert len(made) == len(folds) * (1 if share else len(methods))
