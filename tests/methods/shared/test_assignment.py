import numpy as np
import pytest

from aezsl.errors import DataError
from aezsl.methods.shared.assignment import balanced_assignment
from tests.oracles.assignment import best_total


def total(scores, labels):
    return scores[np.arange(len(labels)), labels].sum()


def random_case(seed):
    """Few samples or many, bounds per class or for all, tight or loose, scores with hubs, with and without ties."""
    rng = np.random.default_rng(seed)
    m, C = int(rng.integers(1, 60)), int(rng.integers(1, 9))
    scores = rng.normal(size=(m, C)) + rng.normal(scale=3, size=C)
    if seed % 3 == 0:
        scores = np.round(scores)
    cuts = np.sort(rng.integers(0, m + 1, size=C - 1))
    sizes = np.diff(np.concatenate([[0], cuts, [m]]))  # an assignment that the bounds allow
    lower, upper = np.maximum(sizes - rng.integers(0, 4, C), 0), sizes + rng.integers(0, 4, C)
    return scores, lower, upper


@pytest.mark.parametrize("seed", range(60))
def test_equals_the_linear_program(seed):
    scores, lower, upper = random_case(seed)
    labels = balanced_assignment(scores, lower, upper)
    counts = np.bincount(labels, minlength=scores.shape[1])
    assert (counts >= lower).all()
    assert (counts <= upper).all()
    np.testing.assert_allclose(
        total(scores, labels), best_total(scores, lower, upper), rtol=1e-9, atol=1e-9 * np.abs(scores).max()
    )


def test_open_bounds_leave_every_sample_its_best_class_and_the_first_on_ties():
    scores = np.random.default_rng(0).integers(0, 3, (50, 6)).astype(float)
    np.testing.assert_array_equal(balanced_assignment(scores, 0, 50), scores.argmax(axis=1))


def test_equal_bounds_give_equal_counts():
    scores = np.random.default_rng(0).normal(size=(60, 6)) + np.arange(6)
    np.testing.assert_array_equal(np.bincount(balanced_assignment(scores, 10, 10)), np.full(6, 10))


def test_ties_are_broken_by_order():
    """Nothing to choose by: the first samples leave the first class, for the first classes with room."""
    np.testing.assert_array_equal(balanced_assignment(np.zeros((6, 3)), 0, 2), [1, 1, 2, 2, 0, 0])
    np.testing.assert_array_equal(balanced_assignment(np.zeros((4, 3)), 1, 4), [1, 2, 0, 0])


def test_of_equal_samples_the_first_one_moves_on():
    """The last but one can leave class 0 for 1 alone, where there is room for one of the equal samples before it."""
    scores = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    np.testing.assert_array_equal(balanced_assignment(scores, 0, 2), [0, 2, 1, 1, 0])


def test_a_chain_of_moves_is_found():
    """Class 0 is full of samples that can only go to 1, whose own sample can go to 2 at little loss."""
    scores = np.array([[9.0, 8.0, -50.0], [9.0, 0.0, -50.0], [-50.0, 5.0, 4.0]])
    np.testing.assert_array_equal(balanced_assignment(scores, 0, 1), [1, 0, 2])


def test_a_class_may_be_closed_and_samples_may_be_fewer_than_classes():
    scores = np.array([[3.0, 2.0, 1.0]])
    np.testing.assert_array_equal(balanced_assignment(scores, 0, [0, 1, 1]), [1])
    np.testing.assert_array_equal(balanced_assignment(scores, [0, 0, 1], 1), [2])
    assert len(balanced_assignment(np.empty((0, 3)), 0, 1)) == 0


def test_constants_per_sample_and_the_scale_of_scores_do_not_matter():
    scores, lower, upper = random_case(1)
    shift = np.random.default_rng(0).normal(size=(len(scores), 1))
    expected = balanced_assignment(scores, lower, upper)
    np.testing.assert_array_equal(balanced_assignment(1e-6 * scores, lower, upper), expected)
    np.testing.assert_array_equal(balanced_assignment(scores + shift, lower, upper), expected)


@pytest.mark.parametrize("spread", [0.3, 3.0])  # mild hubs, and nearly everything in one class
def test_a_pool_of_thousands_keeps_its_bounds(spread):
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2967, 50)) + rng.normal(scale=spread, size=50)
    labels = balanced_assignment(scores, 29, 119)
    counts = np.bincount(labels, minlength=50)
    assert counts.min() >= 29
    assert counts.max() <= 119


@pytest.mark.parametrize(
    ("scores", "lower", "upper", "named"),
    [
        (np.zeros((5, 2)), 3, 5, "lower|6"),
        (np.zeros((5, 2)), 0, 2, "upper|4"),
        (np.zeros((5, 2)), [3, 0], [2, 5], "lower"),
        (np.zeros((5, 2)), -1, 5, "lower"),
        (np.zeros((5, 2)), 0.5, 5, "lower"),
        (np.zeros((5, 2)), 0, [5, 5, 5], "upper"),
        (np.array([[0.0, 1.0], [np.nan, 0.0]]), 0, 2, "row 1"),
        (np.zeros(5), 0, 5, "scores"),
    ],
)
def test_what_cannot_be_kept_is_refused(scores, lower, upper, named):
    with pytest.raises(DataError, match=named):
        balanced_assignment(scores, lower, upper)
