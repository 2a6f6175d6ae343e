"""Pools that transductive methods meet: too small ones, equal samples, samples of seen and unseen classes."""

from typing import NamedTuple

import numpy as np

from aezsl.methods import make_method
from tests.synthetic import Synthetic, make_synthetic


def nearest(Z, P):
    """The row of P that is nearest to each row of Z, literally."""
    return np.array([[np.sum((z - p) ** 2) for p in P] for z in Z]).argmin(axis=1)


def fitter(name, **defaults):
    """How a test fits the method ``name``: ``fitted(data, **params)``, by default with these parameters."""
    return lambda data, **params: make_method(name, **{**defaults, **params}).fit(*data[:3])


def degenerate_pools(data: Synthetic):
    """One sample, fewer samples than classes, one sample several times, samples that are zero."""
    d = data.X_new.shape[1]
    return data.X_new[:1], data.X_new[::40], np.repeat(data.X_new[:1], 5, axis=0), np.zeros((3, d))


def check_degenerate_pools(model, data: Synthetic, distinct=True):
    """On each of them scores and objectives are numbers and labels are what is predicted.

    distinct : equal samples get equal labels, so that there are no more labels than different samples.
    """
    for pool in degenerate_pools(data):
        classifier = model.adapt(data.S_new, pool)
        assert np.isfinite(classifier.scores(pool)).all()
        assert np.isfinite(classifier.history.filter(["objective", "distance"])).all(axis=None)
        np.testing.assert_array_equal(classifier.predict(pool), classifier.labels)
        if distinct:
            assert len(set(classifier.labels)) <= len(np.unique(pool, axis=0))


def check_descent(history, rounds_at_most):
    """The objective never rises, and the method ends with the first round that changes no label."""
    objective, changed = history["objective"].to_numpy(), history["changed"].to_numpy()
    assert (np.diff(objective) <= 1e-12 * objective[0]).all()
    assert (changed[:-1] > 0).all()
    assert changed[-1] == 0 or len(changed) == rounds_at_most


class Mixed(NamedTuple):
    seen: tuple[np.ndarray, np.ndarray, np.ndarray]  # X, y, S to learn from
    S: np.ndarray  # targets: the seen classes, then the unseen ones
    pool: np.ndarray
    true: np.ndarray

    def accuracies(self, labels):
        """Of the pool's samples of seen classes, and of unseen ones."""
        is_seen = self.true < len(self.seen[2])
        return [float(np.mean(labels[side] == self.true[side])) for side in (is_seen, ~is_seen)]


def mixed_pool():
    """Every third sample of the seen classes is in the pool, with those of the unseen ones."""
    data = make_synthetic()
    held_out = np.arange(len(data.X)) % 3 == 0
    return Mixed(
        (data.X[~held_out], data.y[~held_out], data.S),
        np.vstack([data.S, data.S_new]),
        np.vstack([data.X[held_out], data.X_new]),
        np.append(data.y[held_out], data.y_new + len(data.S)),
    )
