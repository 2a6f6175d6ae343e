"""Ranking losses one sample and one class at a time."""

import numpy as np


def sampled_ranking_loss(W, X, y, S, margin, violator):
    """Mean loss over samples; for drawn violators its expectation."""
    total = 0.0
    for x, label in zip(X, y, strict=True):
        score = [max(x @ W_k @ s for W_k in W) for s in S]
        violations = [max(0.0, margin + score[c] - score[label]) for c in range(len(S)) if c != label]
        positive = [v for v in violations if v > 0]
        total += {
            "max": max(violations),
            "all": sum(violations),
            "random": np.mean(violations),
            "first": np.mean(positive) if positive else 0.0,
        }[violator]
    return total / len(X)
