import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aezsl.errors import AezslError
from aezsl.evaluation.calibration import (
    SeenUnseenCurve,
    ausuc,
    choose_constant,
    merge,
    seen_unseen_curve,
)
from aezsl.evaluation.metrics import accuracy, gzsl_metrics, hit_at_k
from aezsl.evaluation.ranking import Ranking, top_k
from tests.helpers.scored import Scored, both_sides, problems, random_problem


@given(problems, st.booleans())
def test_curve_equals_brute_force_at_every_constant(problem, per_class):
    curve = problem.curve(per_class)
    for constant in problem.all_constants():
        at = curve.index(constant)
        expected = problem.brute_force(constant, per_class)
        np.testing.assert_allclose([curve.seen[at], curve.unseen[at], curve.accuracy[at]], expected, atol=1e-12)


@given(problems, st.booleans())
def test_every_point_has_a_constant_of_its_own(problem, per_class):
    curve = problem.curve(per_class)
    np.testing.assert_array_equal(curve.index(curve.constants), np.arange(len(curve.seen)))


def test_neighbouring_floats_still_have_a_constant_between_them():
    breaks = np.array([0.1, np.nextafter(0.1, 1), np.nextafter(np.nextafter(0.1, 1), 1)])
    curve = SeenUnseenCurve(breaks, np.zeros(4), np.zeros(4), 0.5)
    np.testing.assert_array_equal(curve.index(curve.constants), np.arange(4))


@given(problems, st.booleans())
def test_curve_is_monotone_from_all_seen_to_all_unseen(problem, per_class):
    curve = problem.curve(per_class)
    assert (np.diff(curve.breaks) > 0).all()
    is_seen = problem.true < problem.n_seen
    if is_seen.any():
        assert (np.diff(curve.seen) <= 0).all()
        assert curve.seen[-1] == 0
        assert curve.seen[0] <= 1
    if not is_seen.all():
        assert (np.diff(curve.unseen) >= 0).all()
        assert curve.unseen[0] == 0
        assert curve.unseen[-1] <= 1


@given(problems)
def test_harmonic_mean_at_every_point(problem):
    curve = problem.curve()
    for seen, unseen, harmonic in zip(curve.seen, curve.unseen, curve.harmonic, strict=True):
        if np.isnan(seen + unseen):
            assert np.isnan(harmonic)
        else:
            assert harmonic == pytest.approx(0 if seen == 0 or unseen == 0 else 2 / (1 / seen + 1 / unseen))


