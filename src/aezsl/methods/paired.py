"""Methods for encoders that are a pair: what they make of images and of texts lies in one space."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from aezsl.arrays import Array, unit_rows
from aezsl.errors import DataError
from aezsl.methods.core.classifiers import ScoringClassifier
from aezsl.methods.core.contract import Needs, ZeroShotClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.methods.core.transductive import TransductiveMethod


class Paired(ZeroShotClassifier):
    """Learns nothing from seen data, and refuses images and classes that cannot be compared.

    Parameters
    ----------
    stated_pair : bool
        Whether features and semantics come from a pair of encoders where the parameters do not show it: features from a
        file, class vectors from another.

    """

    stated_pair: bool = False

    needs: ClassVar[Needs] = "statistics"

    def _fit(self, seen: SeenData) -> None:
        if seen.n_features != seen.S.shape[1]:
            raise DataError(
                f"{type(self).__name__} compares images with classes in one space, but features have "
                f"{seen.n_features} numbers and semantics {seen.S.shape[1]}: take both from a pair like CLIP"
            )


class Cosine(Paired):
    r"""The cosine between image and class, for a pair of encoders: what CLIP alone would answer.

    .. math:: f_c(x) = \frac{x' s_c}{\|x\| \|s_c\|}

    Nothing is learnt, and no parameter is searched.

    What differs: nothing. The temperature of the original turns scores into probabilities and changes no order.

    Parameters
    ----------
    stated_pair : bool
        See ``Paired``.

    """

    citation: ClassVar[str] = (
        "A. Radford et al. Learning transferable visual models from natural language supervision. ICML 2021."
    )

    def _target_parts(self, S_target: Array) -> dict[str, Array]:
        return {"texts": unit_rows(np.asarray(S_target, dtype=np.float64))}

    def _scores(self, X: Array, texts: Array) -> Array:  # type: ignore[override]
        scores: Array = unit_rows(np.asarray(X, dtype=np.float64)) @ texts.T
        return scores


class PairedTransductive(Paired, TransductiveMethod):
    """A paired method that defines ``_propagate``: what it makes of a pool at unit length and of unit class vectors."""

    grid: ClassVar[Mapping[str, list[Any]]] = {}

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[ScoringClassifier, LabelHistory]:
        self.check_parameters()  # nothing of them went into fit, so they may have been set since
        texts, images = unit_rows(S_target), unit_rows(pool)
        history = LabelHistory((images @ texts.T).argmax(axis=1) if len(images) else np.empty(0, dtype=np.int64))
        parts = {"texts": texts, **self._propagate(images, texts, history)}
        return ScoringClassifier(self, targets.S, parts), history

    def _propagate(self, images: Array, texts: Array, history: LabelHistory) -> dict[str, Array]:
        """The arrays that scores depend on beside the texts; records its rounds."""
        raise TypeError(f"{type(self).__name__} must define _propagate")
