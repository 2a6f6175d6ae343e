"""Training images as labelled nodes of the graph, where seen classes are targets too."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from aezsl.data.statistics import SeenStatistics
from aezsl.evaluation.calibration import ausuc, seen_unseen_curve
from aezsl.methods import make_method
from aezsl.methods.propagation.balanced import Objective, Weights, propagate
from aezsl.methods.propagation.neighbours import neighbour_graph, pool_graph, some_of_every_class
from tests.helpers.propagation import C, M, objective, unit
from tests.synthetic import make_synthetic

LAMBDAS = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1}
N_LABELLED = 60


def with_labelled(weights):
    """The pool of seven classes with labelled nodes of three of them, and the graph of all nodes."""
    J, rng = objective(weights), np.random.default_rng(5)
    y = rng.integers(3, size=N_LABELLED)
    labelled = unit(J.prototypes[y] + 0.2 * rng.normal(size=(N_LABELLED, J.X.shape[1])))
    graph = pool_graph(J.X, 8, labelled, y, C)
    return replace(J, S=graph.S, labelled=graph.labelled), neighbour_graph(np.vstack([J.X, labelled]), 8), np.eye(C)[y]


@pytest.mark.parametrize("graph", [1, 8, 40])
@pytest.mark.parametrize("balance", [0, 0.7, 1])
def test_the_objective_never_rises(graph, balance):
    J, _, _ = with_labelled((1.0, graph, 20.0, 5.0, balance))
    trace = [value for _, value in propagate(J, settle=1e-9).rounds]
    assert len(trace) > 1
    assert (np.diff(trace) <= 1e-8 * abs(trace[0])).all()


def test_labelled_rows_stay_as_they_are():
    """Up to a constant it is the objective of all rows of one graph, those of labelled nodes fixed."""
    J, S, Y = with_labelled((1.0, 8.0, 20.0, 5.0, 0.7))
    bare, rng, gaps = replace(J, weights=J.weights._replace(graph=0.0)), np.random.default_rng(0), []
    for _ in range(3):
        R = rng.dirichlet(np.ones(C), size=M)
        rows = np.vstack([R, Y])
        gaps.append(bare.value(R) + 4.0 * (len(rows) - np.vdot(rows, S @ rows)) - J.value(R))
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_a_round_sees_the_labelled_rows_as_it_sees_any_neighbour():
    J, S, Y = with_labelled((1.0, 2.0, 0.0, 0.0, 0.0))
    R = propagate(J, max_rounds=500, settle=0).R
    expected = softmax(J.G + 2 * (S @ np.vstack([R, Y]))[:M], axis=1)
    np.testing.assert_allclose(R, expected, atol=1e-6)


def test_where_the_graph_is_all_that_counts_a_sample_has_the_label_of_its_labelled_neighbours():
    X = np.eye(4)[[0, 0, 1, 1]]
    graph = pool_graph(X, 1, np.eye(4)[[0, 0, 0, 1, 1, 1]], np.array([2, 2, 2, 0, 0, 0]), 3)
    J = Objective(np.zeros((4, 3)), graph.S, np.full(3, 1 / 3), Weights(0, 1e3, 0, 0, 0), labelled=graph.labelled)
    np.testing.assert_array_equal(propagate(J).R.argmax(axis=1), [2, 2, 0, 0])


def test_without_labelled_nodes_the_graph_is_the_pool_s_own():
    J = objective((1.0, 8.0, 20.0, 5.0, 0.7))
    graph = pool_graph(J.X, 8, J.X[:0], np.empty(0, dtype=int), C)
    assert graph.labelled is None
    np.testing.assert_array_equal(graph.S.toarray(), J.S.toarray())


def test_as_many_of_every_class_as_asked_for():
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, 3], [30, 4, 11]))
    rows = some_of_every_class(y, 5)
    np.testing.assert_array_equal(np.bincount(y[rows]), [5, 4, 0, 5])
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(some_of_every_class(y, 100), np.arange(len(y)))
    assert len(some_of_every_class(y, 0)) == 0


@pytest.fixture(scope="module")
def generalized():
    """Training images, and a pool of other images of the same classes and of unseen ones; all of them targets."""
    data = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=2)
    test = np.arange(len(data.X)) % 4 == 0
    pool = np.vstack([data.X[test], data.X_new])
    true = np.concatenate([data.y[test], data.y_new + len(data.S)])
    return (data.X[~test], data.y[~test], data.S), np.vstack([data.S, data.S_new]), pool, true


def adapted(generalized, labelled):
    training, S, pool, _ = generalized
    return make_method("aezsl_t", **LAMBDAS, labelled=labelled).fit(*training).adapt(S, pool)


def test_where_the_means_of_seen_classes_count_little_their_images_help(generalized):
    training, S, pool, true = generalized
    areas = []
    for labelled in (0, 30):
        model = make_method("aezsl_t", **LAMBDAS, labelled=labelled, seen_images=1.0).fit(*training)
        areas.append(ausuc(seen_unseen_curve(true, *model.rank_sides(pool, S, 30, 1), 30)))
    assert areas[1] > areas[0] + 0.02


def test_without_labelled_nodes_both_sides_are_ranked_without_neighbours(generalized):
    classifier, pool = adapted(generalized, 0), generalized[2]
    assert classifier.pool_scores is None
    np.testing.assert_array_equal(classifier.scores(pool), classifier.scorer.scores(pool))


def test_both_sides_are_ranked_by_the_soft_labels_of_the_pool(generalized):
    classifier, pool = adapted(generalized, 10), generalized[2]
    J = classifier.history["objective"]
    assert (np.diff(J) <= 1e-9 * abs(J.iloc[0])).all()
    scores = classifier.scores(pool)
    np.testing.assert_allclose(np.exp(scores.astype(float)).sum(axis=1), 1, rtol=1e-4)
    seen, unseen = classifier.rank_sides(pool, 30, 1)
    first = np.where(seen.scores[:, 0] >= unseen.scores[:, 0], seen.classes[:, 0], 30 + unseen.classes[:, 0])
    np.testing.assert_array_equal(first, classifier.labels)
    np.testing.assert_array_equal(classifier.predict(pool), classifier.labels)


def test_samples_from_outside_are_ranked_without_neighbours(generalized):
    classifier, pool = adapted(generalized, 10), generalized[2]
    seen, unseen = classifier.rank_sides(pool[:50], 30, 1)
    scores = classifier.scorer.scores(pool[:50])
    np.testing.assert_array_equal(seen.classes[:, 0], scores[:, :30].argmax(axis=1))
    np.testing.assert_array_equal(unseen.classes[:, 0], scores[:, 30:].argmax(axis=1))


def test_a_restored_classifier_ranks_both_sides_of_its_pool_alike(generalized):
    classifier, pool = adapted(generalized, 10), generalized[2]
    restored = classifier.model.restore(classifier.state())
    for side, expected in zip(restored.rank_sides(pool, 30, 3), classifier.rank_sides(pool, 30, 3), strict=True):
        np.testing.assert_array_equal(side.classes, expected.classes)
        np.testing.assert_array_equal(side.scores, expected.scores)


def test_unseen_targets_have_no_labelled_node(generalized):
    (X, y, S), targets, pool, _ = generalized
    model = make_method("aezsl_t", **LAMBDAS, labelled=30).fit(X, y, S)
    assert model._graph(model._in_metric(pool), targets[30:]).labelled is None
    some = model._graph(model._in_metric(pool), targets[[33, 4, 31]]).labelled
    assert some[:, 1].max() > 0
    assert not some[:, [0, 2]].any()


def test_a_fit_on_statistics_knows_no_image(generalized):
    (X, y, S), targets, pool, _ = generalized
    by_sums = make_method("aezsl_t", **LAMBDAS).fit(SeenStatistics.from_samples(X, y, len(S)), S=S)
    np.testing.assert_array_equal(by_sums.adapt(targets, pool).labels, adapted(generalized, 0).labels)


def test_seen_targets_have_a_graph_weight_of_their_own(generalized):
    (X, y, S), targets, pool, _ = generalized
    model = make_method("aezsl_t", **LAMBDAS, graph_weight=7.0, seen_graph_weight=3.0).fit(X, y, S)
    rows = model._in_metric(pool)
    for S_target, weight in ((targets, 3.0), (targets[30:], 7.0)):
        graph, G = model._graph(rows, S_target), np.zeros((len(pool), len(S_target)))
        assert model._objective(G, graph, rows, S_target, 1 / len(S_target)).weights.graph == weight
