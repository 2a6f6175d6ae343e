import numpy as np
import pytest
from sklearn.base import clone

import aezsl.methods.refinement.aezsl_lr as refined
from aezsl.errors import AezslError, ParameterError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from aezsl.methods.core.seen import SeenData
from aezsl.methods.refinement.label_refinement import LabelRefinement
from aezsl.selection import class_folds, cross_validate
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic

LAMBDAS = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1}


class TestAEZSLLR(MethodContract):
    method = "aezsl_lr"
    params = {**LAMBDAS, "k": 20, "n_components": None, "gamma1": 3.0}


@pytest.fixture(scope="module")
def data():
    return make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=2)


@pytest.fixture(scope="module")
def model(data):
    return make_method("aezsl_lr", **TestAEZSLLR.params).fit(*data[:3])


def test_labels_turn_into_those_of_classes_that_were_given_alike(data):
    moved, moved_new = data.S - data.S.mean(axis=0), data.S_new - data.S.mean(axis=0)
    params = {"gamma": 0.1, "lam": 1.0, "gamma2": 0.3, "n_components": 8, "k": 40}
    model = make_method("eszsl_lr", **params).fit(data.X, data.y, moved, data.S)
    adapted = model.adapt(moved_new, data.X_new, data.S_new)
    alone = LabelRefinement(gamma2=0.3, n_components=8, k=40, gamma1=3.0)
    expected, other = (alone.refine(data.X_new, adapted.ranker.classifiers, S) for S in (data.S_new, moved_new))
    np.testing.assert_allclose(adapted.scores(data.X_new), expected.scores(data.X_new), rtol=1e-6, atol=1e-9)
    assert not np.allclose(expected.scores(data.X_new), other.scores(data.X_new))
    start = make_method("eszsl", gamma=0.1, lam=1.0).fit(data.X, data.y, moved, data.S)
    improved = model.improve(start.adapt(moved_new, given=data.S_new), data.X_new, data.S_new)
    np.testing.assert_array_equal(improved.predict(data.X_new), adapted.predict(data.X_new))


def test_is_the_refinement_of_the_base(model, data):
    P = make_method("aezsl", **LAMBDAS).fit(*data[:3]).classifiers(data.S_new)
    adapted = model.adapt(data.S_new, data.X_new)
    np.testing.assert_allclose(adapted.ranker.classifiers, P, rtol=1e-9)
    alone = LabelRefinement(k=20, gamma1=3.0).refine(data.X_new, P, data.S_new)
    np.testing.assert_array_equal(model.predict(data.X_new, data.S_new), alone.labels)
    np.testing.assert_allclose(
        model.decision_function(data.X_new, data.S_new), alone.scores(data.X_new), rtol=1e-6, atol=1e-9
    )


def test_refines_for_the_better_under_projection_shift(model, data):
    history = model.adapt(data.S_new, data.X_new).rounds.table(data.y_new)
    assert history["per_class_accuracy"].iloc[-1] > history["per_class_accuracy"].iloc[0] + 0.02


def test_final_labels_come_first_whatever_the_last_classifiers_say(data):
    model = make_method("aezsl_lr", **{**TestAEZSLLR.params, "gamma1": 0.3}).fit(*data[:3])
    classifier = model.adapt(data.S_new, data.X_new)
    labels = classifier.labels
    overruled = labels != classifier.scores(data.X_new).argmax(axis=1)
    assert overruled.any()
    ranking = classifier.rank(data.X_new, len(data.S_new))
    np.testing.assert_array_equal(ranking.classes[:, 0], labels)
    np.testing.assert_array_equal(np.sort(ranking.classes, axis=1), np.tile(np.arange(8), (len(labels), 1)))


def count(monkeypatch, owner, name):
    calls = []
    original = getattr(owner, name)

    def counted(*args, **kwargs):
        calls.append(name)
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    return calls


def test_scores_labels_and_ranks_share_one_run(model, data, monkeypatch):
    runs = count(monkeypatch, LabelRefinement, "refine")
    classifier = model.adapt(data.S_new, data.X_new)
    classifier.scores(data.X_new)
    labels = classifier.predict(data.X_new.copy())  # equal samples are the pool, too
    np.testing.assert_array_equal(labels, classifier.rank(data.X_new, 3).classes[:, 0])
    assert len(runs) == 1


def test_samples_from_outside_the_pool_go_by_their_scores(model, data):
    classifier = model.adapt(data.S_new, data.X_new[::2])
    outside = data.X_new[1::2]
    np.testing.assert_array_equal(classifier.predict(outside), classifier.scores(outside).argmax(axis=1))
    np.testing.assert_array_equal(classifier.predict(data.X_new[::2]), classifier.labels)


def test_without_a_pool_it_is_the_base(model, data):
    classifier = model.adapt(data.S_new)
    expected = make_method("aezsl", **LAMBDAS).fit(*data[:3]).adapt(data.S_new)
    np.testing.assert_array_equal(classifier.scores(data.X_new), expected.scores(data.X_new))
    assert classifier.history is None


