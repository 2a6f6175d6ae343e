"""DAEZSL's loss as eqn:deep_loss writes it: duplicated features, a (C, C) decision matrix for every sample."""

import torch


def decision_matrices(X, W, S, M):
    """J (B, C, C): row c1 holds the decision values of all classes under the mask of class c1 (eqn:J_ij)."""
    duplicated = X[:, None, :].expand(-1, len(S), -1)  # (B, C, d)
    return (duplicated * M) @ W @ S.T


def daezsl_loss(X, y, W, S, M, rho):
    """sum_i ||J_i - Ybar_i||_F^2 + sum_{c != c(i)} max(0, J_i[c, c(i)] - J_i[c(i), c(i)] + rho)."""
    J = decision_matrices(X, W, S, M)
    samples, C = torch.arange(len(X)), len(S)
    Y = torch.nn.functional.one_hot(y, C).to(X.dtype)  # (B, C), repeated for every row of J
    square = (J - Y[:, None, :]).square().sum()
    column = J[samples, :, y]  # (B, C)
    own = J[samples, y, y]
    margins = (column - own[:, None] + rho).clamp(min=0)
    margins = margins * (1 - Y)
    return square + margins.sum()
