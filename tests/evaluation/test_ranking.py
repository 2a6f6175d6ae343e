import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from aezsl.evaluation.ranking import Ranking, top_k, top_k_products

# Few distinct values, so that ties are the rule, at the threshold too.
TIED = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0])
)
ANY = arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-9, 9, width=32))


def test_worked_by_hand():
    ranking = top_k(np.array([[0.1, 0.7, 0.3, 0.7], [5.0, 5.0, 5.0, 5.0]]), 3)
    np.testing.assert_array_equal(ranking.classes, [[1, 3, 2], [0, 1, 2]])
    np.testing.assert_array_equal(ranking.scores, [[0.7, 0.7, 0.3], [5, 5, 5]])


@given(st.one_of(TIED, ANY), st.integers(1, 12))
def test_equals_a_full_stable_sort(scores, k):
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    ranking = top_k(scores, k)
    np.testing.assert_array_equal(ranking.classes, expected)
    np.testing.assert_array_equal(ranking.scores, np.take_along_axis(scores, expected, 1))
    assert ranking.scores.dtype == scores.dtype


@given(TIED, st.integers(1, 9))
def test_blocks_concatenate_to_the_whole(scores, k):
    whole = top_k(scores, k)
    parts = Ranking.concatenate([top_k(scores[i : i + 2], k) for i in range(0, len(scores), 2)])
    np.testing.assert_array_equal(parts.classes, whole.classes)
    np.testing.assert_array_equal(parts.scores, whole.scores)


def test_the_scores_given_are_left_alone():
    scores = np.random.default_rng(0).normal(size=(4, 6))
    before = scores.copy()
    top_k(scores, 3)
    np.testing.assert_array_equal(scores, before)


class TestWithFirst:
    ranking = Ranking(np.array([[4, 2, 7]] * 4), np.array([[0.9, 0.5, 0.1]] * 4))

    def test_worked_by_hand(self):
        moved = self.ranking.with_first(np.array([4, 2, 7, 1]))
        np.testing.assert_array_equal(moved.classes, [[4, 2, 7], [2, 4, 7], [7, 4, 2], [1, 4, 2]])
        np.testing.assert_array_equal(moved.scores[:3], [[0.9, 0.5, 0.1], [0.5, 0.9, 0.1], [0.1, 0.9, 0.5]])
        np.testing.assert_array_equal(moved.scores[3, 1:], [0.9, 0.5])  # the others keep their scores

    def test_the_original_is_left_alone(self):
        self.ranking.with_first(np.array([7, 7, 7, 7]))
        np.testing.assert_array_equal(self.ranking.classes, [[4, 2, 7]] * 4)

    @given(TIED, st.integers(1, 9), st.data())
    def test_the_rest_keeps_its_order(self, scores, k, data):
        ranking = top_k(scores, k)
        labels = np.array([data.draw(st.integers(0, scores.shape[1] - 1)) for _ in scores])
        moved = ranking.with_first(labels)
        assert moved.classes.shape == ranking.classes.shape
        for label, before, after in zip(labels, ranking.classes, moved.classes, strict=True):
            rest = [c for c in before if c != label]
            np.testing.assert_array_equal(after, [label, *rest][: len(before)])


def test_one_class_ranks_alone():
    ranking = top_k(np.array([[3.0], [1.0]]), 20)
    np.testing.assert_array_equal(ranking.classes, [[0], [0]])


@pytest.mark.parametrize("k", [1, 2, 5])
def test_minus_infinity_is_a_score_like_any_other(k):
    scores = np.array([[-np.inf, -np.inf, 1.0, -np.inf, -np.inf]])
    np.testing.assert_array_equal(top_k(scores, k).classes, [[2, 0, 1, 3, 4][:k]])


class TestProducts:
    @given(TIED, st.integers(1, 9), st.integers(1, 4), st.integers(1, 4))
    def test_blocks_of_samples_and_classes_equal_the_whole(self, scores, k, rows, classes):
        X, P = np.eye(len(scores)), scores  # so that the products are the scores exactly, ties and all
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("aezsl.evaluation.ranking.ROW_BLOCK", rows)
            patch.setattr("aezsl.evaluation.ranking.CLASS_BLOCK", classes)
            ranking = top_k_products(X, P, k)
        expected = top_k(scores, k)
        np.testing.assert_array_equal(ranking.classes, expected.classes)
        np.testing.assert_array_equal(ranking.scores, expected.scores)

    @pytest.mark.slow
    def test_memory_grows_with_neither_samples_nor_classes(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(3000, 4)).astype(np.float32)
        P = rng.normal(size=(4, 20_842)).astype(np.float32)
        tracemalloc.start()
        ranking = top_k_products(X, P, 20)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert ranking.classes.shape == (3000, 20)
        assert peak < 80e6  # all scores would be 250 MB
