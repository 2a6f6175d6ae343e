"""SECML's objective one pair at a time."""

import numpy as np


def secml_objective(theta, X, y, negative, S, lam, mu):
    """Mean over images of the losses of one consistent and one inconsistent pair, plus the penalty."""
    total = 0.0
    for x, own, other in zip(X, y, negative, strict=True):
        embedded = np.maximum(0, theta["W_X"].T @ x + theta["b_X"])
        for z, c in ((1, own), (-1, other)):
            distance = np.linalg.norm(theta["W_A"].T @ (embedded - S[c]))
            total += max(0.0, 1 - z * (theta["tau"] - distance**2))
            total += lam * max(0, z) * np.sum((S[c] - embedded) ** 2)
    penalty = sum(np.sum(theta[name] ** 2) for name in ("W_X", "b_X", "W_A"))
    return total / len(X) + mu * penalty
