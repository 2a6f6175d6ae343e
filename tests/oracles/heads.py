"""Labels as unions, written out label by label and class by class: the formula of ``AEZSLHeads``."""

import numpy as np


def unit(v):
    return v / np.linalg.norm(v)


def mapped(W, b, S, a, lam, weights):
    """q and e: the ridge from descriptions to rows and biases less their means, with weights, at a label."""
    mean = S.mean(axis=0)
    V = np.column_stack([W - W.mean(axis=0), b - b.mean()])
    S_hat = np.stack([unit(s - mean) for s in S])
    B = np.linalg.solve(S_hat.T @ np.diag(weights) @ S_hat + lam * np.eye(S.shape[1]), S_hat.T @ np.diag(weights) @ V)
    predicted = unit(unit(a) - mean) @ B
    return predicted[:-1], predicted[-1]


def squared_cosines(S, a, n):
    """Of the n classes that are most similar to the label; others count nothing."""
    weights = np.array([(unit(s) @ unit(a)) ** 2 for s in S])
    return np.where(weights >= np.sort(weights)[-n], weights, 0)


def cover(S, names_of, a, sharpness, by_name):
    """K of one label; names_of : for every class the vectors of its names and of those above it."""
    width = names_of[0].shape[1]
    u = [
        (1 - by_name) * unit(s) @ unit(a) + by_name * max(unit(n) @ unit(a[:width]) for n in names)
        for s, names in zip(S, names_of, strict=True)
    ]
    shares = np.exp(sharpness * np.array(u))
    return shares / shares.sum()


def union_score(x, W, b, S, names_of, a, lam, similar, sharpness, by_name, novelty):
    logits = W @ x + b
    Z = np.exp(logits).sum()
    q, e = mapped(W, b, S, a, lam, squared_cosines(S, a, similar))
    length = np.mean([np.linalg.norm(w - W.mean(axis=0)) for w in W]) / np.linalg.norm(q)
    own = x @ (W.mean(axis=0) + length * q) + b.mean() + length * e
    covered = cover(S, names_of, a, sharpness, by_name) @ (np.exp(logits) / Z)
    return np.log(covered + novelty * np.exp(own) / Z)
