"""The zero-shot problem: seen data to learn from and test data to label, as arrays."""

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np

from aezsl.arrays import Array, Labels, Mask
from aezsl.data.normalise import NOTHING, PARTS, Normalisation, Normaliser, fit_normaliser, given_beside, in_words
from aezsl.errors import DataError
from aezsl.machine.workers import Once

#: Rows that are handled together where a matrix may be too large for memory.
BLOCK = 2048


class SeenArrays(NamedTuple):
    """Seen classes and their samples."""

    X: Array  # (n, d)
    y: Labels  # (n,) row numbers of S
    S: Array  # (Cs, a)
    given: Array | None = None  # (Cs, b) semantics as they were given, where S has been moved


@dataclass(frozen=True)
class Problem:
    """Seen data to learn from, test data to label. Labels are 0-based row numbers.

    In the setting ``zsl`` the targets are the unseen classes, in ``gzsl`` the seen classes followed by the
    unseen ones; ``y_test`` numbers the targets, and is -1 for an image whose label is not known.
    In the setting ``zsl`` there may be no test image at all: a model can be trained for images that are yet to come.

    Vectors are normalised, unless there are alternatives (``ways``): then they are as their encoders gave them, every
    method chooses a normalisation (``normalisations``) and works on the problem in it (``normalised``).
    """

    setting: str
    X_train: Array  # (n, d)
    y_train: Labels  # (n,) rows of S_seen
    S_seen: Array  # (Cs, a)
    seen_names: list[str]
    X_test: Array  # (m, d)
    y_test: Labels  # (m,) rows of S_target, or -1
    S_unseen: Array  # (Ct, a)
    unseen_names: list[str]
    test_ids: list[str]
    feature_normaliser: Normaliser = field(default_factory=Normaliser)  # what the features have been through
    semantic_normaliser: Normaliser = field(default_factory=Normaliser)
    ways: dict[str, list[list[str]]] = field(default_factory=dict)  # alternatives for each of PARTS, or none at all
    #: (Cs + Ct, a) semantics of seen and unseen classes as they were given, where normalised ones point elsewhere
    given: Array | None = None
    shared: Once = field(default_factory=Once, repr=False, compare=False)  # decompositions that all methods use

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Itself: a problem never changes, and its features may be a file larger than the memory."""
        return self

    @property
    def S_target(self) -> Array:
        """Semantics of the classes among which test images are told apart."""
        return self.S_unseen if self.setting == "zsl" else np.vstack([self.S_seen, self.S_unseen])

    @property
    def given_seen(self) -> Array | None:
        """As they were given, the semantics of the seen classes; None where S_seen are."""
        return None if self.given is None else self.given[: len(self.S_seen)]

    @property
    def given_target(self) -> Array | None:
        """The same of the classes among which test images are told apart."""
        return None if self.given is None else self.given[len(self.S_seen) if self.setting == "zsl" else 0 :]

    @property
    def seen_data(self) -> SeenArrays:
        """What methods learn from."""
        return SeenArrays(self.X_train, self.y_train, self.S_seen, self.given_seen)

    @property
    def target_names(self) -> list[str]:
        """Their names, in the same order."""
        return self.unseen_names if self.setting == "zsl" else self.seen_names + self.unseen_names

    def require(self, setting: str) -> None:
        """Raise an error unless the problem was built for this setting."""
        if self.setting != setting:
            raise DataError(f"the setting {setting} needs a problem built for it, got one for {self.setting!r}")

    @property
    def labelled(self) -> Mask:
        """Which test images (m,) have a known label."""
        return self.y_test >= 0

    @property
    def fingerprint(self) -> str:
        """A digest of everything that a result depends on."""
        return self._fingerprints[1]

    @property
    def seen_fingerprint(self) -> str:
        """A digest of what parameters are chosen on: seen data, and how many classes are unseen, but no test image."""
        return f"{self._fingerprints[0]}-{len(self.S_unseen)}"

    @cached_property
    def _fingerprints(self) -> tuple[str, str]:
        """Digests of the seen data and of all data, computed once: features may be a file larger than the memory."""
        digest, found = hashlib.sha256(), []
        given = [] if self.given is None else [self.given[: len(self.S_seen)], self.given[len(self.S_seen) :]]
        seen, test = [self.X_train, self.y_train, self.S_seen], [self.X_test, self.y_test, self.S_unseen]
        for arrays in (seen + given[:1], test + given[1:]):
            for array in arrays:
                for i in range(0, len(array), BLOCK):
                    digest.update(np.ascontiguousarray(array[i : i + BLOCK]).data)
            found.append(digest.hexdigest()[:16])
        if self.ways:  # among which methods choose
            digest.update(json.dumps(self.ways, sort_keys=True).encode())
            found[1] = digest.hexdigest()[:16]
        return found[0], found[1]

    @property
    def normalisations(self) -> list[Normalisation]:
        """What a method can choose among: all combinations of the alternatives, or what vectors went through."""
        own = [[list(normaliser.steps)] for normaliser in (self.feature_normaliser, self.semantic_normaliser)]
        ways = [self.ways[part] for part in PARTS] if self.ways else own
        return [dict(zip(PARTS, steps, strict=True)) for steps in product(*ways)]

    def pending(self, normalisation: Normalisation) -> Normalisation:
        """What the vectors have yet to go through for this one of ``normalisations``: all of it, or nothing."""
        if normalisation not in self.normalisations:
            raise DataError(
                f"the problem can be normalised by {'; or '.join(map(in_words, self.normalisations))}; got "
                f"{in_words(normalisation)}: select parameters again, by a run without --from-nodes"
            )
        return normalisation if self.ways else NOTHING

    def normalised(self, normalisation: Normalisation) -> "Problem":
        """The problem in one of ``normalisations``: the same object for all who ask, with no alternatives left."""
        steps = {part: tuple(self.pending(normalisation)[part]) for part in PARTS}
        if not self.ways:
            return self
        return self.shared(("problem", *steps.values()), lambda: self._normalise(**steps))

    def _normalise(self, features: tuple[str, ...], semantics: tuple[str, ...]) -> "Problem":
        def fit() -> tuple[Normaliser, Array, Array]:
            normaliser, rows = fit_normaliser(features, self.X_train)
            return normaliser, rows, normaliser(self.X_test)

        feature_normaliser, X_train, X_test = self.shared(("features", features), fit)
        semantic_normaliser, S_seen = fit_normaliser(semantics, self.S_seen)
        given = given_beside(semantics, np.vstack([self.S_seen, self.S_unseen]))
        return replace(
            self,
            X_train=X_train,
            X_test=X_test,
            S_seen=S_seen,
            S_unseen=semantic_normaliser(self.S_unseen),
            feature_normaliser=feature_normaliser,
            semantic_normaliser=semantic_normaliser,
            ways={},
            given=given,
            shared=Once(),
        )

    def summary(self) -> dict[str, Any]:
        """Sizes and the fingerprint."""
        return {
            "setting": self.setting,
            "n_train": len(self.X_train),
            "n_test": len(self.X_test),
            "n_seen": len(self.S_seen),
            "n_unseen": len(self.S_unseen),
            "n_features": self.X_train.shape[1],
            "n_semantics": self.S_seen.shape[1],
            "problem_fingerprint": self.fingerprint,
        }
