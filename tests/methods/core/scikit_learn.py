"""scikit-learn's own checks of estimators: a part of the contract."""

import warnings

import numpy as np
import pytest
from sklearn.utils import check_random_state, estimator_checks

from aezsl.methods import METHODS, make_method

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


def with_semantics(name, **params):
    """An unfitted estimator of the method that describes classes by fixed numbers, as many as there are features."""
    method = METHODS[name].load()

    def semantics(X, n_classes):
        S = check_random_state(0).uniform(0.1, 1, size=(n_classes, X.shape[1]))
        return S / np.linalg.norm(S, axis=1, keepdims=True)

    def fit(self, X, y):
        self.classes_, labels = np.unique(np.asarray(y), return_inverse=True)
        shape = np.shape(X)
        S = semantics(np.empty((1, shape[1] if len(shape) == 2 else 1)), len(self.classes_))
        method.fit(self, X, labels, S)
        self.S_checked_ = S
        return self

    def predict(self, X):
        labels = method.predict(self, X, getattr(self, "S_checked_", None))
        return self.classes_[labels]

    def decision_function(self, X):
        return method.decision_function(self, X, getattr(self, "S_checked_", None))

    ways = {"fit": fit, "predict": predict, "decision_function": decision_function, "__module__": __name__}
    return type(method.__name__, (method,), ways)(**make_method(name, **params).get_params())


class ScikitLearnChecks:
    """``MethodContract`` brings the method."""

    @pytest.mark.parametrize("check", UNFITTED_CHECKS)
    def test_scikit_learn_s_checks_of_what_is_not_fitted(self, check):
        check(self.method, make_method(self.method))

    def test_scikit_learn_s_checks_of_what_is_fitted(self):
        """In one test: each takes milliseconds. Semantics are made up, as scikit-learn gives none."""
        params = {"epochs": 1, "validation_fraction": 0} if METHODS[self.method].epochs else {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of three made-up classes
            for check in FITTED_CHECKS:
                check(self.method, with_semantics(self.method, **params))
            if not METHODS[self.method].pool:  # those look at all samples together, and sum them in their order
                for check in (
                    estimator_checks.check_methods_subset_invariance,
                    estimator_checks.check_methods_sample_order_invariance,
                ):
                    check(self.method, with_semantics(self.method, **params))
