import numpy as np
import pytest

from aezsl.methods import make_method
from aezsl.methods.costa import co_occurrence, leave_one_out_weights, probabilities
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic

METRICS = ["dice", "normalised", "sqrt", "binary"]


class TestCOSTA(MethodContract):
    method = "costa"
    params = {"C": 0.1, "n_related": 5}
    floor = 0.8


def plain(**params):
    return make_method("costa", negative=False, regression=False, **params)


@pytest.mark.parametrize("metric", METRICS)
def test_identity_similarities_copy_the_classifiers(metric):
    data = make_synthetic()
    one_hot = np.eye(len(data.S))
    model = plain(metric=metric, n_related=None).fit(data.X, data.y, one_hot)
    np.testing.assert_array_equal(model.similarities(one_hot), one_hot)
    classifier = model.adapt(one_hot)
    np.testing.assert_array_equal(np.vstack([classifier.classifiers, classifier.offset]), model.W_)


def formula(metric, U, K):
    """The similarity of every pair, in words of the paper."""
    counts = np.array([[sum(u * k) for k in K] for u in U])
    own, known = [sum(u * u) for u in U], [sum(k * k) for k in K]
    s = np.zeros(counts.shape)
    for u, k in np.ndindex(s.shape):
        c = counts[u, k]
        s[u, k] = {
            "dice": c / (own[u] + known[k]),
            "normalised": c / own[u],
            "sqrt": np.sqrt(c),
            "binary": float(c >= counts.mean()),
        }[metric]
    return s


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("nonnegative", [True, False])
@pytest.mark.parametrize(("negative", "n_related"), [(False, None), (True, None), (False, 5), (True, 5)])
def test_weights_follow_their_formula(metric, nonnegative, negative, n_related):
    data = make_synthetic(nonnegative=nonnegative)
    model = make_method("costa", metric=metric, negative=negative, regression=False, n_related=n_related)
    weights = model.fit(*data[:3]).similarities(data.S_new)
    U, K = probabilities(data.S_new, data.S), probabilities(data.S, data.S)
    s = formula(metric, U, K)
    if negative:
        s = s - formula(metric, U, 1 - K) - formula(metric, 1 - U, K) + formula(metric, 1 - U, 1 - K)
    for row, found in zip(s, weights, strict=True):
        kept = row.copy()
        if n_related is not None:
            kept[np.argsort(-row, kind="stable")[n_related:]] = 0
            kept = np.maximum(kept, 0)
        if not kept.any():
            kept[:] = 1
        np.testing.assert_allclose(found, kept / np.abs(kept).sum(), rtol=1e-9, atol=1e-12)


def test_pairs_that_all_occur_equally_often_are_all_related():
    assert (co_occurrence(np.eye(3), np.full((2, 3), 0.5), "binary") == 1).all()


def test_semantics_become_probabilities_on_one_scale():
    S = np.array([[0.0, 0.2], [0.4, 0.1]])
    np.testing.assert_allclose(probabilities(S, S), S / 0.4)
    np.testing.assert_allclose(probabilities(-S, -S), (0.4 - S) / 0.8)
    np.testing.assert_allclose(probabilities(3 * S, S), np.minimum(S / 0.4 * 3, 1))


def test_with_both_signs_all_co_occurrence_is_the_inner_product_of_signed_vectors():
    data = make_synthetic(nonnegative=False)
    U, K = probabilities(data.S_new, data.S), probabilities(data.S, data.S)
    parts = [co_occurrence(u, k, "sqrt") ** 2 for u in (U, 1 - U) for k in (K, 1 - K)]  # the counts themselves
    total = parts[0] - parts[1] - parts[2] + parts[3]
    unit = np.abs(data.S).max()
    np.testing.assert_allclose(total, np.clip(data.S_new / unit, -1, 1) @ (data.S / unit).T, atol=1e-12)


def test_regression_weights_are_those_of_least_squares_on_the_classifiers():
    rng = np.random.default_rng(0)
    s, W = rng.uniform(size=(5, 5)), rng.normal(size=(7, 5))
    np.fill_diagonal(s, 0)
    design = np.vstack([s[i] * W for i in range(5)])
    expected = np.linalg.lstsq(design, W.T.ravel(), rcond=None)[0]
    np.testing.assert_allclose(leave_one_out_weights(s, W), expected, rtol=1e-9)


def test_no_seen_class_is_related_to_itself_while_weights_are_learnt():
    data = make_synthetic(n_seen=12)
    model = make_method("costa", n_related=3, regression=True).fit(*data[:3])
    s = model._weights(data.S, themselves=True)
    assert (s.diagonal() == 0).all()
    assert (np.count_nonzero(s, axis=1) == 3).all()  # a class does not take one of its own places
    np.testing.assert_allclose(model.trust_, leave_one_out_weights(s, model.W_))
    restored = model.W_ @ (model.trust_ * s).T
    plainly = model.W_ @ s.T
    assert np.square(model.W_ - restored).sum() < np.square(model.W_ - plainly).sum()
    classifier = model.adapt(data.S_new)
    weights = model.trust_ * model.similarities(data.S_new)
    P = model.W_ @ (weights / np.abs(weights).sum(axis=1, keepdims=True)).T
    np.testing.assert_allclose(np.vstack([classifier.classifiers, classifier.offset]), P)


def test_a_class_related_to_none_is_the_mean_of_all():
    data = make_synthetic()
    S = np.hstack([data.S, np.zeros((len(data.S), 1))])
    stranger = np.eye(S.shape[1])[-1:]
    classifier = plain().fit(data.X, data.y, S).adapt(stranger)
    mean = plain().fit(data.X, data.y, S).W_.mean(axis=1)
    np.testing.assert_allclose(np.append(classifier.classifiers[:, 0], classifier.offset), mean)
