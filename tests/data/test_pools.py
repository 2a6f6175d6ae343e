"""Pools as they come: which images are drawn, and what is refused."""

import numpy as np
import pytest

from aezsl.data.draws import IN_TURN, Cell, check_classes, check_sizes, check_streams, draw_pools, make_cells
from aezsl.errors import DataError, ParameterError

#: 20 classes of 30 to 49 images.
Y = np.random.default_rng(0).permutation(np.repeat(np.arange(20), np.arange(30, 50)))


def draw(classes, size, stream=False, number=0, seed=0):
    return draw_pools(Cell(classes, size, stream), Y, number, seed, 5)


def n_classes(rows):
    return len(np.unique(Y[rows]))


def test_a_batch_has_its_size_and_its_classes():
    counts = [n_classes(draw("2-4", "64", number=number)[0]) for number in range(20)]
    assert set(counts) == {2, 3, 4}
    (rows,) = draw("half", "64")
    assert (len(rows), len(np.unique(rows)), n_classes(rows)) == (64, 64, 10)
    assert n_classes(draw("all", "20")[0]) == 20  # as many images as classes: one of each
    assert n_classes(draw("all", "10")[0]) <= 10


def test_where_images_are_few_more_classes_are_present_up_to_the_most():
    counts = {n_classes(draw("1-4", "110", number=number)[0]) for number in range(20)}
    assert counts <= {3, 4}
    with pytest.raises(DataError, match="4 classes have"):
        draw("1-4", "500")


def test_all_images_of_some_classes():
    (rows,) = draw("3", "all")
    assert n_classes(rows) == 3
    assert len(rows) == np.isin(Y, np.unique(Y[rows])).sum()
    assert np.array_equal(draw("all", "all")[0], np.arange(len(Y)))
    with pytest.raises(DataError, match="20 classes"):
        draw("21-30", "64")


@pytest.mark.parametrize("order", ["0.01", "0.1", "10", IN_TURN])
def test_a_stream_has_every_image_once(order):
    pools = draw_pools(Cell(order, "20", True), Y, 0, 0, 1000)
    assert {len(pool) for pool in pools} == {20}
    assert len(pools) == len(Y) // 20
    assert len(np.unique(np.concatenate(pools))) == 20 * len(pools)


def test_batches_of_a_stream_have_the_fewer_classes_the_smaller_the_parameter():
    means = [
        np.mean([n_classes(pool) for number in range(5) for pool in draw(order, "30", True, number)])
        for order in (IN_TURN, "0.01", "0.1", "10")
    ]
    assert means == sorted(means)
    assert means[0] < 3 < 12 < means[-1]
    assert [len(pools) for pools in (draw("0.1", "20", True), draw("0.1", "300", True))] == [5, 2]
    with pytest.raises(DataError, match="no two batches"):
        draw("0.1", "700", True)


def test_draws_depend_on_cell_seed_and_number_alone():
    assert np.array_equal(draw("half", "64")[0], draw("half", "64")[0])
    others = [draw("half", "64", number=1)[0], draw("half", "64", seed=1)[0]]
    assert not any(np.array_equal(draw("half", "64")[0], other) for other in others)


def test_cells_of_values_joined_by_plus_signs():
    cells = make_cells("1-4+all", "64+all", "0.1+in_turn")
    assert cells[:4] == [Cell("1-4", "64"), Cell("1-4", "all"), Cell("all", "64"), Cell("all", "all")]
    assert cells[4:] == [Cell("0.1", "64", True), Cell("in_turn", "64", True)]
    assert [cell.varies for cell in cells] == [True, True, True, False, True, True]
    assert len({cell.name for cell in cells}) == len({cell.row + cell.size for cell in cells}) == 6
    assert make_cells("all", "64", "") == [Cell("all", "64")]


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (check_classes, "", "4-1"),
        (check_classes, "1-4+half", "few"),
        (check_classes, "12+all", "0"),
        (check_sizes, "64+all", "0"),
        (check_sizes, "64", "big"),
        (check_streams, "0.1+in_turn", "-1"),
        (check_streams, "", "in turn"),
        (check_streams, "10", "inf"),
    ],
)
def test_values_that_are_none_are_named(check, good, bad):
    assert check(good) == good
    with pytest.raises(ParameterError, match=f"'{bad}'"):
        check(f"{good}+{bad}" if good else bad)
