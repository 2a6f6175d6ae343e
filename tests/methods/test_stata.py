import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.methods import make_method
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.stata import StatisticalAnchor, neighbours
from tests.methods.core.contract import MethodContract
from tests.synthetic import make_synthetic

LAMBDAS = {"lambda1": 0.1, "lambda2": 0.1, "lambda3": 0.1}


class TestStatA(MethodContract):
    method = "stata"
    params = LAMBDAS


def unit(v):
    return v / np.linalg.norm(v)


def literal(F, T, A, stage):
    """Objective and updates with loops over images and classes: texts T give the answers, A the anchor's means."""
    m, C = len(F), len(T)
    W = np.zeros((m, m))
    for i in range(m):
        for j in [j for j in np.argsort(-(F @ F[i]), kind="stable") if j != i][: stage.n_neighbors]:
            W[i, j] = W[j, i] = max(0.0, F[i] @ F[j]) / stage.n_neighbors
    y = np.array([softmax(stage.scale * T @ f) for f in F])
    shared = sum(y[i, c] * (F[i] - A[c]) ** 2 for i in range(m) for c in range(C)) / m
    means, variances, z = A.copy(), np.array([shared] * C), y.copy()

    def log_p(f, c):
        return -0.5 * np.sum((f - means[c]) ** 2 / variances[c] + np.log(variances[c]))

    def divergence(c):
        ratio, away = shared / variances[c], (A[c] - means[c]) ** 2 / variances[c]
        return 0.5 * np.sum(ratio + away - 1 - np.log(ratio))

    objectives = []
    for number in range(stage.max_rounds + 1):
        for c in range(C) if number else ():
            worth = z[:, c].sum() if stage.exact else sum(z[i].argmax() == c for i in range(m))
            beta = worth / (worth + stage.alpha)
            mean = sum(z[i, c] * F[i] for i in range(m)) / z[:, c].sum()
            if stage.exact:
                means[c] = beta * mean + (1 - beta) * A[c]
            else:
                means[c] = unit(beta * unit(mean) + (1 - beta) * A[c])
            around = sum(z[i, c] * (F[i] - means[c]) ** 2 for i in range(m)) / z[:, c].sum()
            variances[c] = beta * around + (1 - beta) * (shared + (A[c] - means[c]) ** 2)
        for _ in range(stage.n_inner):
            density = np.array([[log_p(f, c) / stage.softness for c in range(C)] for f in F])
            pull = stage.start_weight * np.log(y) + density + stage.graph_weight * W @ z
            z = np.array([softmax(row) for row in pull])
        J = sum(z[i, c] * (np.log(z[i, c]) - stage.start_weight * np.log(y[i, c])) for i in range(m) for c in range(C))
        J -= sum(z[i, c] * log_p(F[i], c) / stage.softness for i in range(m) for c in range(C))
        J -= stage.graph_weight / 2 * sum(W[i, j] * z[i] @ z[j] for i in range(m) for j in range(m))
        objectives.append(J + stage.alpha / stage.softness * sum(divergence(c) for c in range(C)))
    return z.argmax(axis=1), means, variances, objectives


def problem(m=30, C=4, d=8, noise=0.4, seed=0):
    rng = np.random.default_rng(seed)
    T = np.array([unit(rng.normal(size=d)) for _ in range(C)])
    A = np.array([unit(t + 0.3 * rng.normal(size=d)) for t in T])
    F = np.array([unit(A[i % 3] + noise * rng.normal(size=d)) for i in range(m)])  # one class has no image
    return F, T, A


def refine(stage, F, T, A):
    answers = log_softmax(stage.scale * F @ T.T, axis=1)
    history = LabelHistory(answers.argmax(axis=1))
    return history, stage.refine(F, answers, A, neighbours(F, stage.n_neighbors), history)


@pytest.mark.parametrize("exact", [False, True])
def test_it_follows_the_literal_updates(exact):
    stage = StatisticalAnchor(alpha=1.7, start_weight=0.8, graph_weight=0.6, scale=6.0, softness=2.0, exact=exact)
    stage.set_params(max_rounds=3, n_inner=2)
    history, classes = refine(stage, *problem())
    labels, means, variances, objectives = literal(*problem(), stage)
    np.testing.assert_array_equal(history.labels, labels)
    np.testing.assert_allclose(classes.means, means, rtol=1e-9)
    np.testing.assert_allclose(classes.variances, variances, rtol=1e-8)
    found = history.table()["objective"].to_numpy()
    np.testing.assert_allclose(found - found[0], np.array(objectives) - objectives[0], rtol=1e-7, atol=1e-9)


def test_exact_steps_never_raise_the_objective():
    stage = StatisticalAnchor(graph_weight=0.0, scale=6.0, softness=1.0, exact=True)
    J = refine(stage, *problem())[0].table()["objective"].to_numpy()
    assert (np.diff(J) <= 1e-10 * abs(J[0])).all()
    assert J[-1] < J[0] - 0.01


def test_the_anchor_holds_a_class_without_images_and_with_a_large_weight_all_of_them():
    F, T, A = problem(noise=0.1)
    history, classes = refine(StatisticalAnchor(scale=60.0, softness=2.0), F, T, A)
    absent = np.setdiff1d(np.arange(4), history.labels)
    assert absent.tolist() == [3]
    np.testing.assert_allclose(classes.means[absent], A[absent])
    moved = np.linalg.norm(classes.means - A, axis=1)
    assert (moved[:3] > 0.05).all()
    held = refine(StatisticalAnchor(scale=60.0, softness=2.0, alpha=1e9), F, T, A)[1]
    np.testing.assert_allclose(held.means, A, atol=1e-6)
    np.testing.assert_allclose(held.variances, np.tile(held.variances[0], (4, 1)), rtol=1e-6)


def test_without_a_pool_it_is_the_base_and_new_samples_go_by_the_same_classes():
    data = make_synthetic(per_class=40, shift=1.0, noise=1.0, seed=2)
    model, base = (make_method(name, **LAMBDAS).fit(*data[:3]) for name in ("stata", "aezsl"))
    alone = base.predict(data.X_new, data.S_new)
    np.testing.assert_array_equal(model.adapt(data.S_new).predict(data.X_new), alone)
    adapted = model.adapt(data.S_new, data.X_new)
    np.testing.assert_array_equal(adapted.rounds.start, alone)
    before, after = (per_class_accuracy(data.y_new, labels) for labels in (alone, adapted.labels))
    assert after > before
    again = adapted.predict(data.X_new[::-1])[::-1]  # another pool: scores decide, without neighbours
    assert np.mean(again == adapted.labels) > 0.9


def test_few_classes_cost_nothing():
    """What it was made for: the classes that are absent do not take the images of those that are there."""
    gains = []
    for seed in range(4):
        data = make_synthetic(n_unseen=12, per_class=30, shift=1.0, noise=1.0, seed=seed)
        rows = np.isin(data.y_new, [0, 1])
        model = make_method("stata", **LAMBDAS).fit(*data[:3])
        alone, together = (model.adapt(data.S_new, pool).predict(data.X_new[rows]) for pool in (None, data.X_new[rows]))
        true = data.y_new[rows]
        gains.append(per_class_accuracy(true, together) - per_class_accuracy(true, alone))
    assert min(gains) >= -0.02
    assert np.mean(gains) > 0.02
