"""The formula of ``AEZSLHeads``, in numpy alone."""

import numpy as np

from aezsl.arrays import Array, Labels, unit_rows

#: Cosines with names that are held at once.
BLOCK_ENTRIES = 2_000_000


def similarity_to_names(A: Array, names: Array, named: Labels, starts: Labels) -> Array:
    """The cosine (L, C) of every label with the most similar name of every class."""
    cosines = unit_rows(A[:, : names.shape[1]]) @ names.T
    found = np.empty((len(A), len(starts)))
    step = max(1, BLOCK_ENTRIES // len(named))
    for i in range(0, len(A), step):
        found[i : i + step] = np.maximum.reduceat(cosines[i : i + step, named], starts, axis=1)
    return found


def cover(similarity: Array, sharpness: float) -> Array:
    """How far every label covers every class (L, C): a softmax over the classes."""
    shares = np.exp(sharpness * (similarity - similarity.max(axis=1, keepdims=True)))
    found: Array = shares / shares.sum(axis=1, keepdims=True)
    return found


def centred(S: Array, A: Array) -> tuple[Array, Array]:
    """Descriptions and labels of unit length less the mean description, at unit length again."""
    mean = S.mean(axis=0)
    return unit_rows(S - mean), unit_rows(unit_rows(A) - mean)


def most_similar(weights: Array, n: int) -> Array:
    """The weights (L, C) of the n classes that count most for each label, and zero for others; ties all stay."""
    if n >= weights.shape[1]:
        return weights
    least = np.partition(weights, -n, axis=1)[:, -n, None]
    return np.where(weights >= least, weights, 0.0)


def combined(k: Array, rows: Array, biases: Array) -> tuple[Array, Array]:
    """Directions (L, d) and offsets (L,) of the classifiers that coefficients k (C, L) make, at unit length.

    Rows and biases count less their means.
    """
    Q, e = k.T @ (rows - rows.mean(axis=0)), k.T @ (biases - biases.mean())
    lengths = np.linalg.norm(Q, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return Q / lengths[:, None], e / lengths


def of_mean_length(directions: Array, offsets: Array, rows: Array, biases: Array) -> tuple[Array, Array]:
    """The same as one more class of the network: as long as its rows are in the mean, on top of their mean."""
    length = np.linalg.norm(rows - rows.mean(axis=0), axis=1).mean()
    return rows.mean(axis=0) + length * directions, biases.mean() + length * offsets


def log_posteriors(X: Array, rows: Array, biases: Array) -> tuple[Array, Array]:
    """What the network itself says: log p(c given x) (n, C), and the logarithm of what was divided by (n, 1)."""
    logits = X @ rows.T + biases
    top = logits.max(axis=1, keepdims=True)
    z = top + np.log(np.exp(logits - top).sum(axis=1, keepdims=True))
    return logits - z, z


def union_scores(log_p: Array, own: Array, shares: Array, novelty: float) -> Array:
    """The logarithm (n, L) of what the covered classes say and of what the predicted class says.

    log_p : (n, C) log posteriors of the classes. own : (n, L) log posteriors of the predicted classes. shares : (L, C).
    """
    with np.errstate(divide="ignore"):  # all covered classes may be impossible: then the predicted class decides
        covered = np.log(np.exp(log_p) @ shares.T)
    scores: Array = np.logaddexp(covered, own + np.log(novelty))
    return scores


def overlap(shares: Array) -> Array:
    """How much two labels cover the same classes (L, L), 0 to 1: the sum of the square roots of their products."""
    roots = np.sqrt(shares)
    found: Array = roots @ roots.T
    return found
