import numpy as np
import pytest
from scipy.linalg import solve
from scipy.special import softmax

from aezsl.errors import ParameterError
from aezsl.methods import make_method
from tests.methods.core.contract import MethodContract
from tests.oracles.eszsl import one_hot
from tests.synthetic import make_synthetic


class TestAMP(MethodContract):
    method = "amp"
    params = {"lam": 0.1, "k_seen": 2, "k_unseen": 4}


def fitted(data, **params):
    return make_method("amp", **params).fit(*data[:3])


def cosine(a, b):
    return max(0.0, a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize(("k_seen", "k_unseen"), [(2, 8), (10, 1), (1000, 1000)])
@pytest.mark.parametrize("links", ["sr", "se", "both"])
def test_absorbing_probabilities_sum_to_one(k_seen, k_unseen, links):
    data = make_synthetic()
    model = fitted(data, k_seen=k_seen, k_unseen=k_unseen, links=links)
    for targets in (data.S_new, np.vstack([data.S, data.S_new])):
        B, p = model.absorption(targets), model.decision_function(data.X_new, targets)
        assert (B >= -1e-12).all()
        assert (p >= -1e-12).all()
        reached = B.any(axis=1)
        assert reached.any()
        np.testing.assert_allclose(B[reached].sum(axis=1), 1)
        np.testing.assert_allclose(p.sum(axis=1), 1)


def test_closed_form_is_where_long_walks_end():
    data = make_synthetic()
    model = fitted(data, k_seen=4, k_unseen=5)
    Q, R = model.steps(data.S_new)
    chain = np.block([[Q, R], [np.zeros((len(R.T), len(Q))), np.eye(len(R.T))]])
    ended = np.linalg.matrix_power(chain, 2**14)[: len(Q), len(Q) :]
    np.testing.assert_allclose(model.absorption(data.S_new), ended, atol=1e-9)


def test_edges_are_the_paper_s():
    """Seen classes: one among the nearest of the other; targets choose seen classes; weights are cosines."""
    data = make_synthetic()
    Q, R = fitted(data, k_seen=3, k_unseen=4).steps(data.S_new)
    among = np.array([[cosine(a, b) for b in data.S] for a in data.S]) - np.eye(len(data.S))
    towards = np.array([[cosine(a, b) for b in data.S] for a in data.S_new])
    weights = np.zeros((len(data.S), len(data.S) + len(data.S_new)))
    for i, row in enumerate(among):
        for j in np.argsort(-row)[:3]:
            weights[i, j] = weights[j, i] = row[j]
    for u, row in enumerate(towards):
        for j in np.argsort(-row)[:4]:
            weights[j, len(data.S) + u] = row[j]
    np.testing.assert_allclose(np.hstack([Q, R]), weights / weights.sum(axis=1, keepdims=True), atol=1e-12)


def test_without_edges_among_seen_classes_it_is_one_step():
    data = make_synthetic()
    model = fitted(data, k_seen=0, k_unseen=30)
    Q, R = model.steps(data.S_new)
    assert not Q.any()
    links = model.image_links(data.X_new, np.ones(len(data.S), dtype=bool))
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new), links @ R, atol=1e-12)


