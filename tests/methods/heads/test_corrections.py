"""Corrections of a folder: identities of the labels that follow them, and which photos are asked."""

import numpy as np
import pytest
from scipy.special import softmax

from aezsl.errors import DataError
from aezsl.evaluation.confidence import NOTHING
from aezsl.methods import make_method
from aezsl.methods.heads.corrections import REACH, RIDGE, TAUGHT
from tests.helpers.heads import fitted


@pytest.fixture(scope="module")
def folder(seen, data):
    """Two classes are described as each other: photos of both get wrong names."""
    return fitted(seen, "aezsl_heads_t").adapt(data.S_new[[1, 0, *range(2, len(data.S_new))]], data.X_new)


@pytest.fixture(scope="module")
def wrong(folder, data):
    """Right names of three photos of each."""
    rows = [row for c in (0, 1) for row in np.flatnonzero(data.y_new == c)[:3].tolist()]
    assert not (folder.predict(data.X_new)[rows] == data.y_new[rows]).any()
    return {row: int(data.y_new[row]) for row in rows}


def test_without_corrections_names_are_what_they_were(folder, wrong, data):
    expected = folder.scores(data.X_new)
    np.testing.assert_array_equal(folder.corrected({}).scores(data.X_new), expected)
    undone = folder.corrected(wrong).corrected({})
    np.testing.assert_array_equal(undone.scores(data.X_new), expected)
    assert undone.history.equals(folder.history)


def test_corrected_photos_keep_their_names_and_others_follow(folder, wrong, data):
    found = folder.corrected(wrong)
    labels, rest = found.predict(data.X_new), np.setdiff1d(np.arange(len(data.X_new)), list(wrong))
    assert all(labels[row] == label for row, label in wrong.items())
    shares = softmax(found.scores(data.X_new).astype(float), axis=1)
    np.testing.assert_allclose(shares[list(wrong)].max(axis=1), 1)
    right = labels[rest] == data.y_new[rest]
    assert right.sum() > (folder.predict(data.X_new)[rest] == data.y_new[rest]).sum()


def test_the_order_of_corrections_does_not_matter_and_undone_ones_leave_nothing(folder, wrong, data):
    at_once = folder.corrected(wrong).scores(data.X_new)
    other_way = {row: wrong[row] for row in reversed(wrong)}
    np.testing.assert_array_equal(folder.corrected(other_way).scores(data.X_new), at_once)
    more = folder.corrected({**wrong, 0: NOTHING, 1: 2})
    np.testing.assert_array_equal(more.corrected(wrong).scores(data.X_new), at_once)


def test_labels_do_not_depend_on_how_photos_are_ordered(seen, wrong, data):
    order = np.random.default_rng(0).permutation(len(data.X_new))
    place = np.argsort(order)
    model, labels = fitted(seen, "aezsl_heads_t"), data.S_new[:6]
    expected = model.adapt(labels, data.X_new).corrected(wrong).predict(data.X_new)
    shuffled = model.adapt(labels, data.X_new[order]).corrected({int(place[row]): wrong[row] for row in wrong})
    np.testing.assert_array_equal(shuffled.predict(data.X_new[order]), expected[order])


def test_where_every_photo_is_corrected_nothing_is_left_to_solve(folder, data):
    every = dict(enumerate(((data.y_new + 1) % len(data.S_new)).tolist()))
    np.testing.assert_array_equal(folder.corrected(every).predict(data.X_new), list(every.values()))


def test_photos_of_none_of_the_labels_bring_their_neighbours_along(seen, data):
    labels = data.S_new[1:]  # the first class is not among them
    strangers = np.flatnonzero(data.y_new == 0)
    folder = fitted(seen, "aezsl_heads_t").adapt(labels, data.X_new)
    assert folder.nothing is None
    found = folder.corrected(dict.fromkeys(strangers[:4].tolist(), NOTHING))
    np.testing.assert_array_equal(found.nothing[strangers[:4]], 1)
    others = np.setdiff1d(np.arange(len(data.X_new)), strangers)
    assert found.nothing[strangers[4:]].mean() > 5 * found.nothing[others].mean()


def test_what_is_taught_is_the_ridge_regression_of_what_the_scores_missed(folder, wrong):
    basis, rows = folder.folder, sorted(wrong)
    missed = np.eye(basis.F.shape[1])[[wrong[row] for row in rows]] - softmax(basis.F[rows], axis=1)
    X = basis.X[rows]
    expected = TAUGHT * np.linalg.inv(X.T @ X + RIDGE * np.eye(X.shape[1])) @ X.T @ missed
    np.testing.assert_allclose(basis.solve(wrong).taught, expected, atol=1e-10)
    assert not basis.solve({}).taught.any()


def test_a_new_photo_of_a_corrected_folder_is_named_by_what_was_taught(folder, wrong, data):
    found = folder.corrected(wrong)
    apart = data.X_new + 1e-7  # photos of the folder go by their soft labels
    right = [(one.predict(apart) == data.y_new)[data.y_new < 2].mean() for one in (folder, found)]
    assert right[1] > right[0]


def test_the_photos_to_ask_are_those_of_the_formula_written_out(folder, data):
    basis = folder.folder
    corrected = {3: int(data.y_new[3]), 8: 1}
    solved = basis.solve(corrected)
    own = softmax(basis.F + basis.X @ solved.taught, axis=1)
    u = [1 - sum(np.exp(solved.log_R[i]) * own[i]) for i in range(len(own))]
    P = np.eye(len(u)) - REACH * basis.S.toarray()  # the precision of the field
    known = list(corrected)
    for asked in folder.folder.ask(corrected, 4):
        left = np.setdiff1d(np.arange(len(u)), known)
        C = np.linalg.inv(P[np.ix_(left, left)])  # conditioning takes rows out of a precision
        worth = [u[j] * sum(u[i] * C[a, b] ** 2 for a, i in enumerate(left)) / C[b, b] for b, j in enumerate(left)]
        place = left.tolist().index(asked)
        assert worth[place] == pytest.approx(max(worth), rel=1e-9)  # equal ones are told apart by rounding alone
        known.append(asked)
    assert len(basis.ask(dict.fromkeys(range(len(u) - 2), 1), 5)) == 2


def test_a_small_folder_follows_corrections_though_it_is_left_alone_without(seen, data):
    folder = fitted(seen, "aezsl_heads_t").adapt(data.S_new, data.X_new[:12])
    assert folder.pool_scores is None
    found = folder.corrected({0: 1})
    assert found.predict(data.X_new[:12])[0] == 1
    np.testing.assert_array_equal(found.corrected({}).scores(data.X_new[:12]), folder.scores(data.X_new[:12]))


def test_a_restored_folder_says_that_it_cannot_be_corrected(folder, seen, wrong, data):
    again = make_method("aezsl_heads_t").set_state(fitted(seen).get_state()).restore(folder.state())
    np.testing.assert_array_equal(again.scores(data.X_new), folder.scores(data.X_new))
    with pytest.raises(DataError):
        again.corrected(wrong)


def test_pairs_of_labels_share_the_doubt(folder, wrong):
    basis = folder.folder
    pairs = basis.confused(wrong)
    free = np.setdiff1d(np.arange(len(basis.F)), list(wrong))
    assert pairs.sum() == pytest.approx(basis.doubt(wrong)[free].sum())
    assert not np.tril(pairs).any()
    assert (pairs >= 0).all()
