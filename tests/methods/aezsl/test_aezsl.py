import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from aezsl.errors import AezslError, DataError, ParameterError
from aezsl.methods import make_method
from aezsl.methods.aezsl import aezsl
from aezsl.methods.aezsl.aezsl import AEZSL
from aezsl.methods.core.seen import SeenData, Targets
from aezsl.selection import grid_points
from tests.methods.core.contract import MethodContract
from tests.oracles.aezsl import aezsl_dense, aezsl_gradient, aezsl_objective, cosines, single_mapping
from tests.oracles.eszsl import eszsl_solution
from tests.synthetic import make_synthetic


class TestAEZSL(MethodContract):
    method = "aezsl"
    params = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 1.0}


class TestAEZSLAlternating(MethodContract):
    method = "aezsl"
    params = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.01, "solver": "alternating"}


SMALL = {"n_seen": 7, "n_unseen": 3, "per_class": 4, "d": 6, "a": 4}
# Full rank on both sides; fewer samples than features; fewer seen classes than semantic dimensions; both.
SHAPES = [{}, {"d": 9, "n_seen": 4, "per_class": 2}, {"a": 9}, {"d": 9, "n_seen": 4, "per_class": 2, "a": 6}]


def stacked(model, S_target):
    return np.array(list(model.adapt(S_target).mappings()))


def adapt_path(points, X, y, S, S_target):
    """Every point of a path adapted to the same targets, as selection does it, and what they shared."""
    targets = Targets(S_target, n_models=len(points))
    return targets, [model.adapt_to(targets) for model in AEZSL().fit_path(X, y, S, points)]


def fit(data, lambda1, lambda2, lambda3, **params):
    return AEZSL(lambda1, lambda2, lambda3, **params).fit(*data[:3])


def assert_equal_to(actual, expected, tol):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tol * np.abs(expected).max())