def test_images_are_linked_by_probabilities_by_cosines_or_by_their_mean():
    data = make_synthetic()
    everywhere = np.ones(len(data.S), dtype=bool)
    links = {}
    for kind in ("sr", "se", "both"):
        model = fitted(data, links=kind, n_links=len(data.S))
        links[kind] = model.image_links(data.X_new, everywhere)
        if kind == "sr":
            np.testing.assert_allclose(links[kind], softmax(data.X_new @ model.W_ + model.b_, axis=1))
        if kind == "se":
            nearness = np.array([[cosine(f, s) for s in data.S] for f in data.X_new @ model.map_])
            np.testing.assert_allclose(links[kind], nearness / nearness.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(links["both"], (links["sr"] + links["se"]) / 2, atol=1e-12)


def test_an_image_is_linked_to_its_strongest_classes_alone():
    data = make_synthetic()
    model = fitted(data, n_links=3)
    usable = np.arange(len(data.S)) != 5
    T, all_of_them = model.image_links(data.X, usable), fitted(data, n_links=30).image_links(data.X, usable)
    assert (np.count_nonzero(T, axis=1) == 3).all()
    assert not T[:, 5].any()
    for row, whole in zip(T, all_of_them, strict=True):
        best = np.argsort(-whole)[:3]
        np.testing.assert_allclose(row[best], whole[best] / whole[best].sum())


def test_a_seen_class_from_which_no_target_is_reached_has_no_say():
    data = make_synthetic(n_seen=12)
    S = np.hstack([data.S, np.zeros((12, 4))])
    S[9:] = 0
    S[9:, -3:] = 0.1 + np.eye(3)  # an island of three classes
    targets = np.hstack([data.S_new, np.zeros((8, 4))])
    model = make_method("amp", k_seen=2, k_unseen=2).fit(data.X, data.y, S)
    B = model.absorption(targets)
    assert not B[9:].any()
    scores = model.decision_function(data.X, targets)
    np.testing.assert_allclose(scores.sum(axis=1), 1)


class TestDirectAMP(MethodContract):
    method = "amp"
    params = {"variant": "direct", "lam": 0.1, "k_seen": 5, "image_bandwidth": 0.4}
    floor = 0.9


@pytest.mark.parametrize("k", [1, 5, 1000])
@pytest.mark.parametrize("width", [0.01, 0.4, 10.0])
def test_direct_probabilities_sum_to_one(k, width):
    data = make_synthetic()
    model = fitted(data, variant="direct", k_seen=k, bandwidth=width, image_bandwidth=width)
    for targets in (data.S_new, np.vstack([data.S, data.S_new])):
        for rows in (model.absorption(targets), model.decision_function(data.X_new, targets)):
            assert (rows >= -1e-9).all()
            np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-5)


def test_direct_edges_lead_to_the_nearest_with_gaussian_weights():
    data = make_synthetic()
    D = ((data.S[:, None] - data.S[None]) ** 2).sum(axis=2)
    width = 0.49 * np.mean([np.sort(row)[1:4].mean() for row in D])
    np.fill_diagonal(D, np.inf)
    to_target = ((data.S[:, None] - data.S_new[None]) ** 2).sum(axis=2)
    Q, R = fitted(data, variant="direct", k_seen=3, bandwidth=0.7).steps(data.S_new)
    for i in range(len(D)):
        weights = np.zeros(len(D) + len(data.S_new))
        weights[np.argsort(D[i])[:3]] = np.exp(-np.sort(D[i])[:3] / width)
        weights[len(D) + np.argsort(to_target[i])[:3]] = np.exp(-np.sort(to_target[i])[:3] / width)
        np.testing.assert_allclose(np.append(Q[i], R[i]), weights / weights.sum(), rtol=1e-6, atol=1e-8)


def test_a_narrow_width_is_the_nearest_prototype_where_that_is_a_target():
    data = make_synthetic()
    model = fitted(data, variant="direct", image_bandwidth=1e-3)
    f = data.X_new @ model.map_
    to_target = ((f[:, None] - data.S_new[None]) ** 2).sum(axis=2)
    direct = to_target.min(axis=1) < ((f[:, None] - data.S[None]) ** 2).sum(axis=2).min(axis=1)
    assert direct.any()
    labels = model.predict(data.X_new, data.S_new)
    np.testing.assert_array_equal(labels[direct], to_target.argmin(axis=1)[direct])


def test_projection_is_ridge_regression():
    data = make_synthetic()
    model = fitted(data, lam=0.3, links="se")
    targets = one_hot(data.y, len(data.S)) @ data.S
    expected = solve(data.X.T @ data.X + 0.3 * np.eye(data.X.shape[1]), data.X.T @ targets)
    np.testing.assert_allclose(model.map_, expected, rtol=1e-8, atol=1e-10)


def test_the_direct_variant_needs_a_neighbour():
    with pytest.raises(ParameterError, match="k_seen"):
        fitted(make_synthetic(), variant="direct", k_seen=0)
