import warnings

import numpy as np
import pytest

from aezsl.data.statistics import class_sums
from aezsl.methods import make_method
from aezsl.methods.jeac import cluster_with_seen
from tests.helpers.pools import check_degenerate_pools, check_descent, fitter, mixed_pool, nearest
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic


class TestJEaC(MethodContract):
    method = "jeac"
    params = {"lam": 1.0, "gam": 0.1}
    floor = 0.9


fitted = fitter("jeac")


def row_form(X, y, S, Z, A, lam, gam, rounds):
    """The literal steps with one row per sample; also the objective after every round."""
    left, weights = S[y], np.ones(len(y))
    D = np.linalg.solve(left.T @ left + gam * np.eye(S.shape[1]), left.T @ X)
    labels, objectives = nearest(Z, A @ D), []
    for _ in range(rounds):
        rows, goal = np.vstack([left, A[labels]]), np.vstack([X, Z])
        weights = np.concatenate([np.ones(len(y)), np.full(len(Z), lam)])[:, None]
        D = np.linalg.solve(rows.T @ (weights * rows) + gam * np.eye(S.shape[1]), rows.T @ (weights * goal))
        labels = nearest(Z, A @ D)
        errors = np.sum((X - left @ D) ** 2), lam * np.sum((Z - A[labels] @ D) ** 2), gam * np.sum(D**2)
        objectives.append(sum(errors))
    return labels, A @ D, objectives


@pytest.mark.parametrize("shape", [{}, {"d": 500}, {"a": 60}, {"a": 4, "n_unseen": 12}])
@pytest.mark.parametrize(("lam", "gam"), [(0.3, 0.1), (3.0, 1.0)])
def test_class_sums_give_what_rows_give(shape, lam, gam):
    data = make_synthetic(noise=1.0, **shape)
    classifier = fitted(data, lam=lam, gam=gam).adapt(data.S_new, data.X_new)
    rounds = len(classifier.history)
    labels, signatures, objectives = row_form(*data[:4], data.S_new, lam, gam, rounds)
    np.testing.assert_array_equal(classifier.labels, labels)
    found = classifier.scorer.parts["signatures"]
    np.testing.assert_allclose(found, signatures, rtol=1e-10, atol=1e-10 * np.abs(signatures).max())
    np.testing.assert_allclose(classifier.history["objective"], objectives, rtol=1e-10)
    expected = [[-np.sum((z - p) ** 2) for p in signatures] for z in data.X_new]
    np.testing.assert_allclose(classifier.scores(data.X_new), expected, atol=1e-8)


@pytest.mark.parametrize("start", ["ridge", "clusters"])
@pytest.mark.parametrize("lam", [0.1, 1.0, 10.0])
def test_the_objective_never_rises(start, lam):
    data = make_synthetic(noise=1.5, n_unseen=12)
    check_descent(fitted(data, lam=lam, start=start).adapt(data.S_new, data.X_new).history, 100)


def test_without_weight_on_the_pool_it_is_the_nearest_mapped_signature():
    data = make_synthetic(noise=1.0)
    Y = np.eye(len(data.S))[data.y] @ data.S
    D = np.linalg.solve(Y.T @ Y + 0.5 * np.eye(10), Y.T @ data.X)
    classifier = fitted(data, lam=1e-12, gam=0.5).adapt(data.S_new, data.X_new)
    np.testing.assert_array_equal(classifier.labels, nearest(data.X_new, data.S_new @ D))
    assert len(classifier.history) == 1


def kmeans(Z, P):
    labels = nearest(Z, P)
    for _ in range(100):
        P = np.array([Z[labels == c].mean(axis=0) if (labels == c).any() else P[c] for c in range(len(P))])
        labels = nearest(Z, P)
    return labels


def test_with_independent_signatures_it_is_k_means_from_the_mapped_ones():
    """Nothing ties the targets to the seen classes then: each mapped signature is free to follow its samples."""
    rng = np.random.default_rng(0)
    data = make_synthetic(noise=1.0, n_seen=12, n_unseen=6)
    S = np.linalg.qr(rng.normal(size=(20, 20)))[0] + 0.2  # mapped alike by the common part
    model = make_method("jeac", lam=1.0, gam=1e-9).fit(data.X, data.y, S[:12])
    D = np.linalg.pinv(S[:12]) @ (class_sums(data.X, data.y, 12) / 12)
    start = S[12:18] @ D
    classifier = model.adapt(S[12:18], data.X_new)
    np.testing.assert_array_equal(classifier.rounds.start, nearest(data.X_new, start))
    np.testing.assert_array_equal(classifier.labels, kmeans(data.X_new, start))


def test_with_all_weight_on_the_pool_it_is_k_means_with_centres_in_the_span_of_the_signatures():
    data = make_synthetic(noise=1.0, a=5, n_unseen=12)
    model = fitted(data, lam=1e9, gam=1e-6)
    classifier = model.adapt(data.S_new, data.X_new)
    labels = classifier.rounds.start
    for _ in range(len(classifier.history)):
        D = np.linalg.lstsq(data.S_new[labels], data.X_new, rcond=None)[0]
        labels = nearest(data.X_new, data.S_new @ D)
    np.testing.assert_array_equal(classifier.labels, labels)
    np.testing.assert_allclose(classifier.scorer.parts["signatures"], data.S_new @ D, atol=1e-6)


