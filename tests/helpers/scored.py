"""Scores of seen and unseen classes, with the literal rule of calibrated stacking."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from aezsl.evaluation.calibration import (
    seen_unseen_curve,
)
from aezsl.evaluation.metrics import accuracy, per_class_accuracy
from aezsl.evaluation.ranking import top_k


class Scored(NamedTuple):
    true: np.ndarray
    scores: np.ndarray  # (n, n_seen + n_unseen)
    n_seen: int

    @property
    def n_unseen(self):
        return self.scores.shape[1] - self.n_seen

    def rankings(self, k=1):
        return top_k(self.scores[:, : self.n_seen], k), top_k(self.scores[:, self.n_seen :], k)

    def curve(self, per_class=True):
        return seen_unseen_curve(self.true, *self.rankings(), self.n_seen, per_class)

    def calibrated(self, constant):
        return self.scores - constant * (np.arange(self.scores.shape[1]) < self.n_seen)

    def brute_force(self, constant, per_class):
        """Seen accuracy, unseen accuracy and overall accuracy of the literal rule; NaN for a side without samples."""
        predicted = self.calibrated(constant).argmax(axis=1)
        measure = per_class_accuracy if per_class else accuracy
        sides = [self.true < self.n_seen, self.true >= self.n_seen, np.ones(len(self.true), dtype=bool)]
        return [measure(self.true[side], predicted[side]) if side.any() else np.nan for side in sides]

    def all_constants(self):
        """Every difference of a seen and an unseen score, what lies between them, and beyond."""
        differences = self.scores[:, : self.n_seen, None] - self.scores[:, None, self.n_seen :]
        ties = np.unique(differences)
        return np.unique(np.concatenate([ties, (ties[1:] + ties[:-1]) / 2, [ties[0] - 1, ties[-1] + 1, 0.0]]))


def random_problem(seed, levels, n=25, n_seen=4, n_unseen=3):
    """Scores are multiples of 1/4, so that every sum in here is exact and ties of all kinds abound."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, levels, (n, n_seen + n_unseen)) / 4
    return Scored(rng.integers(0, n_seen + n_unseen, n), scores, n_seen)


problems = st.builds(
    random_problem,
    st.integers(0, 2**32 - 1),
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(1, 5),
    st.integers(1, 5),
)
both_sides = problems.filter(lambda p: 0 < np.mean(p.true < p.n_seen) < 1)
