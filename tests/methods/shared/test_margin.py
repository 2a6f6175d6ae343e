"""The smoothed support vector machine behind max_margin and lrl, against its exact dual."""

import numpy as np
import pytest

from aezsl.methods.shared import margin
from aezsl.methods.shared.margin import Labelling, linear_hinge, mapped_scores, size_bounds, smooth_hinge, train
from aezsl.methods.shared.simplex import project_to_simplex


def problem(seed=0, n=14, m=6, r=5, h=4, n_classes=6):
    """Known samples, others with mixed labels, class vectors."""
    rng = np.random.default_rng(seed)
    F, U = rng.normal(size=(n + m, r)), rng.normal(size=(n_classes, h))
    labels = Labelling(rng.integers(0, n_classes, n), rng.dirichlet(np.ones(n_classes), m))
    return F, U, labels, np.vstack([np.eye(n_classes)[labels.y], labels.Y])


def fit(F, U, labels, beta=0.7, tau=0.05, tol=1e-15):
    return train(F, U, labels, beta, np.zeros((U.shape[1], F.shape[1])), tau, tol)


def exact_dual(F, U, Y, beta, steps=1500):
    """``max_M -<M,Y> - tr((Y-M)'K(Y-M)Q) / (2 beta)`` over rows of the simplex, and the W of its maximum."""
    K, Q = F @ F.T, U @ U.T
    rate = beta / (np.linalg.norm(K, 2) * np.linalg.norm(Q, 2))
    M = ahead = np.full(Y.shape, 1 / Y.shape[1])
    momentum = 1.0
    for _ in range(steps):
        new = project_to_simplex(ahead + rate * (K @ (Y - ahead) @ Q / beta - Y))
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        M, ahead, momentum = new, new + (momentum - 1) / faster * (new - M), faster
    return -np.vdot(M, Y) - np.trace((Y - M).T @ K @ (Y - M) @ Q) / (2 * beta), U.T @ (Y - M).T @ F / beta


def test_the_hinge_is_the_literal_one_and_its_derivative_that_of_differences():
    F, _, labels, Y = problem()
    scores = F @ np.random.default_rng(1).normal(size=(5, 6))
    own = (scores * Y).sum(axis=1, keepdims=True)
    exact = (1 - Y + scores - own).max(axis=1).sum()
    assert smooth_hinge(scores, labels, 1e-4)[0] == pytest.approx(exact, rel=1e-3)
    value, M = smooth_hinge(scores, labels)
    assert exact <= value <= exact + len(F) * 0.05 * np.log(6)
    rng = np.random.default_rng(2)
    for _ in range(3):
        way = rng.normal(size=scores.shape)
        change = smooth_hinge(scores + 1e-6 * way, labels)[0] - smooth_hinge(scores - 1e-6 * way, labels)[0]
        assert change / 2e-6 == pytest.approx(np.vdot(M - Y, way), rel=1e-5)


@pytest.mark.parametrize("block", [4, 14, 17, 1000])  # known samples are 14
def test_block_by_block_the_hinge_of_a_product_is_the_same(monkeypatch, block):
    monkeypatch.setattr(margin, "BLOCK", block)
    F, _, labels, Y = problem()
    P = np.random.default_rng(1).normal(size=(5, 6))
    loss, slope = linear_hinge(F, P, labels)
    value, M = smooth_hinge(F @ P, labels)
    assert loss == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(slope, F.T @ (M - Y), atol=1e-12)


def test_classes_out_of_reach_leave_no_denormal_numbers():
    """Products with them would take ten times as long; what is left in their place changes no digit."""
    scores = np.array([[0.0, 1.0, -4.6, -5.0, -100.0]], dtype=np.float32)
    loss, M = smooth_hinge(scores, Labelling(np.array([1]), np.empty((0, 5))))
    assert M.min() > np.finfo(np.float32).tiny
    exact = np.exp((scores.astype(np.float64) - [[0, 1, 0, 0, 0]]) / 0.05)
    np.testing.assert_allclose(M, exact / exact.sum(), atol=1e-7)
    assert loss == pytest.approx(0.05 * np.log(exact.sum()), rel=1e-6)


