"""Balanced propagation: one objective that never rises, and limits that are known methods."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import softmax

from aezsl.methods.propagation.balanced import Objective, Weights, assign, propagate
from aezsl.methods.propagation.neighbours import _cells, cell_neighbours, exact_neighbours, neighbour_graph
from aezsl.methods.propagation.shares import nearest_shares
from tests.helpers.propagation import C, M, objective, unit
from tests.oracles import propagation as oracle


@pytest.mark.parametrize("concentration", [None, 0.16, 0.4])
@pytest.mark.parametrize("graph", [0, 8, 40])
@pytest.mark.parametrize("balance", [0, 0.5, 1])
@pytest.mark.parametrize("classes", [0, 20])
def test_the_objective_never_rises(graph, balance, classes, concentration):
    J = objective((1.0, graph, classes, 5.0, balance), concentration)
    found = propagate(J, settle=1e-9)
    trace = [value for _, value in found.rounds]
    assert (np.diff(trace) <= 1e-8 * abs(trace[0])).all()
    np.testing.assert_allclose(found.R.sum(axis=1), 1)
    np.testing.assert_allclose(J.with_shares(found.R).value(found.R), trace[-1], rtol=1e-9)


def test_value_and_steps_are_the_literal_ones():
    """The objective term by term; directions and shares, each the best where the labels stand."""
    J = objective((1.0, 8.0, 20.0, 5.0, 0.7), 0.16)
    R = np.random.default_rng(1).dirichlet(np.full(C, 0.3), size=M)
    J = J.with_shares(R)
    np.testing.assert_allclose(J.q, oracle.best_shares(R.mean(axis=0), 0.16), atol=1e-5)
    directions = oracle.best_directions(R, J.X, J.prototypes, 5.0)
    np.testing.assert_allclose(J.directions(R)[0], directions, atol=1e-6)
    literal = oracle.objective(R, directions, J.q, J.G, J.S.toarray(), J.X, J.prototypes, J.weights)
    np.testing.assert_allclose(J.value(R), literal + 20.0 * (M + 5.0 * C), rtol=1e-6)


def test_the_end_is_a_point_where_no_small_step_of_labels_or_shares_lowers_the_literal_objective():
    J, rng = objective((1.0, 2.0, 20.0, 5.0, 0.7), 0.16), np.random.default_rng(2)
    found = propagate(J, max_rounds=300, settle=0)
    J, S = J.with_shares(found.R), J.S.toarray()

    def value(R, q):
        return oracle.objective(
            R, oracle.best_directions(R, J.X, J.prototypes, 5.0), q, J.G, S, J.X, J.prototypes, J.weights
        )

    least = value(found.R, J.q)
    for _ in range(5):
        R = found.R * np.exp(0.05 * rng.normal(size=found.R.shape))
        assert value(R / R.sum(axis=1, keepdims=True), J.q) > least
        q = nearest_shares(J.q * np.exp(0.2 * rng.normal(size=C)) / J.q.sum(), 0.16)
        assert value(found.R, q / q.sum()) >= least - 1e-9


@pytest.mark.parametrize("balance", [0, 0.7, 1])
def test_the_objective_never_rises_with_seen_classes_among_the_targets(balance):
    """Prototypes that are worth unlike numbers of images, and two sides whose shares are found."""
    kappa, is_seen = np.array([60.0, 20, 1, 0, 5, 5, 5]), np.arange(C) < 3
    J = replace(objective((1.0, 8.0, 20.0, 5.0, balance)), kappa=kappa, is_seen=is_seen)
    found = propagate(J, settle=1e-9)
    trace = [value for _, value in found.rounds]
    assert (np.diff(trace) <= 1e-8 * abs(trace[0])).all()
    sums = kappa[:, None] * J.prototypes + found.R.T @ J.X
    np.testing.assert_allclose(found.M, unit(sums), atol=1e-6)


def test_the_shares_of_two_sides_are_the_best_of_those_that_are_constant_on_each():
    J = replace(objective((1.0, 8.0, 0.0, 0.0, 0.7)), is_seen=np.arange(C) < 3)
    R = propagate(objective((1.0, 8.0, 0.0, 0.0, 0.0))).R
    best = J.with_shares(R)
    assert best.q.sum() == pytest.approx(1)
    for moved in (-0.01, 0.01):
        q = best.q + np.where(J.is_seen, moved / 3, -moved / 4)
        assert replace(best, q=q).totals(R) > best.totals(R)


def test_one_worth_for_all_prototypes_is_that_weight():
    J = objective((1.0, 8.0, 20.0, 5.0, 0.7))
    np.testing.assert_array_equal(propagate(replace(J, kappa=np.full(C, 5.0))).R, propagate(J).R)


def test_a_bipartite_graph_does_not_make_it_flip():
    """Its normalised graph has the eigenvalue -1: steps without inertia would swap the two sides for ever."""
    S = csr_array(np.kron([[0.0, 1.0], [1.0, 0.0]], np.ones((20, 20))) / 20)
    G = np.random.default_rng(0).normal(size=(40, 2)) * 0.1
    G[:20, 0] += 1
    G[20:, 1] += 1
    found = propagate(Objective(G, S, np.full(2, 0.5), Weights(1, 50, 0, 0, 0)), max_rounds=200, settle=0)
    trace = [value for _, value in found.rounds]
    assert (np.diff(trace) <= 1e-8 * abs(trace[0])).all()


def test_without_a_graph_it_is_balanced_assignment_of_the_start():
    J = objective((2.0, 0.0, 0.0, 0.0, 1.0))
    K, u = np.exp(2 * J.G), np.ones(M)
    for _ in range(2000):  # Sinkhorn
        v = M / C / (K.T @ u)
        u = 1 / (K @ v)
    found = propagate(J)
    np.testing.assert_allclose(found.R, u[:, None] * K * v, atol=1e-5)
    assert len(found.rounds) == 1


def test_enforced_totals_give_a_doubly_stochastic_plan():
    R = propagate(objective((1.0, 8.0, 20.0, 5.0, 1.0))).R
    np.testing.assert_allclose(R.sum(axis=0), M / C, rtol=1e-4)


def test_without_balance_it_is_mean_field_label_propagation():
    J = objective((1.0, 2.0, 0.0, 0.0, 0.0))
    R = propagate(J, max_rounds=500, settle=0).R
    np.testing.assert_allclose(R, softmax(J.G + 2 * (J.S @ R), axis=1), atol=1e-6)


def test_for_a_faint_start_that_is_the_label_propagation_of_zhou():
    faint, mu = 1e-5, 5.0
    J = objective((faint, mu, 0.0, 0.0, 0.0))
    R = propagate(J, max_rounds=300, settle=-1).R
    centred = J.G - J.G.mean(axis=1, keepdims=True)
    expected = np.linalg.solve(np.eye(M) - mu / C * J.S.toarray(), centred) / C
    np.testing.assert_allclose((R - 1 / C) / faint, expected, atol=1e-3 * np.abs(expected).max())


def test_an_infinite_start_keeps_its_labels():
    J = objective((1e6, 8.0, 20.0, 5.0, 0.7))
    np.testing.assert_array_equal(propagate(J).R.argmax(axis=1), J.G.argmax(axis=1))


@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_the_assignment_is_the_stationary_point_of_its_lagrangian(rho):
    G, totals = objective((1.0, 0, 0, 0, 0)).G, np.full(C, M / C)
    R, log_R, _ = assign(G, totals, rho, np.zeros(C))
    np.testing.assert_allclose(np.exp(log_R), R, atol=1e-12)
    rest = log_R - G + rho / (1 - rho) * np.log(R.sum(axis=0) / totals)
    np.testing.assert_allclose(rest, np.broadcast_to(rest[:, :1], rest.shape), atol=1e-4)


def test_permuting_the_pool_permutes_the_labels():
    J = objective((1.0, 8.0, 20.0, 5.0, 0.7))
    order = np.random.default_rng(3).permutation(M)
    other = Objective(J.G[order], csr_array(J.S[order][:, order]), J.q, J.weights, J.X[order], J.prototypes)
    np.testing.assert_allclose(propagate(other).R, propagate(J).R[order], atol=1e-8)


def clustered(m, n_clusters, d, noise):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_clusters, d))[rng.integers(n_clusters, size=m)] + noise * rng.normal(size=(m, d))
    return unit(X).astype(np.float32)


@pytest.mark.parametrize(("noise", "least"), [(0.7, 0.97), (2.0, 0.9)])
def test_the_search_in_cells_finds_most_neighbours(noise, least):
    """Far apart clusters, and clusters that lie in one another."""
    X = clustered(2000, 40, 160, noise)
    nearest, cosines = cell_neighbours(X, 10, cell=32)
    exact = exact_neighbours(X, 10)[0]
    recall = np.mean([len(np.intersect1d(a, b)) / 10 for a, b in zip(exact, nearest, strict=True)])
    assert recall > least
    assert not (nearest == np.arange(2000)[:, None]).any()
    assert all(len(set(row)) == 10 for row in nearest)
    np.testing.assert_allclose(cosines, np.einsum("ikd,id->ik", X[nearest], X), atol=1e-6)
    assert (np.diff(cosines, axis=1) <= 0).all()


def test_a_visit_to_every_cell_is_the_exact_search():
    X = clustered(500, 8, 12, 1.0)
    np.testing.assert_allclose(cell_neighbours(X, 10, cell=32, probes=500)[1], exact_neighbours(X, 10)[1], rtol=1e-5)


def test_cells_with_too_few_rows_are_made_up_for():
    X = clustered(300, 5, 8, 0.5)
    nearest, cosines = cell_neighbours(X, 10, cell=3, probes=2)
    assert np.isfinite(cosines).all()
    assert (nearest >= 0).all()


def test_a_pool_of_equal_rows_has_no_cell_that_grows_with_it():
    nearest, cosines = cell_neighbours(np.full((2000, 4), 0.5, dtype=np.float32), 10, cell=64)
    home, visited = _cells(np.full((2000, 4), 0.5, dtype=np.float32), 64, 12, np.random.default_rng(0))
    assert np.bincount(home).max() <= 128
    assert (visited == home[:, None]).any(axis=1).all()
    np.testing.assert_allclose(cosines, 1)
    assert not (nearest == np.arange(2000)[:, None]).any()


@pytest.mark.parametrize("m", [1, 2, 5])
def test_tiny_pools_have_a_graph(m):
    S = neighbour_graph(unit(np.random.default_rng(0).normal(size=(m, 4))), 10).toarray()
    assert S.shape == (m, m)
    assert np.isfinite(S).all()
    np.testing.assert_allclose(S, S.T)


def test_equal_samples_are_neighbours():
    assert (neighbour_graph(np.ones((6, 2)) / np.sqrt(2), 3).toarray().sum(axis=1) > 0).all()
