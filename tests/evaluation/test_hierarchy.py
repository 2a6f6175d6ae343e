import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.errors import AezslError, DataError
from aezsl.evaluation import hierarchy
from aezsl.evaluation.hierarchy import (
    Hierarchy,
    feasible_sets,
    hierarchical_precision,
    hops,
)
from aezsl.evaluation.metrics import classification_metrics, hit_at_k
from aezsl.evaluation.ranking import Ranking, top_k
from tests.oracles import hierarchy as oracle

#   animal - mammal - dog - {husky, poodle}
#          |        - cat
#          - bird   - owl
EDGES = [
    ("animal", "mammal"),
    ("animal", "bird"),
    ("mammal", "dog"),
    ("mammal", "cat"),
    ("dog", "husky"),
    ("dog", "poodle"),
    ("bird", "owl"),
]
CLASSES = ["husky", "poodle", "cat", "owl", "dog"]


def random_edges(seed, n_nodes, extra, pieces):
    """Trees with extra edges on top (WordNet has nodes with several parents), repeated and reversed ones included."""
    rng = np.random.default_rng(seed)
    edges = [(rng.integers(0, child), child) for child in range(1, n_nodes) if child % pieces != 0]
    edges += [tuple(rng.integers(0, n_nodes, 2)) for _ in range(extra)] + [(0, 0)]
    edges += [edge[::-1] for edge in edges[::3]]
    return np.array([[f"n{one:02d}", f"n{other:02d}"] for one, other in edges])


graphs = st.builds(
    random_edges, st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(0, 6), st.sampled_from([4, 50])
)


class TestHops:
    def test_worked_by_hand(self):
        assert list(hops(EDGES, ["dog"], 0)) == []
        assert list(hops(EDGES, ["dog"], 1)) == ["husky", "mammal", "poodle"]
        assert list(hops(EDGES, ["dog"], 2)) == ["animal", "cat", "husky", "mammal", "poodle"]
        assert list(hops(EDGES, ["dog", "owl"], 1)) == ["bird", "husky", "mammal", "poodle"]

    @given(graphs, st.integers(0, 5), st.data())
    def test_equals_literal_search(self, edges, k, data):
        names = sorted(set(edges.ravel()))
        seen = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=5))
        assert list(hops(edges, seen, k)) == sorted(oracle.hops(oracle.neighbour_lists(edges), seen, k))

    def test_unknown_classes_are_named(self):
        with pytest.raises(DataError, match="unicorn"):
            hops(EDGES, ["dog", "unicorn"], 1)


class TestFeasibleSets:
    def test_worked_by_hand(self):
        feasible = feasible_sets(EDGES, CLASSES, 5)

        def names(y, k):
            return {CLASSES[c] for c in feasible.feasible(CLASSES.index(y), k)}

        assert names("husky", 1) == {"husky"}
        assert names("husky", 2) == {"husky", "dog"}
        assert names("husky", 3) == {"husky", "dog", "poodle"}
        assert names("husky", 4) == {"husky", "dog", "poodle", "cat"}  # by way of mammal, which is not a class
        assert names("dog", 2) == {"dog", "husky", "poodle"}  # the last ring comes whole
        assert names("owl", 2) == {"owl", "cat", "dog"}
        assert names("owl", 5) == set(CLASSES)

    @given(graphs, st.integers(1, 12), st.booleans(), st.data())
    def test_equals_literal_search(self, edges, k, in_blocks, data):
        names = sorted(set(edges.ravel()))
        chosen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
        with pytest.MonkeyPatch.context() as patch:
            if in_blocks:  # three classes at once, so that blocks and the reuse of their memory are at work
                patch.setattr(hierarchy, "BLOCK_ENTRIES", 3 * len(names))
            feasible = feasible_sets(edges, chosen, k)
        neighbours = oracle.neighbour_lists(edges)
        for smaller in range(1, k + 1):
            for y, name in enumerate(chosen):
                found = {chosen[c] for c in feasible.feasible(y, smaller)}
                assert found == oracle.feasible_set(neighbours, set(chosen), name, smaller)

    def test_only_some_classes(self):
        everything, some = feasible_sets(EDGES, CLASSES, 3), feasible_sets(EDGES, CLASSES, 3, np.array([3, 1, 3]))
        for y in (1, 3):
            np.testing.assert_array_equal(some.feasible(y, 3), everything.feasible(y, 3))
        assert some.indptr[-1] < everything.indptr[-1]
        with pytest.raises(AezslError, match="class 2"):
            some.feasible(2, 3)
        ranking = Ranking(np.array([[2, 1], [1, 2]]), np.ones((2, 2)))
        with pytest.raises(AezslError, match="class 0"):
            hierarchical_precision(np.array([1, 0]), ranking, some, 2)

    def test_a_class_outside_the_hierarchy_is_near_to_itself_only(self):
        feasible = feasible_sets(EDGES, ["unicorn", *CLASSES, "zebra"], 7)
        np.testing.assert_array_equal(feasible.outside, [0, 6])
        np.testing.assert_array_equal(feasible.feasible(0, 5), [0])
        np.testing.assert_array_equal(feasible.feasible(6, 1), [6])
        np.testing.assert_array_equal(feasible.feasible(1, 7), [1, 2, 3, 4, 5])

    def test_no_class_in_the_hierarchy(self):
        feasible = feasible_sets(EDGES, ["unicorn", "zebra"], 2)
        np.testing.assert_array_equal(feasible.feasible(1, 2), [1])

    def test_bad_requests_are_refused(self):
        with pytest.raises(AezslError):
            feasible_sets(EDGES, ["dog", "cat", "dog"])
        with pytest.raises(AezslError, match="K"):
            feasible_sets(EDGES, CLASSES, 4).feasible(0, 5)
        with pytest.raises(AezslError):
            Hierarchy.from_edges(["a", "b", "c"])


