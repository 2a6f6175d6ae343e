"""Weights of class tasks, and what AEZSL makes of each of them."""

import numpy as np
import pytest

from aezsl.methods.aezsl.aezsl import AEZSL, AEZSLSim
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.shared.similarity import WEIGHTINGS, SimilarityWeights
from tests.oracles.aezsl import cosines, single_mapping
from tests.synthetic import make_synthetic

DATA = make_synthetic(n_seen=9, n_unseen=4, per_class=4, d=6, a=5, nonnegative=False)


def weights(weighting, data=DATA):
    return SimilarityWeights.for_seen(data.S, weighting)(data.S_new)


@pytest.mark.parametrize(("weighting", "power"), [("cosine", 1), ("cosine_squared", 2), ("cosine_power_8", 8)])
def test_weights_are_powers_of_cosines(weighting, power):
    np.testing.assert_allclose(weights(weighting), np.abs(cosines(DATA.S_new, DATA.S)) ** power, rtol=1e-12)


def test_opposite_classes_do_not_count_when_cosines_are_centred():
    mean = DATA.S.mean(axis=0)
    expected = cosines(DATA.S_new - mean, DATA.S - mean)
    assert (expected < 0).any()
    np.testing.assert_allclose(weights("centred_cosine_squared"), np.maximum(expected, 0) ** 2, rtol=1e-9)


def test_a_class_at_the_centre_is_like_nobody():
    S = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]])
    found = SimilarityWeights.for_seen(S, "centred_cosine_squared")(np.array([[0.5, 0.5], [1.0, 0.1]]))
    np.testing.assert_array_equal(found[0], 0)
    np.testing.assert_array_equal(found[:, 2], 0)
    assert found[1, 0] > 0.9


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_aezsl_sim_is_a_regression_weighted_so(weighting):
    classifier = AEZSLSim(0.1, 0.2, weighting=weighting).fit(*DATA[:3]).adapt(DATA.S_new)
    for w, W in zip(weights(weighting), classifier.mappings(), strict=True):
        np.testing.assert_allclose(W, single_mapping(*DATA[:3], np.sqrt(w), 0.1, 0.2), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("lambda3", [0.0, 0.5])
def test_solver_sweeps_table_and_stream_agree(weighting, lambda3):
    data = make_synthetic(n_unseen=12)
    lambdas = 0.1, 0.2, lambda3
    seen = SeenData(*data[:3])
    models = [
        AEZSL(*lambdas, weighting=weighting, memory_mb=memory, solver=solver, tol=1e-12).fit_seen(seen)
        for memory, solver in ((2048, "direct"), (0.001, "direct"), (2048, "alternating"))
    ]
    kept, streamed, swept = (model.adapt(data.S_new) for model in models)
    table = models[0].adapt_to(Targets(data.S_new, n_models=343))
    for other, tolerance in ((streamed, 1e-8), (swept, 1e-4), (table, 1e-5)):
        difference = np.abs(other.classifiers - kept.classifiers).max()
        assert difference < tolerance * np.abs(kept.classifiers).max()
    assert streamed.objective()["total"] == pytest.approx(kept.objective()["total"])


@pytest.mark.parametrize("lambda3", [0.0, 1.0, 1e3])
def test_without_weights_all_targets_share_one_mapping(lambda3):
    """It is the minimiser of the same regulariser with weights of one, whatever ties the targets."""
    W = single_mapping(*DATA[:3], np.ones(len(DATA.S)), 0.1, 0.2)
    classifier = AEZSL(0.1, 0.2, lambda3, weighting="none").fit(*DATA[:3]).adapt(DATA.S_new)
    for own in classifier.mappings():
        np.testing.assert_allclose(own, W, rtol=1e-7, atol=1e-10)
    np.testing.assert_allclose(classifier.classifiers, W @ DATA.S_new.T, rtol=1e-7, atol=1e-10)


def test_a_grid_over_weightings_confuses_none_with_another():
    seen, targets = SeenData(*DATA[:3]), Targets(DATA.S_new, n_models=1)
    for weighting in WEIGHTINGS:
        shared = AEZSL(weighting=weighting).fit_seen(seen).adapt_to(targets).classifiers
        alone = AEZSL(weighting=weighting).fit(*DATA[:3]).adapt(DATA.S_new).classifiers
        np.testing.assert_allclose(shared, alone, rtol=1e-9)
