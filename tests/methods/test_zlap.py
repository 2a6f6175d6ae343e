import numpy as np

from aezsl.methods import make_method
from tests.methods.core.contract import PairedContract
from tests.synthetic import make_pair


class TestZLaP(PairedContract):
    method = "zlap"
    floor = 0.7


def test_scores_solve_the_literal_system():
    data = make_pair(n_seen=4, n_unseen=3, per_class=5, d=8)
    alpha, beta, gamma, k = 0.6, 2.0, 3.0, 2
    model = make_method("zlap", alpha=alpha, beta=beta, gamma=gamma, n_neighbors=k).fit(*data[:3])
    found = model.adapt(data.S_new, data.X_new)
    X, T = data.X_new, data.S_new
    n, C = len(X) + len(T), len(T)
    W = np.zeros((n, n))
    for i, x in enumerate(X):
        for j in [j for j in np.argsort(-(X @ x), kind="stable") if j != i][:k]:
            W[C + i, C + j] = W[C + j, C + i] = max(0.0, x @ X[j]) ** gamma
        for c in np.argsort(-(T @ x), kind="stable")[:k]:
            W[C + i, c] = W[c, C + i] = max(0.0, x @ T[c]) ** beta
    degrees = np.sqrt(W.sum(axis=1))
    L = np.eye(n) - alpha * W / np.outer(degrees, degrees)
    Z = np.linalg.solve(L, np.eye(n, C))
    np.testing.assert_allclose(found.scorer.parts["scores"], Z, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(found.labels, Z[C:].argmax(axis=1))
