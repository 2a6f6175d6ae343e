"""SSE's weights as a general optimiser finds them, with every pair of classes written out."""

import numpy as np
from scipy.optimize import minimize


def sse_pair_rows(M, psi):
    """The rows d (C * C, d) of all pairs (y, k): ``sum_j (psi_yj - psi_kj) M_yj``."""
    return np.array([(psi[y] - psi[k]) @ M[y] for y in range(len(M)) for k in range(len(M))])


def sse_objective(w, D, wanted, lam):
    """Value and gradient of ``|w|^2 / 2 + lam sum max(0, wanted - D w)^2``."""
    slack = np.maximum(0, wanted.ravel() - D @ w)
    return 0.5 * w @ w + lam * slack @ slack, w - 2 * lam * slack @ D


def sse_weights(D, wanted, lam, tol=1e-12, max_iter=10_000):
    """The w that minimises the objective, by BFGS with limited memory, and how many steps it took."""
    options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": tol, "gtol": 0}
    start = np.zeros(D.shape[1])
    result = minimize(sse_objective, start, (D, wanted, lam), jac=True, method="L-BFGS-B", options=options)
    return result.x, result.nit
