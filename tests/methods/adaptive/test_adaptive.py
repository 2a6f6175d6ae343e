"""Similarity-weighted class tasks on other losses: what they have in common."""

import numpy as np
import pytest

from aezsl.kinds import Positive
from aezsl.methods import METHODS, LinearClassifier, LinearZeroShotClassifier, make_method
from aezsl.methods.adaptive import Adaptive
from aezsl.methods.aezsl.aezsl import AEZSLSim
from aezsl.methods.shared.local_ridges import LocalRidges
from aezsl.methods.shared.similarity import WEIGHTINGS
from tests.oracles.aezsl import single_mapping
from tests.synthetic import make_synthetic

ADAPTIVE = [name for name in METHODS if name.startswith("adaptive_")]


class AdaptiveSquares(Adaptive, LinearZeroShotClassifier):
    """AEZSL's loss with its two regularisers, solved as it is written."""

    lambda1: Positive = 0.1
    lambda2: Positive = 0.2

    def _fit_tasks(self, seen):
        self.X_, self.y_ = seen.X, seen.y

    def _adapt_weighted(self, targets, weights):
        problem = self.X_, self.y_, self.S_
        mappings = [single_mapping(*problem, np.sqrt(w), self.lambda1, self.lambda2) for w in weights]
        P = np.stack([W @ a for W, a in zip(mappings, targets.S, strict=True)], axis=1)
        return LinearClassifier(self, targets.S, P)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_with_aezsl_s_loss_it_is_aezsl_sim(weighting):
    data = make_synthetic(n_seen=9, n_unseen=4, per_class=4, d=6, a=5)
    own, expected = (
        method.fit(*data[:3]).classifiers(data.S_new)
        for method in (AdaptiveSquares(weighting=weighting), AEZSLSim(0.1, 0.2, weighting=weighting))
    )
    np.testing.assert_allclose(own, expected, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("name", ADAPTIVE)
def test_with_weights_of_one_it_is_the_plain_method_and_else_not(name):
    data = make_synthetic()
    plain = make_method(name.removeprefix("adaptive_")).get_params()
    few = {"n_epochs": 2, "learning_rate": 0.1} if "n_epochs" in plain else {}  # before no sample is violated any more
    few = {**plain, **few}  # defaults of the two may differ
    scores = [
        make_method(method, **few, **params).fit(*data[:3]).decision_function(data.X_new, data.S_new)
        for method, params in (
            (name.removeprefix("adaptive_"), {}),
            (name, {"weighting": "none"}),
            (name, {}),
        )
    ]
    size = np.abs(scores[0]).max()
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-9, atol=1e-9 * size)
    assert np.abs(scores[2] - scores[0]).max() > 1e-3 * size


@pytest.mark.parametrize("name", ADAPTIVE)
def test_its_parameters_are_those_of_the_plain_method_and_how_classes_count(name):
    plain, own = (make_method(method).get_params() for method in (name.removeprefix("adaptive_"), name))
    assert set(own) - set(plain) <= {"weighting", "n_own_epochs"}
    assert set(plain) <= set(own)


def test_coefficients_of_local_ridges_are_those_of_the_normal_equations():
    rng = np.random.default_rng(0)
    S, A, weights, sizes = rng.normal(size=(7, 4)), rng.normal(size=(3, 4)), rng.uniform(size=(3, 7)), np.arange(1, 8)
    found = LocalRidges.decompose(weights, sizes, S, A).coefficients(0.3)
    for k, a, w in zip(found.T, A, weights, strict=True):
        gram = S.T @ np.diag(w * sizes) @ S + 0.3 * np.eye(4)
        np.testing.assert_allclose(k, np.diag(w) @ S @ np.linalg.solve(gram, a), rtol=1e-9)
