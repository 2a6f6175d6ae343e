"""The best of many products in single precision: the classes and the order of double precision."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.evaluation import ranking, single_precision
from aezsl.evaluation.ranking import top_k, top_k_products
from aezsl.evaluation.single_precision import longest_column, rank_in_single_precision
from aezsl.machine.workers import Workers, working_on


def random(n, d, C, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(d, C))


@given(st.integers(1, 9), st.integers(1, 30), st.integers(1, 12), st.integers(1, 9), st.integers(0, 99))
def test_classes_and_order_are_those_of_double_precision(n, C, k, class_block, seed):
    X, P = random(n, 5, C, seed)
    classes, scores = rank_in_single_precision(X, P, longest_column(P, class_block), k, class_block)
    expected = top_k(X @ P, k)
    np.testing.assert_array_equal(classes, expected.classes)
    np.testing.assert_allclose(scores, expected.scores, rtol=1e-5, atol=1e-5)
    assert (np.diff(scores, axis=1) <= 0).all()


def test_scores_that_single_precision_cannot_tell_apart_are_settled():
    rng = np.random.default_rng(1)
    X, P = np.round(rng.normal(size=(6, 4)), 3), np.repeat(np.round(rng.normal(size=(4, 1)), 3), 50, axis=1)
    P[0] += rng.permutation(50) * 1e-11  # far below what single precision holds
    assert len(np.unique(X[:1].astype(np.float32) @ P.astype(np.float32))) == 1
    classes, _ = rank_in_single_precision(X, P, longest_column(P, 8), 7, 8)
    np.testing.assert_array_equal(classes, top_k(X @ P, 7).classes)


@pytest.mark.parametrize("most", [0, 256])
def test_of_equal_scores_the_lower_class_number_comes_first(most, monkeypatch):
    monkeypatch.setattr(single_precision, "MOST_NEAR_TIES", most)
    P = np.tile([[1.0, 2.0, 2.0, 0.5]], (1, 25))
    classes, scores = rank_in_single_precision(np.ones((3, 1)), P, longest_column(P, 8), 5, 8)
    np.testing.assert_array_equal(classes, [[1, 2, 5, 6, 9]] * 3)
    np.testing.assert_array_equal(scores, np.full((3, 5), 2.0))


def test_the_bound_holds_for_sums_that_cancel():
    rng = np.random.default_rng(2)
    for d in (3, 64, 1000):
        X, P = rng.normal(size=(20, d)), rng.normal(size=(d, 30))
        P[-1] = -(X[0, :-1] @ P[:-1]) / X[0, -1]  # the exact scores of the first row are zero
        error = np.abs(X.astype(np.float32) @ P.astype(np.float32) - X @ P)
        bound = (d + 3) * 2.0**-24 * np.linalg.norm(X, axis=1) * np.linalg.norm(P, axis=0).max()
        assert (error <= bound[:, None]).all()


def test_large_products_take_this_road_and_any_number_of_workers_gives_the_same(monkeypatch):
    X, P = random(50, 8, 400)
    expected = top_k_products(X, P, 6)
    monkeypatch.setattr(ranking, "LARGE_PRODUCT", 1)
    monkeypatch.setattr(ranking, "ROW_BLOCK", 4)
    found = []
    for n in (1, 2, 7):
        with working_on(Workers(n)):
            found.append(top_k_products(X, P, 6))
    np.testing.assert_array_equal(found[0].classes, expected.classes)
    for other in found[1:]:
        np.testing.assert_array_equal(other.classes, found[0].classes)
        np.testing.assert_array_equal(other.scores, found[0].scores)


@pytest.mark.parametrize("ties", [False, True])
def test_memory_does_not_grow_with_the_classes(ties):
    X, P = random(32, 4, 40_000)
    if ties:
        P = np.ones_like(P)
    tracemalloc.start()
    rank_in_single_precision(X, P, longest_column(P, 512), 20, 512)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2.5e6  # all scores would be 5 MB in single precision
