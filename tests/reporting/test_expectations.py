import numpy as np

from aezsl.reporting.summary import alike_pairs, describe_alike


def test_pairs_are_alike_that_are_nearer_than_any_two_seen_classes():
    seen = np.array([[1.0, 0.0], [0.8, 0.6]])  # a cosine of 0.8
    targets = np.array([[1.0, 0.0], [2.0, 0.2], [0.0, 1.0], [0.3, 1.0]])
    assert alike_pairs(seen, targets, ["a", "b", "c", "d"]) == [("a", "b"), ("c", "d")]
    assert alike_pairs(seen[:1], targets, ["a", "b", "c", "d"]) == []  # nothing to compare with
    assert alike_pairs(np.ones((2, 2)), targets, ["a", "b", "c", "d"]) == []


def test_sentences_are_for_people_and_empty_where_there_is_nothing_to_say():
    assert describe_alike([]) == ""
    pairs = [("a", "b"), ("c", "d"), ("e", "f"), ("g", "h")]
    assert describe_alike(pairs).endswith("a and b; c and d; e and f (and 1 more pairs)")