class TestHierarchicalPrecision:
    def test_worked_by_hand(self):
        feasible = feasible_sets(EDGES, CLASSES, 3)
        true = np.array([0, 3])  # husky: husky, dog, (poodle); owl: owl, cat, dog
        ranking = Ranking(np.array([[4, 3, 1], [0, 2, 3]]), np.ones((2, 3)))
        assert hierarchical_precision(true, ranking, feasible, 1) == 0
        assert hierarchical_precision(true, ranking, feasible, 2) == (1 / 2 + 1 / 2) / 2
        assert hierarchical_precision(true, ranking, feasible, 3) == pytest.approx((2 / 3 + 2 / 3) / 2)

    @given(graphs, st.integers(1, 6), st.integers(0, 2**32 - 1))
    def test_equals_literal_formula(self, edges, k, seed):
        rng = np.random.default_rng(seed)
        names = np.unique(edges)
        candidates = rng.permutation(names)[: rng.integers(1, len(names) + 1)]
        k = min(k, len(candidates))
        ranking = top_k(rng.integers(0, 4, (15, len(candidates))).astype(float), k)
        true = rng.integers(0, len(candidates), 15).astype(rng.choice([np.int16, np.int64]))
        found = hierarchical_precision(true, ranking, feasible_sets(edges, candidates, k, true), k)
        expected = oracle.hierarchical_precision(
            oracle.neighbour_lists(edges), set(candidates), candidates[true], candidates[ranking.classes], k
        )
        assert found == pytest.approx(expected)

    @given(graphs, st.integers(0, 2**32 - 1))
    def test_at_1_is_hit_at_1(self, edges, seed):
        rng = np.random.default_rng(seed)
        candidates = np.unique(edges)
        ranking = top_k(rng.normal(size=(20, len(candidates))), 1)
        true = np.where(rng.random(20) < 0.5, ranking.classes[:, 0], rng.integers(0, len(candidates), 20))
        feasible = feasible_sets(edges, candidates, 5)
        assert hierarchical_precision(true, ranking, feasible, 1) == hit_at_k(true, ranking, 1)

    def test_metrics_leave_out_what_is_trivial(self):
        rng = np.random.default_rng(0)
        candidates = np.unique(random_edges(0, 12, 0, 50))
        ranking, true = top_k(rng.normal(size=(30, 12)), 20), rng.integers(0, 12, 30)
        feasible = feasible_sets(random_edges(0, 12, 0, 50), candidates)
        metrics = classification_metrics(true, ranking, 12, feasible)
        hierarchical = {key: value for key, value in metrics.items() if key.startswith("hp")}
        assert hierarchical == {f"hp_at_{k}": hierarchical_precision(true, ranking, feasible, k) for k in (2, 5, 10)}
        assert all(type(value) is float for value in metrics.values())

    def test_a_ranking_too_short_is_refused(self):
        with pytest.raises(AezslError, match="hP@2"):
            hierarchical_precision(np.array([0]), top_k(np.eye(5)[:1], 1), feasible_sets(EDGES, CLASSES, 3), 2)


@pytest.mark.slow
@pytest.mark.skipif("AEZSL_REFERENCE_DATA" not in os.environ, reason="AEZSL_REFERENCE_DATA names no reference data")
class TestWordNet:
    @pytest.fixture(scope="class")
    @classmethod
    def folder(cls):
        return Path(os.environ["AEZSL_REFERENCE_DATA"]) / "imagenet"

    @pytest.fixture(scope="class")
    @classmethod
    def edges(cls, folder):
        return np.loadtxt(folder / "wordnet.is_a.txt", dtype=str)

    def test_hops_reproduce_the_published_2hop_list_but_for_one_class(self, folder, edges):
        seen, two_hop, everything = (
            np.loadtxt(folder / f"{name}.txt", dtype=str) for name in ("seen_1k", "unseen_2hop", "unseen_all")
        )
        found = np.intersect1d(hops(edges, seen, 1), everything)
        assert len(found) == 1548
        assert set(found) <= set(two_hop)
        assert set(two_hop) - set(found) == {"n00015388"}
        assert len(np.intersect1d(hops(edges, seen, 2), everything)) == 5989

    def test_feasible_sets_equal_literal_search_on_a_sample(self, folder, edges):
        candidates = np.loadtxt(folder / "unseen_all.txt", dtype=str)
        sample = np.random.default_rng(0).choice(len(candidates), 300, replace=False)
        feasible = feasible_sets(edges, candidates, 20, sample)
        assert len(feasible.outside) == 4
        neighbours, names = oracle.neighbour_lists(edges), set(candidates)
        for y in sample:
            for k in (2, 20):
                expected = oracle.feasible_set(neighbours, names, candidates[y], k)
                assert set(candidates[feasible.feasible(y, k)]) == expected
