"""ESZSL as the paper writes it: eqn:ESZSL with beta = gamma lambda. Rows here are the paper's columns."""

import numpy as np
from scipy.linalg import solve


def one_hot(y, n_classes):
    return np.eye(n_classes)[y]


def eszsl_solution(X, y, S, gamma, lam):
    """W = (X'X + gamma I)^-1 X'YS (S'S + lam I)^-1, the solution of eqn:ESZSL_sub1."""
    Y = one_hot(y, len(S))
    left = X.T @ X + gamma * np.eye(X.shape[1])
    right = S.T @ S + lam * np.eye(S.shape[1])
    return solve(left, solve(right, (X.T @ Y @ S).T, assume_a="pos").T, assume_a="pos")


def eszsl_objective_gradient(W, X, y, S, gamma, lam):
    """Half the derivative of eqn:ESZSL by W, and the norm of its constant term as a scale."""
    Y = one_hot(y, len(S))
    gradient = X.T @ (X @ W @ S.T - Y) @ S + gamma * W @ S.T @ S + lam * X.T @ X @ W + gamma * lam * W
    return gradient, np.linalg.norm(X.T @ Y @ S)
