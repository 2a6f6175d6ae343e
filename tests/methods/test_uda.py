import warnings

import numpy as np
import pytest

from aezsl.methods import make_method
from aezsl.methods.core.seen import Targets
from aezsl.methods.shared.simplex import sparse_codes
from aezsl.methods.uda import UDA
from tests.helpers.pools import check_degenerate_pools, fitter
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic

EXACT = {"code_tol": 1e-10, "code_iterations": 5000}


class TestUDA(MethodContract):
    method = "uda"
    params = {"l2": 1.0, "n_neighbors": 5, "code_iterations": 30, "max_rounds": 3}
    floor = 0.8


fitted = fitter("uda", lam=1.0)


def cosine_labels(B, A):
    return np.argmax(B @ A.T / np.linalg.norm(A, axis=1), axis=1)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(noise=1.0)


@pytest.mark.parametrize("params", [{}, {"l2": 1.0}, {"codes": "free", "l3": 0.0}, {"l1": 100.0, "l3": 0.1}])
def test_the_objective_never_rises_and_is_the_one_written(data, params):
    model = fitted(data, max_rounds=8, **params)
    classifier = model.adapt(data.S_new, data.X_new)
    objective = classifier.history["objective"].to_numpy()
    assert (np.diff(objective) <= 1e-12 * objective[0]).all()
    falling = -np.diff(objective) > 1e-4 * objective[1:]
    assert falling[:-1].all()
    assert len(objective) == 8 or not falling[-1]
    D, A = classifier.scorer.parts["dictionary"], data.S_new
    w = model.posteriors(data.X_new, A)
    B = np.random.default_rng(0).normal(size=(len(data.X_new), A.shape[1]))
    pulled = sum(w[i, j] * np.sum((B[i] - A[j]) ** 2) for i in range(len(B)) for j in range(len(A)))
    terms = np.sum((data.X_new - B @ D) ** 2), model.l1 * np.sum((D - model.D_) ** 2), model.l3 * np.abs(B).sum()
    np.testing.assert_allclose(model.objective(data.X_new, D, B, w, A), sum(terms) + model.l2 * pulled)


def slack(gradient, B, l3, nonnegative):
    """How far codes B are from a minimum, by the derivative (m, a) of all but the sparsity: 0 where they are there."""
    if nonnegative:
        return np.where(B > 0, np.abs(gradient + l3), np.maximum(-(gradient + l3), 0))
    return np.where(B == 0, np.maximum(np.abs(gradient) - l3, 0), np.abs(gradient + l3 * np.sign(B)))


@pytest.mark.parametrize("codes", ["nonnegative", "free"])
def test_rounds_are_the_two_steps(data, codes):
    """Codes start without prototypes; then every dictionary is eq. 6 of the codes before it, and codes are minima."""
    model = fitted(data, l1=2.0, l2=0.3, l3=0.05, codes=codes, max_rounds=3, **EXACT)
    Z, A, D_s = data.X_new, data.S_new, model.D_
    w, B = model.posteriors(Z, A), model._first_codes(Z)
    assert slack(2 * (B @ D_s - Z) @ D_s.T, B, 0.05, codes == "nonnegative").max() < 1e-5
    for step in model._steps(Z, A, w, B):
        D = np.linalg.solve(B.T @ B + 2.0 * np.eye(10), B.T @ Z + 2.0 * D_s)
        np.testing.assert_allclose(step.dictionary, D, atol=1e-8)
        B = step.codes
        gradient = 2 * (B @ D - Z) @ D.T + 2 * 0.3 * (B - w @ A)
        assert slack(gradient, B, 0.05, codes == "nonnegative").max() < 1e-5
        assert step.objective == pytest.approx(model.objective(Z, D, B, w, A), rel=1e-9)
    assert (B == 0).any()


def test_the_pool_asked_about_as_if_it_were_new_is_coded_alike(data):
    model = fitted(data, l2=1.0, decide="nearest", **EXACT)
    classifier = model.adapt(data.S_new, data.X_new)
    np.testing.assert_array_equal(classifier.scores(data.X_new).argmax(axis=1), classifier.labels)
    some = classifier.predict(data.X_new[::5])  # not the pool as it was
    np.testing.assert_array_equal(some, classifier.labels[::5])


def test_weights_scale_with_the_square_of_the_features(data):
    """l2 and l3 weigh against DD', whose scale is that of the features."""
    expected = fitted(data, l2=0.1, **EXACT).adapt(data.S_new, data.X_new)
    model = make_method("uda", lam=1.0, C=1 / 9, l2=0.9, l3=9e-4, **EXACT).fit(3 * data.X, data.y, data.S)
    found = model.adapt(data.S_new, 3 * data.X_new)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_allclose(found.history["objective"], 9 * expected.history["objective"], rtol=1e-4)


def test_a_large_l1_keeps_the_seen_dictionary(data):
    classifier = fitted(data, l1=1e12).adapt(data.S_new, data.X_new)
    D = classifier.scorer.parts["dictionary"]
    Y = np.eye(len(data.S))[data.y] @ data.S
    np.testing.assert_allclose(D, np.linalg.solve(Y.T @ Y + np.eye(10), Y.T @ data.X), atol=1e-7)


def test_a_large_l2_without_sparsity_puts_codes_at_the_mean_prototype(data):
    model = fitted(data, l2=1e9, l3=0.0, decide="nearest", temperature=5.0, **EXACT)
    A = data.S_new * np.linspace(1, 3, 8)[:, None]  # lengths do not matter to the cosine
    mean = model.posteriors(data.X_new, A) @ A
    np.testing.assert_array_equal(model.adapt(A, data.X_new).labels, cosine_labels(mean, A))
    D = model.D_
    B = sparse_codes(D @ D.T + 1e9 * np.eye(10), data.X_new @ D.T + 1e9 * mean, 0.0, 0 * mean, True, 1e-10, 5000)
    np.testing.assert_allclose(B, mean, atol=1e-6)


