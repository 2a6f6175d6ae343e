"""A linear method followed by label refinement, as one method."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from aezsl.arrays import Array, Labels, digest
from aezsl.evaluation.ranking import Ranking
from aezsl.methods.base import LinearZeroShotClassifier, ZeroShotClassifier
from aezsl.methods.refinement.pool import Pool
from aezsl.methods.refinement.rounds import LabelRefinement, Refinement

REFINEMENT_CITATION = (
    "L. Niu, J. Cai, and A. Veeraraghavan. Zero-shot learning via category-specific visual-semantic mapping. "
    "arXiv preprint, 2017, section on progressive label refinement."
)


class RefinedClassifier(ZeroShotClassifier):
    """A linear method whose labels are refined on the samples asked about, which are one unlabelled pool.

    Its parameters are those of the base method and those of ``LabelRefinement``, side by side. Fitting fits the
    base and nothing else, and the base's arrays are its whole state. Scores are those of the refined classifiers;
    labels are the refinement's final ones, which the last classifiers need not repeat, so ``predict`` and ``rank``
    put them first.

    A subclass names its ``base`` and, in ``defaults``, where it departs from the defaults of the two.
    ``grid`` holds the refinement's parameters only: the base's own grid is searched before, with the base alone.
    """

    #: The registered linear method that is refined.
    base: ClassVar[str]
    #: Parameters whose default is not the one of the base method or of ``LabelRefinement``.
    defaults: ClassVar[Mapping[str, Any]] = {}
    #: Labels stay as the base gave them towards large gamma1 and many components, and other terms pull at them less
    #: the smaller they are: a gain on the validation pool that chance explains must not cost accuracy on another one.
    cautious_by: ClassVar[Mapping[str, int]] = {"gamma1": 1, "n_components": 1, "gamma2": -1, "gamma3": -1}
    citation = REFINEMENT_CITATION
    transductive = True

    _base: LinearZeroShotClassifier
    _pools: "_Pools"
    _last: tuple[tuple[Any, ...], Refinement] | None

    def __init__(self, **params: Any) -> None:
        known = self._default_params()
        if unknown := sorted(set(params) - set(known)):
            raise TypeError(
                f"{type(self).__name__} has no parameter {', '.join(unknown)}; it takes: {', '.join(known)}"
            )
        for name, default in known.items():
            setattr(self, name, params.get(name, default))

    @classmethod
    def _default_params(cls) -> dict[str, Any]:
        return {**cls._base_class()().get_params(), **LabelRefinement().get_params(), **cls.defaults}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """For scikit-learn, which would read them off the signature of ``__init__``."""
        return sorted(cls._default_params())

    @classmethod
    def _base_class(cls) -> type[LinearZeroShotClassifier]:
        from aezsl.methods import method_class

        base = method_class(cls.base)
        if not issubclass(base, LinearZeroShotClassifier):
            raise TypeError(f"only a linear method can be refined, {cls.base} is none")
        return base

    def base_params(self) -> dict[str, Any]:
        """The parameters of the base method."""
        return {name: getattr(self, name) for name in self._base_class()().get_params()}

    def refinement_params(self) -> dict[str, Any]:
        """The parameters of the refinement."""
        return {name: getattr(self, name) for name in LabelRefinement().get_params()}

    def classifiers(self, S_target: ArrayLike) -> Array:
        """The base's classifiers P (d, C), which refinement starts from."""
        check_is_fitted(self, "n_features_in_")
        return self._base.classifiers(S_target)

    def refine(
        self, X: ArrayLike, S_target: ArrayLike, y: ArrayLike | None = None, progress: bool = True
    ) -> Refinement:
        """Refine on the pool X; y, the true labels, only ever enters the history."""
        X, S_target = self._check_query(X, S_target)
        pool = self._pools.get(X, self.centre)
        refinement = LabelRefinement(**self.refinement_params()).refine(
            X, self._base.classifiers(S_target), S_target, y, pool, progress
        )
        self._last = (self._key(X, S_target), refinement)
        return refinement

    def rank(self, X: ArrayLike, S_target: ArrayLike, k: int) -> Ranking:
        """The final label first, then the classes as the base ranks them.

        The refined classifiers are fitted to one label per sample and know little of the others: on emoji the true
        class was among their five best for 43% of the samples, among the base's for 60%.
        """
        X, S_target = self._check_query(X, S_target)
        return self._base.rank(X, S_target, k).with_first(self._refined(X, S_target).labels)

    def get_state(self) -> dict[str, Any]:
        """The fitted values of the base."""
        return self._base.get_state()

    def set_state(self, state: Mapping[str, Any]) -> Self:
        """Become fitted with the values ``get_state`` gave."""
        self._adopt(self._base_class()(**self.base_params()).set_state(state), _Pools())
        return self

    def _prepare(self, X: Array, y: Labels, S: Array) -> tuple[Any, ...]:
        # Copies along a path share the base's preparation, every base fitted so far, and what is known of pools.
        return self._base_class()(**self.base_params())._prepare(X, y, S), {}, _Pools()

    def _fit(self, prepared: tuple[Any, ...], bases: dict[Any, LinearZeroShotClassifier], pools: "_Pools") -> None:
        LabelRefinement(**self.refinement_params()).check_parameters()
        key = tuple(self.base_params().items())
        if key not in bases:
            base = self._base_class()(**self.base_params())
            base.n_features_in_, base.n_semantics_in_ = self.n_features_in_, self.n_semantics_in_
            base._fit(*prepared)
            bases[key] = base
        self._adopt(bases[key], pools)

    def _adopt(self, base: LinearZeroShotClassifier, pools: "_Pools") -> None:
        self._base, self._pools, self._last = base, pools, None
        self.n_features_in_, self.n_semantics_in_ = base.n_features_in_, base.n_semantics_in_

    def _decide(self, X: Array, S_target: Array) -> Array:
        return self._refined(X, S_target).scores(X)

    def _refined(self, X: Array, S_target: Array) -> Refinement:
        """The last refinement where it was of the same pool and targets: scores, labels and ranks share one run."""
        if self._last is None or self._last[0] != self._key(X, S_target):
            return self.refine(X, S_target, progress=False)  # a bar per point of a grid would be noise
        return self._last[1]

    def _key(self, X: Array, S_target: Array) -> tuple[Any, ...]:
        return digest(X), digest(S_target), tuple(self.get_params().items())


class _Pools:
    """Remembers the last pool, so that neither its axes nor its graph are computed twice."""

    def __init__(self) -> None:
        self._key: tuple[bytes, bool] | None = None
        self._pool: Pool | None = None

    def get(self, X: Array, centre: bool) -> Pool:
        key = (digest(X), centre)
        if self._pool is None or key != self._key:
            self._key, self._pool = key, Pool(X, centre)
        return self._pool
