"""RKT with drawn virtual data."""

import numpy as np
from scipy.linalg import solve


def rkt_sampled_classifiers(codes, X, y, S, S_target, gamma, n_virtual, with_seen, seed=0):
    """Classifiers (d, Ct) of the ridge regression on ``n_virtual`` drawn images per target class."""
    rng = np.random.default_rng(seed)
    means = np.stack([X[y == c].mean(axis=0) for c in range(len(S))])
    covariance = np.cov((X - means[y]).T, bias=True)
    per_class = len(X) / len(S)
    drawn = [rng.multivariate_normal(mean, covariance, n_virtual) for mean in codes @ means]
    inputs, outputs = np.vstack(drawn), np.repeat(S_target, n_virtual, axis=0)
    weights = np.full(len(inputs), per_class / n_virtual)
    if with_seen:
        inputs, outputs = np.vstack([inputs, X]), np.vstack([outputs, S[y]])
        weights = np.append(weights, np.ones(len(X)))
    second = (inputs.T * weights) @ inputs / weights.sum()
    cross = (inputs.T * weights) @ outputs / weights.sum()
    M = solve(second + gamma * np.trace(second) / len(second) * np.eye(len(second)), cross, assume_a="pos")
    return M @ (S_target / np.linalg.norm(S_target, axis=1, keepdims=True)).T
