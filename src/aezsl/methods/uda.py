"""UDA: a dictionary of semantics that is learnt from seen classes and adapted to the unlabelled pool."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from scipy.linalg import solve
from scipy.special import softmax

from aezsl.arrays import Array, Labels, unit_rows
from aezsl.kinds import Count, Fraction, NotNegative, Positive
from aezsl.methods.core.classifiers import ScoringClassifier
from aezsl.methods.core.contract import Needs
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.core.transductive import TransductiveMethod
from aezsl.methods.iap import IAP
from aezsl.methods.propagation.prototypes import Spread, or_cosines, spread_from_prototypes, spread_to
from aezsl.methods.shared.prototypes import signature_map
from aezsl.methods.shared.simplex import sparse_codes

#: Rounds end when the objective falls by less than this part of it.
SETTLED = 1e-4
#: How the fitted values of indirect attribute prediction, and the parts of a spread, are named among others.
IAP_STATE, SPREAD = "iap_", "spread_"


class Step(NamedTuple):
    """What a round leaves: dictionary (a, d), codes (m, a), and the objective."""

    dictionary: Array
    codes: Array
    objective: float


class UDA(TransductiveMethod):
    r"""Unsupervised domain adaptation for zero-shot learning (UDA), the sparse coding of Kodirov et al.

    A dictionary D (a, d) has one atom per semantic dimension: a sample is coded by its semantics. That of the seen
    classes is a ridge regression, :math:`D_s = \arg\min_D \|X - YSD\|_F^2 + \mathrm{lam} \|D\|_F^2`; that of the pool
    Z (m, d) is adapted from it, together with the samples' codes B (m, a):

    .. math::
        \min_{D, B} \|Z - BD\|_F^2 + l_1 \|D - D_s\|_F^2 + l_2 \sum_{ij} w_{ij} \|b_i - A_j\|^2 + l_3 \|B\|_1

    with B not negative where the semantics are attributes. :math:`w_{ij}` is the probability of target class j with
    semantics :math:`A_j` given sample i by indirect attribute prediction, and stays. Two steps in turn, neither of
    which raises the objective, until it settles:

    .. math:: D = (B'B + l_1 I)^{-1} (B'Z + l_1 D_s), \qquad
              b_i = \arg\min_b b'(DD' + l_2 I)b - 2 b'(Dz_i + l_2 A'w_i) + l_3 \|b\|_1

    It starts from codes by :math:`D_s` without the prototypes (:math:`l_2 = 0`). Codes then take the class of the
    nearest prototype by cosine, or the one that label propagation from the prototypes brings to them
    (``propagation/prototypes.py``). Other samples are coded by the adapted dictionary; propagation reaches them through
    their neighbours in the pool.

    Confirmed by the paper, read in full: all of the objective and both steps, weights from indirect attribute
    prediction, the sign of codes, nearest prototype and propagation, which is its default. Confirmed by code of the
    propagation's authors (Fu et al.): unit length, the kernel with the median of squared distances, 30 neighbours and
    more for prototypes, alpha 0.5. Inferred: the dictionary of the first codes, which the paper leaves open, and how
    samples outside the pool are labelled. Its four weights are not printed ("insensitive"); two are searched here. Nor
    is it said how features and semantics are scaled; l2 and l3 weigh against the square of the features' length.

    What differs: the paper bounds the atoms' length by one in the objective, but not in its update of D; here they
    are not bounded, as projecting them can raise the objective. Codes are found by proximal gradients to ``code_tol``,
    not by a path of the lasso. The regression behind w is one over all seen classes (see IAP), and ``temperature``
    softens it, which is 1 in the paper. The median is taken over the pairs of at most 1,000 rows. The paper joins
    several kinds of semantics by the mean of their distances or graphs; here there is one. Five rounds at most, after
    which it has settled according to the paper.

    Parameters
    ----------
    l1 : float
        Weight of the source dictionary; must be positive.
    l2 : float
        Weight of the prototypes, against the eigenvalues of DD'; not negative.
    l3 : float
        Weight of sparsity; not negative.
    lam : float
        Weight of the source dictionary's own norm; must be positive.
    C : float
        Inverse strength of regularisation in indirect attribute prediction; must be positive.
    temperature : float
        Divides the log-probabilities of indirect attribute prediction; must be positive.
    codes : {"auto", "nonnegative", "free"}
        The sign of codes; ``auto``: nonnegative where the seen semantics are.
    decide : {"propagation", "nearest"}
        How codes become labels.
    n_neighbors : int
        Links of a sample in the graph of propagation.
    alpha : float
        What propagation takes from neighbours, between 0 and 1.
    max_rounds : int
        Rounds at most.
    code_tol, code_iterations : float, int
        A sample's code is done when it moves less than this part of the largest entry, or after so many steps.

    """

    l1: Positive = 1.0
    l2: NotNegative = 0.01
    l3: NotNegative = 1e-4
    lam: Positive = 10.0
    C: Positive = 1.0
    temperature: Positive = 1.0
    codes: Literal["auto", "nonnegative", "free"] = "auto"
    decide: Literal["propagation", "nearest"] = "propagation"
    n_neighbors: Count = 30
    alpha: Fraction = 0.5
    max_rounds: Count = 5
    code_tol: Positive = 1e-3
    code_iterations: Count = 100

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "lam": [1.0, 10.0, 30.0],  # for features and semantics of unit length
        "l2": [0.01, 0.03, 0.1],
        "n_neighbors": [10, 30],  # the paper searches it, too
    }
    citation: ClassVar[str] = (
        "E. Kodirov, T. Xiang, Z. Fu and S. Gong. Unsupervised domain adaptation for zero-shot learning. ICCV 2015."
    )
    needs: ClassVar[Needs] = "samples"
    against_collapse: ClassVar[str] = "a larger l1 keeps the dictionary nearer to that of the seen classes"

    D_: Array
    iap_W_: Array
    nonnegative_: int

    def _fit(self, seen: SeenData) -> None:
        self.D_ = seen.once(("uda", self.lam), lambda: signature_map(seen.S, seen.statistics, self.lam))
        self.nonnegative_ = int(bool((seen.S >= 0).all()) if self.codes == "auto" else self.codes == "nonnegative")
        for name, value in IAP(C=self.C).fit_seen(seen).get_state().items():
            setattr(self, f"{IAP_STATE}{name}", value)

    def posteriors(self, X: Array, A: Array) -> Array:
        """Probabilities (m, C) of the classes with semantics A by indirect attribute prediction."""
        state = {key.removeprefix(IAP_STATE): v for key, v in self.get_state().items() if key.startswith(IAP_STATE)}
        scores = IAP(C=self.C).set_state(state).adapt_to(Targets(A)).scores(X)
        probabilities: Array = softmax(scores / self.temperature, axis=1)
        return probabilities

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[ScoringClassifier, LabelHistory]:
        D, A = self.D_, S_target
        if not len(pool):
            parts = {"dictionary": D, "prototypes": A}
            return ScoringClassifier(self, targets.S, parts), LabelHistory(np.empty(0, dtype=np.int64))
        w = targets.once(self.iap_W_, ("uda", self.temperature), lambda: self.posteriors(pool, A))
        codes = self.l3, self.nonnegative_, self.code_tol, self.code_iterations
        first = targets.once(self.D_, ("uda codes", *codes), lambda: self._first_codes(pool))
        steps: Iterable[Step] = self._steps(pool, A, w, first)
        if targets.n_models > 1:  # points that differ in what comes behind the codes share them
            form = self.l1, self.l2, self.C, self.temperature, self.max_rounds, *codes
            steps = targets.once(self.D_, ("uda steps", *form), lambda: list(self._steps(pool, A, w, first)))
        labels, spread = self._decided(first, A)
        history = LabelHistory(labels)
        for step in steps:
            labels, spread = self._decided(step.codes, A)
            history.record(labels, objective=step.objective)
        parts = {
            "dictionary": step.dictionary,
            "prototypes": A,
            **{f"{SPREAD}{name}": part for name, part in spread.items()},
        }
        return ScoringClassifier(self, targets.S, parts), history

    def _first_codes(self, pool: Array) -> Array:
        nothing = np.zeros((len(pool), len(self.D_)))
        return self._coded(pool, self.D_, 0.0, nothing, nothing)

    def _steps(self, pool: Array, A: Array, w: Array, B: Array) -> Iterator[Step]:
        """Round by round, until the objective settles."""
        pull, before = w @ A, np.inf
        for _ in range(self.max_rounds):
            D = self._dictionary(pool, B)
            B = self._coded(pool, D, self.l2, pull, B)
            value = self.objective(pool, D, B, w, A)
            yield Step(D, B, value)
            if before - value <= SETTLED * value:
                break
            before = value

    def objective(self, Z: Array, D: Array, B: Array, w: Array, A: Array) -> float:
        """What the rounds minimise; rows of w sum to one, so no (m, C, a) array is needed."""
        to_prototypes = np.square(B).sum() - 2 * np.vdot(B, w @ A) + w.sum(axis=0) @ np.square(A).sum(axis=1)
        adapted = np.square(D - self.D_).sum()
        error = np.square(Z - B @ D).sum()
        return float(error + self.l1 * adapted + self.l2 * to_prototypes + self.l3 * np.abs(B).sum())

    def _dictionary(self, Z: Array, B: Array) -> Array:
        gram = B.T @ B
        gram[np.diag_indices_from(gram)] += self.l1
        D: Array = solve(gram, B.T @ Z + self.l1 * self.D_, assume_a="pos")
        return D

    def _coded(self, Z: Array, D: Array, l2: float, pull: Array, start: Array) -> Array:
        """The codes B (m, a); one Gram matrix serves all samples."""
        gram = D @ D.T
        gram[np.diag_indices_from(gram)] += l2
        linear = Z @ D.T + l2 * pull
        positive = bool(self.nonnegative_)
        return sparse_codes(gram, linear, self.l3, start, positive, self.code_tol, self.code_iterations)

    def _decided(self, B: Array, A: Array) -> tuple[Labels, dict[str, Array]]:
        """The labels of codes, and what propagation leaves for samples outside the pool."""
        cosines = unit_rows(B) @ unit_rows(A).T
        if self.decide == "nearest":
            return cosines.argmax(axis=1), {}
        spread = spread_from_prototypes(B, A, self.n_neighbors, self.alpha)
        return or_cosines(spread.labels[: len(B)], cosines).argmax(axis=1), spread._asdict()

    def _scores(self, X: Array, dictionary: Array, prototypes: Array, **spread: Array) -> Array:  # type: ignore[override]
        pull = self.posteriors(X, prototypes) @ prototypes
        B = self._coded(X, dictionary, self.l2, pull, np.zeros((len(X), len(dictionary))))
        if not spread:
            return unit_rows(B) @ unit_rows(prototypes).T
        found = Spread(**{name.removeprefix(SPREAD): part for name, part in spread.items()})
        return spread_to(B, found, self.n_neighbors)
