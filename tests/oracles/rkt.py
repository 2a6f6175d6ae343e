"""RKT with drawn virtual images and labels written out."""

import numpy as np


def rkt_drawn_classifiers(codes, X, y, S, S_target, gamma, lam, learn_from, noise, n_drawn, seed=0):
    """Classifiers (d, Ct) of the mapping learnt with ``n_drawn`` images per target class, none of which is seen."""
    rng = np.random.default_rng(seed)
    means = np.stack([X[y == c].mean(axis=0) for c in range(len(S))])
    n_each = len(X) / len(S)
    drawn = [code @ (means + noise * rng.standard_normal(means.shape)) for code in codes for _ in range(n_drawn)]
    drawn = np.array(drawn) * np.sqrt(n_each / n_drawn)  # so that squares of a class count as n_each images do
    all_images, weights = np.vstack([X, drawn]), np.append(np.ones(len(X)), np.full(len(drawn), n_each / n_drawn))
    label = np.append(y, len(S) + np.repeat(np.arange(len(S_target)), n_drawn))
    virtual = np.arange(len(label)) >= len(X)
    first, second, classes = {
        "virtual": (virtual, virtual, len(S) + np.arange(len(S_target))),
        "both": (virtual | True, virtual | True, np.arange(len(S) + len(S_target))),
        "seen": (virtual | True, ~virtual, np.arange(len(S))),
    }[learn_from]
    Y = np.where(label[second, None] == classes, 1.0, -1.0)
    S_2 = np.vstack([S, S_target])[classes]
    left = all_images[first].T @ all_images[first] + gamma * np.eye(X.shape[1])
    middle = (all_images[second].T * np.sqrt(weights[second])) @ Y @ S_2
    right = S_2.T @ S_2 + lam * np.eye(S.shape[1])
    unit = S_target / np.linalg.norm(S_target, axis=1, keepdims=True)
    return np.linalg.solve(left, middle) @ np.linalg.solve(right, unit.T)
