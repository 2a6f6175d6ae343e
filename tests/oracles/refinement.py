"""Progressive label refinement, alg:PRZSL, as written: dense D, dense H, a d x d system per re-weighting."""

import numpy as np
from scipy.special import softmax

from tests.oracles.eszsl import one_hot


def transition(S):
    norms = np.linalg.norm(S, axis=1)
    S_hat = S @ S.T / np.outer(norms, norms)
    np.fill_diagonal(S_hat, 0)
    return S_hat


def graph_weights(X, n_neighbors):
    """Dense heat-kernel weights of the symmetric kNN graph; the kernel's width is the mean over all kNN pairs."""
    n = len(X)
    squares = (X**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0)
    np.fill_diagonal(distances, np.inf)
    chosen = np.zeros((n, n), dtype=bool)
    nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(n_neighbors, n - 1)]
    np.put_along_axis(chosen, nearest, True, axis=1)
    W = np.zeros((n, n))
    W[chosen] = np.exp(-distances[chosen] / distances[chosen].mean())
    return np.maximum(W, W.T)


def laplacian(W):
    return np.diag(W.sum(axis=1)) - W


def row_norms(Q, eps):
    return np.sqrt((Q**2).sum(axis=1) + eps**2)


class RefinementRound:
    """One round's problem in P (d, C), with every matrix written out.

    Beside the paper, the objective has the term of nu, which the paper has in its solution only, and norms of rows are
    smoothed by eps, so that none is zero.
    """

    def __init__(self, Xl, Yl, Xu, Yu, H, S_hat, gamma1, gamma2, gamma3, nu, eps):
        self.Xl, self.Yl, self.Xu, self.Yu, self.H, self.S_hat = Xl, Yl, Xu, Yu, H, S_hat
        self.gammas, self.nu, self.eps = (gamma1, gamma2, gamma3), nu, eps

    def objective(self, P):
        """eqn:EZSL_refine."""
        g1, g2, g3 = self.gammas
        Q = self.Xu @ P - self.Yu
        return (
            0.5 * np.sum((self.Xl @ P - self.Yl) ** 2)
            + g1 / 2 * row_norms(Q, self.eps).sum()
            - g2 * np.trace(self.Yu @ self.S_hat @ P.T @ self.Xu.T)
            + g3 / 2 * np.trace(P.T @ self.Xu.T @ self.H @ self.Xu @ P)
            + self.nu / 2 * np.sum(P**2)
        )

    def gradient(self, P):
        """The derivative of the objective by P."""
        g1, g2, g3 = self.gammas
        Q = self.Xu @ P - self.Yu
        return (
            self.Xl.T @ (self.Xl @ P - self.Yl)
            + g1 / 2 * self.Xu.T @ (Q / row_norms(Q, self.eps)[:, None])
            - g2 * self.Xu.T @ self.Yu @ self.S_hat
            + g3 * self.Xu.T @ self.H @ self.Xu @ P
            + self.nu * P
        )

    def closed_form(self, D):
        """P for given D (u, u): eqn:solutionP, which minimises eqn:EZSL_refine_D."""
        g1, g2, g3 = self.gammas
        Xl, Yl, Xu, Yu = self.Xl, self.Yl, self.Xu, self.Yu
        left = Xl.T @ Xl + g1 * Xu.T @ D @ Xu + g3 * Xu.T @ self.H @ Xu + self.nu * np.eye(Xl.shape[1])
        return np.linalg.solve(left, Xl.T @ Yl + g1 * Xu.T @ D @ Yu + g2 * Xu.T @ Yu @ self.S_hat)

    def minimise(self, F, tol, max_iter):
        """Re-weighting from scores F of the unconfident samples; P and the objective after every iteration."""
        scale = len(self.Xl) / 2 + self.gammas[0] / 2 * len(self.Xu)
        objectives = []
        while True:
            D = np.diag(1 / (2 * row_norms(F - self.Yu, self.eps)))
            P = self.closed_form(D)
            F = self.Xu @ P
            objectives.append(self.objective(P))
            settled = len(objectives) > 1 and objectives[-2] - objectives[-1] <= tol * scale
            if settled or len(objectives) == max_iter or len(self.Xu) == 0 or self.gammas[0] == 0:
                return P, objectives


def refine(X, P, S, k, gamma1, gamma2, gamma3, nu, n_neighbors=10, inner_tol=1e-4, inner_iter=50, eps=1e-4):
    """alg:PRZSL. Returns labels, P, and per round (objective, labels changed, confident, unconfident)."""
    n, C = len(X), P.shape[1]
    W, S_hat = graph_weights(X, n_neighbors), transition(S)
    labels = (X @ P).argmax(axis=1)
    L, U = np.zeros(0, dtype=int), np.arange(n)
    history = []
    while len(U):
        scores = X[U] @ P
        confidence = softmax(scores, axis=1).max(axis=1)
        chosen = np.argsort(-confidence, kind="stable")[:k]
        new = scores[chosen].argmax(axis=1)
        changed = np.sum(labels[U[chosen]] != new)
        labels[U[chosen]] = new
        L, U = np.append(L, U[chosen]), np.delete(U, chosen)
        step = RefinementRound(
            X[L], one_hot(labels[L], C), X[U], one_hot(labels[U], C), laplacian(W[np.ix_(U, U)]), S_hat,
            gamma1, gamma2, gamma3, nu, eps,
        )  # fmt: skip
        P, objectives = step.minimise(X[U] @ P, inner_tol, inner_iter)
        history.append((objectives[-1], changed, len(L), len(U)))
    return labels, P, history
