import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array

from aezsl.methods import make_method
from aezsl.methods.core.seen import Targets
from aezsl.methods.lrl import class_laplacian, label_costs, smooth_labels
from aezsl.methods.shared.graph import heat_kernel_graph, laplacian
from aezsl.methods.shared.margin import Labelling, smooth_hinge, train
from tests.helpers.derivatives import central_differences
from tests.helpers.pools import check_degenerate_pools, check_descent, fitter
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic

DOUBLE = {"single": False}


class TestLRL(MethodContract):
    method = "lrl"
    params = {"max_rounds": 2, **DOUBLE}
    floor = 0.8


fitted = fitter("lrl", **DOUBLE)


@pytest.fixture(scope="module")
def data():
    return make_synthetic(noise=1.0)


@pytest.mark.parametrize("params", [{}, {"gamma": 1.0, "rho": 1.0}, {"gamma": None}, {"beta": 0.1, "lower": 0.0}])
def test_the_objective_never_rises(data, params):
    check_descent(fitted(data, **params).adapt(data.S_new, data.X_new).history, 10)


@pytest.mark.parametrize("gamma", [3.0, None])
def test_the_objective_is_the_one_written(data, gamma):
    model = fitted(data, gamma=gamma, rho=0.7)
    scene = model._scene(data.S_new, data.X_new)
    H = laplacian(heat_kernel_graph(data.X_new, 10))
    rng = np.random.default_rng(0)
    W, labels = rng.normal(size=scene.W.shape), rng.integers(0, 8, 96)
    U = scene.U if gamma is None else rng.normal(size=scene.U.shape)  # without a weight they never leave
    y = np.concatenate([data.y, labels + 30])
    scores = scene.F @ W.T @ U.T
    margins = (np.arange(38) != y[:, None]) + scores - scores[np.arange(len(y)), y][:, None]
    loss = 0.05 * np.log(np.exp((margins - margins.max(axis=1, keepdims=True)) / 0.05).sum(axis=1)) + margins.max(
        axis=1
    )
    TU = U[y[len(data.y) :]]
    terms = np.sum(W**2) / 2, 1.5 * np.sum((U - scene.U) ** 2), loss.sum(), 0.35 * np.trace(TU.T @ (H @ TU))
    np.testing.assert_allclose(model.objective(scene, W, U, labels, H), sum(terms))


def test_with_fixed_class_vectors_the_machine_is_the_one_of_max_margin(data):
    model = fitted(data, gamma=None, rho=0.0)
    other = make_method("max_margin", max_rounds=1, **DOUBLE).fit(*data[:3]).adapt(data.S_new, data.X_new)
    scene, start = model._scene(data.S_new, data.X_new), other.rounds.start
    labels = Labelling(np.concatenate([data.y, start + 30]), np.empty((0, 38)))
    W = train(scene.F, scene.U, labels, 1.0, scene.W).W
    value = model.objective(scene, W, scene.U, start, csr_array((96, 96)))
    assert value == pytest.approx(other.history["objective"].iloc[0], rel=1e-9)
    np.testing.assert_array_equal(model.adapt(data.S_new, data.X_new).rounds.start, start)
    large = fitted(data, gamma=1e9, rho=0.0).adapt(data.S_new, data.X_new)
    np.testing.assert_array_equal(large.labels, model.adapt(data.S_new, data.X_new).labels)


def test_a_grid_shares_the_first_machine(data, monkeypatch):
    asked = []
    monkeypatch.setattr("aezsl.methods.lrl.train", lambda *args: asked.append(args) or train(*args))
    points = [{"rho": 0.1}, {"rho": 1.0}, {"gamma": 1.0}, {"lower": 1.0}, {"upper": 1.0}]
    targets = Targets(data.S_new, data.X_new, len(points))
    models = make_method("lrl", max_rounds=1, **DOUBLE).fit_path(data.X, data.y, data.S, points)
    found = [model.adapt_to(targets).labels for model in models]
    assert len(asked) == 3  # other bounds are other first labels
    for point, labels in zip(points, found, strict=True):
        np.testing.assert_array_equal(fitted(data, max_rounds=1, **point).adapt(data.S_new, data.X_new).labels, labels)


