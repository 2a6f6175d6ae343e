import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.errors import DataError
from aezsl.evaluation.confidence import SHARING, Confidence, calibrate, probabilities
from aezsl.evaluation.ranking import Ranking, top_k


def scored(n=400, n_classes=8, strength=1.0, seed=0):
    """Rankings of images whose true class scores higher by ``strength``, and those classes."""
    rng = np.random.default_rng(seed)
    true = rng.integers(n_classes, size=n)
    scores = rng.normal(size=(n, n_classes))
    scores[np.arange(n), true] += strength
    return top_k(scores, SHARING + 1), true


def test_probabilities_are_a_softmax_of_the_twenty_best():
    ranking = top_k(np.random.default_rng(0).normal(size=(5, 30)), 30)
    found = probabilities(ranking, 0.5)
    powers = np.exp(ranking.scores[:, :SHARING] / 0.5)
    np.testing.assert_allclose(found[:, :SHARING], powers / powers.sum(axis=1, keepdims=True))
    assert not found[:, SHARING:].any()
    np.testing.assert_array_equal(probabilities(top_k(ranking.scores, 20), 0.5), found[:, :SHARING])
    assert probabilities(Ranking.empty(3), 1.0).shape == (0, 3)


def test_a_label_that_a_pool_put_first_is_the_most_probable():
    ranking = top_k(np.array([[3.0, 2.0, 1.0]]), 3).with_first(np.array([2]))
    np.testing.assert_allclose(probabilities(ranking, 1.0), probabilities(top_k(np.array([[3.0, 2.0, 1.0]]), 3), 1.0))


@given(strength=st.floats(0.5, 4), expected=st.floats(0.2, 0.95), seed=st.integers(0, 99))
def test_the_mean_probability_of_the_first_name_is_the_share_to_expect(strength, expected, seed):
    ranking, true = scored(strength=strength, seed=seed)
    found = calibrate(ranking, true, 0.05, expected)
    assert found.accuracy == np.mean(ranking.classes[:, 0] == true)
    assert probabilities(ranking, found.confidence.temperature)[:, 0].mean() == pytest.approx(expected, abs=1e-9)


def test_scores_without_any_difference_share_evenly():
    ranking = Ranking(np.tile(np.arange(4), (6, 1)), np.ones((6, 4)))
    found = calibrate(ranking, np.zeros(6, dtype=int), 0.5, 0.9)
    np.testing.assert_allclose(probabilities(ranking, found.confidence.temperature), 0.25)


def literal_threshold(ranking, true, temperature, none_share):
    """The rule, written out: try every value, take the least of the best."""
    values = []
    for classes, scores, own in zip(ranking.classes, ranking.scores, true, strict=True):
        kept = [score for c, score in zip(classes, scores, strict=True) if c != own]
        shares = [np.exp(np.array(part) / temperature) for part in (scores, kept)]
        values.append((classes[0] == own, *(max(part) / sum(part) for part in shares)))
    tried = sorted({0.0} | {p for right, p, _ in values if right} | {p for *_, p in values})

    def gain(threshold):
        named = sum(right and p >= threshold for right, p, _ in values)
        return (1 - none_share) * named + none_share * sum(p < threshold for *_, p in values)

    best = max(map(gain, tried))
    return min(threshold for threshold in tried if gain(threshold) >= best - 1e-9)


@pytest.mark.parametrize("none_share", [0.05, 0.3, 0.5])
def test_the_threshold_makes_most_answers_right(none_share):
    ranking, true = scored(n=150, strength=2.0)
    found = calibrate(ranking, true, none_share, 0.6)
    expected = literal_threshold(ranking, true, found.confidence.temperature, none_share)
    assert found.confidence.threshold == pytest.approx(expected, rel=1e-9)
    assert 0 <= found.refused <= 1
    assert 0 < found.kept <= 1


def test_where_nothing_is_expected_to_be_unknown_every_image_gets_a_name():
    ranking, true = scored(strength=1.0)
    assert calibrate(ranking, true, 0.0, 0.6).confidence.threshold == 0
    single = Ranking(np.zeros((3, 1), dtype=int), np.ones((3, 1)))
    assert calibrate(single, np.zeros(3, dtype=int), 0.9, 1.0).confidence.threshold == 0


@pytest.mark.parametrize("values", [{"temperature": 0.0}, {"temperature": np.nan}, {"threshold": 1.5}])
def test_what_cannot_be_meant_is_refused(values):
    with pytest.raises(DataError):
        Confidence(**values)
