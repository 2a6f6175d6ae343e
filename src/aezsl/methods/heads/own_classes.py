"""Classes with images of their own, as classifiers beside those of a network."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from aezsl.arrays import Array, Labels
from aezsl.methods.core.checks import check_labels, check_rows, check_semantics
from aezsl.methods.heads.seen_classifiers import SeenClassifiers

#: Chosen on ImageNet's classes that were held out (``python -m tests.benchmarks.bench_own_knowledge choose``).
RIDGE = 0.3

#: Steps at most; a few dozen are enough.
STEPS = 200


def with_own_classes(
    seen: SeenClassifiers, X: ArrayLike, y: ArrayLike, S: ArrayLike, ridge: float = RIDGE, alone: bool = False
) -> SeenClassifiers:
    r"""The classifiers of a network, then those of K own classes, found from a few images of each.

    .. math::
        \min_U \sum_i -\log \frac{e^{g_{y_i}(x_i)}}{\sum_k e^{g_k(x_i)} + \sum_c e^{x_i'w_c + b_c}}
        + \tfrac\rho2 \|U\|_F^2, \qquad
        g_k(x) = x'\bar w + \bar b + \tfrac1{\sqrt C} \sum_c u_{kc} \bigl(x'(w_c - \bar w) + b_c - \bar b\bigr)

    So an own classifier is the network's mean one and a combination of all of them, and has the scale of the network's
    logits: images of own classes must win against other own classes and against the network's, which stay as they are.
    The smaller :math:`\rho`, the more own classes count against the others. The problem is convex.

    X : (n, d) what the network's last layer reads. y : (n,) row numbers of S. S : (K, a) vectors of the descriptions,
    which also serve as names. alone : only own classes are known afterwards, whatever describes them.
    """
    A = check_semantics("S", S, None if alone else seen.S.shape[1])
    rows = check_rows("X", X, seen.rows.shape[1], "features").astype(np.float64)
    W, b = _classifiers(seen, rows, check_labels(y, len(rows), len(A)), ridge, alone)
    if alone:
        return SeenClassifiers.build(W, b, A, A, [[k] for k in range(len(A))])
    ends = [*seen.starts[1:], len(seen.named)]
    named = [seen.named[start:end] for start, end in zip(seen.starts, ends, strict=True)]
    return SeenClassifiers.build(
        np.vstack([seen.rows, W]),
        np.concatenate([seen.biases, b]),
        np.vstack([seen.S, A / np.linalg.norm(A, axis=1, keepdims=True)]),
        np.vstack([seen.names, A[:, : seen.names.shape[1]]]),
        [*named, *([len(seen.names) + k] for k in range(len(A)))],
    )


def _classifiers(seen: SeenClassifiers, X: Array, y: Labels, ridge: float, alone: bool) -> tuple[Array, Array]:
    """Rows (K, d) and biases (K,) of the own classes."""
    K, C = int(y.max()) + 1, len(seen.rows)
    W, b = (seen.rows - seen.rows.mean(axis=0)) / np.sqrt(C), (seen.biases - seen.biases.mean()) / np.sqrt(C)
    P, true = X @ W.T + b, np.eye(K)[y]
    others = np.full((len(X), 1), -np.inf)
    if not alone:
        mean = X @ seen.rows.mean(axis=0) + seen.biases.mean()
        others = logsumexp(X @ seen.rows.T + seen.biases, axis=1, keepdims=True) - mean[:, None]

    def loss(flat: Array) -> tuple[float, Array]:
        U = flat.reshape(K, C)
        log_p = log_softmax(np.hstack([P @ U.T, others]), axis=1)[:, :K]
        gradient = (np.exp(log_p) - true).T @ P + ridge * U
        return float(ridge / 2 * (U**2).sum() - log_p[true > 0].sum()), gradient.ravel()

    U = minimize(loss, np.zeros(K * C), jac=True, method="L-BFGS-B", options={"maxiter": STEPS}).x.reshape(K, C)
    return seen.rows.mean(axis=0) + U @ W, seen.biases.mean() + U @ b
