r"""A folder of photos whose names somebody corrects: corrected photos are labelled nodes, the others follow.

With corrected photos K, one-hot :math:`Y` (k, L), balanced propagation runs over the others. Their graph is a block of
the folder's. Links to corrected photos enter as :math:`\omega B Y` (see ``aezsl.methods.propagation.balanced``), and
the direction of a label begins at :math:`\kappa q_l + \omega \sum_{i \in K} y_{il} x_i`: a photo that somebody has
named is worth :math:`\omega` that were guessed. Class totals are of the other photos. So names depend on which
corrections there are, not on their order, and without any they are what they were.

**None of these** is one more class as soon as a photo was corrected to it. It has no prototype, and is as probable from
the start as the threshold of "none of these": :math:`F_{i0} = \log \sum_l e^{F_{il}} + \log \theta`.

**Which to ask next.** Labels that spread along the graph from photo j reach photo i by :math:`C_{ij}`,
:math:`C = (I - \alpha S)^{-1}`. As the covariance of a Gaussian field C says how much of the doubt about i is gone when
j is known. The photo to ask is

.. math:: \arg\max_j\; u_j \sum_i u_i\, C_{ij}^2 / C_{jj}

with :math:`u_i` the doubt about photo i by itself, one minus the probability of its best label. C is conditioned on the
photos that are corrected, and on those that are asked before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import logsumexp, softmax

from aezsl.arrays import Array, Labels, Mask, unit_rows
from aezsl.evaluation.confidence import NOTHING
from aezsl.methods.core.classifiers import ScoringClassifier
from aezsl.methods.propagation.balanced import TINY, Objective, Weights, propagate

#: omega: guessed photos that a corrected one is worth.
WORTH = 3.0

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

    def solve(self, corrections: Mapping[int, int], threshold: float = 0.5) -> Solved:
        """Labels of all photos.

        corrections : row -> number of its label, or ``NOTHING``. threshold : theta.
        """
        F, prototypes, shares = self.F, self.prototypes, self.shares
        if NOTHING in corrections.values():
            F = np.column_stack([F, logsumexp(F, axis=1) + np.log(threshold)])
            prototypes = np.vstack([prototypes, np.zeros(prototypes.shape[1])])
            shares = None if shares is None else np.append(shares, shares.mean())
        known = np.array(sorted(corrections), dtype=int)
        free = np.setdiff1d(np.arange(len(F)), known)
        Y = np.eye(F.shape[1])[[corrections[i] for i in known]]  # NOTHING is the last one
        log_R = np.empty_like(F)
        log_R[known] = np.where(Y, 0.0, NEVER)
        if not len(free):
            return Solved(log_R, unit_rows(Y.T @ self.X[known]), np.zeros(F.shape[1]), [])
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
        return Solved(log_R, found.M, found.v, rounds)

    @cached_property
    def doubt(self) -> Array:
        """How doubtful the name of every photo by itself is (m,)."""
        found: Array = 1 - softmax(self.F, axis=1).max(axis=1)
        return found

    @cached_property
    def _dependence(self) -> tuple[Labels, Array]:
        """The photos among which is asked, and C of them."""
        rows = np.sort(np.argsort(-self.doubt, kind="stable")[:ASKED_AMONG])
        block = csr_array(csr_array(self.S[rows])[:, rows]).toarray()
        return rows, np.linalg.inv(np.eye(len(rows)) - REACH * block)

    def ask(self, known: Iterable[int], n: int = 3) -> list[int]:
        """The n photos worth a look, where some are known."""
        rows, C = self._dependence
        u, place = self.doubt[rows], {row: i for i, row in enumerate(rows.tolist())}
        C, left = C.copy(), np.ones(len(rows), dtype=bool)
        for row in known:
            if row in place:
                _condition(C, left, place[row])
        asked: list[int] = []
        while len(asked) < n and left.any():
            worth = np.where(left, u * (np.square(C) @ u) / np.diag(C), -1.0)
            best = int(worth.argmax())
            asked.append(int(rows[best]))
            _condition(C, left, best)
        return asked


def expected_shares(F: Array) -> Array:
    """The shares (L,) of the labels; none is so small that no photo could be found to show it."""
    shares = np.maximum(softmax(F, axis=1).mean(axis=0), LEAST_SHARE)
    expected: Array = shares / shares.sum()
    return expected


def _condition(C: Array, left: Mask, i: int) -> None:
    """C and what is left of the photos once photo i is known."""
    C -= np.outer(C[:, i], C[i] / C[i, i])
    C[i], C[:, i], C[i, i] = 0.0, 0.0, 1.0
    left[i] = False
