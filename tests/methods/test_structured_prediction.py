import warnings
from itertools import permutations

import numpy as np
import pytest
from sklearn.cluster import KMeans

from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from tests.helpers.pools import check_degenerate_pools, check_descent, fitter, mixed_pool, nearest
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestStructuredPrediction(MethodContract):
    method = "structured_prediction"
    params = {"gam": 0.1, "kappa": 2.0}
    floor = 0.9


fitted = fitter("structured_prediction")


def unit(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


def lloyd(Z, P0, kappa, unit_length, rounds=100):
    """The literal rounds, without matching."""
    P, labels = P0, nearest(Z, P0)
    for _ in range(rounds):
        P = P0.copy()
        for c in range(len(P0)):
            members = Z[labels == c]
            if len(members) + kappa:
                P[c] = (members.sum(axis=0) + kappa * P0[c]) / (len(members) + kappa)
        P = unit(P) if unit_length else P
        labels = nearest(Z, P)
    return labels, P


@pytest.mark.parametrize("kappa", [0.0, 3.0])
@pytest.mark.parametrize("unit_length", [False, True])
@pytest.mark.parametrize("space", ["visual", "semantic"])
def test_equals_the_literal_rounds(kappa, unit_length, space):
    data = make_synthetic(noise=1.0)
    model = fitted(data, gam=0.5, kappa=kappa, unit_length=unit_length, space=space, match=False)
    classifier = model.adapt(data.S_new, data.X_new)
    mean = data.S.mean(axis=0) if space == "semantic" else 0
    S, P0 = (unit(A - mean) if unit_length and space == "semantic" else A - mean for A in (data.S, data.S_new))
    known, goal = (data.X, S[data.y]) if space == "semantic" else (S[data.y], data.X)
    regression = np.linalg.solve(known.T @ known + 0.5 * np.eye(known.shape[1]), known.T @ goal)
    Z, P0 = (data.X_new @ regression, P0) if space == "semantic" else (data.X_new, P0 @ regression)
    if unit_length:
        Z, P0 = unit(Z), unit(P0)
    labels, P = lloyd(Z, P0, kappa, unit_length)
    np.testing.assert_array_equal(classifier.labels, labels)
    np.testing.assert_allclose(classifier.scorer.parts["prototypes"], P, atol=1e-10)
    expected = [[-np.sum((z - p) ** 2) for p in P] for z in Z]
    np.testing.assert_allclose(classifier.scores(data.X_new), expected, atol=1e-9)


@pytest.mark.parametrize("start", ["prototypes", "clusters"])
@pytest.mark.parametrize("kappa", [0.0, 1.0, 20.0])
@pytest.mark.parametrize("match", [False, True])
def test_the_objective_never_rises(start, kappa, match):
    data = make_synthetic(noise=1.5, n_unseen=12)
    model = fitted(data, kappa=kappa, start=start, match=match, n_init=1)
    classifier = model.adapt(data.S_new, data.X_new)
    check_descent(classifier.history, 100)
    objective = classifier.history["objective"].to_numpy()
    Z, P0 = model.latent(data.X_new), model.places(data.S_new)
    if start == "prototypes":
        assert objective[0] <= model.objective(Z, classifier.rounds.start, P0, P0)
    P = classifier.scorer.parts["prototypes"]
    assert objective[-1] == model.objective(Z, classifier.labels, P, P0)


def test_a_large_kappa_is_the_nearest_predicted_place():
    data = make_synthetic()
    model = fitted(data, kappa=1e9)
    expected = nearest(model.latent(data.X_new), model.places(data.S_new))
    np.testing.assert_array_equal(model.predict(data.X_new, data.S_new), expected)


def test_separated_clusters_are_found_from_their_means():
    rng = np.random.default_rng(0)
    S = np.eye(6) + 0.1
    means = 10 * rng.normal(size=(6, 4))
    y = np.arange(120) % 6
    X = means[y] + 0.1 * rng.normal(size=(120, 4))
    model = make_method("structured_prediction", gam=1e-9, unit_length=False).fit(X, y, S)
    np.testing.assert_array_equal(model.predict(X[:60] + 0.01, S), y[:60])


def test_matching_undoes_a_rotation_of_random_clusters():
    """From random starts the numbers of clusters mean nothing: only the matching can name them."""
    data = make_synthetic(noise=0.1, shift=0.2)
    model = fitted(data, start="clusters", gam=0.1)
    assert per_class_accuracy(data.y_new, model.predict(data.X_new, data.S_new)) == 1


@pytest.mark.parametrize("unit_length", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_matched_at_the_least_total_distance(unit_length, seed):
    """Against all permutations."""
    rng = np.random.default_rng(seed)
    data = make_synthetic(n_unseen=5, noise=1.0)
    labels = rng.integers(0, 5, len(data.X_new))
    matched, plain = (
        fitted(data, match=match, kappa=0.5, unit_length=unit_length, space="semantic") for match in (True, False)
    )
    Z, P0 = matched.latent(data.X_new), matched.places(data.S_new)
    P, found = plain._means(Z, labels, P0), matched._means(Z, labels, P0)
    totals = {order: np.sum((P[list(order)] - P0) ** 2) for order in permutations(range(5))}
    best = min(totals, key=totals.get)
    assert best != tuple(range(5))
    np.testing.assert_allclose(found, P[list(best)])


def test_random_starts_begin_with_the_clusters_of_k_means():
    data = make_synthetic(noise=1.5)
    model = fitted(data, start="clusters", n_init=3, seed=1)
    start = model.adapt(data.S_new, data.X_new).rounds.start
    clusters = KMeans(8, n_init=3, random_state=1).fit(model.latent(data.X_new)).labels_
    assert len(set(zip(start, clusters, strict=True))) == 8
    assert (start != nearest(model.latent(data.X_new), model.places(data.S_new))).any()


def test_kappa_counts_samples_and_the_scale_of_features_does_not_matter():
    data = make_synthetic(noise=1.0)
    expected = fitted(data, kappa=3.0, unit_length=False).adapt(data.S_new, data.X_new)
    twice = fitted(data, kappa=6.0, unit_length=False).adapt(data.S_new, np.repeat(data.X_new, 2, axis=0))
    scaled = make_method("structured_prediction", kappa=3.0, unit_length=False).fit(0.1 * data.X, *data[1:3])
    np.testing.assert_array_equal(twice.labels, np.repeat(expected.labels, 2))
    np.testing.assert_allclose(twice.history["objective"], 2 * expected.history["objective"])
    np.testing.assert_array_equal(scaled.adapt(data.S_new, 0.1 * data.X_new).labels, expected.labels)


def test_a_pool_of_seen_and_unseen_classes_is_told_apart():
    mixed = mixed_pool()
    model = make_method("structured_prediction", gam=0.1, match=False).fit(*mixed.seen)
    assert min(mixed.accuracies(model.adapt(mixed.S, mixed.pool).labels)) > 0.8


def test_a_collapse_is_told_and_what_prevents_it():
    """The seen classes are those of another world: places are wrong, and a prior holds small clusters there."""
    data, other = make_synthetic(noise=1.0), make_synthetic(seed=1)
    with pytest.warns(UserWarning, match=r"StructuredPrediction.*kappa"):
        fitted(other, kappa=10.0).adapt(data.S_new, data.X_new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kappa in (0.0, 1e4):
            fitted(other, kappa=kappa).adapt(data.S_new, data.X_new)


def test_relabelling_the_targets_permutes_the_labels():
    data = make_synthetic(noise=1.0)
    order = np.random.default_rng(0).permutation(len(data.S_new))
    for params in ({}, {"kappa": 4.0}, {"start": "clusters"}):
        model = fitted(data, **params)
        permuted = model.predict(data.X_new, data.S_new[order])
        np.testing.assert_array_equal(order[permuted], model.predict(data.X_new, data.S_new))


@pytest.mark.parametrize("kappa", [0.0, 5.0])
def test_a_class_without_samples_stays_where_it_was_predicted(kappa):
    data = make_synthetic(noise=0.1)
    model = fitted(data, kappa=kappa, gam=0.1, match=False)
    far = np.vstack([data.S_new, data.S[:1]])  # nothing in the pool looks like the seen class
    prototypes = model.adapt(far, data.X_new[data.y_new < 4]).scorer.parts["prototypes"]
    empty = np.flatnonzero(~np.isin(np.arange(9), model.predict(data.X_new[data.y_new < 4], far)))
    assert 8 in empty
    np.testing.assert_allclose(prototypes[empty], model.places(far)[empty])


@pytest.mark.parametrize("start", ["prototypes", "clusters"])
def test_few_samples_duplicates_and_ties_are_defined(start):
    data = make_synthetic()
    model = fitted(data, start=start)
    check_degenerate_pools(model, data)


def test_of_two_classes_at_one_place_the_first_one_wins():
    data = make_synthetic(noise=0.5, seed=3)
    model = fitted(data)
    twice = np.vstack([data.S_new, data.S_new])
    first, both = (model.adapt(S, data.X_new) for S in (data.S_new, twice))
    np.testing.assert_array_equal(both.rounds.start, first.rounds.start)
    np.testing.assert_array_equal(both.labels, first.labels)  # on ties a cluster keeps its class


def test_without_a_pool_there_is_no_round():
    data = make_synthetic()
    model = fitted(data, kappa=1.0)
    classifier = model.adapt(data.S_new)
    assert len(classifier.history) == 0
    np.testing.assert_array_equal(
        classifier.predict(data.X_new), nearest(model.latent(data.X_new), model.places(data.S_new))
    )
    restored = model.restore(classifier.state())
    np.testing.assert_array_equal(restored.predict(data.X_new), classifier.predict(data.X_new))
