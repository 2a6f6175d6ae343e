"""Label refinement against the paper's literal formulas, and at its edges."""

import numpy as np
import pytest
from scipy.linalg import solve

from aezsl.errors import DataError, ParameterError
from aezsl.methods import make_method
from aezsl.methods.refinement.label_refinement import LabelRefinement, Pool
from tests.oracles import refinement as oracle
from tests.oracles.eszsl import one_hot
from tests.synthetic import make_synthetic


def rounds(result, y=None):
    """The history as one tuple per round."""
    return list(result.history.table(y).itertuples())


def start(**shape):
    """A pool with the classifiers refinement starts from: X, P, S, y."""
    data = make_synthetic(**shape)
    base = make_method("eszsl", gamma=0.1, lam=0.1).fit(*data[:3])
    X = data.X_new - data.X_new.mean(axis=0)
    return X, base.classifiers(data.S_new), data.S_new, data.y_new


def test_everything_confident_is_ridge_regression():
    X, P, S, _ = start()
    result = LabelRefinement(k=len(X), gamma2=0.0, gamma3=0.0, nu=0.7).refine(X, P, S)
    labels = (X @ P).argmax(axis=1)
    ridge = solve(X.T @ X + 0.7 * np.eye(X.shape[1]), X.T @ one_hot(labels, len(S)), assume_a="pos")
    np.testing.assert_allclose(result.P, ridge, rtol=1e-8, atol=1e-10)
    np.testing.assert_array_equal(result.labels, labels)


@pytest.mark.parametrize(
    ("d", "params"),
    [
        (24, {"k": 10, "gamma1": 1.0, "gamma2": 0.05, "gamma3": 0.1, "nu": 1e-2}),
        (24, {"k": 25, "gamma1": 2.0, "gamma2": 0.0, "gamma3": 1.0, "nu": 1.0}),
        (24, {"k": 7, "gamma1": 0.3, "gamma2": 0.02, "gamma3": 0.0, "nu": 1e-1}),
        # Fewer samples than features, where only a large nu lets samples learn from each other.
        (200, {"k": 10, "gamma1": 0.3, "gamma2": 0.0, "gamma3": 0.0, "nu": 300.0}),
        (200, {"k": 10, "gamma1": 0.3, "gamma2": 0.02, "gamma3": 0.03, "nu": 100.0}),
    ],
)
def test_equals_the_literal_algorithm(d, params):
    X, P, S, _y = start(d=d, noise=0.6)
    labels, P_literal, history = oracle.refine(X, P, S, n_neighbors=5, **params)
    result = LabelRefinement(n_neighbors=5, centre=False, **params).refine(X, P, S)
    np.testing.assert_array_equal(result.labels, labels)
    # Classifiers outside the row space of the pool score no sample of it; the literal P has none either, as nu > 0.
    np.testing.assert_allclose(result.P, P_literal, rtol=1e-6, atol=1e-8 * np.abs(P_literal).max())
    assert [(r.changed, r.confident, r.unconfident) for r in rounds(result)] == [tuple(h[1:]) for h in history]
    np.testing.assert_allclose([r.objective for r in rounds(result)], [h[0] for h in history], rtol=1e-8)
    assert any(r.changed for r in rounds(result)), "a test in which no label changes proves little"


def test_full_rank_changes_nothing_and_a_cut_one_equals_refining_the_projection():
    X, P, S, _ = start(d=40)
    free = LabelRefinement(k=10).refine(X, P, S)
    same = LabelRefinement(k=10, n_components=40).refine(X, P, S)
    np.testing.assert_array_equal(free.P, same.P)
    _, _, Vt = np.linalg.svd(X, full_matrices=False)
    cut = LabelRefinement(k=10, n_components=15, gamma3=0.0).refine(X, P, S)
    axes = Vt[:15].T
    first = (X @ P).argmax(axis=1)  # the first labels come from the classifiers as given, not from their projection
    np.testing.assert_allclose(axes @ (axes.T @ cut.P), cut.P, atol=1e-10)
    assert (cut.labels != first).any()


