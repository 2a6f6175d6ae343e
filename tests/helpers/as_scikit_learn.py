"""A method as scikit-learn's own checks ask it: ``fit(X, y)`` and ``predict(X)``, with semantics of its own making."""

import numpy as np
from sklearn.utils import check_random_state

from aezsl.methods import METHODS, make_method


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
