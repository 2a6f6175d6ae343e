"""What every method must do. A method's test class inherits this and names its method."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone

from aezsl.data.statistics import SeenStatistics
from aezsl.errors import AezslError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import METHODS, LinearZeroShotClassifier, make_method
from aezsl.selection import grid_points
from tests.methods.core.refusals import Refusals
from tests.methods.core.scikit_learn import ScikitLearnChecks
from tests.synthetic import make_pair, make_synthetic


def assert_unchanged(found, expected):
    """All parts of a model or a state, down to their arrays, are what they were."""
    if isinstance(expected, BaseEstimator):
        found, expected = vars(found), vars(expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list | tuple):
        for one, other in zip(found, expected, strict=True):
            assert_unchanged(one, other)
    else:
        np.testing.assert_array_equal(found, expected)


class MethodContract(Refusals, ScikitLearnChecks):
    method: str
    #: Parameters for the small synthetic problem, where the defaults do not suit it.
    params: ClassVar[dict[str, Any]] = {}
    #: Per-class accuracy that the method must reach on 8 unseen synthetic classes (chance 0.125).
    floor = 0.5

    @classmethod
    def make(cls, **params):
        return make_method(cls.method, **{**cls.params, **params})

    @classmethod
    def make_data(cls, **changes):
        return make_synthetic(**changes)

    @pytest.fixture(scope="class")
    @classmethod
    def data(cls):
        return cls.make_data()

    @pytest.fixture(scope="class")
    @classmethod
    def fitted(cls, data):
        return cls.make().fit(data.X, data.y, data.S)

    def test_init_only_stores_and_clone_works(self):
        model = self.make()
        copy = clone(model)
        assert copy.get_params() == model.get_params()
        assert not [name for name in vars(model) if name.endswith("_")]

    def test_fit_returns_self_and_leaves_input_alone(self, data):
        before = [array.copy() for array in data[:3]]
        model = self.make()
        assert model.fit(*data[:3]) is model
        for old, new in zip(before, data[:3], strict=True):
            np.testing.assert_array_equal(old, new)

    def test_the_registry_says_what_the_class_does(self):
        model, entry = self.make(), METHODS[self.method]
        assert (entry.needs, entry.pool) == (model.needs, model.transductive)
        assert entry.refines == getattr(model, "base", None)

    def test_fit_on_statistics_gives_the_same_model_or_says_that_it_cannot(self, fitted, data):
        blocks = ((data.X[i : i + 37], data.y[i : i + 37]) for i in range(0, len(data.X), 37))
        statistics = SeenStatistics.from_blocks(blocks, len(data.S))
        if fitted.needs != "statistics":
            with pytest.raises(AezslError, match="statistics"):
                self.make().fit(statistics, S=data.S)
            return
        expected = fitted.decision_function(data.X_new, data.S_new)
        streamed = self.make().fit(statistics, S=data.S).decision_function(data.X_new, data.S_new)
        np.testing.assert_allclose(streamed, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())

    def test_classes_may_come_with_what_they_were_before_they_were_moved(self, data):
        moved, moved_new = data.S - data.S.mean(axis=0), data.S_new - data.S.mean(axis=0)
        model = self.make().fit(data.X, data.y, moved, given=data.S)
        pool = data.X_new if model.transductive else None
        found = model.adapt(moved_new, pool, given=data.S_new).predict(data.X_new)
        assert found.shape == data.y_new.shape

    def test_queries_change_nothing(self, data):
        model = self.make().fit(*data[:3])
        before = copy.deepcopy(vars(model))
        classifier = model.adapt(data.S_new, data.X_new)
        names, state = set(vars(classifier)), copy.deepcopy(classifier.state())
        for targets in (data.S_new, data.S[:3]):
            model.decision_function(data.X_new, targets)
        classifier.rank(data.X_new[::-1].copy(), 3)
        classifier.predict(data.X_new)
        assert_unchanged(vars(model), before)
        assert_unchanged(classifier.state(), state)
        assert set(vars(classifier)) == names
        again = model.adapt(data.S_new, data.X_new)
        np.testing.assert_array_equal(again.predict(data.X_new), classifier.predict(data.X_new))

    def test_many_threads_get_the_answers_of_one(self, fitted, data):
        """Different targets and samples at once: nobody may receive what another one asked for."""
        rng = np.random.default_rng(0)
        queries = [
            (data.X_new[rng.permutation(len(data.X_new))[:40]], data.S_new[rng.permutation(len(data.S_new))[:5]])
            for _ in range(6)
        ]
        expected = [fitted.rank(X, S, 3) for X, S in queries]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda i: fitted.rank(*queries[i % 6], 3), range(24)))
        for i, ranking in enumerate(found):
            np.testing.assert_array_equal(ranking.classes, expected[i % 6].classes)
            np.testing.assert_allclose(ranking.scores, expected[i % 6].scores, rtol=1e-6, atol=1e-9)

    def test_one_classifier_answers_many_threads(self, fitted, data):
        classifier = fitted.adapt(data.S_new, data.X_new)
        samples = [data.X_new, data.X_new[::-1].copy(), data.X[:30], data.X_new[5:6]]  # the pool, and others
        expected = [classifier.rank(X, 3) for X in samples]
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda i: classifier.rank(samples[i % 4], 3), range(16)))
        for i, ranking in enumerate(found):
            np.testing.assert_array_equal(ranking.classes, expected[i % 4].classes)
            np.testing.assert_allclose(ranking.scores, expected[i % 4].scores, rtol=1e-6, atol=1e-9)

    def test_an_adapted_classifier_is_restored_from_its_state(self, fitted, data):
        classifier = fitted.adapt(data.S_new, data.X_new)
        state = classifier.state()
        assert all(isinstance(value, (np.ndarray, int, float, str)) for value in state.values())
        restored = self.make().set_state(fitted.get_state()).restore(state)
        for X in (data.X_new, data.X[:20]):  # the pool, and samples from outside
            ranking, expected = restored.rank(X, 3), classifier.rank(X, 3)
            np.testing.assert_array_equal(ranking.classes, expected.classes)
            np.testing.assert_allclose(ranking.scores, expected.scores, rtol=1e-9, atol=1e-12)
        for side, expected in zip(
            restored.rank_sides(data.X_new, 3, 2), classifier.rank_sides(data.X_new, 3, 2), strict=True
        ):
            np.testing.assert_array_equal(side.classes, expected.classes)
        if classifier.history is not None:
            pd.testing.assert_frame_equal(restored.history, classifier.history, check_dtype=False)

    def test_the_caller_s_arrays_may_change_afterwards(self, data):
        X, y, S = (array.copy() for array in data[:3])
        model = self.make().fit(X, y, S)
        expected = model.decision_function(data.X_new, data.S_new)
        X *= 2
        S *= -1
        y[:] = 0
        np.testing.assert_array_equal(model.decision_function(data.X_new, data.S_new), expected)

    def test_scores_have_the_shape_of_samples_by_targets(self, fitted, data):
        both = np.vstack([data.S, data.S_new])
        for targets in (data.S_new, data.S, both):
            scores = fitted.decision_function(data.X_new, targets)
            assert scores.shape == (len(data.X_new), len(targets))
            assert np.isfinite(scores).all()

    def test_predict_and_rank_agree_with_scores(self, fitted, data):
        scores = fitted.decision_function(data.X_new, data.S_new)
        labels = fitted.predict(data.X_new, data.S_new)
        if not fitted.transductive:
            np.testing.assert_array_equal(labels, scores.argmax(axis=1))
        ranking = fitted.rank(data.X_new, data.S_new, 3)
        np.testing.assert_array_equal(ranking.classes[:, 0], labels)
        assert ranking.classes.shape == (len(labels), 3)

    def test_same_data_same_answer(self, fitted, data):
        again = self.make().fit(*data[:3])
        np.testing.assert_array_equal(
            again.decision_function(data.X_new, data.S_new), fitted.decision_function(data.X_new, data.S_new)
        )

    def test_order_of_targets_does_not_matter(self, fitted, data):
        order = np.random.default_rng(1).permutation(len(data.S_new))
        scores = fitted.decision_function(data.X_new, data.S_new)
        permuted = fitted.decision_function(data.X_new, data.S_new[order])
        np.testing.assert_allclose(permuted, scores[:, order], rtol=1e-6, atol=1e-8 * np.abs(scores).max())

    def test_samples_are_scored_independently_unless_transductive(self, fitted, data):
        if fitted.transductive:
            pytest.skip("a transductive method looks at all samples together")
        scores = fitted.decision_function(data.X_new, data.S_new)
        alone = fitted.decision_function(data.X_new[3:4], data.S_new)
        np.testing.assert_allclose(alone, scores[3:4], rtol=1e-6, atol=1e-8 * np.abs(scores).max())

    def test_classifiers_are_the_scores_of_a_linear_method(self, fitted, data):
        if not isinstance(fitted, LinearZeroShotClassifier):
            pytest.skip("not a linear method")
        P = fitted.classifiers(data.S_new)
        assert P.shape == (data.X.shape[1], len(data.S_new))
        np.testing.assert_allclose(data.X_new @ P, fitted.decision_function(data.X_new, data.S_new), rtol=1e-9)

    def test_state_is_plain_and_restores_the_model(self, fitted, data):
        state = fitted.get_state()
        for name, value in state.items():
            assert isinstance(value, (np.ndarray, int, float, str)), f"{name} is a {type(value).__name__}"
            assert not (isinstance(value, np.ndarray) and value.dtype == object), f"{name} holds objects"
        restored = self.make().set_state(state)
        scores = fitted.decision_function(data.X_new, data.S_new)
        np.testing.assert_allclose(
            restored.decision_function(data.X_new, data.S_new), scores, rtol=1e-9, atol=1e-12 * np.abs(scores).max()
        )

    def test_fitted_or_restored_again_it_forgets_what_it_was(self, fitted, data):
        other = self.make_data(n_seen=len(data.S), seed=1)
        expected = fitted.decision_function(data.X_new, data.S_new)
        again, restored = (self.make().fit(*other[:3]) for _ in range(2))
        for model in (again, restored):
            model.get_state()
            model.decision_function(data.X_new, data.S_new)  # whatever it keeps of targets, it keeps of these
        again.fit(*data[:3])
        restored.set_state(fitted.get_state())
        for model in (again, restored):
            scores = model.decision_function(data.X_new, data.S_new)
            np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12 * np.abs(expected).max())
            assert model.get_state().keys() == fitted.get_state().keys()
            for name, value in fitted.get_state().items():
                np.testing.assert_allclose(model.get_state()[name], value, rtol=1e-9, atol=1e-9, err_msg=name)

    def test_path_gives_what_separate_fits_give(self, data):
        model = self.make()
        if not model.grid:
            pytest.skip("nothing is searched, so a path is one fit")
        points = grid_points({name: list(values)[:2] for name, values in model.grid.items()})[:4]
        for point, fitted in zip(points, model.fit_path(*data[:3], points), strict=True):
            alone = self.make(**point).fit(*data[:3])
            np.testing.assert_allclose(
                fitted.decision_function(data.X_new, data.S_new),
                alone.decision_function(data.X_new, data.S_new),
                rtol=1e-9,
                atol=1e-12,
            )

    def test_quality_floor_under_projection_shift(self, fitted, data):
        assert per_class_accuracy(data.y_new, fitted.predict(data.X_new, data.S_new)) >= self.floor

    def test_a_pickled_model_answers_as_before(self, fitted, data):
        again = pickle.loads(pickle.dumps(fitted))  # noqa: S301  # it has just been made here
        expected = fitted.decision_function(data.X_new, data.S_new)
        np.testing.assert_array_equal(again.decision_function(data.X_new, data.S_new), expected)


class PairedContract(MethodContract):
    """For methods that need images and texts in one space."""

    @classmethod
    def make_data(cls, **changes):
        return make_pair(**changes)
