"""Groups of classes: probabilities add up, and the smallest group that is probable enough names an image."""

import numpy as np
import pytest

from aezsl.evaluation.groups import Groups

BIRDS = [["gull", "bird"], ["gull", "bird"], ["bird"], ["car"], []]  # herring gull, black gull, wren, taxi, melon


def back_off(shares, threshold=0.5, lineages=BIRDS):
    shares = np.array([shares])
    order = np.argsort(-shares, axis=1)
    found = Groups.of(lineages).back_off(order, np.take_along_axis(shares, order, axis=1), threshold)
    return found.called[0], float(found.probabilities[0])


@pytest.mark.parametrize(
    ("shares", "said", "probability"),
    [
        ([0.6, 0.3, 0.1, 0.0, 0.0], "", 0.0),  # the class itself is sure enough
        ([0.45, 0.35, 0.1, 0.1, 0.0], "gull", 0.8),
        ([0.3, 0.2, 0.3, 0.2, 0.0], "bird", 0.8),
        ([0.3, 0.2, 0.2, 0.2, 0.1], "", 0.0),  # no group has three quarters
        ([0.38, 0.38, 0.0, 0.24, 0.0], "gull", 0.76),
    ],
)
def test_the_smallest_group_that_is_probable_enough_names_an_image(shares, said, probability):
    assert back_off(shares) == (said, pytest.approx(probability))


def test_of_groups_of_one_size_the_most_probable_is_taken():
    lineages = [["a"], ["a", "b"], ["b", "c"], ["c"]]  # classes may be in groups that overlap
    assert back_off([0.28, 0.36, 0.36, 0.0], 0.4, lineages) == ("b", pytest.approx(0.72))


def test_groups_that_say_nothing_are_left_out():
    assert Groups.of([["one", "all"], ["all"]]) is None
    (nearest,) = Groups.of([["near", "far"], ["near", "far"], []], {"near": "called so"}).names
    assert nearest == "called so"


def test_the_best_member_is_the_first_of_the_group():
    classes, shares = np.array([[3, 1, 0, 2, 4]]), np.array([[0.28, 0.25, 0.24, 0.23, 0.0]])
    found = Groups.of(BIRDS).back_off(classes, shares, 0.3)
    assert (found.called, found.best.tolist()) == (["bird"], [1])


def test_sums_agree_with_all_groups_tried_one_by_one():
    rng = np.random.default_rng(0)
    lineages = [[name for name in "abcdef" if rng.random() < 0.4] for _ in range(12)]
    groups, shares = Groups.of(lineages), rng.dirichlet(np.full(12, 0.3), size=200)
    order = np.argsort(-shares, axis=1)
    found = groups.back_off(order, np.take_along_axis(shares, order, axis=1), 0.4)
    members = [groups.classes(group) for group in range(len(groups.names))]
    for i, row in enumerate(shares):
        fit = [(len(own), -row[own].sum(), name) for own, name in zip(members, groups.names, strict=True)]
        fit = sorted(one for one in fit if -one[1] >= 0.7) if row.max() < 0.4 else []
        assert found.called[i] == (fit[0][2] if fit else "")
    assert 0 < (found.group >= 0).sum() < 200
