"""Methods on the classifiers of a network: the formula, its limits, and the contract of all methods."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.linear_model import Ridge

from aezsl.errors import DataError, ParameterError
from aezsl.evaluation.confidence import NOTHING
from aezsl.methods import HEADS, make_method, method_name
from aezsl.methods.heads import union
from aezsl.methods.heads.folder import OWN, TOGETHER
from aezsl.methods.heads.methods import AEZSLHeads, HeadMapping, conse, with_own_classes
from aezsl.methods.heads.union import SeenClassifiers
from aezsl.methods.shared.local_ridges import LocalRidges, local_coefficients
from aezsl.methods.shared.similarity import SimilarityWeights
from tests.helpers.heads import GROUPS, fitted
from tests.oracles import heads as oracle


def as_label(name_vector, seen):
    """A label that has the vector of a name in the dimensions of names, and says nothing else."""
    return np.concatenate([name_vector, np.zeros(seen.S.shape[1] - len(name_vector))])


def test_scores_are_those_of_the_formula_written_out(seen, data):
    params = {"lam": 0.3, "similar": 11, "sharpness": 7.0, "by_name": 0.4, "novelty": 0.8}
    found = fitted(seen, **params).decision_function(data.X_new[:9], data.S_new)
    names_of = [seen.names[[c, len(seen.rows) + c % GROUPS]] for c in range(len(seen.rows))]
    expected = [
        [oracle.union_score(x, seen.rows, seen.biases, seen.S, names_of, a, **params) for a in data.S_new]
        for x in data.X_new[:9]
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_coefficients_for_few_weights_are_those_of_local_ridges(seen, data):
    weights = union.most_similar(SimilarityWeights.for_seen(seen.S, "cosine_squared")(data.S_new), 9)
    assert ((weights > 0).sum(axis=1) == 9).all()
    expected = LocalRidges.decompose(weights, np.ones(len(seen.S)), seen.S, data.S_new).coefficients(0.2)
    np.testing.assert_allclose(local_coefficients(weights, seen.S, data.S_new, 0.2), expected, atol=1e-12)


def test_weights_of_one_are_one_mapping_for_all_labels(seen, data):
    S, A = union.centred(seen.S, data.S_new)
    rows = np.column_stack([seen.rows - seen.rows.mean(axis=0), seen.biases - seen.biases.mean()])
    expected = Ridge(alpha=0.5, fit_intercept=False).fit(S, rows).predict(A)
    expected /= np.linalg.norm(expected[:, :-1], axis=1, keepdims=True)
    classifier = fitted(seen, "head_mapping", lam=0.5, weighting="none").adapt(data.S_new)
    np.testing.assert_allclose(classifier.classifiers.T, expected[:, :-1], atol=1e-10)
    np.testing.assert_allclose(classifier.offset, expected[:, -1], atol=1e-10)


def test_much_novelty_leaves_the_order_of_the_mapping(seen, data):
    union_of = fitted(seen, novelty=1e12)
    mapping = fitted(seen, "head_mapping")
    np.testing.assert_array_equal(union_of.predict(data.X_new, data.S_new), mapping.predict(data.X_new, data.S_new))


def test_the_description_of_a_class_gives_back_its_row():
    """Where no description says anything about another class and the penalty vanishes."""
    rng = np.random.default_rng(1)
    rows, biases, names = rng.normal(size=(6, 5)), rng.normal(size=6), rng.normal(size=(6, 4))
    seen = SeenClassifiers.build(rows, biases, np.eye(6, 9) + 0.1, names, [[c] for c in range(6)])
    found = fitted(seen, "head_mapping", lam=1e-10).adapt(seen.S).classifiers.T
    rows = seen.rows - seen.rows.mean(axis=0)
    np.testing.assert_allclose(found, rows / np.linalg.norm(rows, axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("c", [0, 13])
def test_the_name_of_a_class_is_that_class(seen, data, c):
    model = fitted(seen, sharpness=1e4, by_name=1.0, novelty=1e-200)
    log_p, _ = union.log_posteriors(data.X_new, seen.rows, seen.biases)
    scores = model.decision_function(data.X_new, [as_label(seen.names[c], seen)])
    np.testing.assert_allclose(scores[:, 0], log_p[:, c], atol=1e-9)


def test_the_name_of_a_group_is_the_union_of_its_classes(seen, data):
    model = fitted(seen, sharpness=1e4, by_name=1.0, novelty=1e-200)
    log_p, _ = union.log_posteriors(data.X_new, seen.rows, seen.biases)
    members = np.arange(len(seen.rows)) % GROUPS == 2
    scores = model.decision_function(data.X_new, [as_label(seen.names[len(seen.rows) + 2], seen)])
    np.testing.assert_allclose(scores[:, 0], np.log(np.exp(log_p[:, members]).mean(axis=1)), atol=1e-9)


def test_a_label_has_its_score_whatever_the_others_are(seen, data):
    model = fitted(seen)
    scores = model.decision_function(data.X_new, data.S_new)
    order = np.random.default_rng(2).permutation(len(data.S_new))
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new[order]), scores[:, order], rtol=1e-10)
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new[3:4]), scores[:, 3:4], rtol=1e-10)


def test_a_label_given_twice_shares_its_probability(seen, data):
    scores = fitted(seen).decision_function(data.X_new, data.S_new[[0, 1, 1]])
    np.testing.assert_allclose(scores[:, 1], scores[:, 2], rtol=1e-12)  # BLAS sums the last columns in another order


def test_only_the_direction_of_a_label_counts(seen, data):
    scale = np.linspace(0.5, 4, len(data.S_new))[:, None]
    model = fitted(seen)
    expected = model.decision_function(data.X_new, data.S_new)
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new * scale), expected, rtol=1e-9)


@pytest.mark.parametrize("name", HEADS)
def test_unseen_classes_are_named_far_above_chance(seen, data, name):
    right = fitted(seen, name).predict(data.X_new, data.S_new) == data.y_new
    assert right.mean() > 0.4  # chance: 0.125


def test_a_pool_that_is_named_together_is_named_better(seen, data):
    alone, together = (fitted(seen, name).predict(data.X_new, data.S_new) for name in ("aezsl_heads", "aezsl_heads_t"))
    assert (together == data.y_new).mean() > (alone == data.y_new).mean()


def test_a_folder_tells_its_names_less_surely_than_its_soft_labels(seen, data):
    folder = fitted(seen, "aezsl_heads_t").adapt(data.S_new, data.X_new)
    log_R = folder.folder.solve({}).log_R
    told = folder.scores(data.X_new)
    np.testing.assert_allclose(told, OWN * folder.folder.F + TOGETHER * log_R, rtol=1e-5)
    labels = folder.predict(data.X_new)
    assert (labels == log_R.argmax(axis=1)).mean() > 0.95
    assert (softmax(told.astype(float), axis=1).max(axis=1) < np.exp(log_R).max(axis=1)).all()
    nobody = folder.corrected({0: NOTHING})
    assert nobody.nothing[0] == 1
    assert ((nobody.nothing > 0) & (nobody.nothing <= 1)).all()


def test_without_a_pool_or_with_a_small_one_the_pool_method_is_the_plain_one(seen, data):
    expected = fitted(seen).decision_function(data.X_new, data.S_new)
    model = fitted(seen, "aezsl_heads_t")
    np.testing.assert_array_equal(model.adapt(data.S_new).scores(data.X_new), expected)
    few = model.adapt(data.S_new, data.X_new[:5])
    np.testing.assert_array_equal(few.predict(data.X_new[:5]), expected[:5].argmax(axis=1))


@pytest.mark.parametrize("name", HEADS)
def test_model_and_classifier_are_restored_from_their_states(seen, data, name):
    model = fitted(seen, name)
    classifier = model.adapt(data.S_new, data.X_new)
    plain = (np.ndarray, int, float, str)
    assert all(
        isinstance(value, plain) for state in (model.get_state(), classifier.state()) for value in state.values()
    )
    again = make_method(name).set_state(model.get_state())
    restored = again.restore(classifier.state())
    for X in (data.X_new, data.X[:20]):
        found, expected = restored.rank(X, 3), classifier.rank(X, 3)
        np.testing.assert_array_equal(found.classes, expected.classes)
        np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-9)
    assert method_name(model) == name


@pytest.mark.parametrize("name", HEADS)
def test_one_model_answers_many_threads(seen, data, name):
    model = fitted(seen, name)
    queries = [(data.X_new[::step], data.S_new[: 3 + step]) for step in (1, 2, 3)]
    expected = [model.predict(*query) for query in queries]
    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda i: model.predict(*queries[i % 3]), range(12)))
    for i, labels in enumerate(found):
        np.testing.assert_array_equal(labels, expected[i % 3])


@pytest.mark.parametrize("name", HEADS)
def test_it_is_an_estimator_that_learns_from_classifiers_alone(seen, data, name):
    model = make_method(name, lam=0.5)
    assert clone(model).get_params() == model.get_params()
    assert ".. math::" in type(model).__doc__
    with pytest.raises(DataError):
        model.fit(data.X, data.y, data.S)
    with pytest.raises(ParameterError):
        make_method(name, lam=-1.0).fit(seen)
    with pytest.raises(DataError):
        fitted(seen, name).adapt(data.S_new[:, :4])


def test_far_labels_and_labels_that_are_alike_are_known_without_an_image(seen, data):
    near = seen.S[3]
    apart = np.linalg.svd(np.vstack([seen.S, np.pad(seen.names, ((0, 0), (0, 3)))]))[2][-1]
    labels = np.stack([near, near + 1e-3, apart, seen.S[7]])
    doubts = fitted(seen, by_name=0.0).doubts(labels)
    u = fitted(seen, by_name=0.0).similarity(labels)
    assert set(doubts.far) == set(np.flatnonzero(u.max(axis=1) < AEZSLHeads.far_below[0]))
    assert 2 in doubts.far
    assert 0 not in doubts.far
    assert (0, 1) in doubts.alike
    assert (0, 3) not in doubts.alike


def test_a_label_of_another_language_is_far_below_a_bound_of_its_own(seen):
    model = fitted(seen)
    nearest = model.similarity(seen.S[:2]).max(axis=1)
    model.far_below = (nearest.max() + 0.1, nearest.min() - 0.1)
    assert model.doubts(seen.S[:2]).far.tolist() == [0, 1]
    assert model.doubts(seen.S[:2], [True, False]).far.tolist() == [1]


def test_conse_combines_the_posteriors_of_the_network(seen, data):
    model = conse(seen, T=4)
    log_p, _ = union.log_posteriors(data.X_new[:5], seen.rows, seen.biases)
    for f, row in zip(model.embed(data.X_new[:5]), np.exp(log_p), strict=True):
        top = np.argsort(-row)[:4]
        np.testing.assert_allclose(f, row[top] @ seen.S[top] / row[top].sum(), rtol=1e-9)


def test_classes_can_be_taken_out(seen, data):
    kept = np.arange(len(seen.rows)) % 3 > 0
    part = seen.subset(kept)
    assert len(part.rows) == kept.sum()
    with_names = [list(part.names[part.named[s : s + 2]][0]) for s in part.starts]
    np.testing.assert_allclose(with_names, seen.names[np.flatnonzero(kept)])
    assert HeadMapping().fit(part).predict(data.X_new, data.S_new).shape == (len(data.X_new),)


@pytest.mark.parametrize(
    "changed",
    [
        {"biases": np.zeros(3)},
        {"S": np.ones((3, 4))},
        {"named": [[0]] * 4 + [[]]},
        {"named": [[99]] * 5},
        {"names": np.ones((5, 9))},
        {"rows": np.full((5, 2), np.nan)},
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(changed):
    given = {"rows": np.eye(5, 2), "biases": np.zeros(5), "S": np.eye(5, 4), "names": np.eye(5, 4), "named": [[0]] * 5}
    with pytest.raises(DataError):
        SeenClassifiers.build(**{**given, **changed})


def own_part(data):
    """Two classes with three images each, that the classifiers do not have."""
    chosen = np.concatenate([np.flatnonzero(data.y_new == c)[:3] for c in (0, 1)])
    return data.X_new[chosen], np.repeat([0, 1], 3), data.S_new[:2]


def test_own_classes_stand_beside_those_of_the_network_and_win_on_their_images(seen, data):
    X, y, S = own_part(data)
    found = with_own_classes(seen, X, y, S)
    C = len(seen.rows)
    np.testing.assert_array_equal(found.rows[:C], seen.rows)
    np.testing.assert_array_equal(found.biases[:C], seen.biases)
    assert ((X @ found.rows.T + found.biases).argmax(axis=1) == C + y).all()


def test_images_tell_what_descriptions_get_wrong(seen, data):
    X, y, S = own_part(data)
    wrong, rest = S[::-1], np.isin(data.y_new, (0, 1))  # each class is described as the other one
    found = with_own_classes(seen, X, y, wrong)
    alone, beside = (fitted(one).predict(data.X_new[rest], wrong) for one in (seen, found))
    assert (beside == data.y_new[rest]).sum() > (alone == data.y_new[rest]).sum()


def test_own_classifiers_are_where_the_loss_written_out_is_least(seen, data):
    X, y, S = own_part(data)
    found, C = with_own_classes(seen, X, y, S, ridge=0.7), len(seen.rows)
    basis = np.hstack([seen.rows, seen.biases[:, None]])
    basis = (basis - basis.mean(axis=0)) / np.sqrt(C)
    own = np.hstack([found.rows, found.biases[:, None]])[C:] - np.append(seen.rows.mean(axis=0), seen.biases.mean())
    U = own @ np.linalg.pinv(basis)  # the shortest coefficients, as the penalty wants them
    extended = np.hstack([X, np.ones((len(X), 1))])

    def loss(U):
        logits = np.hstack([extended @ (basis.T @ U.T), X @ (seen.rows - seen.rows.mean(axis=0)).T])
        logits[:, len(S) :] += seen.biases - seen.biases.mean()
        return 0.35 * (U**2).sum() - log_softmax(logits, axis=1)[np.arange(len(y)), y].sum()

    rng = np.random.default_rng(0)
    least = loss(U)
    assert all(loss(U + 0.02 * rng.normal(size=U.shape)) > least for _ in range(20))


def test_own_classes_alone_need_no_words(seen, data):
    X, y, _ = own_part(data)
    found = with_own_classes(seen, X, y, np.eye(2, 3), alone=True)
    assert found.rows.shape == (2, seen.rows.shape[1])
    assert (fitted(found).predict(X, np.eye(2, 3)) == y).all()
    with pytest.raises(DataError):
        with_own_classes(seen, X, y, np.eye(2, 3))