def test_without_prototypes_sparsity_and_sign_codes_are_least_squares(data):
    D = fitted(data).D_
    B = sparse_codes(D @ D.T, data.X_new @ D.T, 0.0, np.zeros((96, 10)), False, 1e-12, 20000)
    np.testing.assert_allclose(B, data.X_new @ D.T @ np.linalg.inv(D @ D.T), atol=1e-6)


def test_true_weights_do_not_harm(data, monkeypatch):
    plain = np.mean(fitted(data).adapt(data.S_new, data.X_new).labels == data.y_new)
    monkeypatch.setattr(UDA, "posteriors", lambda self, X, A: np.eye(len(A))[data.y_new])
    for l2 in (0.01, 1.0, 100.0):
        assert np.mean(fitted(data, l2=l2).adapt(data.S_new, data.X_new).labels == data.y_new) >= plain


def test_weights_are_the_softmax_of_indirect_attribute_prediction(data):
    scores = make_method("iap", C=3.0).fit(*data[:3]).decision_function(data.X_new, data.S_new)
    for temperature in (1.0, 10.0):
        w = fitted(data, C=3.0, temperature=temperature).posteriors(data.X_new, data.S_new)
        expected = np.exp(scores / temperature - (scores / temperature).max(axis=1, keepdims=True))
        np.testing.assert_allclose(w, expected / expected.sum(axis=1, keepdims=True), atol=1e-12)


def test_a_grid_shares_codes_that_differ_in_nothing(data, monkeypatch):
    asked = []
    monkeypatch.setattr("aezsl.methods.uda.sparse_codes", lambda *args: asked.append(args) or sparse_codes(*args))
    points = [{"l2": l2, "n_neighbors": k} for k in (4, 8) for l2 in (0.01, 0.1)]
    targets = Targets(data.S_new, data.X_new, len(points))
    models = make_method("uda", lam=1.0, max_rounds=1).fit_path(data.X, data.y, data.S, points)
    found = [model.adapt_to(targets) for model in models]
    assert len(asked) == 3  # the first codes, then one round for either l2
    for point, classifier in zip(points, found, strict=True):
        alone = fitted(data, max_rounds=1, **point).adapt(data.S_new, data.X_new)
        np.testing.assert_array_equal(classifier.labels, alone.labels)
        np.testing.assert_allclose(classifier.scores(data.X_new), alone.scores(data.X_new), atol=1e-12)


def test_the_sign_of_codes_follows_the_semantics():
    assert fitted(make_synthetic()).nonnegative_ == 1
    absent = make_synthetic()
    absent.S[:, 0] = 0.0
    assert fitted(absent).nonnegative_ == 1
    assert fitted(make_synthetic(nonnegative=False)).nonnegative_ == 0
    assert fitted(make_synthetic(), codes="free").nonnegative_ == 0
    assert fitted(make_synthetic(nonnegative=False), codes="nonnegative").nonnegative_ == 1


def test_other_samples_get_the_labels_of_their_neighbours(data):
    model = fitted(data, n_neighbors=5)
    classifier = model.adapt(data.S_new, data.X_new[::2])
    assert np.mean(classifier.predict(data.X_new[1::2]) == data.y_new[1::2]) > 0.7
    again = classifier.scores(data.X_new[::2]).argmax(axis=1)
    assert np.mean(again == classifier.labels) > 0.9  # the pool itself, asked about as if it were new


@pytest.mark.parametrize("decide", ["propagation", "nearest"])
def test_few_samples_duplicates_and_ties_are_defined(data, decide):
    model = fitted(data, decide=decide)
    check_degenerate_pools(model, data)
    twice = model.adapt(np.vstack([data.S_new, data.S_new]), data.X_new).scores(data.X_new)
    assert np.isfinite(twice).all()


def test_a_class_without_samples_may_stay_empty(data):
    classifier = fitted(make_synthetic(), n_neighbors=5).adapt(data.S_new, make_synthetic().X_new[:48])
    assert np.mean(classifier.labels == data.y_new[:48]) > 0.8


def test_a_collapse_is_told_and_a_larger_l1_prevents_it():
    """All samples are one and the same but for noise, along which a free dictionary follows them."""
    data = make_synthetic(noise=3.0, seed=2)
    pool = data.X_new[:1] + 0.3 * np.random.default_rng(2).normal(size=data.X_new.shape)
    with pytest.warns(UserWarning, match=r"UDA.*\bl1\b"):
        fitted(data, n_neighbors=5).adapt(data.S_new, pool)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(data, n_neighbors=5, l1=1e4).adapt(data.S_new, pool)


def test_seen_and_new_classes_are_told_apart_together(data):
    both, pool = np.vstack([data.S, data.S_new]), np.vstack([data.X[::6], data.X_new])
    true = np.concatenate([data.y[::6], data.y_new + len(data.S)])
    classifier = fitted(make_synthetic(), n_neighbors=5).adapt(both, pool)
    assert np.mean(classifier.labels == true) > 0.4  # chance 0.03


def test_without_a_pool_it_is_the_seen_dictionary(data):
    model = fitted(data, l2=0.0, l3=0.0, codes="free", **EXACT)
    classifier = model.adapt(data.S_new)
    assert len(classifier.history) == 0
    B = data.X_new @ model.D_.T @ np.linalg.inv(model.D_ @ model.D_.T)
    np.testing.assert_array_equal(classifier.predict(data.X_new), cosine_labels(B, data.S_new))
