r"""Balanced propagation: labels of a pool from scores, neighbours and class totals, by one objective.

Given scores G (m, C) of the start, every class at mean 0 and deviation 1, a symmetric neighbour graph, normalised to S
(m, m), rows X (m, d) of unit length, prototypes p_c (C, d), and shares q (C,) of the classes, find soft labels R (m,
C), rows on the simplex, and class directions M (C, d), rows of unit length:

.. math::
    J(R, M) = \underbrace{\sum_{ic} r_{ic} \log r_{ic}}_{\text{entropy}}
    - \underbrace{\beta \langle R, G \rangle}_{\text{start}}
    + \underbrace{\tfrac\mu2 \bigl(m - \langle R, S R \rangle\bigr)}_{\text{graph}}
    - \underbrace{\gamma \sum_c \langle m_c,\, \kappa_c p_c + \textstyle\sum_i r_{ic} x_i \rangle}_{\text{classes}}
    + \underbrace{\tau\, \mathrm{KL}(R'1 \,\|\, m q)}_{\text{class totals}}

with :math:`\mathrm{KL}(n \| t) = \sum_c n_c \log(n_c / t_c) - n_c + t_c`. The temperature of the entropy is one: it
sets the unit of the weights. The classes' term is spherical k-means whose centres begin at :math:`p_c`, worth
:math:`\kappa_c` images: those of unseen classes are predicted from semantics, those of seen classes, which are targets
in the generalized setting, are the means of their images and worth more. Its best M is
:math:`m_c \propto \kappa_c p_c + \sum_i r_{ic} x_i`. For hard labels the
graph term is the usual smoothness :math:`\tfrac\mu4 \sum_{ij} w_{ij} |r_i / \sqrt{d_i} - r_j / \sqrt{d_j}|^2`; for
soft ones it lacks :math:`\|R\|^2`, and so does not reward undecided labels, as the convex form does.

**Labelled samples** may be nodes of the graph beside the pool: rows of R that are fixed, one-hot Y (l, C). With the
graph of all m + l nodes in blocks, S between samples of the pool and B (m, l) from them to labelled ones, the graph's
term of all rows is :math:`\tfrac\mu2 (m - \langle R, S R \rangle) - \mu \langle R, B Y \rangle` and a constant.
So labelled nodes enter as one fixed matrix :math:`B Y` (m, C), whatever their number, and rounds cost what they cost
without. They are not part of the pool: class totals do not count them; the classes' term has them in :math:`p_c`.

**Minimisation** by turns. M in closed form. For R the graph term is replaced by its tangent. What remains, with
:math:`A = \beta G + \mu (S R + B Y) + \gamma X M'`, is transport with soft column totals, solved by scaling:

.. math::
    r_{ic} = \frac{e^{a_{ic}} b_c}{\sum_k e^{a_{ik}} b_k}, \qquad
    b_c = \Bigl(\frac{m q_c}{\sum_i e^{a_{ic}} / \sum_k e^{a_{ik}} b_k}\Bigr)^{\rho},
    \qquad \rho = \frac{\tau}{1 + \tau}

:math:`\rho` is ``balance``: 0 ignores class totals, 1 enforces them. Shares may be found together with the labels: J is
minimised over all q with :math:`\sum_c q_c^2 \le h`, the concentration that the images of the pool show (``shares``).
In its turn q is the shares in use where these are even enough, and else the nearest that are
(``shares.nearest_shares``). The least h, 1 / C, makes all classes alike; with the greatest, 1, nothing is asked of q.
Where classes stand on two sides, seen and unseen, nothing is known of how the pool is shared between the sides:
classes are alike within each, and q in its turn gives every side what its classes have in R, the least of the
class totals' term over all q that are constant on each side.

**Descent.** Let R+ be the minimiser of a step and :math:`\Delta = R^+ - R`. The tangent problem is convex and
contains the entropy, so it falls by at least :math:`\mathrm{KL}(R \| R^+) \ge \|\Delta\|^2` (Pinsker; the rows of
:math:`\Delta` sum to zero), while the tangent errs by at most :math:`\tfrac\mu2 \lambda \|\Delta\|^2` with
:math:`\lambda = \max(0, -\lambda_{\min}(S)) \le 1`. So J never rises where :math:`\mu \lambda \le 2`. Beyond, an
inertia :math:`\eta\, \mathrm{KL}(\cdot \| R)` is added to the step, which raises the guaranteed fall to :math:`(1 +
\eta - \tfrac\mu2 \lambda) \|\Delta\|^2` and moves no stationary point. The code begins without inertia and adds it
only where J would rise; :math:`\eta = \mu/2 - 1` always suffices. Nothing of this changes where S is a block of a
larger graph: its eigenvalues lie between those of the whole.

**Limits** (gamma = 0). mu = 0: balanced assignment of the start (entropic transport; Sinkhorn where balance = 1).
balance = 1 and q uniform: a plan with rows of 1 and columns of m / C. beta towards infinity with balance < 1: the
argmax of G. balance = 0: :math:`R = \mathrm{softmax}(\beta G + \mu S R)`, mean-field label propagation, which for
small beta is the label propagation of Zhou et al. (2004).
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from aezsl.arrays import Array, Labels, Mask
from aezsl.methods.propagation.shares import nearest_shares

TINY = np.finfo(np.float64).tiny


class Weights(NamedTuple):
    """beta of the start, mu of the graph, gamma of the classes, kappa of their prototypes, and rho, the balance."""

    start: float
    graph: float
    classes: float
    prototypes: float
    balance: float

    @property
    def tau(self) -> float:
        """Weight of the penalty on class totals."""
        return self.balance / (1 - self.balance) if self.balance < 1 else np.inf


@dataclass(frozen=True)
class Objective:
    """J as a function of R. X and prototypes: unit rows, or None without the classes' term."""

    G: Array
    S: csr_array
    q: Array
    weights: Weights
    X: Array | None = None
    prototypes: Array | None = None
    concentration: float | None = None  # the most that q'q may be, where q is found together with the labels
    kappa: Array | None = None  # (C,) what each prototype is worth; weights.prototypes for all of them where None
    is_seen: Mask | None = None  # (C,) the side of every class; None where all are on one
    labelled: Array | None = None  # (m, C) B Y: the links of every sample to labelled nodes, class by class

    def directions(self, R: Array) -> tuple[Array, float]:
        """The best M (C, d) for R, and the classes' term of J there, counted from its least possible value."""
        m, C = R.shape
        if self.X is None or self.weights.classes == 0:
            return np.zeros((C, 0)), 0.0
        sums, prior = np.asarray(R.T.astype(self.X.dtype) @ self.X, dtype=np.float64), 0.0
        if self.prototypes is not None:
            kappa = np.full(C, self.weights.prototypes) if self.kappa is None else self.kappa
            sums += kappa[:, None] * self.prototypes
            prior = float(kappa.sum())
        lengths = np.linalg.norm(sums, axis=1, keepdims=True)
        return sums / np.maximum(lengths, TINY), self.weights.classes * (m + prior - float(lengths.sum()))

    def logits(self, SR: Array, M: Array) -> Array:
        """A (m, C): what all terms but the totals say about every sample and class."""
        A: Array = self.weights.start * self.G + self.weights.graph * SR
        if self.labelled is not None:
            A += self.weights.graph * self.labelled
        if M.shape[1]:
            assert self.X is not None  # directions are of these rows
            A += self.weights.classes * (self.X @ M.T.astype(self.X.dtype))
        return A

    def with_shares(self, R: Array) -> "Objective":
        """The best q for R, where shares of classes or of sides are found."""
        if self.weights.balance == 0:
            return self
        shares = R.sum(axis=0) / len(R)
        if self.concentration is not None:
            return replace(self, q=np.maximum(nearest_shares(shares, self.concentration), TINY))
        if self.is_seen is not None:
            sides = (shares[self.is_seen].mean(), shares[~self.is_seen].mean())
            return replace(self, q=np.maximum(np.where(self.is_seen, *sides), TINY))
        return self

    def totals(self, R: Array) -> float:
        """The term of the class totals; zero where they are enforced."""
        tau, m = self.weights.tau, len(R)
        if not np.isfinite(tau):
            return 0.0
        n = R.sum(axis=0)
        return tau * float((n * np.log(np.maximum(n, TINY) / (m * self.q)) - n + m * self.q).sum())

    def value(self, R: Array, SR: Array | None = None) -> float:
        """J at R with the best M."""
        SR = self.S @ R if SR is None else SR
        positive = R[R > 0]
        graph = self.weights.graph * (len(R) - float(np.vdot(R, SR))) / 2
        if self.labelled is not None:
            graph -= self.weights.graph * float(np.vdot(R, self.labelled))
        start = self.weights.start * float(np.vdot(R, self.G))
        entropy = float((positive * np.log(positive)).sum())
        return entropy - start + graph + self.directions(R)[1] + self.totals(R)


