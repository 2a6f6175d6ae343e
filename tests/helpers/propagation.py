"""A small pool for balanced propagation: seven classes, unit rows, standardised scores, prototypes and graph."""

import numpy as np

from aezsl.methods.propagation.balanced import Objective, Weights
from aezsl.methods.propagation.neighbours import neighbour_graph

M, C, D = 300, 7, 20


def unit(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def objective(weights, concentration=None):
    """What balanced propagation minimises on the pool, with weights in the order of ``Weights``."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(C, D))
    X = unit(centres[rng.integers(C, size=M)] + rng.normal(size=(M, D)))
    F = X @ (centres + rng.normal(size=centres.shape)).T + rng.normal(size=C)
    G = (F - F.mean(axis=0)) / F.std(axis=0)
    prototypes = unit(centres + rng.normal(size=centres.shape))
    return Objective(G, neighbour_graph(X, 8), np.full(C, 1 / C), Weights(*weights), X, prototypes, concentration)
