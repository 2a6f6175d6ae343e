import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.errors import DataError
from aezsl.evaluation.expectation import Expectation, converted


def drawn(distance, n, images=40_000):
    """The share of right names among ``n`` classes of scores as the rule assumes them."""
    scores = np.random.default_rng(n).normal(size=(images, n))
    scores[:, 0] += distance
    return np.mean(scores.argmax(axis=1) == 0)


@pytest.mark.parametrize("distance", [0.0, 0.8, 2.0])
def test_accuracy_among_more_classes_is_that_of_drawn_scores(distance):
    for among, n in ((3, 12), (12, 3), (5, 5)):
        assert converted(drawn(distance, among), among, n) == pytest.approx(drawn(distance, n), abs=0.02)


@given(accuracy=st.floats(0, 1), among=st.integers(2, 40), n=st.integers(2, 39))
def test_more_classes_are_harder_and_never_below_chance(accuracy, among, n):
    fewer, more = converted(accuracy, among, n), converted(accuracy, among, n + 1)
    assert more <= fewer + 1e-9
    assert fewer >= 1 / n - 1e-6
    assert converted(accuracy, among, 1) == pytest.approx(1)


@given(accuracy=st.floats(0, 1), deviation=st.floats(0, 0.5), n_classes=st.integers(2, 150), n=st.integers(2, 60))
def test_the_interval_is_around_the_accuracy_and_more_classes_make_it_narrower(accuracy, deviation, n_classes, n):
    few = Expectation(accuracy, deviation, n_classes, 2).among_classes(n)
    assert 0 <= few.low <= few.accuracy <= few.high <= 1
    assert few.high > few.low


def test_the_interval_holds_the_accuracy_of_new_classes_as_often_as_it_says():
    rng = np.random.default_rng(0)
    held = []
    for _ in range(400):
        shares = rng.beta(1.2, 1.2, size=30)  # of classes that differ much
        known, new = shares[:20], shares[20:]
        told = Expectation(known.mean(), known.std(ddof=1), 20, 10).among_classes(10)
        held.append(told.low <= new.mean() <= told.high)
    assert 0.72 < np.mean(held) < 0.9


def test_two_classes_that_are_all_right_promise_little():
    told = Expectation(1.0, 0.0, 2, 2).among_classes(2)
    assert told.accuracy == pytest.approx(0.75)
    assert not told.tells


def test_words_for_the_user():
    many, few = Expectation(0.6, 0.3, 100, 10), Expectation(0.75, 0.4, 6, 2)
    low, high = (round(100 * end) for end in many.among_classes(10)[2:])
    assert f"{low}% to {high}%" in many.in_words(10)
    assert "10%" in many.in_words(10)
    needed = few.needed(5)
    assert needed > 6
    for said in ("too few", f"{needed} classes", "20%"):
        assert said in few.in_words(5)
    assert few.needed(2) is None  # two new classes may be any two
    assert "too few" in few.in_words(2)


@pytest.mark.parametrize("values", [(1.5, 0.1, 4, 2), (0.5, np.nan, 4, 2), (0.5, 0.1, 1, 2), (0.5, 0.1, 4, 1)])
def test_what_cannot_be_meant_is_refused(values):
    with pytest.raises(DataError):
        Expectation(*values)
