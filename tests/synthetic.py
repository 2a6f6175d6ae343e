"""A small zero-shot problem with a built-in projection shift, the referee for quality floors."""

from typing import NamedTuple

import numpy as np


class Synthetic(NamedTuple):
    X: np.ndarray  # (n, d) seen samples
    y: np.ndarray  # (n,)
    S: np.ndarray  # (Cs, a)
    X_new: np.ndarray  # samples of the unseen classes
    y_new: np.ndarray
    S_new: np.ndarray  # (Ct, a)


def make_synthetic(
    n_seen=30, n_unseen=8, per_class=12, d=24, a=10, shift=0.5, noise=0.3, seed=0, nonnegative=True
) -> Synthetic:
    """Class means are ``W_c a_c`` where W_c itself drifts smoothly with a_c: the same attribute looks different
    in different classes, by ``shift``. Semantics are nonnegative like attributes, or signed like word vectors.
    """
    rng = np.random.default_rng(seed)
    classes = n_seen + n_unseen
    S = rng.uniform(0, 1, (classes, a)) ** 2 if nonnegative else rng.normal(size=(classes, a))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    shared = rng.normal(size=(d, a))
    drift = rng.normal(size=(a, d, a))  # one direction of change per semantic dimension
    mappings = shared + shift * np.einsum("ca,adb->cdb", S - S.mean(axis=0), drift)
    means = np.einsum("cda,ca->cd", mappings, S)
    y = np.repeat(np.arange(classes), per_class)
    X = means[y] + noise * rng.normal(size=(len(y), d))
    seen = y < n_seen
    return Synthetic(X[seen], y[seen], S[:n_seen], X[~seen], y[~seen] - n_seen, S[n_seen:])


def make_pair(n_seen=30, n_unseen=8, per_class=12, d=24, noise=0.35, gap=1.0, seed=0) -> Synthetic:
    """Images and texts in one space, as a pair of encoders gives them: an image is near the text of its class, and all
    images lie apart from all texts by ``gap`` in one direction.
    """
    rng = np.random.default_rng(seed)
    classes = n_seen + n_unseen
    S = rng.normal(size=(classes, d))
    S /= np.linalg.norm(S, axis=1, keepdims=True)
    apart = rng.normal(size=d) / np.sqrt(d)
    y = np.repeat(np.arange(classes), per_class)
    X = S[y] + noise * rng.normal(size=(len(y), d)) + gap * apart
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    seen = y < n_seen
    return Synthetic(X[seen], y[seen], S[:n_seen], X[~seen], y[~seen] - n_seen, S[n_seen:])
