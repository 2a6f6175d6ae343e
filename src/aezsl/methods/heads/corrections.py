r"""A folder of photos whose names somebody corrects: corrected photos are labelled nodes, the others follow.

With corrected photos K, one-hot :math:`Y` (k, L), balanced propagation runs over the others. Their graph is a block of
the folder's. Links to corrected photos enter as :math:`\omega B Y` (see ``aezsl.methods.propagation.balanced``), and
the direction of a label begins at :math:`\kappa q_l + \omega \sum_{i \in K} y_{il} x_i`: a photo that somebody has
named is worth :math:`\omega` that were guessed. Class totals are of the other photos. So names depend on which
corrections there are, not on their order, and without any they are what they were.

**What corrections teach.** They change the classifiers of the labels, too. A ridge regression finds what the scores
have missed, from the direction of a photo, and adds it to the scores of every photo:

.. math:: F' = F + \epsilon\, X X_K' (X_K X_K' + \lambda I)^{-1} (Y - \mathrm{softmax}(F_K))

So photos that resemble a corrected one follow it even where no neighbour links them.

**None of these** is one more class as soon as a photo was corrected to it. It has no prototype, and is as probable from
the start as the threshold of "none of these": :math:`F_{i0} = \log \sum_l e^{F_{il}} + \log \theta`.

**Which to ask next.** Labels that spread along the graph from photo j reach photo i by :math:`C_{ij}`,
:math:`C = (I - \alpha S)^{-1}`. As the covariance of a Gaussian field C says how much of the doubt about i is gone when
j is known. The photo to ask is

.. math:: \arg\max_j\; u_j \sum_i u_i\, C_{ij}^2 / C_{jj}

with :math:`u_i = 1 - \sum_l r_{il} p_{il}`, :math:`p_i = \mathrm{softmax}(F'_i)`: how far the name that the folder
gives to photo i is not what the photo by itself would be called. C is conditioned on the photos that are corrected, and
on those that are asked before.

**Which description to improve.** The same doubt, by pairs of labels: :math:`\sum_i r_{ia} p_{ib} + r_{ib} p_{ia}`. What
tells two labels apart are the known classes that one of them covers and the other does not.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from aezsl.arrays import Array, Labels, Mask, unit_rows
from aezsl.evaluation.confidence import NOTHING
from aezsl.methods.core.classifiers import ScoringClassifier
from aezsl.methods.propagation.balanced import TINY, Objective, Weights, propagate

#: omega: guessed photos that a corrected one is worth. This, what is taught and alpha were chosen on folders of other
#: classes than those that are measured (``python -m tests.benchmarks.bench_corrections choose`` compares others).
WORTH = 3.0

#: epsilon and lambda: how much corrections change the classifiers of the labels, and how smooth that change is.
TAUGHT, RIDGE = 10.0, 1.0

#: alpha: how far a photo says something of others.
REACH = 0.99

#: Of the photos, that a label is expected to have at least.
LEAST_SHARE = 1e-4

#: The logarithm of a probability of zero, in single precision.
NEVER = float(np.log(np.finfo(np.float32).tiny))

#: Photos among which the next ones to ask are looked for: those in most doubt.
ASKED_AMONG = 2_000


class Solved(NamedTuple):
    """Labels of a folder; the last column is "none of these" where a photo was corrected so."""

    log_R: Array  # (m, L) or (m, L + 1)
    M: Array  # directions of the labels
    v: Array  # their log factors
    taught: Array  # (d, L) or (d, L + 1) what was added to their classifiers
    rounds: list[tuple[Labels, float]]


@dataclass(frozen=True)
class Folder:
    """All that the names of a folder rest on beside corrections: computed once."""

    start: ScoringClassifier  # names every photo by itself
    reason: str | None  # why names stay so, as long as nobody corrects one
    F: Array  # (m, L) its scores
    S: csr_array  # (m, m) the graph
    X: Array  # (m, d) features less their mean, at unit length
    centre: Array  # (d,) that mean
    prototypes: Array  # (L, d)
    weights: Weights
    shares: Array | None  # (L,) of the labels; None: expected from the scores
    max_rounds: int
    settle: float
    _lately: dict[tuple[frozenset[tuple[int, int]], float], Solved] = field(default_factory=dict)

    def solve(self, corrections: Mapping[int, int], threshold: float = 0.5) -> Solved:
        """Labels of all photos; the last ones are kept.

        corrections : row -> number of its label, or ``NOTHING``. threshold : theta.
        """
        key = frozenset(corrections.items()), threshold
        found = self._lately.get(key) or self._solve(corrections, threshold)
        self._lately.clear()
        self._lately[key] = found
        return found

    def _solve(self, corrections: Mapping[int, int], threshold: float) -> Solved:
        F, prototypes, shares = self._scores(corrections, threshold), self.prototypes, self.shares
        if F.shape[1] > self.F.shape[1]:
            prototypes = np.vstack([prototypes, np.zeros(prototypes.shape[1])])
            shares = None if shares is None else np.append(shares, shares.mean())
        known = np.array(sorted(corrections), dtype=int)
        free = np.setdiff1d(np.arange(len(F)), known)
        Y = np.eye(F.shape[1])[[corrections[i] for i in known]]  # NOTHING is the last one
        taught = self._taught(F, known, Y)
        log_R = np.empty_like(F)
        log_R[known] = np.where(Y, 0.0, NEVER)
        if not len(free):
            return Solved(log_R, unit_rows(Y.T @ self.X[known]), np.zeros(F.shape[1]), taught, [])
        if len(known):
            F = F + self.X @ taught
        if shares is None:
            shares = expected_shares(F[free])
        links = csr_array(self.S[free])
        block = csr_array(links[:, free])
        objective = Objective(F[free], block, shares, self.weights, self.X[free], prototypes)
        if len(known):
            sums = self.weights.prototypes * prototypes + WORTH * (Y.T @ self.X[known])
            kappa = np.linalg.norm(sums, axis=1)
            begun = sums / np.maximum(kappa, TINY)[:, None]
            labelled = WORTH * (csr_array(links[:, known]) @ Y)
            objective = replace(objective, prototypes=begun, kappa=kappa, labelled=labelled)
        found = propagate(objective, self.max_rounds, self.settle)
        log_R[free] = found.log_R
        labels = log_R[:, : self.F.shape[1]].argmax(axis=1)
        rounds = [(labels, found.rounds[-1][1])] if corrections else found.rounds
        return Solved(log_R, found.M, found.v, taught, rounds)

    def _scores(self, corrections: Mapping[int, int], threshold: float) -> Array:
        """F, with a column of "none of these" where a photo was corrected so."""
        if NOTHING not in corrections.values():
            return self.F
        return np.column_stack([self.F, logsumexp(self.F, axis=1) + np.log(threshold)])

    def _taught(self, F: Array, known: Labels, Y: Array) -> Array:
        """What is added to the classifiers (d, L)."""
        X = self.X[known]
        missed = Y - softmax(F[known], axis=1)
        found: Array = TAUGHT * X.T @ np.linalg.solve(X @ X.T + RIDGE * np.eye(len(known)), missed)
        return found

    def doubt(self, corrections: Mapping[int, int], threshold: float = 0.5) -> Array:
        """How far the folder's name of every photo is not the photo's own (m,)."""
        R, own = self._both(corrections, threshold)
        found: Array = 1 - (R * own).sum(axis=1)
        return found

    def confused(self, corrections: Mapping[int, int], threshold: float = 0.5) -> Array:
        """How many photos (L, L), above the diagonal, have one of two labels in the folder and the other one alone.

        All pairs together, and those with "none of these", are the doubt about photos that nobody has corrected.
        """
        free, L = np.setdiff1d(np.arange(len(self.F)), list(corrections)), self.F.shape[1]
        R, own = (side[free, :L] for side in self._both(corrections, threshold))
        found: Array = np.triu(R.T @ own + own.T @ R, k=1)
        return found

    def neighbours(self, row: int, n: int = 10) -> list[int]:
        """The photos that are linked with one most, at most n."""
        links = self.S[[row]].tocoo()
        found: list[int] = links.col[np.argsort(-links.data, kind="stable")[:n]].tolist()
        return found

    def alone(self, corrections: Mapping[int, int], threshold: float = 0.5) -> Array:
        """The scores of every photo by itself, as it was taught: (m, L) or (m, L + 1)."""
        return self._scores(corrections, threshold) + self.X @ self.solve(corrections, threshold).taught

    def _both(self, corrections: Mapping[int, int], threshold: float) -> tuple[Array, Array]:
        """The labels of all photos as the folder gives them, and of every photo by itself."""
        log_R = self.solve(corrections, threshold).log_R
        return np.exp(log_R), softmax(self.alone(corrections, threshold), axis=1)

    @cached_property
    def _dependence(self) -> tuple[Labels, Array]:
        """The photos among which is asked, and C of them."""
        alone = softmax(self.F, axis=1).max(axis=1)
        rows = np.sort(np.argsort(alone, kind="stable")[:ASKED_AMONG])
        block = csr_array(csr_array(self.S[rows])[:, rows]).toarray()
        return rows, np.linalg.inv(np.eye(len(rows)) - REACH * block)

    def ask(self, corrections: Mapping[int, int], n: int = 3, threshold: float = 0.5) -> list[int]:
        """The n photos worth a look, where some are corrected."""
        rows, C = self._dependence
        u, left = self.doubt(corrections, threshold)[rows], np.ones(len(rows), dtype=bool)
        C = _conditioned(C, left, np.flatnonzero(np.isin(rows, list(corrections))))
        asked: list[int] = []
        while len(asked) < n and left.any():
            worth = np.where(left, u * (np.square(C) @ u) / np.diag(C), -1.0)
            best = int(worth.argmax())
            asked.append(int(rows[best]))
            C = _conditioned(C, left, np.array([best]))
        return asked


def expected_shares(F: Array) -> Array:
    """The shares (L,) of the labels; none is so small that no photo could be found to show it."""
    shares = np.maximum(softmax(F, axis=1).mean(axis=0), LEAST_SHARE)
    expected: Array = shares / shares.sum()
    return expected


def _conditioned(C: Array, left: Mask, known: Labels) -> Array:
    """C once some more photos are known; they are not left."""
    found: Array = C - C[:, known] @ np.linalg.solve(C[np.ix_(known, known)], C[known])
    found[known], found[:, known], found[known, known] = 0.0, 0.0, 1.0
    left[known] = False
    return found