def test_it_can_be_put_around_a_fitted_base(model, data):
    base = make_method("aezsl", **LAMBDAS).fit(*data[:3])
    seen = SeenData(*data[:3])
    around = make_method("aezsl_lr", **TestAEZSLLR.params).fit_around(base, seen)
    refined = around.improve(base.adapt(data.S_new), data.X_new)
    np.testing.assert_array_equal(refined.labels, model.predict(data.X_new, data.S_new))
    with pytest.raises(AezslError, match="ESZSL"):
        around.fit_around(make_method("eszsl").fit(*data[:3]), seen)


def test_a_grid_fits_the_base_once_and_decomposes_every_pool_once(data, monkeypatch):
    fits = count(monkeypatch, make_method("aezsl").__class__, "_fit")
    pools = count(monkeypatch, refined, "Pool")
    model = make_method("aezsl_lr", **TestAEZSLLR.params)
    grid = {"n_components": [5, 10], "gamma1": [1.0, 3.0], "gamma3": [0.0, 0.1]}
    folds = class_folds(30, 8, n_folds=2)
    table = cross_validate(model, *data[:3], folds, grid)
    assert len(table) == 8
    assert len(fits) == len(pools) == len(folds)


def test_a_path_over_the_base_s_parameters_refits_it(data):
    points = [{"lambda3": 0.01, "gamma1": 3.0}, {"lambda3": 100.0, "gamma1": 3.0}]
    model = make_method("aezsl_lr", **TestAEZSLLR.params)
    for point, fitted in zip(points, model.fit_path(*data[:3], points), strict=True):
        alone = make_method("aezsl", **{**LAMBDAS, "lambda3": point["lambda3"]}).fit(*data[:3])
        start = fitted.adapt(data.S_new, data.X_new).ranker
        np.testing.assert_allclose(start.classifiers, alone.classifiers(data.S_new), rtol=1e-8)


def test_unknown_parameters_are_refused():
    with pytest.raises(ParameterError, match="speed"):
        make_method("aezsl_lr", speed=3)
    with pytest.raises(TypeError, match="speed"):
        type(make_method("aezsl_lr"))(speed=3)


def test_refinement_s_parameters_are_checked_around_a_fitted_base_and_when_loaded(data, model):
    base = make_method("aezsl", **LAMBDAS).fit(*data[:3])
    with pytest.raises(ParameterError, match=r"^nu of AEZSLLR"):
        make_method("aezsl_lr", nu=0.0).fit_around(base, SeenData(*data[:3]))
    with pytest.raises(ParameterError, match=r"^k of AEZSLLR"):
        make_method("aezsl_lr", k=0).set_state(model.get_state())


def test_parameters_are_those_of_the_base_and_of_the_refinement():
    model = make_method("aezsl_lr", lambda2=7.0, gamma1=5.0)
    assert model.base_params()["lambda2"] == 7.0
    assert model.stage_params()["gamma1"] == 5.0
    assert {**model.base_params(), **model.stage_params()} == model.get_params()
    assert not set(model.base_params()) & set(model.stage_params()), "one name for two parameters"
    assert clone(model).get_params() == model.get_params()


class TestAEZSLLRBalanced(MethodContract):
    method = "aezsl_lr_balanced"
    params = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1, "k": 20, "n_components": None, "gamma1": 3.0}

    def test_keeps_hubs_from_feeding_themselves(self):
        data = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=2)
        params = {**self.params, "gamma1": 0.3}
        plain, balanced = (
            make_method(name, **params).fit(*data[:3]).predict(data.X_new, data.S_new)
            for name in ("aezsl_lr", self.method)
        )
        assert per_class_accuracy(data.y_new, balanced) > per_class_accuracy(data.y_new, plain) + 0.1


class TestAEZSLLROneStep(MethodContract):
    method = "aezsl_lr_one_step"
    params = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1, "n_components": None}

    def test_is_one_update_with_everything_unconfident(self, fitted, data):
        result = fitted.adapt(data.S_new, data.X_new)
        (record,) = result.history.itertuples()
        assert (record.confident, record.unconfident) == (0, len(data.X_new))
        np.testing.assert_array_equal(result.labels, result.scores(data.X_new).argmax(axis=1))

    def test_without_a_labelled_term_only_ratios_of_weights_count(self, fitted, data):
        scaled = make_method(self.method, **self.params, gamma1=10.0, nu=1e-2).fit(*data[:3])
        np.testing.assert_allclose(
            scaled.decision_function(data.X_new, data.S_new),
            fitted.decision_function(data.X_new, data.S_new),
            rtol=1e-6,
            atol=1e-8,
        )


class TestESZSLLR(MethodContract):
    method = "eszsl_lr"
    params = {"gamma": 0.1, "lam": 0.1, "k": 20, "n_components": None, "gamma1": 3.0}

    def test_starts_from_eszsl(self, fitted, data):
        base = make_method("eszsl", gamma=0.1, lam=0.1).fit(*data[:3])
        start = fitted.adapt(data.S_new, data.X_new).ranker
        np.testing.assert_allclose(start.classifiers, base.classifiers(data.S_new), rtol=1e-9)
        np.testing.assert_array_equal(fitted.get_state()["W_"], base.W_)
