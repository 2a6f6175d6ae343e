import numpy as np
import pytest

from aezsl.data.statistics import class_sums
from aezsl.methods import make_method
from aezsl.methods.sms import TwoDomains
from tests.helpers.pools import check_degenerate_pools, fitter, mixed_pool
from tests.methods.contract import MethodContract
from tests.synthetic import make_synthetic


class TestSMS(MethodContract):
    method = "sms"
    params = {"alpha": 1.0, "lam": 1.0}
    floor = 0.7


fitted = fitter("sms", lam=1.0)


def one_hot(y, n_classes):
    return np.eye(n_classes)[y]


def kronecker(X, y, S, Z, t, A, alpha, lam):
    """V of the two-term equation for given labels, as one large system."""
    d, a = X.shape[1], S.shape[1]
    left = np.kron(X.T @ X, S.T @ S) + alpha * np.kron(Z.T @ Z, A.T @ A) + lam * np.eye(d * a)
    right = X.T @ one_hot(y, len(S)) @ S + alpha * Z.T @ one_hot(t, len(A)) @ A
    return np.linalg.solve(left, right.ravel()).reshape(d, a)


def fast(X, y, S, Z, t, A, alpha, lam):
    domains = TwoDomains((X.T @ X, S), (Z.T @ Z, A), alpha, lam, tol=1e-12)
    right = domains.right(class_sums(X, y, len(S)), class_sums(Z, t, len(A)))
    return domains.U @ domains.solve(right, np.zeros_like(right)) @ domains.B.T


def problem(**shape):
    data = make_synthetic(n_seen=6, n_unseen=4, per_class=5, d=9, a=7, **shape)
    return data.X, data.y, data.S, data.X_new, data.y_new, data.S_new


@pytest.mark.parametrize(("alpha", "lam"), [(0.1, 0.1), (1.0, 1.0), (10.0, 0.3)])
@pytest.mark.parametrize("shape", [{}, {"nonnegative": False}])
def test_the_map_is_that_of_the_kronecker_system(alpha, lam, shape):
    data = problem(**shape)
    np.testing.assert_allclose(fast(*data, alpha, lam), kronecker(*data, alpha, lam), rtol=1e-8, atol=1e-9)


def test_domains_can_be_swapped():
    X, y, S, Z, t, A = problem()
    there, back = fast(X, y, S, Z, t, A, 4.0, 2.0), fast(Z, t, A, X, y, S, 1 / 4, 2.0 / 4)
    np.testing.assert_allclose(back, there, rtol=1e-8, atol=1e-9)


def test_with_true_labels_and_no_seen_sample_it_is_bilinear_ridge_regression_on_the_pool():
    X, y, S, Z, t, A = problem()
    (l, U), (s, B) = np.linalg.eigh(Z.T @ Z), np.linalg.eigh(A.T @ A)
    right = U.T @ Z.T @ one_hot(t, len(A)) @ A @ B
    expected = U @ (2.0 * right / (2.0 * np.outer(l, s) + 0.5)) @ B.T
    np.testing.assert_allclose(fast(0 * X, y, S, Z, t, A, 2.0, 0.5), expected, rtol=1e-8, atol=1e-9)


def objective(data, V, labels, alpha, lam):
    seen = np.square(data.X @ V @ data.S.T - one_hot(data.y, len(data.S))).sum()
    pool = np.square(data.X_new @ V @ data.S_new.T - one_hot(labels, len(data.S_new))).sum()
    return seen + alpha * pool + lam * np.square(V).sum()


@pytest.mark.parametrize("balance", [True, False])
def test_rounds_are_the_two_steps_and_the_objective_is_as_written(balance):
    data = make_synthetic(n_seen=8, n_unseen=4, d=10, a=6, noise=1.0)
    classifier = fitted(data, alpha=0.5, balance=balance).adapt(data.S_new, data.X_new)
    labels = classifier.rounds.start
    for (_, row), after in zip(classifier.history.iterrows(), classifier.rounds.rounds(), strict=True):
        V = kronecker(data.X, data.y, data.S, data.X_new, labels, data.S_new, 0.5, 1.0)
        labels = after.copy()
        if not balance:
            np.testing.assert_array_equal(labels, (data.X_new @ V @ data.S_new.T).argmax(axis=1))
        np.testing.assert_allclose(row["objective"], objective(data, V, labels, 0.5, 1.0), rtol=1e-6)
    np.testing.assert_allclose(classifier.classifiers, V @ data.S_new.T, atol=1e-5)


@pytest.mark.filterwarnings("ignore:SMS. labels collapsed")
@pytest.mark.parametrize("balance", [True, False])
@pytest.mark.parametrize(("alpha", "lam"), [(0.1, 1.0), (1.0, 0.3), (10.0, 3.0)])
def test_the_objective_never_rises(balance, alpha, lam):
    data = make_synthetic(noise=1.5, n_unseen=12)
    history = fitted(data, alpha=alpha, lam=lam, balance=balance).adapt(data.S_new, data.X_new).history
    values = history["objective"].to_numpy()
    assert (np.diff(values) <= 1e-7 * values[0]).all()
    assert history["changed"].iloc[-1] == 0


def test_without_weight_on_the_pool_it_is_ridge_regression_on_the_seen_classes():
    data = make_synthetic(noise=1.0)
    V = kronecker(data.X, data.y, data.S, 0 * data.X_new, data.y_new, data.S_new, 1.0, 1.0)
    classifier = fitted(data, alpha=1e-9, balance=False).adapt(data.S_new, data.X_new)
    np.testing.assert_allclose(classifier.classifiers, V @ data.S_new.T, atol=1e-5)
    np.testing.assert_array_equal(classifier.labels, (data.X_new @ V @ data.S_new.T).argmax(axis=1))
    alone = fitted(data).adapt(data.S_new)  # without a pool
    assert len(alone.history) == 0
    np.testing.assert_allclose(alone.classifiers, V @ data.S_new.T, atol=1e-8)


def test_turning_the_semantics_changes_no_score():
    data = make_synthetic()
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]
    scores = fitted(data).decision_function(data.X_new, data.S_new)
    turned = make_method("sms", lam=1.0).fit(data.X, data.y, data.S @ turn)
    np.testing.assert_allclose(turned.decision_function(data.X_new, data.S_new @ turn), scores, atol=1e-5)


def test_sizes_of_classes_keep_their_bounds():
    data = make_synthetic(noise=1.5)
    for spread in (1.0, 2.0):
        labels = fitted(data, spread=spread).adapt(data.S_new, data.X_new).labels
        sizes = np.bincount(labels, minlength=8)
        assert sizes.min() >= 12 / spread
        assert sizes.max() <= 12 * spread


def test_a_collapse_is_told_and_balance_prevents_it():
    data = make_synthetic()
    twice = np.vstack([data.S_new, data.S_new])  # half of the classes can never win on their own
    with pytest.warns(UserWarning, match="SMS: labels collapsed, .*balance: true"):
        fitted(data, balance=False).adapt(twice, data.X_new)
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
    model = make_method("sms", alpha=1.0, lam=0.1, spread=4.0).fit(*mixed.seen)
    assert min(mixed.accuracies(model.adapt(mixed.S, mixed.pool).labels)) > 0.8
