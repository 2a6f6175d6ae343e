import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st

from aezsl.data.draws import held_out_mask
from aezsl.errors import DataError, ParameterError
from aezsl.selection import (
    class_folds,
    class_split,
)


class TestClassFolds:
    @pytest.mark.parametrize(
        ("n_seen", "n_unseen", "size"),
        [(150, 50, 38), (707, 10, 10), (85, 28, 21), (1000, 20842, 954)],  # 37.5, 9.86, 21.06, 954.2
    )
    def test_validation_classes_relate_to_seen_as_unseen_to_all(self, n_seen, n_unseen, size):
        for rule in ("first", "random"):
            assert {len(fold) for fold in class_folds(n_seen, n_unseen, rule)} == {size}

    @hypothesis.given(st.integers(4, 60), st.integers(1, 200), st.sampled_from(["first", "random"]), st.integers(1, 8))
    def test_both_parts_always_keep_two_classes(self, n_seen, n_unseen, rule, n_folds):
        for fold in class_folds(n_seen, n_unseen, rule, n_folds):
            assert 2 <= len(fold) <= n_seen - 2
            assert len(np.unique(fold)) == len(fold)
            assert fold.min() >= 0
            assert fold.max() < n_seen

    def test_first_takes_the_data_order_in_one_fold(self):
        (fold,) = class_folds(12, 4, "first", n_folds=5)
        np.testing.assert_array_equal(fold, [0, 1, 2])

    def test_random_folds_are_disjoint_while_classes_last(self):
        folds = class_folds(12, 4, "random", n_folds=5)  # four folds of three use up all twelve classes
        assert len(folds) == 5
        np.testing.assert_array_equal(np.sort(np.concatenate(folds[:4])), np.arange(12))

    def test_the_seed_decides(self):
        first, again, other = (np.stack(class_folds(40, 10, seed=seed)) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first, again)
        assert (first != other).any()

    def test_bad_requests_are_refused(self):
        with pytest.raises(DataError):
            class_folds(3, 10)
        with pytest.raises(ParameterError, match="last"):
            class_folds(10, 10, "last")
        for n_folds in (0, -1):
            with pytest.raises(ParameterError, match="n_folds"):
                class_folds(10, 10, n_folds=n_folds)
        for fraction in (0, 1, 2, -0.5, float("nan")):
            with pytest.raises(ParameterError, match="fraction"):
                class_folds(10, 10, fraction=fraction)
            with pytest.raises(ParameterError, match="fraction"):
                held_out_mask(np.array([0, 0, 1, 1]), fraction, 0)


class TestClassSplit:
    def test_labels_are_numbered_again_in_order(self):
        X = np.arange(6.0)[:, None]
        y = np.array([3, 0, 1, 2, 3, 1])
        S = np.array([[10.0], [11.0], [12.0], [13.0]])
        (X_t, y_t, S_t), (X_v, y_v, S_v) = class_split(X, y, S, np.array([2, 1]))  # the order given does not count
        np.testing.assert_array_equal(X_t[:, 0], [0, 1, 4])
        np.testing.assert_array_equal(y_t, [1, 0, 1])
        np.testing.assert_array_equal(S_t[:, 0], [10, 13])
        np.testing.assert_array_equal(X_v[:, 0], [2, 3, 5])
        np.testing.assert_array_equal(y_v, [0, 1, 0])
        np.testing.assert_array_equal(S_v[:, 0], [11, 12])

    @hypothesis.given(st.data())
    def test_every_sample_keeps_its_semantics_and_no_class_is_on_both_sides(self, data):
        n_classes = data.draw(st.integers(2, 8))
        y = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=30)))
        held_out = np.array(sorted(data.draw(st.sets(st.integers(0, n_classes - 1), min_size=1))))
        X, S = y[:, None] + 0.5, np.arange(n_classes)[:, None] + 0.5  # X repeats its class's semantics
        training, validation = class_split(X, y, S, held_out)
        for X_part, y_part, S_part in (training, validation):
            np.testing.assert_array_equal(S_part[y_part], X_part)
        assert len(training[0]) + len(validation[0]) == len(X)
        assert not set(training[2][:, 0]) & set(validation[2][:, 0])
        np.testing.assert_array_equal(validation[2], S[held_out])


def test_a_fraction_replaces_the_papers_rule():
    assert len(class_folds(1000, 20_842, n_folds=1)[0]) == 954
    assert len(class_folds(1000, 20_842, n_folds=1, fraction=0.2)[0]) == 200
