import numpy as np
import pytest

from aezsl.methods import make_method
from aezsl.methods.core.seen import Targets
from aezsl.methods.sms import common_axes
from tests.helpers.pools import check_degenerate_pools, check_descent, fitter, mixed_pool
from tests.methods.core.contract import MethodContract
from tests.oracles.assignment import best_total
from tests.oracles.eszsl import eszsl_solution, one_hot
from tests.synthetic import make_synthetic


class TestSMS(MethodContract):
    method = "sms"
    params = {"alpha": 1.0, "gamma": 1.0, "lam": 1.0}
    floor = 0.7


fitted = fitter("sms", gamma=1.0, lam=1.0)


def eszsl_operator(X, S, gamma, lam):
    """The left side of one domain as a matrix on the entries of V."""
    d, a = X.shape[1], S.shape[1]
    return np.kron(X.T @ X + gamma * np.eye(d), S.T @ S + lam * np.eye(a))


def kronecker(X, y, S, Z, t, A, alpha, gamma, lam):
    """V of the two-term equation for given labels, as one large system."""
    left = eszsl_operator(X, S, gamma, lam) + alpha * eszsl_operator(Z, A, gamma, lam)
    right = X.T @ one_hot(y, len(S)) @ S + alpha * Z.T @ one_hot(t, len(A)) @ A
    return np.linalg.solve(left, right.ravel()).reshape(X.shape[1], S.shape[1])


def fast(X, y, S, Z, t, A, alpha, gamma, lam):
    (p, P), (q, Q) = common_axes(X.T @ X, Z.T @ Z, gamma), common_axes(S.T @ S, A.T @ A, lam)
    right = X.T @ one_hot(y, len(S)) @ S + alpha * Z.T @ one_hot(t, len(A)) @ A
    return P @ ((P.T @ right @ Q) / (1 + alpha * np.outer(p, q))) @ Q.T


def problem(**shape):
    data = make_synthetic(n_seen=6, n_unseen=4, per_class=5, d=9, a=7, **shape)
    return data.X, data.y, data.S, data.X_new, data.y_new, data.S_new


@pytest.mark.parametrize(("alpha", "gamma", "lam"), [(0.1, 0.5, 0.1), (1.0, 1.0, 1.0), (10.0, 0.2, 0.3)])
@pytest.mark.parametrize("shape", [{}, {"nonnegative": False}])
def test_the_map_is_that_of_the_kronecker_system(alpha, gamma, lam, shape):
    data, weights = problem(**shape), (alpha, gamma, lam)
    np.testing.assert_allclose(fast(*data, *weights), kronecker(*data, *weights), rtol=1e-8, atol=1e-9)


def test_domains_can_be_swapped():
    X, y, S, Z, t, A = problem()
    there, back = fast(X, y, S, Z, t, A, 4.0, 2.0, 0.5), fast(Z, t, A, X, y, S, 1 / 4, 2.0, 0.5)
    np.testing.assert_allclose(back, there, rtol=1e-8, atol=1e-9)


def test_with_true_labels_and_all_weight_on_the_pool_it_is_eszsl_on_the_pool():
    X, y, S, Z, t, A = problem()
    expected = eszsl_solution(Z, t, A, 2.0, 0.5)
    np.testing.assert_allclose(fast(X, y, S, Z, t, A, 1e9, 2.0, 0.5), expected, rtol=1e-6, atol=1e-8)


def eszsl_objective(X, Y, V, S, gamma, lam):
    loss = np.square(X @ V @ S.T - Y).sum()
    penalties = gamma * np.square(V @ S.T).sum() + lam * np.square(X @ V).sum() + gamma * lam * np.square(V).sum()
    return loss + penalties


def objective(data, V, labels, alpha, *weights):
    seen = eszsl_objective(data.X, one_hot(data.y, len(data.S)), V, data.S, *weights)
    return seen + alpha * eszsl_objective(data.X_new, one_hot(labels, len(data.S_new)), V, data.S_new, *weights)


def check_labels(labels, scores, balance):
    """The best labels by scores (48, 4): of all, or of those within a factor 1.25 of the mean size of 12."""
    best = best_total(scores, 9, 15) if balance else scores.max(axis=1).sum()
    assert scores[np.arange(48), labels].sum() == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("a", [6, 20])  # fewer and more dimensions than classes
@pytest.mark.parametrize("balance", [True, False])
def test_rounds_are_the_two_steps_and_the_objective_is_as_written(balance, a):
    data = make_synthetic(n_seen=8, n_unseen=4, d=10, a=a, noise=1.0)
    classifier = fitted(data, alpha=0.5, gamma=2.0, balance=balance, spread=1.25).adapt(data.S_new, data.X_new)
    labels = classifier.rounds.start
    scores = data.X_new @ eszsl_solution(data.X, data.y, data.S, 2.0, 1.0) @ data.S_new.T
    check_labels(labels, scores, balance)
    for (_, row), after in zip(classifier.history.iterrows(), classifier.rounds.rounds(), strict=True):
        V = kronecker(data.X, data.y, data.S, data.X_new, labels, data.S_new, 0.5, 2.0, 1.0)
        labels = after.copy()
        check_labels(labels, data.X_new @ V @ data.S_new.T, balance)
        np.testing.assert_allclose(row["objective"], objective(data, V, labels, 0.5, 2.0, 1.0), rtol=1e-9)
    np.testing.assert_allclose(classifier.classifiers, V @ data.S_new.T, atol=1e-9)