def test_history_tells_what_happened():
    X, P, S, y = start()
    result = LabelRefinement(k=10, gamma1=0.3).refine(X, P, S)
    n = len(X)
    assert [r.round for r in rounds(result)] == list(range(1, n // 10 + 2))
    assert [r.confident for r in rounds(result)] == [*range(10, n, 10), n]
    assert all(r.confident + r.unconfident == n for r in rounds(result))
    first = (X @ P).argmax(axis=1)
    assert rounds(result, y)[0].accuracy == np.mean(first == y), "the first move only confirms the first labels"
    assert rounds(result)[0].changed == 0
    assert rounds(result, y)[-1].accuracy == np.mean(result.labels == y)
    # A sample is moved once and changes then or never, so the changes of all rounds are those from first to last.
    assert sum(r.changed for r in rounds(result)) == np.sum(result.labels != first) > 0


def test_true_labels_decide_nothing_and_only_describe_the_rounds():
    X, P, S, y = start()
    result = LabelRefinement(k=10, gamma1=0.3).refine(X, P, S)
    assert result.history.table()["accuracy"].isna().all()
    some = np.where(np.arange(len(y)) % 2, y, -1)
    table = result.history.table(some)
    assert table["accuracy"].iloc[-1] == np.mean((result.labels == y)[1::2])
    assert result.history.table(np.full(len(y), -1))["accuracy"].isna().all()


@pytest.mark.parametrize(("gamma1", "balanced"), [(3.0, False), (1.0, True)])
def test_refinement_helps_under_projection_shift(gamma1, balanced):
    gains = []
    for seed in range(3):
        X, P, S, y = start(per_class=40, shift=1.0, noise=1.0, seed=seed)
        history = rounds(LabelRefinement(k=20, gamma1=gamma1, balanced=balanced).refine(X, P, S), y)
        gains.append(history[-1].accuracy - history[0].accuracy)
    assert min(gains) > 0.01
    assert np.mean(gains) > 0.03


def test_hubs_swallow_the_confident_set_when_keeping_labels_is_cheap_unless_it_is_balanced():
    X, P, S, y = start(per_class=40, shift=1.0, noise=1.0, seed=2)
    plain = LabelRefinement(k=20, gamma1=0.3).refine(X, P, S)
    balanced = LabelRefinement(k=20, gamma1=0.3, balanced=True).refine(X, P, S)
    assert rounds(plain, y)[-1].accuracy < rounds(plain, y)[0].accuracy < rounds(balanced, y)[-1].accuracy
    assert np.bincount(plain.labels).max() > np.bincount(balanced.labels).max()


@pytest.mark.parametrize("k", [1, 7, 96, 1000])
def test_any_number_moved_per_round(k):
    X, P, S, _ = start()
    result = LabelRefinement(k=k, gamma1=1.0, gamma3=0.1).refine(X, P, S)
    assert len(rounds(result)) == -(-len(X) // k)
    assert rounds(result)[-1].unconfident == 0
    assert result.labels.shape == (len(X),)


def test_a_single_unseen_class():
    X, P, S, _ = start()
    result = LabelRefinement(k=20, gamma2=0.1, gamma3=0.1).refine(X, P[:, :1], S[:1])
    assert not result.labels.any()
    assert np.isfinite(result.P).all()


def test_a_single_sample_and_identical_samples():
    X, P, S, _ = start()
    for centre in (True, False):
        for pool in (X[:1], np.repeat(X[:1], 9, axis=0)):
            result = LabelRefinement(k=2, gamma3=0.1, centre=centre).refine(pool, P, S)
            assert (result.labels == (pool @ P).argmax(axis=1)).all()


@pytest.mark.parametrize("balanced", [False, True])
def test_ties_and_duplicates_are_settled_the_same_way_every_time(balanced):
    X, P, S, _ = start()
    X = np.vstack([X, X, X[:5]])
    P = np.hstack([P, P[:, :2]])  # two classes that always tie
    S = np.vstack([S, S[:2]])
    refinement = LabelRefinement(k=13, gamma2=0.01, gamma3=0.1, balanced=balanced)
    one, two = refinement.refine(X, P, S), refinement.refine(X, P, S)
    np.testing.assert_array_equal(one.labels, two.labels)
    np.testing.assert_array_equal(one.P, two.P)
    assert rounds(one) == rounds(two)


def test_of_equally_confident_samples_the_first_are_moved():
    refinement = LabelRefinement(k=3)
    F = np.zeros((6, 4))
    F[[1, 5], 2] = 1.0
    np.testing.assert_array_equal(refinement._most_confident(F, np.arange(6)), [1, 5, 0])


def test_balanced_sets_take_the_best_of_every_class_first():
    F = np.diag([9.0, 1.0, 1.0])[[0, 0, 0, 0, 1, 2]]  # a hub with four sure samples, two classes with one each
    np.testing.assert_array_equal(LabelRefinement(k=3)._most_confident(F, np.arange(6)), [0, 1, 2])
    np.testing.assert_array_equal(LabelRefinement(k=3, balanced=True)._most_confident(F, np.arange(6)), [0, 4, 5])


def test_more_axes_than_freedom_leaves_every_label():
    # n < d and nu -> 0: scores are free variables, the group lasso keeps them all.
    X, P, S, _ = start(d=300)
    result = LabelRefinement(k=10, gamma1=10.0, nu=1e-8, centre=False).refine(X, P, S)
    np.testing.assert_array_equal(result.labels, (X @ P).argmax(axis=1))


def test_one_step_is_one_update_of_everything():
    X, P, S, y = start()
    refinement = LabelRefinement(gamma1=1.0, gamma2=0.05, gamma3=0.1, centre=False, one_step=True, n_neighbors=5)
    result = refinement.refine(X, P, S)
    first = (X @ P).argmax(axis=1)
    none = np.zeros((0, X.shape[1])), np.zeros((0, len(S)))
    H = oracle.laplacian(oracle.graph_weights(X, 5))
    problem = oracle.RefinementRound(
        *none, X, one_hot(first, len(S)), H, oracle.transition(S), 1.0, 0.05, 0.1, 1e-3, 1e-4
    )
    P_literal, objectives = problem.minimise(X @ P, 1e-4, 50)
    np.testing.assert_allclose(result.P, P_literal, rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(result.labels, (X @ P_literal).argmax(axis=1))
    (record,) = rounds(result, y)
    assert (record.confident, record.unconfident, record.iterations) == (0, len(X), len(objectives))
    assert record.changed == np.sum(result.labels != first)


def test_centring_is_refining_the_centred_pool():
    X, P, S, _ = start()
    shifted = X + 3.0
    # The first labels come from the scores as they are; shifting these by a constant per class undoes the shift of X.
    result = LabelRefinement(k=10, gamma1=1.0, gamma3=0.1).refine(shifted, P - P.mean(axis=1, keepdims=True), S)
    assert result.offset.shape == (len(S),)
    np.testing.assert_allclose(result.scores(shifted), (shifted - shifted.mean(axis=0)) @ result.P, atol=1e-9)


@pytest.mark.parametrize("bad", [{"k": 0}, {"gamma3": float("nan")}])
def test_bad_parameters_are_refused_by_name(bad):
    X, P, S, _ = start()
    with pytest.raises(ParameterError, match=f"^{next(iter(bad))} of LabelRefinement"):
        LabelRefinement(**bad).refine(X, P, S)


def test_bad_data_are_refused_by_name():
    X, P, S, _y = start()
    refinement = LabelRefinement()
    with pytest.raises(DataError):
        refinement.refine(X, P[:, :3], S)
    with pytest.raises(DataError):
        refinement.refine(X, P[:5], S)
    with pytest.raises(DataError):
        refinement.refine(X, P, S, pool=Pool(X[:5], True))
