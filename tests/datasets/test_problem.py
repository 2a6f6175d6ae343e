import copy
from dataclasses import replace

import numpy as np
import pytest
from kedro.io import DatasetError

from aezsl.arrays import unit_rows
from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.normalise import Normaliser, fit_normaliser
from aezsl.data.problem import Problem
from aezsl.datasets.models import ARRAYS, ProblemDataset, RecipeDataset
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_synthetic


def make_problem(store=None):
    data = make_synthetic()
    normaliser, X = fit_normaliser(["standardise", "l2"], data.X)
    X_new = normaliser(data.X_new)
    if store is not None:
        X, X_new = (store.write(f"zsl_{name}", x.shape, [x]) for name, x in (("train", X), ("test", X_new)))
    names = [[f"{kind} {i}" for i in range(n)] for kind, n in (("s", len(data.S)), ("u", len(data.S_new)))]
    ids = [f"image {i}" for i in range(len(X_new))]
    unknown = np.full(len(X_new), -1)
    return Problem("zsl", X, data.y, data.S, names[0], X_new, unknown, data.S_new, names[1], ids, normaliser)


@pytest.mark.parametrize("mapped", [False, True])
def test_a_problem_is_read_as_it_was_saved(tmp_path, mapped):
    store = {"filepath": str(tmp_path / "mapped")} if mapped else None
    problem = make_problem(MappedArrays(tmp_path / "mapped") if mapped else None)
    dataset = ProblemDataset(filepath=str(tmp_path / "deep" / "problem.npz"), store=store)
    assert not dataset.exists()
    dataset.save(problem)
    assert dataset.exists()
    assert dataset.load() is problem  # nodes of one process share what it keeps
    dataset.release()
    loaded = dataset.load()
    assert loaded is not problem
    assert loaded.X_train.flags.writeable != mapped
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(problem, name), strict=True)
    for name in ("setting", "seen_names", "unseen_names", "test_ids", "fingerprint"):
        assert getattr(loaded, name) == getattr(problem, name)
    X = make_synthetic().X
    np.testing.assert_array_equal(loaded.feature_normaliser(X), problem.feature_normaliser(X), strict=True)
    assert [path.name for path in dataset._filepath.parent.iterdir()] == ["problem.npz"]


def test_semantics_as_they_were_given_are_kept_beside_moved_ones(tmp_path):
    plain = replace(make_problem(), ways={"features": [[]], "semantics": [["l2"], ["centre", "l2"]]})
    kept, moved = (plain.normalised(way) for way in plain.normalisations)
    assert kept.given is None
    np.testing.assert_allclose(moved.given_seen, unit_rows(plain.S_seen))
    np.testing.assert_allclose(moved.given_target, unit_rows(plain.S_unseen))
    assert replace(moved, given=None).fingerprint != moved.fingerprint
    dataset = ProblemDataset(filepath=str(tmp_path / "problem.npz"))
    dataset.save(moved)
    dataset.release()
    np.testing.assert_array_equal(dataset.load().given, moved.given)


def test_alternatives_are_kept_with_a_problem(tmp_path):
    ways = {"features": [["l2"], ["sqrt", "l2"]], "semantics": [[]]}
    problem = replace(make_problem(), ways=ways, feature_normaliser=Normaliser())
    dataset = ProblemDataset(filepath=str(tmp_path / "problem.npz"))
    dataset.save(problem)
    dataset.release()
    assert dataset.load().normalisations == problem.normalisations
    assert dataset.load().fingerprint == problem.fingerprint


def test_another_process_reads_the_file(tmp_path):
    dataset = ProblemDataset(filepath=str(tmp_path / "problem.npz"))
    dataset.save(make_problem())
    there = copy.copy(dataset)  # by what is pickled
    assert there.load() is not dataset.load()
    assert there.load().fingerprint == dataset.load().fingerprint


def test_features_that_another_run_has_replaced_are_refused(tmp_path):
    store = MappedArrays(tmp_path / "mapped")
    dataset = ProblemDataset(filepath=str(tmp_path / "problem.npz"), store={"filepath": str(store.folder)})
    problem = make_problem(store)
    dataset.save(problem)
    dataset.release()
    store.write("zsl_train", problem.X_train.shape, [2 * np.asarray(problem.X_train)])
    with pytest.raises(DatasetError, match=r"problem\.npz"):
        dataset.load()
    (store.folder / "zsl_train.arrow").unlink()
    with pytest.raises(DatasetError, match=r"zsl_train\.arrow"):
        dataset.load()


def test_a_recipe_is_read_as_it_was_saved(tmp_path):
    recipe, _ = make_recipe()
    dataset = RecipeDataset(filepath=str(tmp_path / "recipe.npz"))
    dataset.save(recipe)
    loaded = dataset.load()
    assert loaded.classes.equals(recipe.classes)
    np.testing.assert_array_equal(loaded.class_vectors, recipe.class_vectors)
    assert loaded.features.steps == recipe.features.steps
