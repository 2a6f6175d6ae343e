"""Labels that spread from prototypes to samples, against their formulas."""

import numpy as np
import pytest

from aezsl.methods.propagation.prototypes import spread_from_prototypes, spread_to
from tests.synthetic import make_synthetic

DATA = make_synthetic(noise=1.0)


def literal_spread(B, A, k, alpha):
    """The dense formula, neighbours by sorting."""
    rows = np.vstack([B, A])
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    distances = np.square(rows[:, None] - rows).sum(axis=2)
    kernel = np.exp(-distances / np.median(distances))
    K = np.zeros_like(kernel)
    for i in range(len(rows)):
        near = [j for j in np.argsort(distances[i]) if j != i][: k if i < len(B) else 3 * k]
        K[i, near] = kernel[i, near]
    K = (K + K.T) / 2
    scale = 1 / np.sqrt(K.sum(axis=1))
    L = np.vstack([np.zeros((len(B), len(A))), np.eye(len(A))])
    return (1 - alpha) * np.linalg.solve(np.eye(len(rows)) - alpha * scale[:, None] * K * scale, L)


@pytest.mark.parametrize("alpha", [0.1, 0.5, 0.99])
def test_propagation_is_its_dense_formula(alpha):
    found = spread_from_prototypes(DATA.X_new[:, :10], DATA.S_new, 4, alpha)
    np.testing.assert_allclose(found.labels, literal_spread(DATA.X_new[:, :10], DATA.S_new, 4, alpha), atol=1e-7)


def test_scores_of_other_samples_are_their_literal_formula():
    """The labels of the nearest rows, by the kernel, over the roots of both degrees."""
    B, A, new = DATA.X_new[:, :10], DATA.S_new, DATA.X[:7, :10]
    spread = spread_from_prototypes(B, A, 4, 0.5)
    rows = np.vstack([B, A]) / np.linalg.norm(np.vstack([B, A]), axis=1, keepdims=True)
    for b, found in zip(new, spread_to(new, spread, 4), strict=True):
        distances = np.square(rows - b / np.linalg.norm(b)).sum(axis=1)
        near = np.argsort(distances)[:4]
        kernel = np.exp(-distances[near] / float(spread.width))
        links = kernel / np.sqrt(kernel.sum() * spread.degrees[near])
        np.testing.assert_allclose(found, links @ spread.labels[near], rtol=1e-9, atol=1e-12)


def test_what_nothing_reaches_goes_by_the_prototypes():
    A, B = np.eye(3), np.array([[0.1, 0.9, 0.0], [0.0, 0.2, 0.9]])
    spread = spread_from_prototypes(np.repeat(B, 4, axis=0), A, 1, 0.5)
    alone = spread._replace(labels=np.zeros_like(spread.labels))
    np.testing.assert_array_equal(spread_to(B, alone, 1).argmax(axis=1), [1, 2])
    np.testing.assert_array_equal(spread_to(B, spread, 20).shape, (2, 3))  # more neighbours than rows
