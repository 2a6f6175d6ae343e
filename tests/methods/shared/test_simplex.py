from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import minimize

from aezsl.methods.shared.simplex import project_to_simplex, simplex_mixtures, sparse_codes
from tests.synthetic import make_synthetic


@given(arrays(float, (3, 5), elements=st.floats(-10, 10)))
def test_projection_lands_on_the_simplex_and_nowhere_closer(A):
    P = project_to_simplex(A)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1)
    # The nearest point p of a convex set: (a - p)'(q - p) <= 0 for every q in it; its corners suffice.
    assert (((A - P)[:, None] * (np.eye(5)[None] - P[:, None])).sum(axis=2) <= 1e-8).all()


def test_a_point_of_the_simplex_is_its_own_projection():
    points = np.random.default_rng(0).dirichlet(np.ones(6), size=50)
    np.testing.assert_allclose(project_to_simplex(points), points, atol=1e-12)


@pytest.mark.parametrize("lam", [0.001, 0.05, 1.0])
@pytest.mark.parametrize("pull", [False, True])
def test_mixtures_satisfy_the_optimality_conditions(lam, pull):
    data = make_synthetic()
    linear = np.random.default_rng(0).normal(size=(len(data.S_new), len(data.S))) if pull else 0.0
    Z = simplex_mixtures(data.S_new, data.S, lam, pull=linear)
    np.testing.assert_allclose(Z.sum(axis=1), 1)
    gradient = lam * Z - (data.S_new - Z @ data.S) @ data.S.T - linear
    # Equal and smallest where a class takes part, no smaller where it does not.
    excess = gradient - gradient.min(axis=1, keepdims=True)
    assert (excess[Z > 1e-6] < 1e-6).all()


def test_a_start_changes_nothing_but_the_way():
    data = make_synthetic()
    start = np.random.default_rng(0).dirichlet(np.ones(len(data.S)), size=len(data.S_new))
    before = start.copy()
    Z = simplex_mixtures(data.S_new, data.S, 0.05, start=start)
    np.testing.assert_allclose(Z, simplex_mixtures(data.S_new, data.S, 0.05), atol=1e-6)
    np.testing.assert_array_equal(start, before)


def test_a_description_in_the_dictionary_is_its_own_mixture():
    for S in (np.eye(6), np.eye(6) + 0.1):
        np.testing.assert_allclose(simplex_mixtures(S, S, 1e-6), np.eye(6), atol=1e-5)


@pytest.mark.parametrize("nonnegative", [True, False])
def test_codes_are_the_minimum(nonnegative):
    """Against a generic solver on the positive and the negative part of a code."""
    rng = np.random.default_rng(0)
    D, z = rng.normal(size=(6, 9)), rng.normal(size=(3, 9))
    G, H = D @ D.T, z @ D.T
    found = sparse_codes(G, H, 2.0, np.zeros((3, 6)), nonnegative, 1e-12, 20000)
    for h, b in zip(H, found, strict=True):

        def value(parts, h=h):
            code = parts[:6] - (0 if nonnegative else parts[6:])
            return code @ G @ code - 2 * code @ h + 2.0 * parts.sum()

        size = 6 if nonnegative else 12
        best = minimize(value, np.full(size, 0.1), bounds=[(0, None)] * size, tol=1e-14)
        assert b @ G @ b - 2 * b @ h + 2.0 * np.abs(b).sum() <= best.fun + 1e-8
        assert (b == 0).any()
        assert not nonnegative or (b >= 0).all()


def test_no_code_ends_above_its_start():
    """Far too few steps on a bad problem, and steps from the minimum itself: rows that overshot go back."""
    rng = np.random.default_rng(1)
    D, z = rng.normal(size=(8, 8)) * np.logspace(0, -4, 8)[:, None], rng.normal(size=(50, 8))
    G, H = D @ D.T, z @ D.T
    anywhere, there = rng.normal(size=(50, 8)), sparse_codes(G, H, 0.1, np.zeros((50, 8)), False, 1e-12, 20000)
    for start, steps in product((anywhere, there), (1, 5, 20)):
        B = sparse_codes(G, H, 0.1, start, False, 1e-12, steps)
        values = [np.einsum("ij,ij->i", C, C @ G - 2 * H) + 0.1 * np.abs(C).sum(axis=1) for C in (start, B)]
        assert (values[1] <= values[0]).all()
