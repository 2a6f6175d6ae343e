"""Seen data and target classes as methods take them, with what several fits on them share."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from aezsl.arrays import Array, Labels
from aezsl.data.mapped_arrays import Rows
from aezsl.data.statistics import SeenStatistics, class_sums
from aezsl.errors import DataError
from aezsl.machine.workers import Once, SameObject
from aezsl.methods.core.checks import check_counts, check_given, check_labels, check_rows, check_semantics
from aezsl.methods.shared.linalg import centred_moment_eigh, moment_eigh, row_space_eigh

T = TypeVar("T")


class Spectra(NamedTuple):
    """Where decompositions are kept: fits on equal samples share the first, fits on equal semantics the second."""

    features: Once
    semantics: Once


class SeenData:
    """Checked training data: X (n, d) with y (n,) row numbers of S, or their statistics, and S (Cs, a).

    given : the semantics (Cs, b) before they were centred or otherwise moved, by which classes are similar; S itself
        unless that is said.

    Fits on the same object share what depends on no searched parameter (``shared``); fits on equal samples, of
    whichever methods, share sums and decompositions where they are given the same ``spectra``. A fit on an object of
    its own shares nothing, so that what it costs does not depend on who came before.

    rows : where the samples are and their classes, beside statistics, for a method that reads them once more.
    """

    def __init__(
        self,
        X: ArrayLike | SeenStatistics,
        y: ArrayLike | None,
        S: ArrayLike,
        spectra: Spectra | None = None,
        rows: tuple[Rows, Labels] | None = None,
        given: ArrayLike | None = None,
    ) -> None:
        self.S: Array = check_semantics("S", S).copy()  # the caller's array may change later
        self.given: Array = self.S if given is None else check_given("given", given, len(self.S))
        if len(self.S) < 2:
            raise DataError(f"S must describe at least two seen classes, got {len(self.S)}")
        self._samples: tuple[Array, Labels] | None = None
        self._statistics: SeenStatistics | None = None
        self._rows = rows
        if isinstance(X, SeenStatistics):
            if len(X.counts) != len(self.S):
                raise DataError(f"the statistics are of {len(X.counts)} classes, but S describes {len(self.S)}")
            check_counts(X.counts)
            self._statistics, self.n_features = X, X.sums.shape[1]
        else:
            checked = check_rows("X", X, what="features")
            self._samples = checked, check_labels(np.empty(0) if y is None else y, len(checked), len(self.S))
            self._rows = Rows(self.X, slice(None)), self.y
            self.n_features = checked.shape[1]
        self._spectra = Spectra(Once(), Once()) if spectra is None else spectra
        self.shared = Once()

    @property
    def moved(self) -> bool:
        """Whether similarity is measured by other semantics than S."""
        return self.given is not self.S

    @property
    def from_statistics(self) -> bool:
        """Whether only statistics are known."""
        return self._samples is None

    @property
    def rows(self) -> tuple[Rows, Labels] | None:
        """The samples and their classes, to be read block by block, where it is known where they are."""
        return self._rows

    @property
    def _stays_in_file(self) -> bool:
        """Whether no copy of the samples is made: they are mapped from a file, in single precision, or not here."""
        return self.from_statistics or self.X.dtype != np.float64

    @property
    def X(self) -> Array:
        """The samples (n, d)."""
        return self._known()[0]

    @property
    def y(self) -> Labels:
        """Their classes (n,), row numbers of S."""
        return self._known()[1]

    def _known(self) -> tuple[Array, Labels]:
        if self._samples is None:
            raise DataError("this method learns from all samples, and was given their statistics: give X, y and S")
        return self._samples

    @property
    def statistics(self) -> SeenStatistics:
        """Sums over the samples.

        Not a ``cached_property``: until Python 3.12 all objects of a class share its lock, and a node that waits for
        tasks of its sums would hold back the task of another node that its worker took meanwhile, for ever.
        """
        if self._statistics is not None:
            return self._statistics
        return self._spectra.features("sums", lambda: SeenStatistics.from_samples(*self._known(), len(self.S)))

    def spectrum(self) -> tuple[Array, Array]:
        """U (d, r) and l (r,) of ``X'X = U diag(l) U'`` on the row space of X."""
        return self._spectra.features("spectrum", lambda: moment_eigh(self.statistics))

    def centred_spectrum(self) -> tuple[Array, Array, Array]:
        """The mean (d,) of the samples, and U, l of the samples without it."""

        def compute() -> tuple[Array, Array, Array]:
            if self._stays_in_file:
                return centred_moment_eigh(self.statistics)
            mean = self.X.mean(axis=0, dtype=np.float64)
            return mean, *row_space_eigh(self.X - mean)

        return self._spectra.features("centred spectrum", compute)

    def class_means(self) -> Array:
        """(Cs, d) the mean of the samples of each class; in memory without the other sums."""
        if self._stays_in_file:
            return self.statistics.means
        return class_sums(self.X, self.y, len(self.S)) / np.bincount(self.y)[:, None]

    def semantic_spectrum(self) -> tuple[Array, Array]:
        """V (a, r) and t (r,) of ``S'S = V diag(t) V'`` on the row space of S."""
        return self._spectra.semantics("spectrum", lambda: row_space_eigh(self.S))

    def once(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What the fits on this object share, computed by the first of them."""
        return self.shared(key, compute)


@dataclass(frozen=True)
class Targets:
    """Target classes S (C, a), and the unlabelled pool X (m, d) where there is one.

    unmoved : their semantics (C, b) as they were given, where S has been moved: see ``SeenData``.

    A grid adapts many models to one object. What they find out about the targets on the way, and what depends on no
    searched parameter, is kept here (``once``), so that only the first of them computes it.
    """

    S: Array
    pool: Array | None = None
    n_models: int = 1  # how many models will adapt to this: many of them pay for a table of solutions
    progress: bool = True  # whether long work shows a bar
    unmoved: Array | None = None
    _shared: Once = field(default_factory=Once, repr=False)

    @property
    def given(self) -> Array:
        """The semantics by which classes are similar."""
        return self.S if self.unmoved is None else self.unmoved

    def once(self, owner: object, key: Hashable, compute: Callable[[], T]) -> T:
        """The value of ``key`` that all models share which hold the very same ``owner``; the first one computes it.

        owner : what the value depends on beside the targets, by identity: an array that fits on the same seen data
            share (``SeenData.once``), or the base that points of a grid share. A model fitted to other data holds
            another object and gets a value of its own. None for what depends on targets and pool alone.
        key : what else the value depends on, its name first.
        """
        return self._shared((SameObject(owner), key), compute)

    def for_one_model(self) -> Self:
        """The same targets, with all that is shared, for a model that is not repeated along the grid."""
        return replace(self, n_models=1)

    def __reduce__(self) -> tuple[Any, ...]:
        return Targets, (self.S, self.pool, self.n_models, self.progress, self.unmoved)