@pytest.mark.parametrize("tau", [0.05, 0.5])
def test_how_steps_are_scaled_changes_the_way_not_the_minimum(monkeypatch, tau):
    F, U, labels, _ = problem()
    F = F * np.array([10.0, 3.0, 1.0, 0.3, 0.1])
    found = []
    for undecided in (0.0, 0.01, 1.0):
        monkeypatch.setattr(margin, "UNDECIDED", undecided)
        found.append(fit(F, U, labels, tau=tau).value)
    np.testing.assert_allclose(found, found[0], rtol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_strong_duality(seed):
    """With the entropy of M, which the smoothing adds, the dual at the machine's M is the primal, less t."""
    F, U, labels, Y = problem(seed)
    beta, tau = 0.7, 0.05
    machine = fit(F, U, labels, beta, tau)
    _, M = smooth_hinge(mapped_scores(F, machine.W, U), labels, tau)
    np.testing.assert_allclose(machine.M, M[len(labels.y) :])
    R = Y - M
    quadratic = np.trace(R.T @ (F @ F.T) @ R @ (U @ U.T)) / (2 * beta)
    entropy = -np.sum(M * np.log(M))
    assert machine.value - len(F) == pytest.approx(-np.vdot(M, Y) - quadratic + tau * entropy, rel=1e-6)
    np.testing.assert_allclose(machine.W, U.T @ R.T @ F / beta, atol=1e-4)


@pytest.mark.parametrize("seed", range(2))
def test_it_comes_near_the_exact_machine(seed):
    F, U, labels, Y = problem(seed)
    exact, W = exact_dual(F, U, Y, 0.7)
    for tau, near in ((0.05, 0.1), (0.001, 0.002)):
        machine = fit(F, U, labels, tau=tau)
        assert exact - 1e-6 <= machine.value - len(F) <= exact + near * len(F)
    np.testing.assert_allclose(machine.W, W, atol=0.05)


def test_without_others_it_is_the_machine_of_crammer_and_singer():
    F, U, labels, Y = problem()
    n = len(labels.y)
    known = Labelling(labels.y, np.empty((0, 6)))
    W = fit(F[:n], U, known, tau=0.001).W

    def literal(W):
        scores = F[:n] @ W.T @ U.T
        margins = 1 - Y[:n] + scores - scores[np.arange(n), labels.y][:, None]
        return 0.35 * np.sum(W**2) + margins.max(axis=1).sum()

    rng = np.random.default_rng(0)
    assert all(literal(W) < literal(W + 0.1 * rng.normal(size=W.shape)) for _ in range(50))


def test_the_derivative_by_labels_is_the_one_of_the_paper():
    F, U, labels, _ = problem()
    machine = fit(F, U, labels)
    G = -(machine.M + machine.scores)
    way = np.random.default_rng(3).dirichlet(np.ones(6), len(labels.Y)) - labels.Y
    ends = [fit(F, U, labels._replace(Y=labels.Y + step * way)).value for step in (1e-4, -1e-4)]
    assert (ends[0] - ends[1]) / 2e-4 == pytest.approx(np.vdot(G, way), rel=1e-3)


def test_the_loss_is_a_sum_so_twice_the_samples_need_twice_the_weight():
    F, U, labels, _ = problem()
    once = fit(F, U, labels, beta=0.7)
    again = Labelling(np.tile(labels.y, 2), np.tile(labels.Y, (2, 1)))
    n = len(labels.y)
    twice = fit(np.vstack([F[:n], F[:n], F[n:], F[n:]]), U, again, beta=1.4)
    assert twice.value == pytest.approx(2 * once.value, rel=1e-9)
    np.testing.assert_allclose(twice.W, once.W, atol=1e-4)


def test_even_mixtures_of_classes_are_nearly_stationary():
    """Why labels do not start as mixtures: along Y the objective falls far less from there than from any class."""
    F, _, labels, _ = problem()
    U, m = np.eye(6), len(labels.Y)
    slopes = []
    for Y in (np.full((m, 6), 1 / 6), np.eye(6)[np.arange(m) % 6]):
        machine = fit(F, U, Labelling(labels.y % 4, Y))
        G = -(machine.M + machine.scores)
        slopes.append(np.ptp(G[:, 4:], axis=1).max())  # between the two classes without a sample
    assert slopes[0] < 1e-3 < slopes[1]


def test_classes_without_relation_and_without_samples_are_alike():
    """Q = I is the plain semi-supervised machine: to exchange two such classes changes nothing."""
    F, _, labels, _ = problem()
    known = Labelling(labels.y % 4, labels.Y)
    swapped = known._replace(Y=known.Y[:, [0, 1, 2, 3, 5, 4]])
    assert fit(F, np.eye(6), known).value == pytest.approx(fit(F, np.eye(6), swapped).value, rel=1e-9)


@pytest.mark.parametrize(
    ("m", "labelled", "low", "high"),
    [
        (100, [0] * 10, [5] * 10, [20] * 10),
        (103, [0] * 10, [6] * 10, [21] * 10),
        (3, [0] * 10, [0] * 10, [1] * 10),  # too few for one each
        (1, [0], [1], [2]),
        (40, [10, 10, 0, 0], [0, 0, 8, 8], [20, 20, 30, 30]),  # sizes count samples that are known
        (4, [40, 40, 0, 0], [0, 0, 2, 2], [2, 2, 42, 42]),  # lower bounds that cannot be met shrink
    ],
)
def test_bounds_on_class_sizes(m, labelled, low, high):
    found = size_bounds(m, np.array(labelled), 0.5, 2.0)
    assert [bound.tolist() for bound in found] == [low, high]


def test_bounds_can_always_be_met():
    rng = np.random.default_rng(0)
    for _ in range(200):
        labelled = rng.integers(0, 60, rng.integers(1, 12)) * rng.integers(0, 2)
        m = int(rng.integers(1, 80))
        low, high = size_bounds(m, labelled, rng.uniform(0, 1), rng.uniform(1, 3))
        assert (low <= high).all()
        assert low.sum() <= m <= high.sum()