def test_without_weight_or_links_the_graph_is_ignored(data, monkeypatch):
    narrow, wide = (fitted(data, rho=0.0, n_neighbors=k).adapt(data.S_new, data.X_new).labels for k in (2, 20))
    np.testing.assert_array_equal(narrow, wide)
    monkeypatch.setattr("aezsl.methods.lrl.laplacian", lambda W: csr_array(W.shape))
    unlinked = fitted(data, rho=1.0).adapt(data.S_new, data.X_new).labels
    np.testing.assert_array_equal(unlinked, wide)


def two_blocks(m):
    """The Laplacian of two groups of m / 2 samples, all linked within."""
    links = np.kron(np.eye(2), np.ones((m // 2, m // 2))) - np.eye(m)
    return csr_array(np.diag(links.sum(axis=1)) - links)


def test_much_smoothness_gives_one_label_to_every_part_of_the_graph():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.normal(size=(6, 6)))[0][:4]
    start = np.where(rng.random(20) < 0.3, rng.integers(0, 4, 20), np.repeat([1, 3], 10))
    free = np.zeros(4, dtype=int), np.full(4, 20)
    labels = smooth_labels(rng.random((20, 4)), 100 * two_blocks(20), U, start, *free)
    np.testing.assert_array_equal(labels, np.repeat([1, 3], 10))


def test_a_pool_of_two_parts_has_two_labels_where_smoothness_is_all_that_counts(data):
    """Bounds are open; the parts are so far from each other that no link joins them."""
    rng = np.random.default_rng(0)
    pool = np.repeat(data.X_new[[0, 50]], 12, axis=0) + 0.1 * rng.normal(size=(24, 24))
    labels = fitted(data, lower=0.0, upper=8.0, rho=1000.0, gamma=None).adapt(data.S_new, pool).labels
    assert len(set(labels[:12])) == len(set(labels[12:])) == 1
    assert labels[0] != labels[-1]


@pytest.mark.parametrize("seed", range(3))
def test_label_steps_lower_the_sum_keep_bounds_and_end_where_no_sample_can_gain(seed):
    rng = np.random.default_rng(seed)
    costs, U, start = rng.random((40, 5)), rng.normal(size=(5, 3)), np.arange(40) % 5
    H = laplacian(heat_kernel_graph(rng.normal(size=(40, 2)), 4))
    low, high = np.full(5, 4), np.full(5, 11)

    def value(labels):
        return costs[np.arange(40), labels].sum() + 0.5 * np.trace(U[labels].T @ (H @ U[labels]))

    labels = smooth_labels(costs, H, U, start, low, high)
    counts = np.bincount(labels, minlength=5)
    assert value(labels) < value(start)
    assert (counts >= 4).all()
    assert (counts <= 11).all()
    for i in range(40):
        for k in range(5):
            if k != labels[i] and counts[labels[i]] > 4 and counts[k] < 11:
                other = labels.copy()
                other[i] = k
                assert value(other) >= value(labels) - 1e-8


@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_costs_are_the_hinge_of_every_label(tau):
    scores = 2 * np.random.default_rng(0).normal(size=(7, 5))
    for k in range(5):
        for i in range(7):
            expected, _ = smooth_hinge(scores[i : i + 1], Labelling(np.array([k]), np.empty((0, 5))), tau)
            assert label_costs(scores, tau)[i, k] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_laplacian_of_classes_is_the_product():
    rng = np.random.default_rng(0)
    H, classes = laplacian(heat_kernel_graph(rng.normal(size=(20, 2)), 3)), rng.integers(0, 4, 20)
    T = np.eye(6)[classes]
    np.testing.assert_allclose(class_laplacian(H, classes, 6), T.T @ H.toarray() @ T, atol=1e-12)


def class_step(data, **params):
    """The model, its scene, a graph and labels: what a step of the class vectors starts from."""
    model = fitted(data, **params)
    scene = model._scene(data.S_new, data.X_new)
    H = laplacian(heat_kernel_graph(data.X_new, 10))
    return model, scene, (np.arange(len(data.X_new)) % len(data.S_new), H)


def test_the_class_step_descends_the_objective(monkeypatch):
    """What it descends is the objective by U, with its derivative."""
    asked = []
    monkeypatch.setattr("aezsl.methods.lrl.descend", lambda value, U: asked.append(value) or U)
    data = make_synthetic(n_seen=5, n_unseen=3, per_class=6, d=6, a=4, noise=1.0)
    model, scene, given = class_step(data, gamma=2.0, rho=0.5)
    model._class_step(scene, scene.W, scene.U, *given)
    V = scene.U + np.random.default_rng(0).normal(size=scene.U.shape)
    value, slope = asked[0](V)
    others = model.beta / 2 * np.sum(scene.W**2)
    assert value + others == pytest.approx(model.objective(scene, scene.W, V, *given), rel=1e-12)
    np.testing.assert_allclose(slope, central_differences(lambda V: asked[0](V)[0], V), rtol=1e-4, atol=1e-6)


def test_the_class_step_finds_the_minimum(data):
    model, scene, given = class_step(data, gamma=2.0, rho=0.5)
    U = model._class_step(scene, scene.W, scene.U, *given)
    found = model.objective(scene, scene.W, U, *given)
    for _ in range(5):
        U = model._class_step(scene, scene.W, U, *given)
    best = model.objective(scene, scene.W, U, *given)
    assert best <= found <= best + 1e-4 * (model.objective(scene, scene.W, scene.U, *given) - best)


def test_gamma_holds_class_vectors_at_the_semantics_and_rho_shortens_what_joins_them(data):
    """Of a sum of two terms the minimum has less of the one that weighs more."""
    moved, apart = [], []
    for gamma, rho in ((0.1, 0.1), (1.0, 0.1), (10.0, 0.1), (1.0, 1.0), (1.0, 10.0)):
        model, scene, (labels, H) = class_step(data, gamma=gamma, rho=rho)
        U = model._class_step(scene, scene.W, scene.U, labels, H)
        TU = U[scene.columns[labels]]
        moved.append(np.sum((U - scene.U) ** 2))
        apart.append(np.vdot(TU, H @ TU))
    assert moved[0] > moved[1] > moved[2] > 0
    assert apart[1] > apart[3] > apart[4] > 0


def test_without_a_pool_it_is_the_machine_of_the_seen_classes(data):
    classifier = fitted(data).adapt(data.S_new)
    other = make_method("max_margin", **DOUBLE).fit(*data[:3]).adapt(data.S_new)
    assert len(classifier.history) == 0
    np.testing.assert_allclose(classifier.scores(data.X_new), other.scores(data.X_new))


def test_few_samples_duplicates_and_ties_are_defined(data):
    model = fitted(data, max_rounds=2)
    check_degenerate_pools(model, data, distinct=False)  # the bounds hold for equal samples, too
    twice = model.adapt(np.vstack([data.S_new, data.S_new]), data.X_new)
    assert len(twice.labels) == len(data.X_new)


def test_a_class_without_samples_may_stay_empty():
    sharp = make_synthetic(noise=0.1)
    here = sharp.y_new < 4
    classifier = fitted(sharp, lower=0.0).adapt(sharp.S_new, sharp.X_new[here])
    assert np.mean(classifier.labels == sharp.y_new[here]) > 0.9


def test_a_collapse_is_told(data):
    """Without bounds, much smoothness draws labels together."""
    given = {"upper": 8.0, "rho": 100.0, "n_neighbors": 95}
    with pytest.warns(UserWarning, match=r"LRL.*\blower\b"):
        fitted(data, lower=0.0, **given).adapt(data.S_new, data.X_new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(data, lower=0.5, **given).adapt(data.S_new, data.X_new)


def test_seen_and_new_classes_are_told_apart_together():
    data = make_synthetic()
    both, pool = np.vstack([data.S_new, data.S]), np.vstack([data.X[::6], data.X_new])
    true = np.concatenate([data.y[::6] + 8, data.y_new])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.mean(fitted(data).adapt(both, pool).labels == true) > 0.6
