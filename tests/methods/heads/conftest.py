"""Classifiers of a network, made of the small problem."""

import numpy as np
import pytest

from aezsl.methods.heads.union import SeenClassifiers
from tests.helpers.heads import GROUPS
from tests.synthetic import make_synthetic


@pytest.fixture(scope="module")
def data():
    return make_synthetic(nonnegative=False)


@pytest.fixture(scope="module")
def seen(data):
    """Classifiers of class means, as a network would have them; every class has a name, and that of its group."""
    means = np.stack([data.X[data.y == c].mean(axis=0) for c in range(len(data.S))])
    names = np.random.default_rng(0).normal(size=(len(means) + GROUPS, 7))
    named = [[c, len(means) + c % GROUPS] for c in range(len(means))]
    return SeenClassifiers.build(means, -np.square(means).sum(axis=1) / 2, data.S, names, named)
