import numpy as np
import pytest
from kedro.io import DatasetError

from aezsl.datasets.answers import ScoresDataset
from aezsl.methods import make_method
from aezsl.pipelines.evaluation.nodes import EvaluationSettings, score_targets
from tests.helpers.problems import make_problem


def test_scores_of_all_images_for_all_classes_are_kept_on_request(tmp_path):
    problem = make_problem("zsl")
    classifier = make_method("eszsl").fit(problem.X_train, problem.y_train, problem.S_seen).adapt(problem.S_target)
    ranking = classifier.rank(problem.X_test, 3)
    dataset = ScoresDataset(filepath=str(tmp_path / "new" / "scores.npz"))
    dataset.save(score_targets(classifier, ranking, problem, *problem.normalisations, EvaluationSettings(scores=True)))
    with np.load(tmp_path / "new" / "scores.npz") as arrays:
        assert sorted(arrays) == ["class_name", "image_id", "predicted", "scores", "true"]
    found = dataset.load()
    assert (found.image_id, found.class_name) == (problem.test_ids, problem.target_names)
    np.testing.assert_allclose(found.scores, classifier.scores(problem.X_test), rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(found.predicted, found.scores.argmax(axis=1))
    np.testing.assert_array_equal(found.true, problem.y_test)
    dataset.save(score_targets(classifier, ranking, problem, *problem.normalisations, EvaluationSettings()))
    assert not dataset.exists()
    with pytest.raises(DatasetError, match=r"evaluation\.scores=true"):
        dataset.load()
