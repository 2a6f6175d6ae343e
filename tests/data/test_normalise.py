import numpy as np
import pytest

from aezsl.data.normalise import STEPS, Normaliser, fit_normaliser, join_step, listed_alternatives
from aezsl.errors import AezslError

TRAINING, NEW = np.array([[4.0, -9.0], [1.0, 1.0]]), np.array([[16.0, 0.0]])


def test_steps_do_what_their_names_say():
    np.testing.assert_array_equal(fit_normaliser(["sqrt"], TRAINING)[1], [[2, -3], [1, 1]])
    np.testing.assert_allclose(np.linalg.norm(fit_normaliser(["l2"], TRAINING)[1], axis=1), 1)
    np.testing.assert_allclose(fit_normaliser(["standardise"], TRAINING)[1], [[1, -1], [-1, 1]])
    np.testing.assert_allclose(fit_normaliser(["centre"], TRAINING)[1], [[1.5, -5], [-1.5, 5]])


def test_new_rows_are_treated_as_the_training_rows_were():
    np.testing.assert_allclose(fit_normaliser(["centre"], TRAINING)[0](NEW), [[13.5, 4]])
    np.testing.assert_allclose(fit_normaliser(["standardise"], TRAINING)[0](NEW), [[9, 0.8]])
    rows = np.random.default_rng(0).normal(size=(6, 3))
    for steps in ([], ["sqrt", "centre", "l2"], list(STEPS), ["centre", "l2", "centre"]):
        normaliser, expected = fit_normaliser(steps, rows)
        np.testing.assert_allclose(normaliser(rows), expected, atol=1e-12)


@pytest.mark.parametrize("size", [1e-300, 1e-160, 1.0, 1e160, 1e308])
def test_rows_of_any_size_get_unit_length(size):
    rows = np.array([[3.0, 4.0], [0.0, 1.0]]) * [[size / 4], [1.0]]
    np.testing.assert_allclose(fit_normaliser(["l2"], rows)[1], [[0.6, 0.8], [0, 1]])


def test_rows_that_cannot_be_scaled_stay_finite():
    normaliser, rows = fit_normaliser(["standardise", "l2"], np.ones((3, 2)))
    assert not rows.any()
    assert np.isfinite(normaliser(np.zeros((1, 2)))).all()


def test_unknown_steps_are_refused():
    with pytest.raises(AezslError, match="whiten"):
        fit_normaliser(["whiten"], TRAINING)


def test_steps_of_the_command_line_are_joined_by_a_plus():
    steps = ["sqrt", "centre", "l2"]
    assert listed_alternatives("sqrt+centre+l2") == listed_alternatives(steps) == [steps]


def test_alternatives_are_lists_in_a_list_or_texts_with_slashes():
    expected = [["l2"], ["sqrt", "centre", "l2"]]
    assert listed_alternatives("l2/sqrt+centre+l2") == listed_alternatives(expected) == expected
    assert listed_alternatives(["sqrt", "l2"]) == [["sqrt", "l2"]]
    assert listed_alternatives([]) == [[]]
    assert listed_alternatives([[], ["l2"]]) == [[], ["l2"]]


def test_a_step_joins_blocks_of_columns_at_unit_length():
    rows = np.array([[3.0, 4.0, 5.0, 12.0, 7.0], [1.0, 0.0, 0.0, 2.0, -2.0]])
    step = join_step([("a&b", [(0, 2), (2, 4)]), ("c", [(4, 5)])])
    normaliser, joined = fit_normaliser([step, "centre"], rows)
    first = np.array([[3 / 5 + 5 / 13, 4 / 5 + 12 / 13], [1, 1]])
    first /= np.linalg.norm(first, axis=1, keepdims=True)
    expected = np.hstack([first, [[1], [-1]]])
    np.testing.assert_allclose(joined, expected - expected.mean(axis=0))
    normaliser.check_width(5)
    for width in (4, 6):  # a block ends beyond the columns; statistics are of other columns
        wrong = Normaliser((join_step([("a", [(0, 5)])]),)) if width == 4 else fit_normaliser(["centre"], rows)[0]
        with pytest.raises(AezslError):
            wrong.check_width(width)
