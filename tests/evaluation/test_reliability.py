import numpy as np
import pytest

from aezsl.evaluation.confidence import probabilities
from aezsl.evaluation.metrics import METRICS, ConfidenceOutcome, confidence_metrics
from aezsl.evaluation.ranking import Ranking, top_k
from aezsl.evaluation.reliability import (
    brier_score,
    expected_calibration_error,
    none_auroc,
    reliability,
    risk_coverage,
)


def test_calibration_error_worked_by_hand():
    probability = np.array([0.91, 0.92, 0.93, 0.94, 0.50, 0.52])
    right = np.array([True, True, True, False, True, False])
    found = reliability(probability, right, bins=10)
    np.testing.assert_allclose(found.share, [2 / 6, 4 / 6])
    np.testing.assert_allclose(found.probability, [0.51, 0.925])
    np.testing.assert_allclose(found.accuracy, [0.5, 0.75])


def test_calibration_error_is_the_mean_over_intervals():
    probability, right = np.array([0.5, 0.5, 0.99, 0.99]), np.array([True, True, True, False])
    assert expected_calibration_error(probability, right) == pytest.approx((0.5 + 0.49) / 2)


def test_true_probabilities_have_hardly_an_error_and_promises_a_large_one():
    rng = np.random.default_rng(0)
    probability = rng.uniform(size=20_000)
    right = rng.uniform(size=20_000) < probability
    assert expected_calibration_error(probability, right) < 0.02
    assert expected_calibration_error(np.ones(20_000), right) == pytest.approx(0.5, abs=0.02)


def test_brier_score_is_that_of_all_probabilities():
    rng = np.random.default_rng(0)
    scores, true = rng.normal(size=(30, 6)), rng.integers(0, 6, 30)
    ranking = top_k(scores, 6)
    shares = np.zeros((30, 6))
    np.put_along_axis(shares, ranking.classes, probabilities(ranking, 0.7), axis=1)
    expected = np.square(shares - np.eye(6)[true]).sum(axis=1).mean()
    assert brier_score(ranking, true, 0.7) == pytest.approx(expected)


def test_none_of_these_is_told_by_classes_that_stand_out():
    clear, unclear = 9 * np.eye(5), np.zeros((5, 5))
    assert none_auroc(top_k(clear, 5), np.arange(5), 1.0) == 1.0
    assert none_auroc(top_k(unclear, 5), np.arange(5), 1.0) == 0.0  # four classes share what five shared
    assert np.isnan(none_auroc(Ranking(np.zeros((3, 1), dtype=int), np.ones((3, 1))), np.zeros(3, dtype=int), 1.0))


def test_risk_by_coverage_worked_by_hand():
    coverage, risk = risk_coverage(np.array([0.2, 0.9, 0.5, 0.5]), np.array([False, True, True, False]))
    np.testing.assert_allclose(coverage, [0.25, 0.5, 0.75, 1.0])
    np.testing.assert_allclose(risk, [0, 0.25, 1 / 3, 0.5])  # the two in the middle are half wrong each


def test_metrics_of_a_run():
    rng = np.random.default_rng(0)
    scores, true = rng.normal(size=(50, 12)), rng.integers(0, 12, 50)
    metrics = confidence_metrics(true, top_k(scores, 20), 1.0)
    assert list(metrics) == [metric.key for metric in METRICS if metric.of is ConfidenceOutcome]
    assert all(0 < value < 2 and type(value) is float for value in metrics.values())