class Assignment(NamedTuple):
    """Soft labels, their logarithm, and the log factors v (C,) of the classes."""

    R: Array
    log_R: Array
    v: Array


class Propagation(NamedTuple):
    """Where the minimisation ended, and the labels and the objective after every round."""

    R: Array
    log_R: Array
    M: Array
    v: Array
    rounds: list[tuple[Labels, float]]


def propagate(objective: Objective, max_rounds: int = 50, settle: float = 1e-4) -> Propagation:
    """Minimise J from the balanced assignment of the start, until a round gains less than ``settle`` per sample."""
    m, weights = len(objective.G), objective.weights
    state = _step(objective, weights.start * objective.G, None, 0.0)
    SR = objective.S @ state.R
    objective = objective.with_shares(state.R)
    J = objective.value(state.R, SR)
    rounds = [(state.R.argmax(axis=1), J)]
    inertia = 0.0
    while len(rounds) < max_rounds and (weights.graph > 0 or weights.classes > 0):
        M, _ = objective.directions(state.R)
        A = objective.logits(SR, M)
        while True:
            new = _step(objective, A, state, inertia)
            new_SR = objective.S @ new.R
            fall = J - objective.value(new.R, new_SR)
            if fall >= 0 or inertia >= weights.graph / 2:
                break
            inertia = min(2 * inertia + 0.5, weights.graph / 2)
        if fall < 0:  # rounding: J cannot be lowered any more
            break
        state, SR, last = new, new_SR, J
        objective = objective.with_shares(state.R)
        J = objective.value(state.R, SR)
        rounds.append((state.R.argmax(axis=1), J))
        if last - J < settle * m:
            break
    return Propagation(state.R, state.log_R, objective.directions(state.R)[0], state.v, rounds)


