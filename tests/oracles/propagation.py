"""Balanced propagation as it is written: its objective term by term, its steps, and what images tell of shares."""

import numpy as np
from scipy.optimize import minimize


def objective(R, M, q, G, S, X, prototypes, weights):
    """J for labels R (m, C), directions M (C, d) and shares q (C,); weights: beta, mu, gamma, kappa, rho below one."""
    (m, C), (beta, mu, gamma, kappa, rho) = R.shape, weights
    tau = rho / (1 - rho)
    entropy = sum(r * np.log(r) for r in R.ravel() if r > 0)
    start = sum(R[i, c] * G[i, c] for i in range(m) for c in range(C))
    graph = m - sum(S[i, j] * (R[i] @ R[j]) for i, j in zip(*np.nonzero(S), strict=True))
    classes = sum(M[c] @ (kappa * prototypes[c] + sum(R[i, c] * X[i] for i in range(m))) for c in range(C))
    totals = sum(n * np.log(n / t) - n + t for n, t in zip(R.sum(axis=0), m * q, strict=True))
    return entropy - beta * start + mu / 2 * graph - gamma * classes + tau * totals


def best_directions(R, X, prototypes, kappa):
    """M where R stands: the sums of the images of every class and its prototype, at unit length."""
    sums = [kappa * p + sum(column[i] * X[i] for i in range(len(X))) for column, p in zip(R.T, prototypes, strict=True)]
    return np.array([s / np.linalg.norm(s) for s in sums])


def best_shares(shares, most):
    """The q of least sum of -n log q on the simplex, with q'q <= most, by sequential quadratic programming."""
    C = len(shares)
    found = minimize(
        lambda q: -(shares @ np.log(q)),
        np.full(C, 1 / C),
        jac=lambda q: -shares / q,
        bounds=[(1e-9, 1)] * C,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "ineq", "fun": lambda q: most - q @ q},
        ],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    assert found.success
    return found.x


def mean_products(X, y):
    """The mean product of two rows of one class, and of two rows of two classes, pair by pair."""
    products = X @ X.T
    pairs = [(products[i, j], y[i] == y[j]) for i in range(len(X)) for j in range(len(X)) if i != j]
    return tuple(np.mean([product for product, same in pairs if same is which]) for which in (np.True_, np.False_))