def test_clustering_holds_seen_samples_and_never_raises_its_objective():
    data = make_synthetic(noise=1.0)
    counts, sums = np.bincount(data.y), class_sums(data.X, data.y, len(data.S))
    for seed in range(5):
        found = cluster_with_seen(data.X_new, counts, sums, 8, seed, 100)
        assert (np.diff(found.objectives) <= 1e-12 * found.objectives[0]).all()
        members = [np.vstack([data.X[data.y == k], data.X_new[found.clusters == k]]) for k in range(len(found.centres))]
        used = [k for k, rows in enumerate(members) if len(rows)]
        np.testing.assert_allclose(found.centres[used], [members[k].mean(axis=0) for k in used])
        error = sum(np.sum((rows - rows.mean(axis=0)) ** 2) for rows in members if len(rows))
        spread = sum(np.sum((data.X[data.y == c] - data.X[data.y == c].mean(axis=0)) ** 2) for c in range(30))
        np.testing.assert_allclose(found.objectives[-1], error - spread)


def test_clusters_are_named_by_the_nearest_mapped_signature():
    data = make_synthetic(noise=1.0)
    Y = np.eye(len(data.S))[data.y] @ data.S
    D = np.linalg.solve(Y.T @ Y + 0.1 * np.eye(10), Y.T @ data.X)
    counts, sums = np.bincount(data.y), class_sums(data.X, data.y, len(data.S))
    found = cluster_with_seen(data.X_new, counts, sums, 8, 3, 100)
    start = fitted(data, start="clusters", gam=0.1, seed=3).adapt(data.S_new, data.X_new).rounds.start
    np.testing.assert_array_equal(start, nearest(found.centres, data.S_new @ D)[found.clusters])
    assert (start != nearest(data.X_new, data.S_new @ D)).any()


def test_a_new_cluster_without_samples_stays_where_it_began():
    data = make_synthetic()
    counts, sums = np.bincount(data.y), class_sums(data.X, data.y, len(data.S))
    found = cluster_with_seen(np.repeat(data.X_new[[0, 50]], 5, axis=0), counts, sums, 6, 0, 100)
    for centre in found.centres[len(data.S) :]:
        assert np.abs(data.X_new[[0, 50]] - centre).max(axis=1).min() < 1e-9


def test_seen_targets_get_no_cluster_of_their_own(monkeypatch):
    data, asked = make_synthetic(noise=0.1), []
    monkeypatch.setattr(
        "aezsl.methods.jeac.cluster_with_seen", lambda *args: asked.append(args[3]) or cluster_with_seen(*args)
    )
    model = fitted(data, start="clusters", gam=0.01)
    np.testing.assert_array_equal(model.adapt(data.S, data.X).labels, data.y)
    model.adapt(np.vstack([data.S_new, data.S]), data.X_new)
    assert asked == [0, 8]


def test_the_scale_of_features_does_not_matter_and_lam_counts_samples():
    data = make_synthetic(noise=1.0)
    expected = fitted(data, lam=0.6).adapt(data.S_new, data.X_new)
    scaled = make_method("jeac", lam=0.6).fit(0.1 * data.X, *data[1:3]).adapt(data.S_new, 0.1 * data.X_new)
    twice = fitted(data, lam=0.3).adapt(data.S_new, np.repeat(data.X_new, 2, axis=0))
    np.testing.assert_array_equal(scaled.labels, expected.labels)
    np.testing.assert_allclose(scaled.history["objective"], 0.01 * expected.history["objective"])
    np.testing.assert_array_equal(twice.labels, np.repeat(expected.labels, 2))
    np.testing.assert_allclose(twice.history["objective"], expected.history["objective"])


def test_a_pool_of_seen_and_unseen_classes_is_told_apart():
    mixed = mixed_pool()
    model = make_method("jeac", gam=0.1).fit(*mixed.seen)
    assert min(mixed.accuracies(model.adapt(mixed.S, mixed.pool).labels)) > 0.8


def test_a_collapse_is_told_and_a_smaller_lam_prevents_it():
    """The seen classes are those of another world, so that the map fits none of the pool's clusters."""
    data, other = make_synthetic(noise=1.0), make_synthetic(seed=3)
    with pytest.warns(UserWarning, match=r"JEaC.*\blam\b"):
        fitted(other).adapt(data.S_new, data.X_new)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(other, lam=1e-3).adapt(data.S_new, data.X_new)


@pytest.mark.parametrize("start", ["ridge", "clusters"])
def test_few_samples_duplicates_and_ties_are_defined(start):
    data = make_synthetic()
    model = fitted(data, start=start)
    check_degenerate_pools(model, data)
    twice = np.vstack([data.S_new, data.S_new])
    assert model.predict(data.X_new, twice).max() < 8  # of two classes with one signature the first one wins


def test_a_class_without_samples_is_where_the_others_put_it():
    data = make_synthetic(noise=0.1)
    classifier = fitted(data, gam=0.1).adapt(data.S_new, data.X_new[data.y_new < 4])
    assert set(classifier.labels) == set(range(4))
    assert np.isfinite(classifier.scores(data.X_new)).all()


def test_without_a_pool_there_is_no_round():
    data = make_synthetic()
    for start in ("ridge", "clusters"):
        classifier = fitted(data, start=start).adapt(data.S_new)
        assert len(classifier.history) == 0
        Y = np.eye(len(data.S))[data.y] @ data.S
        D = np.linalg.solve(Y.T @ Y + np.eye(10), Y.T @ data.X)
        np.testing.assert_array_equal(classifier.predict(data.X_new), nearest(data.X_new, data.S_new @ D))
