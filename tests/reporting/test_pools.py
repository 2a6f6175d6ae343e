"""Gains of pools: the table, the words, the picture."""

import numpy as np
import pandas as pd
import pytest

from aezsl.evaluation.intervals import paired_interval
from aezsl.reporting.pools import draw_gains, tabulate_pools


def make_draws():
    rows = []
    for method, gain in (("aezsl_t", 0.1), ("tzsar", -0.2)):
        for size in ("64", "all"):
            for draw in range(3):
                base = 0.5 + 0.01 * draw
                values = {"base": base, "accuracy": base + gain + 0.02 * draw, "low": -0.1, "high": 0.3}
                cell = {"classes": "1-4", "size": size, "stream": False}
                rows.append(
                    {"method": method, **cell, "state": "run", "draw": draw, "images": 64, "present": 3, **values}
                )
        alone = {"base": 0.5, "accuracy": 0.6, "low": 0.05, "high": 0.15, "draw": 0, "images": 300, "present": 9}
        rows.append({"method": method, "classes": "all", "size": "all", "stream": False, "state": "run", **alone})
        out = {"classes": "0.1", "size": "64", "stream": True, "state": "left out: 90 images make no two batches of 64"}
        rows.append({"method": method, **out})
    return pd.DataFrame(rows)


def test_intervals_are_paired_over_draws_and_of_the_bootstrap_where_there_is_one():
    table, _, metrics = tabulate_pools(make_draws())
    assert len(table) == 8
    first = table.iloc[0]
    gains = np.array([10.0, 12.0, 14.0])
    assert first[["base", "accuracy", "gain", "worst_draw"]].tolist() == pytest.approx([51, 63, 12, 10])
    assert first[["low", "high"]].tolist() == pytest.approx(list(paired_interval(gains)))
    single = table[table["classes"] == "all"].iloc[0]
    assert single[["low", "high"]].tolist() == pytest.approx([5, 15])
    assert metrics["aezsl_t.mean_gain"] == pytest.approx((0.12 + 0.12 + 0.1) / 3)
    assert metrics["tzsar.worst_gain"] == metrics["tzsar.gain.1-4_of_64"] == pytest.approx(-0.18)
    assert len(metrics) == 2 * 5


def test_what_is_left_out_is_said_in_words():
    text = tabulate_pools(make_draws())[1]
    assert "| 1-4 classes | 51.0 → 63.0, +12.0 (" in text
    assert text.count("stream, Dirichlet 0.1, batch 64: 90 images make no two batches of 64.") == 1
    assert text.index("## AEZSL_T") < text.index("## Xu et al.")


def test_the_picture_has_a_map_per_method_and_a_dash_where_nothing_was_measured():
    figure = draw_gains(tabulate_pools(make_draws())[0])
    first, second, _ = figure.axes
    assert [axes.get_title() for axes in (first, second)] == ["AEZSL_T", "Xu et al."]
    assert [text.get_text() for text in second.texts] == ["-18.0", "-18.0", "–", "+10.0", "–", "–"]
