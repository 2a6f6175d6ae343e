"""Sparse codes of many samples against a generic solver."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import minimize

from aezsl.methods.shared.simplex import sparse_codes


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
