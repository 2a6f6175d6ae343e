"""SynC's objective as a sum over samples and classes."""

import numpy as np


def sync_objective(V, weights, X, y, S, lam, loss):
    """Regularised loss of the classifiers ``weights @ V`` (C, d)."""
    W = weights @ V
    A = S / np.linalg.norm(S, axis=1, keepdims=True)
    A = A / np.median([np.linalg.norm(a - b) for i, a in enumerate(A) for b in A[:i]])
    n, C = len(X), len(S)
    total = 0.0
    for x, label in zip(X, y, strict=True):
        score = W @ x
        if loss == "ovo":
            total += sum(max(0.0, 1 - (1 if c == label else -1) * score[c]) ** 2 for c in range(C)) / C
        else:
            gap = [np.linalg.norm(A[c] - A[label]) if loss == "struct" else float(c != label) for c in range(C)]
            total += max(0.0, max(gap[c] + score[c] - score[label] for c in range(C)))
    return total / n + lam / 2 * np.sum(W**2)
