"""JLSE's terms, literally."""

import numpy as np


def jlse_class_fit(s, z, B, lam_s):
    """log p_B(z | s) for one class, over the precision."""
    return -0.5 * (np.sum((s - B.T @ z) ** 2) + lam_s * np.sum(z**2))


def jlse_objective(X, Y, Z, V, D, W, precision, lam_v):
    """-log p_D(v | x) of all images, and the hinge loss of all pairs (mean over classes); Y is 1 or -1."""
    value = 0.0
    for x, v, signs in zip(X, V, Y, strict=True):
        value += precision / 2 * (np.sum((x - D.T @ v) ** 2) + lam_v * np.sum(v**2))
        value += np.mean([max(0.0, 1 - sign * (z @ W @ v)) for sign, z in zip(signs, Z, strict=True)])
    return value
