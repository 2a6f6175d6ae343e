"""JLSE's terms for one image and one class."""

import numpy as np


def jlse_pair_objective(v, x, z, D, W, precision, lam_v):
    """-log p_D(v | x) - log p_W(match | z, v) for one code v of the image."""
    restored = np.sum((x - D.T @ v) ** 2) + lam_v * np.sum(v**2)
    return precision / 2 * restored + np.logaddexp(0, -(z @ W @ v))