@pytest.mark.filterwarnings("ignore:SMS. labels collapsed")
@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize(("alpha", "lam"), [(0.1, 1.0), (1.0, 0.3), (10.0, 3.0)])
def test_the_objective_never_rises(balance, alpha, lam):
    data = make_synthetic(noise=1.5, n_unseen=12)
    check_descent(fitted(data, alpha=alpha, lam=lam, balance=balance).adapt(data.S_new, data.X_new).history, 50)


def test_without_weight_on_the_pool_it_is_eszsl():
    data = make_synthetic(noise=1.0)
    expected = eszsl_solution(data.X, data.y, data.S, 1.0, 1.0) @ data.S_new.T
    classifier = fitted(data, alpha=1e-9, balance=False).adapt(data.S_new, data.X_new)
    np.testing.assert_allclose(classifier.classifiers, expected, atol=1e-7)
    np.testing.assert_array_equal(classifier.labels, (data.X_new @ expected).argmax(axis=1))
    alone = fitted(data).adapt(data.S_new)  # without a pool
    assert len(alone.history) == 0
    np.testing.assert_allclose(alone.classifiers, expected, atol=1e-9)


def test_a_grid_shares_the_axes_of_the_features(monkeypatch):
    data, asked = make_synthetic(), []
    monkeypatch.setattr("aezsl.methods.sms.common_axes", lambda *args: asked.append(args) or common_axes(*args))
    points = [{"alpha": alpha, "gamma": gamma} for alpha in (0.1, 1.0) for gamma in (1.0, 10.0)]
    targets = Targets(data.S_new, data.X_new, len(points))
    for model in make_method("sms").fit_path(data.X, data.y, data.S, points):
        alone = make_method("sms", **model.get_params()).fit(*data[:3]).adapt(data.S_new, data.X_new)
        asked.clear()
        np.testing.assert_array_equal(model.adapt_to(targets).labels, alone.labels)
    assert not asked  # the last point found both sides


def test_turning_the_semantics_changes_no_score():
    data = make_synthetic()
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]
    scores = fitted(data).decision_function(data.X_new, data.S_new)
    turned = make_method("sms", gamma=1.0, lam=1.0).fit(data.X, data.y, data.S @ turn)
    np.testing.assert_allclose(turned.decision_function(data.X_new, data.S_new @ turn), scores, atol=1e-9)


def test_sizes_of_classes_keep_their_bounds():
    data = make_synthetic(noise=1.5)
    for spread in (1.0, 2.0):
        labels = fitted(data, spread=spread).adapt(data.S_new, data.X_new).labels
        sizes = np.bincount(labels, minlength=8)
        assert sizes.min() >= 12 / spread
        assert sizes.max() <= 12 * spread
    alike = make_synthetic(noise=0.1).X_new[:12]  # all of one class
    assert np.bincount(fitted(data, spread=4.0).adapt(data.S_new, alike).labels).max() == 6


def test_a_collapse_is_told_and_balance_prevents_it():
    data = make_synthetic()
    twice = np.vstack([data.S_new, data.S_new])  # half of the classes can never win on their own
    with pytest.warns(UserWarning, match=r"SMS.*\bbalance\b"):
        fitted(data, alpha=10.0, balance=False).adapt(twice, data.X_new)
    assert len(set(fitted(data).adapt(twice, data.X_new).labels)) == 16


@pytest.mark.filterwarnings("ignore:SMS. labels collapsed")
@pytest.mark.parametrize("balance", [True, False])
def test_few_samples_duplicates_and_ties_are_defined(balance):
    data = make_synthetic()
    model = fitted(data, balance=balance)
    check_degenerate_pools(model, data, distinct=not balance)
    if not balance:
        twice = np.vstack([data.S_new, data.S_new])
        assert model.predict(data.X_new, twice).max() < 8  # of two classes with one vector the first one wins


def test_a_class_without_samples_has_a_model():
    data = make_synthetic(noise=0.1)
    classifier = fitted(data, alpha=1.0, spread=10.0).adapt(data.S_new, data.X_new[data.y_new < 4])
    assert np.isfinite(classifier.scores(data.X_new)).all()
    assert np.mean(classifier.labels == data.y_new[data.y_new < 4]) > 0.6


def test_a_pool_of_seen_and_unseen_classes_is_told_apart():
    mixed = mixed_pool()
    model = make_method("sms", alpha=1.0, gamma=1.0, lam=0.1, spread=4.0).fit(*mixed.seen)
    assert min(mixed.accuracies(model.adapt(mixed.S, mixed.pool).labels)) > 0.8
