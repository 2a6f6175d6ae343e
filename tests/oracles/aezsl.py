"""AEZSL as the paper writes it: the objective eqn:ESZSL_category, its gradient, a dense solve, and alg:AEZSL."""

import numpy as np

from tests.oracles.eszsl import eszsl_solution, one_hot


def cosines(S_target, S):
    return np.array([[a @ s / (np.linalg.norm(a) * np.linalg.norm(s)) for s in S] for a in S_target])


def aezsl_objective(W, X, y, S, S_target, lambda1, lambda2, lambda3, gamma=0.0):
    """The four terms of eqn:ESZSL_category, sums over samples, targets and pairs written out; W (C, d, a).

    The fifth term is the one of ESZSL that the paper drops, weighted as the loss is.
    """
    Y, s_all = one_hot(y, len(S)), cosines(S_target, S)
    fit = sum(np.sum(((X @ Wc @ S.T - Y) * s) ** 2) for Wc, s in zip(W, s_all, strict=True))
    told = sum(np.sum((Wc @ S.T * s) ** 2) for Wc, s in zip(W, s_all, strict=True))
    mapped = sum(np.sum((X @ Wc) ** 2) for Wc in W)
    norm = sum(np.sum(Wc**2) for Wc in W)
    pairs = sum(np.sum((W[c] - W[j]) ** 2) for c in range(len(W)) for j in range(c + 1, len(W)))
    return np.array([fit, lambda1 * mapped, lambda2 * norm, lambda3 * pairs, gamma * told]) / 2


def aezsl_gradient(W, X, y, S, S_target, lambda1, lambda2, lambda3, gamma=0.0):
    """The derivative of eqn:ESZSL_category by every W_c (C, d, a), and the norm of its constant term as a scale."""
    Y = one_hot(y, len(S))
    gradients, constants = [], []
    for c, s in enumerate(cosines(S_target, S)):
        fit = X.T @ ((X @ W[c] @ S.T - Y) * s**2) @ S + gamma * (W[c] @ S.T * s**2) @ S
        ties = sum(W[c] - W[j] for j in range(len(W)))
        gradients.append(fit + lambda1 * X.T @ X @ W[c] + lambda2 * W[c] + lambda3 * ties)
        constants.append(X.T @ Y @ np.diag(s**2) @ S)
    return np.array(gradients), np.linalg.norm(constants)


def aezsl_dense(X, y, S, S_target, lambda1, lambda2, lambda3, gamma=0.0, given=None):
    """All W_c (C, d, a) from eqn:ESZSL_category_wc of all c as one dense Kronecker system over every entry.

    given : semantics of the targets and of the seen classes by which they are similar, where S has been moved.
    """
    Y, a, C, d = one_hot(y, len(S)), S.shape[1], len(S_target), X.shape[1]
    L = X.T @ X
    size = d * a
    system, rhs = np.zeros((C * size, C * size)), np.zeros(C * size)
    for c, s in enumerate(cosines(*(given or (S_target, S)))):
        T = S.T @ np.diag(s**2) @ S
        rows = slice(c * size, (c + 1) * size)
        # row-major vec(L W T) = (L kron T') vec(W)
        system[rows, rows] = np.kron(L, T.T + lambda1 * np.eye(a)) + gamma * np.kron(np.eye(d), T.T)
        rhs[rows] = (X.T @ Y @ np.diag(s**2) @ S).ravel()
    ties = C * np.eye(C) - np.ones((C, C))
    system += np.kron(lambda2 * np.eye(C) + lambda3 * ties, np.eye(size))
    return np.linalg.solve(system, rhs).reshape(C, d, a)


def single_mapping(X, y, S, weights, lambda1, lambda2):
    """One W (d, a) for all: min 1/2 ||(XWS' - Y) diag(w)||^2 + lambda1/2 ||XW||^2 + lambda2/2 ||W||^2, densely."""
    Y, a, d = one_hot(y, len(S)), S.shape[1], X.shape[1]
    T = S.T @ np.diag(weights**2) @ S + lambda1 * np.eye(a)
    system = np.kron(X.T @ X, T.T) + lambda2 * np.eye(d * a)
    return np.linalg.solve(system, (X.T @ Y @ np.diag(weights**2) @ S).ravel()).reshape(d, a)


def algorithm1(X, y, S, S_target, lambda1, lambda2, lambda3, stop, max_sweeps=10_000):
    """alg:AEZSL: decompose L and every T once, then sweep by eqn:W_lya3; returns all W_c and the objective's trace.

    ``stop(objective)`` decides after each sweep. The sweeps are literal, on whole d x a matrices. Only the objective
    that decides when to stop is computed by way of X'X and X'Y: sums over samples would cost more than the sweep.
    """
    Y = one_hot(y, len(S))
    C, a = len(S_target), S.shape[1]
    s2 = cosines(S_target, S) ** 2
    sigma_L, U = np.linalg.eigh(X.T @ X)
    spectra = [np.linalg.eigh(S.T @ np.diag(w) @ S + lambda1 * np.eye(a)) for w in s2]
    XY = X.T @ Y
    mu = (C - 1) * lambda3 + lambda2
    W = np.repeat(eszsl_solution(X, y, S, 1.0, 1.0)[None], C, axis=0)
    total = W.sum(axis=0)
    trace = []
    for _ in range(max_sweeps):
        for c in range(C):
            sigma_T, V = spectra[c]
            N = (XY * s2[c]) @ S + lambda3 * (total - W[c])
            new = U @ ((U.T @ N @ V) / (np.outer(sigma_L, sigma_T) + mu)) @ V.T
            total += new - W[c]
            W[c] = new
        trace.append(_objective_from_gram(W, sigma_L, U, XY, y, S, s2, lambda1, lambda2, lambda3))
        if stop(trace[-1]):
            break
    return W, np.array(trace)


def _objective_from_gram(W, sigma_L, U, XY, y, S, s2, lambda1, lambda2, lambda3):
    """The value of eqn:ESZSL_category by way of X'X and X'Y, without a sum over samples."""
    counts = np.bincount(y, minlength=len(S))
    total, W_sum = 0.0, W.sum(axis=0)
    for Wc, w in zip(W, s2, strict=True):
        rotated = U.T @ Wc
        P = rotated @ S.T
        total += w @ (sigma_L @ P**2 - 2 * np.sum(P * (U.T @ XY), axis=0) + counts)
        total += lambda1 * np.sum(sigma_L @ rotated**2) + (lambda2 + len(W) * lambda3) * np.sum(Wc**2)
    return (total - lambda3 * np.sum(W_sum**2)) / 2
