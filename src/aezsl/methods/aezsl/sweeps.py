"""Algorithm 1 of the AEZSL paper, and the objective it lowers."""

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from aezsl.arrays import Array
from aezsl.errors import DataError
from aezsl.methods.aezsl.solver import MB, Lambdas, ReducedSeen, TargetSpectra


def objective_terms(
    seen: ReducedSeen, weights: Array, mappings: Sequence[Array] | Array, lambdas: Lambdas
) -> dict[str, float]:
    """The terms of the objective, and their total, at mappings W_c (q, r) in the bases of ``seen``.

    Sums over samples are taken through the eigenvalues l of X'X and the class sums M = X'Y.
    The co-regulariser over all pairs equals C times the squared distances to the mean mapping.
    """
    C = len(weights)
    mean = sum(W for W in mappings) / C
    fit = mapped = norm = spread = told = 0.0
    for s2, W in zip(weights, mappings, strict=True):
        classifiers = W @ seen.S.T  # of the seen classes, (q, Cs)
        squares = seen.l @ np.square(classifiers) - 2 * np.einsum("ij,ij->j", classifiers, seen.M) + seen.counts
        fit += float(s2 @ squares)
        told += float(s2 @ np.square(classifiers).sum(axis=0))
        mapped += float(seen.l @ np.square(W).sum(axis=1))
        norm += float(np.square(W).sum())
        spread += float(C * np.square(W - mean).sum())
    lambda1, lambda2, lambda3, gamma = lambdas
    terms = {
        "fit": fit / 2,
        "mapped_features": lambda1 / 2 * mapped,
        "norm": lambda2 / 2 * norm,
        "co_regulariser": lambda3 / 2 * spread,
        "seen_classifiers": gamma / 2 * told,
    }
    return terms | {"total": sum(terms.values())}


def sweep_targets(
    seen: ReducedSeen, targets: TargetSpectra, lambdas: Lambdas, tol: float, max_iter: int, memory_mb: float
) -> tuple[Array, Array]:
    """Update W_1 .. W_C in turn, the others fixed, until a sweep lowers the objective by less than ``tol`` of it.

    Returns all mappings (C, q, r) in the bases of ``seen`` and the objective after the start and after each sweep.
    """
    lambda3 = lambdas.lambda3
    C, r = targets.shape
    need = 8 * C * len(seen.l) * r / MB
    if need > memory_mb:
        raise DataError(
            f"solver='alternating' holds all {C} mappings, {need:.0f} MB, and memory_mb={memory_mb} allows less; "
            "raise memory_mb, or use solver='direct', which needs none of them"
        )
    in_basis = ReducedSeen(seen.l, seen.M, targets.S, seen.counts)
    W = np.repeat(_eszsl_start(in_basis, lambdas)[None], C, axis=0)
    Z = W.sum(axis=0)
    trace = [objective_terms(in_basis, targets.weights, W, lambdas)["total"]]
    for _ in range(max_iter):
        for c in range(C):
            V = targets.V[:, c * r : (c + 1) * r]
            N = (seen.M * targets.weights[c]) @ targets.S + lambda3 * (Z - W[c])
            stiffness = lambdas.stiffness(seen.l, targets.t[c * r : (c + 1) * r])
            updated = (N @ V / (stiffness + (C - 1) * lambda3)) @ V.T
            Z += updated - W[c]
            W[c] = updated
        trace.append(objective_terms(in_basis, targets.weights, W, lambdas)["total"])
        if trace[-2] - trace[-1] <= tol * trace[-1]:
            break
    else:
        warnings.warn(
            f"the objective still falls after max_iter={max_iter} sweeps; raise max_iter or use solver='direct'",
            ConvergenceWarning,
            stacklevel=2,
        )
    return np.matmul(W, targets.basis.T), np.array(trace)


def _eszsl_start(seen: ReducedSeen, lambdas: Lambdas) -> Array:
    """ESZSL with the regularisers it shares with AEZSL: lam = lambda1 and gamma * lam = lambda2.

    The paper does not say which parameters its start uses. Where one of the two is zero, one takes its place.
    """
    lam = lambdas.lambda1 or 1.0
    gamma = lambdas.lambda2 / lam or 1.0
    gram = seen.S.T @ seen.S + lam * np.eye(seen.S.shape[1])
    start: Array = np.linalg.solve(gram, seen.S.T @ (seen.M / (seen.l + gamma)[:, None]).T).T
    return start