class TestMerge:
    @given(problems, st.integers(1, 12), st.integers(0, 6))
    def test_equals_the_ranking_of_all_calibrated_scores(self, problem, k, which):
        constants = problem.all_constants()
        constant = constants[which * (len(constants) - 1) // 6]
        expected = top_k(problem.calibrated(constant), k)
        merged = merge(*problem.rankings(k), constant, problem.n_seen, problem.n_unseen, k)
        np.testing.assert_array_equal(merged.classes, expected.classes)
        np.testing.assert_array_equal(merged.scores, expected.scores)

    @given(st.integers(0, 2**32 - 1))
    def test_agrees_with_the_curve_at_its_own_breaks_whatever_the_rounding(self, seed):
        rng = np.random.default_rng(seed)
        scores = rng.normal(size=(12, 7)).astype(rng.choice([np.float32, np.float64]))
        problem = Scored(rng.integers(0, 7, 12), scores, 4)
        curve, rankings = problem.curve(per_class=False), problem.rankings(2)
        for constant in np.concatenate([curve.breaks, np.nextafter(curve.breaks, np.inf), curve.constants]):
            merged = merge(*rankings, float(constant), 4, 3, 2)
            assert accuracy(problem.true, merged.classes[:, 0]) == pytest.approx(curve.accuracy[curve.index(constant)])

    def test_hits_at_any_constant_come_from_two_short_rankings(self):
        rng = np.random.default_rng(0)
        problem = Scored(rng.integers(0, 90, 200), rng.normal(size=(200, 90)), 60)
        for constant in (-0.7, 0.0, 0.4):
            merged = merge(*problem.rankings(20), constant, 60, 30, 20)
            for k in (1, 5, 20):
                expected = hit_at_k(problem.true, top_k(problem.calibrated(constant), 90), k)
                assert hit_at_k(problem.true, merged, k) == expected

    def test_a_constant_beyond_all_scores_puts_one_side_first(self):
        problem = random_problem(0, 9)
        seen, unseen = problem.rankings(7)
        last = merge(seen, unseen, np.inf, 4, 3, 7)
        np.testing.assert_array_equal(last.classes, np.hstack([unseen.classes + 4, seen.classes]))
        first = merge(seen, unseen, -np.inf, 4, 3, 7)
        np.testing.assert_array_equal(first.classes, np.hstack([seen.classes, unseen.classes + 4]))

    def test_what_cannot_be_merged_exactly_is_refused(self):
        seen, unseen = random_problem(0, 9).rankings(2)
        with pytest.raises(AezslError, match=r"\bseen"):
            merge(seen, unseen, 0.0, 4, 3, 5)
        with pytest.raises(AezslError, match="unseen"):
            merge(seen, unseen, 0.0, 2, 3, 5)
        moved = Ranking(np.array([[0, 1]]), np.array([[0.1, 0.9]]))
        with pytest.raises(AezslError, match="unseen"):
            merge(Ranking(np.array([[0, 1]]), np.array([[0.9, 0.1]])), moved, 0.0, 2, 2, 2)


class TestAusuc:
    def test_worked_by_hand(self):
        # Seen samples cross over at 1 and 3, unseen ones at 2 and 0.
        scores = np.array([[1.0, 0.0], [3.0, 0.0], [2.0, 0.0], [0.0, 0.0]])
        curve = Scored(np.array([0, 0, 1, 1]), scores, 1).curve()
        np.testing.assert_array_equal(curve.breaks, [0, 1, 2, 3])
        np.testing.assert_array_equal(curve.seen, [1, 1, 0.5, 0.5, 0])
        np.testing.assert_array_equal(curve.unseen, [0, 0.5, 0.5, 1, 1])
        assert ausuc(curve) == 0.75

    @settings(max_examples=30)
    @given(both_sides, st.booleans())
    def test_equals_the_trapezoids_of_a_dense_grid(self, problem, per_class):
        grid = np.arange(-6, 6, 1 / 16)  # finer than any two differences, multiples of 1/4, are apart
        points = np.array([problem.brute_force(constant, per_class) for constant in grid])
        assert ausuc(problem.curve(per_class)) == pytest.approx(np.trapezoid(points[::-1, 1], points[::-1, 0]))

    def test_is_the_limit_of_finer_and_finer_grids(self):
        rng = np.random.default_rng(0)
        true = rng.integers(0, 7, 300)
        problem = Scored(true, rng.normal(size=(300, 7)) + 1.5 * np.eye(7)[true], 4)
        curve = problem.curve()
        errors = []
        for size in (10, 100, 1000, 100_000):
            at = curve.index(np.linspace(-12, 12, size))
            errors.append(abs(ausuc(curve) + np.trapezoid(curve.unseen[at], curve.seen[at])))
        assert errors[0] > errors[1] > errors[2] > errors[3]
        assert errors[3] < 1e-4

    @given(both_sides, st.sampled_from([-1.5, 0.25, 7.0]))
    def test_does_not_depend_on_the_constant(self, problem, constant):
        shifted = problem._replace(scores=problem.calibrated(constant))
        assert ausuc(shifted.curve()) == pytest.approx(ausuc(problem.curve()))

    def test_perfect_scores_fill_the_square(self):
        true = np.repeat(np.arange(6), 3)
        curve = Scored(true, np.eye(6)[true], 4).curve()
        assert ausuc(curve) == pytest.approx(1.0)
        assert max(ausuc(curve), curve.seen.max(), curve.unseen.max()) <= 1.0


class TestChooseConstant:
    CRITERIA = {
        "ausuc": lambda seen, unseen, overall: seen * unseen,
        "harmonic": lambda seen, unseen, overall: 2 * seen * unseen / (seen + unseen) if seen + unseen else 0.0,
        "accuracy": lambda seen, unseen, overall: overall,
    }

    @given(both_sides, both_sides, st.sampled_from(list(CRITERIA)), st.booleans())
    def test_no_constant_is_better_over_the_folds(self, one, other, criterion, per_class):
        def value(constant):
            measure = self.CRITERIA[criterion]
            return np.mean([measure(*fold.brute_force(constant, per_class)) for fold in (one, other)])

        chosen = choose_constant(one.curve(per_class), other.curve(per_class), criterion=criterion)
        best = max(value(constant) for constant in np.union1d(one.all_constants(), other.all_constants()))
        assert value(chosen) == pytest.approx(best)

    def test_takes_the_middle_of_the_best_interval(self):
        curve = SeenUnseenCurve(np.array([0.0, 1.0, 2.0]), np.array([1, 1, 0.9, 0]), np.array([0, 0.2, 0.8, 0.8]), 0.5)
        for criterion in self.CRITERIA:
            assert choose_constant(curve, criterion=criterion) == 1.5

    def test_criteria_differ_where_they_should(self):
        # Many seen samples: overall accuracy keeps them, the others want both sides.
        curve = SeenUnseenCurve(np.array([0.0, 1.0]), np.array([1.0, 0.6, 0.0]), np.array([0.0, 0.6, 0.7]), 0.9)
        assert choose_constant(curve, criterion="accuracy") == 0.0
        assert choose_constant(curve, criterion="harmonic") == choose_constant(curve, criterion="ausuc") == 0.5

    def test_of_equal_points_the_one_nearest_to_zero(self):
        curve = SeenUnseenCurve(np.array([-5.0, -4.0, 1.0, 2.0]), np.array([1, 0.8, 0.6, 0.4, 0]), np.zeros(5), 0.5)
        flat = SeenUnseenCurve(curve.breaks, curve.seen, np.array([0, 0.4, 0.4, 0.8, 0.8]), 0.5)  # .32, .24, .32
        assert choose_constant(flat) == 1.5
        assert choose_constant(curve) == 0.0  # all products are 0: nothing to correct

    def test_bad_requests_are_refused(self):
        curve = random_problem(0, 5).curve()
        with pytest.raises(AezslError, match="f1"):
            choose_constant(curve, criterion="f1")
        with pytest.raises(AezslError):
            choose_constant()


class TestDegenerate:
    def test_all_samples_seen(self):
        problem = random_problem(0, 9)._replace(true=np.arange(25) % 4)
        curve = problem.curve()
        assert np.isnan(curve.unseen).all()
        assert np.isnan(ausuc(curve))
        np.testing.assert_array_equal(curve.accuracy, curve.seen)
        assert problem.curve().index(choose_constant(curve, criterion="accuracy")) == 0
        for criterion in ("ausuc", "harmonic"):
            with pytest.raises(AezslError):
                choose_constant(curve, criterion=criterion)
        metrics = gzsl_metrics(problem.true, *problem.rankings(), 4, constant=-1.0)
        assert {name.removesuffix("_calibrated") for name in metrics} == {
            "gzsl_accuracy",
            "gzsl_per_class_accuracy",
            "gzsl_seen",
        }

    def test_all_samples_unseen(self):
        problem = random_problem(0, 9)._replace(true=4 + np.arange(25) % 3)
        curve = problem.curve()
        assert np.isnan(curve.seen).all()
        assert np.isnan(ausuc(curve))
        np.testing.assert_array_equal(curve.accuracy, curve.unseen)
        chosen = choose_constant(curve, criterion="accuracy")
        assert curve.accuracy[curve.index(chosen)] == curve.unseen[-1] > 0
        assert "gzsl_seen" not in gzsl_metrics(problem.true, *problem.rankings(), 4)

    def test_equal_scores(self):
        # Everything is class 0 up to constant 0, and the first unseen class above it.
        problem = Scored(np.array([0, 1, 2, 2]), np.ones((4, 4)), 2)
        curve = problem.curve(per_class=False)
        np.testing.assert_array_equal(curve.breaks, [0])
        np.testing.assert_array_equal(curve.seen, [0.5, 0])
        np.testing.assert_array_equal(curve.unseen, [0, 1])
        assert ausuc(curve) == 0.25  # one straight line
        assert choose_constant(curve, criterion="harmonic") == 0.0  # no constant helps
        assert choose_constant(curve, criterion="accuracy") == 1.0  # any positive one would do

    def test_nothing_is_ever_right(self):
        problem = Scored(np.array([0, 2]), np.array([[0.0, 1.0, 0.0, 1.0]] * 2), 2)
        curve = problem.curve()
        np.testing.assert_array_equal([curve.seen, curve.unseen], [[0], [0]])
        assert ausuc(curve) == curve.harmonic[0] == choose_constant(curve) == 0.0

    def test_other_samples_or_classes_are_refused(self):
        problem = random_problem(0, 9)
        seen, unseen = problem.rankings()
        with pytest.raises(AezslError):
            seen_unseen_curve(problem.true[1:], seen, unseen, 4)
        with pytest.raises(AezslError, match="class 3"):
            seen_unseen_curve(problem.true, seen, unseen, 2)


class TestMetrics:
    NAMES = ("gzsl_accuracy", "gzsl_per_class_accuracy", "gzsl_seen", "gzsl_unseen", "gzsl_harmonic")

    @given(both_sides, st.booleans())
    def test_equal_brute_force_with_and_without_calibration(self, problem, per_class):
        metrics = gzsl_metrics(problem.true, *problem.rankings(3), problem.n_seen, 0.75, per_class)
        assert set(metrics) == {"ausuc", *self.NAMES, *(f"{name}_calibrated" for name in self.NAMES)}
        for suffix, constant in (("", 0.0), ("_calibrated", 0.75)):
            seen, unseen, _ = problem.brute_force(constant, per_class)
            harmonic = TestChooseConstant.CRITERIA["harmonic"](seen, unseen, None)
            overall = [problem.brute_force(constant, classes)[2] for classes in (False, True)]
            found = [metrics[name + suffix] for name in self.NAMES]
            np.testing.assert_allclose(found, [*overall, seen, unseen, harmonic], atol=1e-12)
        assert metrics["ausuc"] == ausuc(problem.curve(per_class))
        assert all(type(value) is float for value in metrics.values())

    def test_without_a_constant_nothing_is_calibrated(self):
        problem = random_problem(0, 9)
        assert set(gzsl_metrics(problem.true, *problem.rankings(), 4)) == {"ausuc", *self.NAMES}