@pytest.mark.parametrize("lambda3", [0, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("shape", [{}, {"d": 60, "per_class": 1}, {"a": 50}])
def test_gradient_of_the_objective_vanishes(lambda3, shape):
    data = make_synthetic(**shape)
    lambdas = (0.1, 0.5, lambda3)
    W = stacked(fit(data, *lambdas), data.S_new)
    gradient, scale = aezsl_gradient(W, *data[:3], data.S_new, *lambdas)
    assert np.linalg.norm(gradient) < 1e-8 * scale


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("nonnegative", [True, False], ids=["attributes", "negative cosines"])
@pytest.mark.parametrize("lambdas", [(0.1, 0.2, 0.0), (1e-3, 1e-3, 1e-3), (0.0, 0.1, 1.0), (0.1, 0.2, 1e3)])
@pytest.mark.parametrize("gamma", [0.0, 0.7])
def test_equals_a_dense_kronecker_solve(shape, nonnegative, lambdas, gamma):
    data = make_synthetic(**{**SMALL, **shape}, nonnegative=nonnegative)
    assert nonnegative or cosines(data.S_new, data.S).min() < -0.1
    expected = aezsl_dense(*data[:3], data.S_new, *lambdas, gamma)
    model = fit(data, *lambdas, gamma=gamma)
    assert_equal_to(stacked(model, data.S_new), expected, 1e-8)
    assert_equal_to(model.classifiers(data.S_new), np.einsum("cda,ca->dc", expected, data.S_new), 1e-8)


def test_without_lambda2_the_solution_of_smallest_norm_is_taken():
    data = make_synthetic(**{**SMALL, "d": 9, "n_seen": 4, "per_class": 2})  # 8 samples in 9 dimensions
    lambdas = (0.1, 0.0, 1.0)
    W = stacked(fit(data, *lambdas), data.S_new)
    gradient, scale = aezsl_gradient(W, *data[:3], data.S_new, *lambdas)
    assert np.linalg.norm(gradient) < 1e-8 * scale
    unseen_direction = np.linalg.svd(data.X)[2][-1]
    assert np.abs(unseen_direction @ W).max() < 1e-10 * np.abs(W).max()


@pytest.mark.parametrize(
    ("lambdas", "gamma"),
    [((0.1, 0.1, 0.0), 0.0), ((1.0, 1.0, 0.1), 0.0), ((0.1, 0.1, 10.0), 0.0), ((0.01, 1.0, 1.0), 3.0)],
)
def test_alternating_reaches_the_same_optimum_and_never_climbs(lambdas, gamma):
    data = make_synthetic(n_seen=12, n_unseen=4, d=10, a=6)
    direct = fit(data, *lambdas, gamma=gamma)
    swept = fit(data, *lambdas, solver="alternating", tol=1e-15, max_iter=5000, gamma=gamma)
    assert_equal_to(stacked(swept, data.S_new), stacked(direct, data.S_new), 1e-5)
    trace = swept.adapt(data.S_new).objective_trace
    assert (np.diff(trace) <= 1e-14 * trace[0]).all()
    assert trace[0] > trace[-1]
    np.testing.assert_allclose(trace[-1], direct.adapt(data.S_new).objective()["total"], rtol=1e-10)


def test_objective_is_the_paper_s_equation_term_by_term():
    data = make_synthetic()
    lambdas = (0.3, 0.7, 2.0)
    model = fit(data, *lambdas, gamma=0.4)
    terms = model.adapt(data.S_new).objective()
    expected = aezsl_objective(stacked(model, data.S_new), *data[:3], data.S_new, *lambdas, 0.4)
    np.testing.assert_allclose(list(terms.values()), [*expected, expected.sum()], rtol=1e-9)


def test_large_lambda3_gives_the_paper_s_single_mapping():
    data = make_synthetic(**SMALL)
    weights = np.sqrt(np.mean(cosines(data.S_new, data.S) ** 2, axis=0))
    expected = single_mapping(*data[:3], weights, 0.1, 0.2)
    for W in fit(data, 0.1, 0.2, 1e10).adapt(data.S_new).mappings():
        assert_equal_to(W, expected, 1e-7)


def test_equal_cosines_give_one_regression():
    data = make_synthetic(**{**SMALL, "a": 7})
    S = np.eye(7)
    targets = np.ones((3, 7)) * [[1.0], [2.0], [3.0]]
    expected = single_mapping(data.X, data.y, S, np.full(7, 1 / np.sqrt(7)), 0.1, 0.2)
    for lambda3 in (0.0, 1.0):
        for W in AEZSL(0.1, 0.2, lambda3).fit(data.X, data.y, S).adapt(targets).mappings():
            assert_equal_to(W, expected, 1e-10)


def test_the_sign_of_a_cosine_does_not_matter_but_the_target_does():
    data = make_synthetic(nonnegative=False)
    model = fit(data, 0.1, 0.1, 0.0)
    assert_equal_to(model.classifiers(-data.S_new), -model.classifiers(data.S_new), 1e-12)


def test_order_of_targets_does_not_matter_for_mappings():
    data = make_synthetic()
    model = fit(data, 0.1, 0.1, 5.0)
    W = stacked(model, data.S_new)
    assert_equal_to(stacked(model, data.S_new[::-1]), W[::-1], 1e-10)
    for c, chosen in zip([5, -1], model.adapt(data.S_new).mappings([5, -1]), strict=True):
        assert_equal_to(chosen, W[c], 1e-10)
    assert len(model.adapt(data.S_new).mappings()[2:4]) == 2


def test_more_semantic_dimensions_than_classes_cost_like_the_classes():
    data = make_synthetic(a=400)
    model = fit(data, 0.1, 0.1, 1.0)
    P = model.classifiers(data.S_new)
    assert model._decompose(Targets(data.S_new)).V.shape == (30, 8 * 30)
    # The same products between classes in 38 dimensions: the same answer.
    everything = np.vstack([data.S, data.S_new])
    values, vectors = np.linalg.eigh(everything @ everything.T)
    short = vectors * np.sqrt(values)
    again = AEZSL(0.1, 0.1, 1.0).fit(data.X, data.y, short[:30])
    assert_equal_to(again.classifiers(short[30:]), P, 1e-9)


def test_a_tight_memory_budget_changes_nothing_but_memory():
    data = make_synthetic(d=300, per_class=30, n_unseen=40)
    model = fit(data, 0.1, 0.1, 1.0)
    narrow = fit(data, 0.1, 0.1, 1.0, memory_mb=0.4)
    assert_equal_to(narrow.classifiers(data.S_new), model.classifiers(data.S_new), 1e-10)
    assert model._decompose(Targets(data.S_new)).NV is not None
    assert narrow._decompose(Targets(data.S_new)).NV is None
    for too_little in (0.4, 0.01):
        with pytest.raises(AezslError, match="memory_mb"):
            fit(data, 0.1, 0.1, 1.0, memory_mb=too_little, solver="alternating").classifiers(data.S_new)


def test_mapped_attributes_are_the_samples_under_one_mapping():
    data = make_synthetic()
    model = fit(data, 0.1, 0.1, 1.0)
    values = model.adapt(data.S_new).mapped_attributes(data.X_new, 2)
    assert_equal_to(values @ data.S_new[2], model.decision_function(data.X_new, data.S_new)[:, 2], 1e-10)


def test_other_parameters_and_states_give_their_own_answers():
    data = make_synthetic()
    model = fit(data, 0.1, 0.1, 1.0)
    before = model.adapt(data.S_new)
    kept = before.classifiers.copy()
    model.set_params(lambda3=100.0)
    assert_equal_to(model.classifiers(data.S_new), fit(data, 0.1, 0.1, 100.0).classifiers(data.S_new), 1e-12)
    assert not np.allclose(model.classifiers(data.S_new), kept)
    assert_equal_to(before.classifiers, kept, 0)
    other = make_synthetic(seed=5)
    model.set_state(fit(other, 0.1, 0.1, 1.0).get_state())
    assert_equal_to(model.classifiers(data.S_new), fit(other, 0.1, 0.1, 100.0).classifiers(data.S_new), 1e-12)


def test_models_that_adapt_to_one_object_share_the_decompositions(monkeypatch):
    data = make_synthetic()
    made = []
    decompose = aezsl.decompose_targets
    monkeypatch.setattr(aezsl, "decompose_targets", lambda *args: made.append(args) or decompose(*args))
    points = [{"lambda3": value} for value in (0.1, 1.0)]
    _, shared = adapt_path(points, *data[:3], data.S_new)
    assert len(made) == 1
    for point, classifier in zip(points, shared, strict=True):
        alone = AEZSL(**point).fit(*data[:3]).adapt(data.S_new)
        assert_equal_to(classifier.classifiers, alone.classifiers, 1e-12)
    assert len(made) == 3


@pytest.mark.parametrize("lambda3", [0.0, 1.0])
@pytest.mark.parametrize("way", [{}, {"memory_mb": 0.001}], ids=["kept", "streamed"])
def test_with_weights_of_one_and_its_regulariser_it_is_eszsl(lambda3, way):
    data = make_synthetic()
    expected = eszsl_solution(*data[:3], 3.0, 0.2) @ data.S_new.T
    model = fit(data, 0.2, 3.0 * 0.2, lambda3, gamma=3.0, weighting="none", tol=1e-14, **way)
    assert_equal_to(model.classifiers(data.S_new), expected, 1e-10)


def test_classes_are_similar_as_they_were_given_in_every_solver():
    data = make_synthetic(**SMALL)
    mean = data.S.mean(axis=0)
    moved, moved_new = data.S - mean, data.S_new - mean
    expected = aezsl_dense(data.X, data.y, moved, moved_new, 0.1, 0.2, 0.5, 0.7, given=(data.S_new, data.S))
    for way in ({}, {"memory_mb": 0.001}, {"solver": "alternating", "tol": 1e-15, "max_iter": 5000}):
        model = AEZSL(0.1, 0.2, 0.5, gamma=0.7, **way).fit(data.X, data.y, moved, data.S)
        classifier = model.adapt(moved_new, given=data.S_new)
        assert_equal_to(np.array(list(classifier.mappings())), expected, 1e-6)
        assert_equal_to(classifier.classifiers, np.einsum("cda,ca->dc", expected, moved_new), 1e-6)
        again = model.restore(classifier.state())
        assert_equal_to(again.mappings()[1], expected[1], 1e-6)
        assert again.objective() == classifier.objective()
        with pytest.raises(DataError, match="given"):
            model.adapt(moved_new)
    points = [{"lambda3": value, "gamma": 0.7} for value in np.geomspace(0.1, 10, 50)]
    seen = SeenData(data.X, data.y, moved, given=data.S)
    targets = Targets(moved_new, n_models=len(points), unmoved=data.S_new)
    *_, last = (model.adapt_to(targets) for model in AEZSL(0.1, 0.2).fit_points(seen, points))
    assert last.solution is None  # it came from the table
    expected = aezsl_dense(data.X, data.y, moved, moved_new, 0.1, 0.2, 10.0, 0.7, given=(data.S_new, data.S))
    assert_equal_to(last.classifiers, np.einsum("cda,ca->dc", expected, moved_new), 1e-5)


@pytest.mark.parametrize("shape", [{}, {"d": 60, "per_class": 1}, {"a": 50}, {"nonnegative": False}])
def test_the_table_of_a_long_path_gives_what_separate_fits_give_in_single_precision(shape):
    data = make_synthetic(**shape)
    # Scaled so that shifts lie over ten decades, with and without lambda1 and lambda2.
    X = data.X * 10.0 ** np.linspace(-2, 2, data.X.shape[1])
    points = grid_points({"lambda1": [0.0, 1e-3, 1.0, 1e3], "lambda2": [1e-3, 1.0, 1e3], "lambda3": [1e-3, 1.0, 1e3]})
    points += [{"lambda1": 1.0, "lambda2": 0.0, "lambda3": 1.0}, {"lambda1": 1.0, "lambda2": 1.0, "lambda3": 0.0}]
    points += [{**point, "gamma": gamma} for gamma in (1e-2, 1e2) for point in points]
    _, adapted = adapt_path(points, X, data.y, data.S, data.S_new)
    for point, classifier in zip(points, adapted, strict=True):
        P = classifier.classifiers
        assert_equal_to(P, AEZSL(**point).fit(X, data.y, data.S).classifiers(data.S_new), 1e-5)
        assert classifier.solution is None  # it came from the table
        assert_equal_to(classifier.mappings([3])[0] @ data.S_new[3], P[:, 3], 1e-5)


def test_the_table_does_not_depend_on_its_chunks(monkeypatch):
    data = make_synthetic()
    points = [{"lambda3": value} for value in np.geomspace(0.1, 10, 30)]
    _, whole = adapt_path(points, *data[:3], data.S_new)
    monkeypatch.setattr("aezsl.methods.aezsl.path_table.CHUNK_ENTRIES", 3 * 10 * 10)  # three of the eight targets
    _, chunked = adapt_path(points, *data[:3], data.S_new)
    for one, other in zip(whole, chunked, strict=True):
        assert_equal_to(one.classifiers, other.classifiers, 1e-5)


def test_targets_unlike_every_seen_class_get_what_the_others_have():
    data = make_synthetic(a=10)
    S, alien = np.hstack([data.S, np.zeros((30, 1))]), np.eye(11)[10:]
    model = AEZSL(0.1, 0.1, 0.0).fit(data.X, data.y, S)
    assert not model.classifiers(alien).any()  # nothing to transfer from
    points = [{"lambda3": value} for value in np.geomspace(0.1, 10, 30)]
    for classifier in adapt_path(points, data.X, data.y, S, alien)[1]:
        assert not classifier.classifiers.any()
    known = np.hstack([data.S_new, np.zeros((8, 1))])
    W = stacked(AEZSL(1.0, 1.0, 10.0).fit(data.X, data.y, S), np.vstack([known, alien]))
    # An alien has no data term: its equation leaves lambda1, lambda2 and the ties to the others.
    gradient, scale = aezsl_gradient(W, data.X, data.y, S, np.vstack([known, alien]), 1.0, 1.0, 10.0)
    assert np.linalg.norm(gradient) < 1e-8 * scale
    assert W[-1].any()


@pytest.mark.parametrize(
    ("bad", "named"),
    [
        ({"lambda2": 0.0, "lambda3": 0.0}, "lambda2 .*lambda3"),
        ({"lambda1": 0.0, "lambda2": 0.0}, "lambda1 .*lambda2"),
    ],
)
@pytest.mark.parametrize("method", ["aezsl", "aezsl_t"])
def test_weights_that_leave_mappings_undetermined_are_refused_by_name(method, bad, named):
    with pytest.raises(ParameterError, match=named):
        make_method(method, **bad).fit(*make_synthetic()[:3])


@pytest.mark.parametrize("solver", ["direct", "alternating"])
def test_stopping_early_is_said(solver):
    data = make_synthetic()
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        fit(data, 0.01, 0.01, 10.0, solver=solver, max_iter=1).classifiers(data.S_new)
