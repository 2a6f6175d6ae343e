"""What it takes to add a transductive method: its class, its parameters and one line in the registry."""

import sys
from types import ModuleType

import numpy as np
import pytest

from aezsl.kinds import Count, Positive
from aezsl.methods import METHODS, Entry, LinearClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.transductive import TransductiveMethod
from aezsl.whole_pipelines import create_method_pipeline
from tests.helpers.problems import make_problem, run


class ClassMeans(TransductiveMethod):
    """Prototypes by ridge regression from semantics to features, then a few rounds of k-means on the pool."""

    ridge: Positive = 1.0
    rounds: Count = 3

    grid = {"ridge": [0.1, 1.0]}
    citation = "nobody, nowhere"

    def _fit(self, seen):
        S, statistics = seen.S, seen.statistics
        weighted = S.T * statistics.counts
        self.D_ = np.linalg.solve(weighted @ S + self.ridge * np.eye(S.shape[1]), S.T @ statistics.sums)

    def _learn(self, S_target, X, targets):
        means = S_target @ self.D_
        history = LabelHistory(self._nearest(X, means))
        for _ in range(self.rounds):
            for c in np.unique(history.labels):
                means[c] = X[history.labels == c].mean(axis=0)
            history.record(self._nearest(X, means))
        return LinearClassifier(self, S_target, means.T, -0.5 * np.square(means).sum(axis=1)), history

    @staticmethod
    def _nearest(X, means):
        return (X @ means.T - 0.5 * np.square(means).sum(axis=1)).argmax(axis=1)


@pytest.fixture
def registered(monkeypatch):
    module = ModuleType("aezsl.methods.class_means")
    module.ClassMeans = ClassMeans
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(ClassMeans, "__module__", module.__name__)
    entry = Entry("class_means", "Class means", "class_means:ClassMeans", "statistics", pool=True)
    monkeypatch.setitem(METHODS, "class_means", entry)


@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_its_pipelines_follow_from_the_template(registered, setting):
    prefix = "" if setting == "zsl" else "gzsl_"
    problem = make_problem(setting)
    pipeline = create_method_pipeline("class_means", setting)
    catalog = run(pipeline, problem, ["class_means"], prefix, n_values=2, fixed={"rounds": 2})
    history = catalog.load(f"{prefix}class_means.refinement_history")
    assert history["round"].tolist() == [0, 1, 2]
    assert history["accuracy"].notna().all()
    metrics = catalog.load(f"{prefix}class_means.metrics")
    if setting == "zsl":
        assert metrics["accuracy"] == history["accuracy"].iloc[-1] > 0.5
    else:
        assert metrics["gzsl_harmonic_calibrated"] > 0.2
    classifier = catalog.load(f"{prefix}class_means.classifier")
    restored = catalog.load(f"{prefix}class_means.model").model.restore(classifier.state())
    np.testing.assert_array_equal(restored.predict(problem.X_test), classifier.labels)