def _step(objective: Objective, A: Array, old: Assignment | None, inertia: float) -> Assignment:
    """One assignment for the logits A, with inertia towards the old one."""
    weights, m = objective.weights, len(A)
    rho = 1.0 if weights.balance == 1 else weights.tau / (weights.tau + 1 + inertia)
    v = np.zeros(A.shape[1]) if old is None else old.v
    logits = A if old is None or inertia == 0 else (A + inertia * old.log_R) / (1 + inertia)
    found = assign(logits, m * objective.q, rho, v / (1 + inertia))
    return found._replace(v=found.v * (1 + inertia))


def assign(A: Array, totals: Array, rho: float, v: Array, tol: float = 1e-6, max_iter: int = 500) -> Assignment:
    """Transport of rows to classes with soft totals (C,) at temperature one, from log factors v (C,) of the classes."""
    top = (A + v).max(axis=1, keepdims=True)
    E = np.exp(A + v - top)
    b = np.ones(len(v))
    for _ in range(max_iter if rho > 0 else 0):
        reached = (1 / (E @ b)) @ E  # what a class would get without its factor b; v is inside E
        wanted = rho * (np.log(totals / np.maximum(reached, TINY)) + v) - v
        new = np.exp(np.clip(wanted, -600, 600))
        moved = np.abs(np.log(new / b)).max()
        b = new
        if moved < tol:
            break
    v = v + np.log(b)
    R = E * b
    sums = R.sum(axis=1, keepdims=True)
    return Assignment(R / sums, A + v - top - np.log(sums), v)
