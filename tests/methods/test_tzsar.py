import numpy as np
import pytest

from aezsl.methods import make_method
from aezsl.methods.core.seen import Targets
from aezsl.methods.shared.graph import heat_kernel_graph, laplacian
from aezsl.methods.tzsar import TZSAR, corrected, self_trained
from aezsl.selection import grid_points
from tests.helpers.pools import check_degenerate_pools, fitter, mixed_pool
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestTZSAR(MethodContract):
    method = "tzsar"
    params = {"gamma_a": 1e-3, "n_nearest": 8}
    floor = 0.9


fitted = fitter("tzsar")


def unit(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def targets_of(data):
    """Centred, unit semantics of the class of every seen sample."""
    return unit(data.S - data.S.mean(axis=0))[data.y]


def test_without_smoothness_the_map_is_ridge_regression():
    data = make_synthetic(noise=1.0)
    classifier = fitted(data, gamma_a=0.01, gamma_i=0.0).adapt(data.S_new, data.X_new)
    n, d = data.X.shape
    expected = np.linalg.solve(data.X.T @ data.X + 0.01 * n * np.eye(d), data.X.T @ targets_of(data))
    np.testing.assert_allclose(classifier.scorer.parts["map"], expected, rtol=1e-9, atol=1e-12)


def test_the_map_is_the_least_of_the_objective_and_of_its_dual():
    data = make_synthetic(noise=1.0, n_seen=6, n_unseen=3)
    gamma_a, gamma_i, n, m = 0.01, 3.0, len(data.X), len(data.X_new)
    W = fitted(data, gamma_a=gamma_a, gamma_i=gamma_i).adapt(data.S_new, data.X_new).scorer.parts["map"]
    L = laplacian(heat_kernel_graph(data.X_new, 5)).toarray()

    def objective(W):
        f = data.X_new @ W
        fit = np.square(data.X @ W - targets_of(data)).sum() / n
        return fit + gamma_a * np.square(W).sum() + gamma_i / m**2 * np.trace(f.T @ L @ f)

    rng = np.random.default_rng(0)
    assert all(objective(W) < objective(W + 1e-3 * rng.normal(size=W.shape)) for _ in range(20))
    both = np.vstack([data.X, data.X_new])
    K, N = both @ both.T, n + m
    J, L_all = np.diag(np.arange(N) < n).astype(float), np.zeros((N, N))
    L_all[n:, n:] = L
    right = np.vstack([targets_of(data), np.zeros((m, W.shape[1]))])
    dual = np.linalg.solve(J @ K + gamma_a * n * np.eye(N) + gamma_i * n / m**2 * L_all @ K, right)
    np.testing.assert_allclose(both.T @ dual, W, rtol=1e-8, atol=1e-10)


def test_much_smoothness_makes_projections_constant_on_connected_parts():
    rng = np.random.default_rng(0)
    data = make_synthetic(d=60)
    pool = np.vstack([rng.normal(size=(8, 60)), 20 + rng.normal(size=(8, 60))])
    classifier = fitted(data, gamma_i=1e12, n_neighbors=7).adapt(data.S_new, pool)
    f = pool @ classifier.scorer.parts["map"]
    for part in (f[:8], f[8:]):
        assert np.ptp(part, axis=0).max() < 1e-6 * np.abs(f).max()


def test_prototypes_become_means_of_their_nearest_projections():
    data = make_synthetic(noise=1.0)
    for rounds in (1, 2):
        classifier = fitted(data, n_nearest=5, rounds=rounds).adapt(data.S_new, data.X_new)
        f = unit(data.X_new @ classifier.scorer.parts["map"])
        P = unit(data.S_new - data.S.mean(axis=0))
        for _ in range(rounds):
            P = unit(np.array([f[np.argsort(-(f @ p), kind="stable")[:5]].mean(axis=0) for p in P]))
        np.testing.assert_allclose(classifier.scorer.parts["prototypes"], P, atol=1e-12)
        assert len(classifier.history) == rounds
        own = 1 - (f * P[classifier.labels]).sum(axis=1)
        assert classifier.history["distance"].iloc[-1] == pytest.approx(own.mean())


def test_one_nearest_is_the_nearest_projection_and_all_of_them_are_one_prototype():
    data = make_synthetic(noise=1.0)
    classifier = fitted(data, n_nearest=1).adapt(data.S_new, data.X_new)
    f = unit(data.X_new @ classifier.scorer.parts["map"])
    nearest = (f @ unit(data.S_new - data.S.mean(axis=0)).T).argmax(axis=0)
    np.testing.assert_allclose(classifier.scorer.parts["prototypes"], f[nearest], atol=1e-12)
    for n_nearest in (len(data.X_new), 10**6):
        with pytest.warns(UserWarning, match=r"TZSAR.*\bn_nearest\b"):
            classifier = fitted(data, n_nearest=n_nearest, hubness="none").adapt(data.S_new, data.X_new)
        P = classifier.scorer.parts["prototypes"]
        np.testing.assert_allclose(P, np.broadcast_to(P[0], P.shape), atol=1e-12)


@pytest.mark.parametrize("hubness", ["nrm", "gc"])
def test_hubness_correction_ignores_the_scale_of_a_prototype_s_distances(hubness):
    d = np.random.default_rng(0).uniform(0.1, 0.9, (30, 4))
    scaled = d * np.array([1.0, 0.5, 2.0, 0.1])
    before, after = corrected(d, hubness, d), corrected(scaled, hubness, scaled)
    if hubness == "nrm":
        np.testing.assert_allclose(after, before)
        np.testing.assert_allclose(np.linalg.norm(before, axis=0), 1)
    else:
        ranks = np.argsort(np.argsort(d, axis=0), axis=0)
        np.testing.assert_array_equal(np.floor(before), ranks)
        np.testing.assert_array_equal(np.floor(after), ranks)
        assert (np.floor(before)[d.argmin(axis=0), np.arange(4)] == 0).all()


def test_of_equal_ranks_the_smaller_distance_wins():
    d = np.array([[0.3, 0.2], [0.6, 0.9]])
    assert corrected(d, "gc", d).argmin(axis=1).tolist() == [1, 0]


@pytest.mark.filterwarnings("ignore:TZSAR. labels collapsed")
@pytest.mark.parametrize("hubness", ["none", "nrm", "gc"])
def test_few_samples_duplicates_and_ties_are_defined(hubness):
    data = make_synthetic()
    model = fitted(data, hubness=hubness, n_nearest=3)
    check_degenerate_pools(model, data)
    twice = np.vstack([data.S_new, data.S_new])
    assert model.predict(data.X_new, twice).max() < 8  # of two classes with one vector the first one wins


@pytest.mark.parametrize("hubness", ["none", "nrm", "gc"])
def test_one_sample_without_self_training_gets_the_nearest_prototype(hubness):
    data = make_synthetic()
    model = fitted(data, hubness=hubness, rounds=0, gamma_i=0.0)
    plain = fitted(data, hubness="none", rounds=0, gamma_i=0.0).predict(data.X_new, data.S_new)
    assert [model.predict(x[None], data.S_new)[0] for x in data.X_new[::9]] == plain[::9].tolist()


def test_a_class_without_samples_moves_into_the_pool_too():
    data = make_synthetic(noise=0.1)
    classifier = fitted(data, n_nearest=8).adapt(data.S_new, data.X_new[data.y_new < 4])
    assert np.isfinite(classifier.scores(data.X_new)).all()
    np.testing.assert_allclose(np.linalg.norm(classifier.scorer.parts["prototypes"], axis=1), 1)


def test_without_a_pool_it_is_the_nearest_prototype_of_the_regression():
    data = make_synthetic()
    for hubness in ("none", "nrm", "gc"):
        classifier = fitted(data, hubness=hubness).adapt(data.S_new)
        assert len(classifier.history) == 0
        f = unit(data.X_new @ classifier.scorer.parts["map"])
        expected = (f @ unit(data.S_new - data.S.mean(axis=0)).T).argmax(axis=1)
        np.testing.assert_array_equal(classifier.predict(data.X_new), expected)


def test_semantics_can_stay_where_they_are():
    data = make_synthetic()
    model = fitted(data, centre=False)
    np.testing.assert_allclose(model.prototypes(data.S_new), unit(data.S_new))


@pytest.mark.parametrize("a", [10, 40])  # fewer and more dimensions than seen classes
def test_evened_semantics_are_compared_by_their_inverse_covariance(a):
    data = make_synthetic(a=a)
    C, C_new = data.S - data.S.mean(axis=0), data.S_new - data.S.mean(axis=0)
    covariance = C.T @ C
    added = 0.3 * np.trace(covariance) / np.linalg.matrix_rank(covariance)
    metric = np.linalg.inv(covariance + added * np.eye(a))
    products = C_new @ metric @ C_new.T
    lengths = np.sqrt(np.diag(products))
    P = fitted(data, shrinkage=0.3).prototypes(data.S_new)
    np.testing.assert_allclose(P @ P.T, products / np.outer(lengths, lengths), atol=1e-9)
    np.testing.assert_allclose(fitted(data, shrinkage=1e9).prototypes(data.S_new), unit(C_new), atol=1e-6)


def test_a_grid_regresses_once_for_all_corrections(monkeypatch):
    data, asked = make_synthetic(), []
    regression = TZSAR.regression
    monkeypatch.setattr(TZSAR, "regression", lambda self, *args: asked.append(self) or regression(self, *args))
    grid = {"shrinkage": [None, 0.3], "n_nearest": [4, 8], "hubness": ["none", "nrm"]}
    points = grid_points(grid)
    targets = Targets(data.S_new, data.X_new, len(points))
    found = [m.adapt_to(targets).labels for m in make_method("tzsar").fit_path(data.X, data.y, data.S, points)]
    assert len(asked) == 2
    for point, labels in zip(points, found, strict=True):
        np.testing.assert_array_equal(fitted(data, **point).adapt(data.S_new, data.X_new).labels, labels)


def test_new_samples_are_scored_as_the_pool_is():
    data = make_synthetic()
    for hubness in ("none", "nrm", "gc"):
        classifier = fitted(data, hubness=hubness).adapt(data.S_new, data.X_new)
        scores = classifier.scores(data.X_new)
        np.testing.assert_allclose(classifier.scores(data.X_new[7:8]), scores[7:8], atol=1e-9)
        np.testing.assert_array_equal(scores.argmax(axis=1), classifier.labels)


def test_ties_among_projections_take_the_first_samples():
    f = np.eye(3)[[0, 0, 1, 2]]
    np.testing.assert_allclose(self_trained(f, np.array([[0.5, 0.1]] * 4), 2), f[[0, 0]])


def test_of_classes_that_come_to_the_same_samples_the_first_takes_all():
    data = make_synthetic(noise=1.0)
    nearly = data.S_new[:1] + 1e-6 * np.random.default_rng(0).normal(size=(1, 10))
    classifier = fitted(data, n_nearest=5).adapt(np.vstack([data.S_new, nearly]), data.X_new)
    P = classifier.scorer.parts["prototypes"]
    np.testing.assert_array_equal(P[8], P[0])
    assert set(classifier.labels) == set(range(8))


def test_a_pool_of_seen_and_unseen_classes_is_told_apart():
    mixed = mixed_pool()
    model = make_method("tzsar", n_nearest=4).fit(*mixed.seen)
    assert min(mixed.accuracies(model.adapt(mixed.S, mixed.pool).labels)) > 0.8
