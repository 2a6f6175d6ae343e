"""What every method refuses by name, or answers with numbers: a part of the contract."""

import contextlib

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.utils import estimator_checks

from aezsl.errors import AezslError, DataError, ParameterError
from aezsl.methods import METHODS, make_method, method_class

#: Those of scikit-learn's checks that fit nothing.
UNFITTED_CHECKS = (
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_mixin_order,
)
#: Those that fit. Left out are checks of scikit-learn's own wording, of sample weights, of labels that are no row
#: numbers, and of transformers, regressors and clusterers.
FITTED_CHECKS = (
    estimator_checks.check_fit_idempotent,
    estimator_checks.check_fit_check_is_fitted,
    estimator_checks.check_n_features_in,
    estimator_checks.check_estimators_fit_returns_self,
    estimator_checks.check_estimators_overwrite_params,
    estimator_checks.check_dont_overwrite_parameters,
    estimator_checks.check_dict_unchanged,
    estimator_checks.check_readonly_memmap_input,
    estimator_checks.check_f_contiguous_array_estimator,
    estimator_checks.check_estimators_dtypes,
    estimator_checks.check_estimators_nan_inf,
    estimator_checks.check_estimators_unfitted,
    estimator_checks.check_estimator_sparse_array,
    estimator_checks.check_estimator_sparse_matrix,
    estimator_checks.check_fit1d,
    estimator_checks.check_supervised_y_no_nan,
    estimator_checks.check_inplace_ensure_writeable,
)


class Refusals:
    """Bad data, bad queries, bad parameters; ``MethodContract`` brings the method and its data."""

    @pytest.mark.parametrize(
        ("spoil", "named"),
        [
            (lambda X, y, S: (np.where(np.arange(len(X))[:, None] == 2, np.nan, X), y, S), "X .*row 2"),
            (lambda X, y, S: (X[0], y, S), "X"),
            (lambda X, y, S: (X, y[:-1], S), "y"),
            (lambda X, y, S: (X, y + 1, S), "y"),
            (lambda X, y, S: (X, y.astype(float), S), "y"),
            (lambda X, y, S: (X, y, np.vstack([S, S[:1]])), ".* S .*row 30"),
            (lambda X, y, S: (X, y, S * (np.arange(len(S)) != 4)[:, None]), "S .*row 4"),
            (lambda X, y, S: (X[y == 0], y[y == 0], S[:1]), ""),
            (lambda X, y, S: (csr_array(X), y, S), "X"),
            (lambda X, y, S: (np.ma.masked_less(X, 0), y, S), "X"),
            (lambda X, y, S: (X + 1j, y, S), "X"),
            (lambda X, y, S: (X.astype("M8[s]"), y, S), "X"),
            (lambda X, y, S: (X.astype(str), y, S), "X"),
            (lambda X, y, S: (X.astype(str).astype(object), y, S), "X"),
            (lambda X, y, S: (X, y, csr_array(S)), "S"),
            (lambda X, y, S: (X * 1e30, y, S), "X"),
            (lambda X, y, S: (X + 1e12, y, S), "X"),
            (lambda X, y, S: (np.where(np.arange(len(X))[:, None] == 2, 1e100, X), y, S), "X"),
            (lambda X, y, S: (X * 1e-200, y, S), "X"),
            (lambda X, y, S: (X, y, S * 1e30), "S"),
            (lambda X, y, S: (X, y, S * 1e-200), "S"),
        ],
    )
    def test_bad_training_data_is_refused_by_name(self, data, spoil, named):
        with pytest.raises(DataError, match=rf"^{named}\b"):
            self.make().fit(*spoil(*data[:3]))

    def test_bad_queries_are_refused_by_name(self, fitted, data):
        tiny = np.where(np.arange(len(data.S_new))[:, None] == 1, 1e-200, data.S_new)
        for X, S, named in (
            (data.X_new[:, :5], data.S_new, "X"),
            (data.X_new, data.S_new[:, :5], "S"),
            (data.X_new, data.S_new * 0, "S"),
            (data.X_new, tiny, "S.*row 1"),
            (data.X_new * 1e30, data.S_new, "X"),
            (data.X_new, data.S_new * 1e30, "S"),
        ):
            with pytest.raises(DataError, match=named):
                fitted.predict(X, S)

    @pytest.mark.parametrize("scale", [1e-12, 1e-4, 1e4])
    def test_data_of_another_scale_are_scored_or_refused(self, data, scale):
        """Regularisers make scores depend on the scale; that they are numbers does not."""
        small = self.make_data(n_seen=6, n_unseen=3, per_class=4)
        for X, S in ((scale, 1), (1, scale)):
            reason, scores = "", np.zeros(0)
            try:
                model = self.make().fit(small.X * X, small.y, small.S * S)
                scores = model.decision_function(small.X_new * X, small.S_new * S)
            except ValueError as error:
                reason = str(error)
            assert np.isfinite(scores).all()
            assert scores.size or "near 1" in reason or "unit length" in reason, reason

    @pytest.mark.parametrize(("classes", "d", "a"), [(2, 1, 1), (3, 4, 1), (3, 1, 4)])
    def test_one_feature_or_one_attribute_is_scored_or_refused(self, classes, d, a):
        rng = np.random.default_rng(0)
        d = a if METHODS[self.method].paired else d
        X, y, S = rng.normal(size=(2 * classes, d)), np.repeat(np.arange(classes), 2), rng.normal(size=(classes, a))
        with contextlib.suppress(AezslError):
            scores = self.make().fit(X, y, S).decision_function(X, S[:2] + 0.1)
            assert scores.shape == (len(X), 2)
            assert np.isfinite(scores).all()

    def test_memory_order_type_of_table_and_global_generators_decide_nothing(self, fitted, data):
        expected = fitted.decision_function(data.X_new, data.S_new)
        before = np.random.get_state()[1].copy()  # noqa: NPY002  # the one that must not be touched
        again = self.make().fit(np.asfortranarray(data.X), data.y, pd.DataFrame(data.S))
        found = again.decision_function(pd.DataFrame(data.X_new), np.asfortranarray(data.S_new))
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002

    @pytest.mark.parametrize("bad", [object(), "", -1, -0.5, np.nan, np.inf])
    def test_what_no_parameter_may_be_is_refused_by_fit(self, data, bad):
        """No number of any method is below zero, and no text is empty; other bounds: ``test_parameters``."""
        for parameter in method_class(self.method).declared():
            model = make_method(self.method).set_params(**{parameter.name: bad})
            with pytest.raises(ParameterError, match=rf"^{parameter.name} of {type(model).__name__}\b"):
                model.fit(*data[:3])

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, None])
    def test_a_number_of_classes_that_is_none_is_refused(self, fitted, data, k):
        with pytest.raises(ParameterError):
            fitted.rank(data.X_new, data.S_new, k)
