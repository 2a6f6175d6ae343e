"""Yes or no for every label by itself: the rule is found again from pairs that follow it."""

import numpy as np
import pytest

from aezsl.errors import DataError
from aezsl.evaluation.yes_no import YesNo, fit_yes_no


def test_the_rule_is_found_from_pairs_that_follow_it():
    rng, rule = np.random.default_rng(0), YesNo(1.5, 0.8, 0.4)
    scores, rivals = rng.normal(-3, 2, 50_000), rng.normal(-1, 1, 50_000)
    p = rule.probabilities(scores[:, None], rivals)[:, 0]
    found = fit_yes_no(scores, rivals, rng.random(len(p)) < p)
    assert (found.intercept, found.score, found.rival) == pytest.approx((1.5, 0.8, 0.4), abs=0.06)
    # Pairs that count for nothing change nothing.
    twice = np.concatenate([scores, scores]), np.concatenate([rivals, rivals])
    true = np.concatenate([rng.random(len(p)) < p, np.ones(len(p), dtype=bool)])
    weighted = fit_yes_no(*twice, true, np.repeat([1.0, 0.0], len(p)))
    assert weighted.score == pytest.approx(0.8, abs=0.06)


def test_a_better_score_is_more_probable_and_a_better_rival_less():
    rule = YesNo(0.0, 1.0, 0.5)
    low, high = rule.probabilities(np.array([[0.0, 1.0]]), np.array([1.0]))[0]
    assert high > low > rule.probabilities(np.array([[0.0]]), np.array([2.0])).item()


@pytest.mark.parametrize("true", [[False] * 4, [True] * 4, [False, False, True, True]])
def test_few_pairs_that_are_all_alike_or_told_apart_are_not_certain(true):
    scores = np.array([-2.0, -1.0, 1.0, 2.0])
    rule = fit_yes_no(scores, np.zeros(4), np.array(true))
    p = rule.probabilities(scores[:, None], np.zeros(4))[:, 0]
    assert ((p > 0.05) & (p < 0.95)).all()


def test_a_rule_that_is_no_number_is_refused():
    with pytest.raises(DataError, match="yes and no"):
        YesNo(np.nan, 1.0, 0.0)
