import copy

import numpy as np
import pandas as pd
import pytest

from aezsl.data.build import build_problem
from aezsl.data.mapped_arrays import MappedArrays
from aezsl.data.vectors import Vectors
from aezsl.errors import DataError

NORMALISE = {"features": ["l2"], "semantics": ["l2"]}


@pytest.fixture
def tables():
    """Three seen and two unseen classes, four images each, in shuffled store order."""
    rng = np.random.default_rng(0)
    names = ["ant", "bee", "cat", "dog", "eel"]
    roles = ["seen", "seen", "unseen", "seen", "unseen"]
    ids = [f"{name}/{i}" for name in names for i in range(4)]
    owner = [name for name in names for _ in range(4)]
    role = dict(zip(names, roles, strict=True))
    order = rng.permutation(len(ids))
    features = Vectors(np.array(ids)[order], rng.normal(size=(20, 6)).astype(np.float32), "f")
    semantics = Vectors(np.array(names[::-1]), rng.normal(size=(5, 3)).astype(np.float32), "s")
    classes = pd.DataFrame({"class_name": names, "role": roles})
    split = pd.DataFrame(
        {
            "image_id": ids,
            "class_name": owner,
            "zsl": ["test" if role[name] == "unseen" else "train" for name in owner],
            "gzsl": ["test" if role[name] == "unseen" or i % 4 == 0 else "train" for i, name in enumerate(owner)],
        }
    )
    return {"features": features, "semantics": semantics, "classes": classes, "split": split}


def test_names_become_indices_and_vectors_follow_them(tables):
    problem = build_problem(**tables, normalise={"features": [], "semantics": []})
    assert problem.seen_names == ["ant", "bee", "dog"]
    assert problem.unseen_names == problem.target_names == ["cat", "eel"]
    assert problem.y_train.tolist() == [0] * 4 + [1] * 4 + [2] * 4
    assert problem.y_test.tolist() == [0] * 4 + [1] * 4
    for row, image in enumerate(problem.test_ids):
        at = tables["features"].ids.tolist().index(image)
        np.testing.assert_array_equal(problem.X_test[row], tables["features"].matrix[at])
    at = tables["semantics"].ids.tolist().index("dog")
    np.testing.assert_array_equal(problem.S_seen[2], tables["semantics"].matrix[at])


def test_classes_that_nothing_tells_apart_are_named(tables, caplog):
    build_problem(**tables, normalise=NORMALISE)
    assert caplog.text == ""
    tables["semantics"].matrix[:2] = 1.0  # eel and dog
    build_problem(**tables, normalise=NORMALISE)
    assert "'dog' and 'eel'" in caplog.text


@pytest.mark.parametrize("steps", [[], ["sqrt", "centre", "l2"], ["standardise", "l2"]])
@pytest.mark.parametrize("setting", ["zsl", "gzsl"])
def test_mapped_features_are_those_in_memory(tables, tmp_path, monkeypatch, steps, setting):
    monkeypatch.setattr("aezsl.data.build.BLOCK", 5)  # several blocks, the last one short
    normalise = {"features": steps, "semantics": ["l2"]}
    expected = build_problem(**tables, normalise=normalise, setting=setting)
    mapped = build_problem(**tables, normalise=normalise, setting=setting, store=MappedArrays(tmp_path))
    assert mapped.X_train.dtype == np.float32
    assert not mapped.X_train.flags.owndata
    np.testing.assert_allclose(mapped.X_train, expected.X_train, atol=1e-6)
    np.testing.assert_allclose(mapped.X_test, expected.X_test, atol=1e-6)
    for name, value in expected.feature_normaliser.statistics.items():
        np.testing.assert_allclose(mapped.feature_normaliser.statistics[name], value, rtol=1e-10, atol=1e-12)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{setting}_test.arrow", f"{setting}_train.arrow"]
    assert copy.deepcopy(mapped) is mapped  # as Kedro hands it from node to node


def test_long_passes_over_mapped_features_say_how_far_they_are(tables, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("aezsl.data.build.BLOCK", 1)
    monkeypatch.setattr("aezsl.data.build.MANY_BLOCKS", 10)  # of the 12 training images, not of the 8 test images
    monkeypatch.setattr("aezsl.machine.screen.LINE_INTERVAL", 0.0)
    steps = {"features": ["centre", "l2"], "semantics": ["l2"]}
    build_problem(**tables, normalise=steps, store=MappedArrays(tmp_path))
    lines = capsys.readouterr().err.splitlines()
    assert {line.split(":")[0] for line in lines} == {"means and scales", "normalised train"}
    assert [line for line in lines if line.endswith("100% (12 of 12)")] == [lines[9], lines[-1]]


def test_generalized_targets_are_seen_then_unseen(tables):
    problem = build_problem(**tables, normalise=NORMALISE, setting="gzsl")
    assert problem.target_names == ["ant", "bee", "dog", "cat", "eel"]
    assert len(problem.S_target) == 5
    assert len(problem.X_train) == 9
    by_name = [problem.target_names[label] for label in problem.y_test]
    assert by_name == [image.split("/")[0] for image in problem.test_ids]


def test_statistics_come_from_training_data_alone(tables):
    normalise = {"features": ["centre"], "semantics": ["centre"]}
    problem = build_problem(**tables, normalise=normalise)
    np.testing.assert_allclose(problem.X_train.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(problem.S_seen.mean(axis=0), 0, atol=1e-12)
    assert np.abs(problem.X_test.mean(axis=0)).max() > 0.01


def test_normalisation_can_be_repeated_on_new_data(tables):
    normalise = {"features": ["sqrt", "standardise", "l2"], "semantics": ["centre"]}
    problem = build_problem(**tables, normalise=normalise)
    raw = tables["features"].get(problem.test_ids, "images", "features").astype(float)
    np.testing.assert_allclose(problem.feature_normaliser(raw), problem.X_test)
    raw = tables["semantics"].get(problem.unseen_names, "classes", "semantics").astype(float)
    np.testing.assert_allclose(problem.semantic_normaliser(raw), problem.S_unseen)


def test_fingerprint_changes_with_the_data(tables):
    before = build_problem(**tables, normalise=NORMALISE).summary()["problem_fingerprint"]
    tables["features"].matrix[0, 0] += 1
    assert build_problem(**tables, normalise=NORMALISE).summary()["problem_fingerprint"] != before


def test_unlabelled_test_images_make_a_problem_without_test_labels(tables):
    split = tables["split"]
    split.loc[split["zsl"] == "test", "class_name"] = None
    problem = build_problem(**tables, normalise=NORMALISE)
    assert (problem.y_test == -1).all()
    assert not problem.labelled.any()


def test_images_without_a_label_may_be_among_those_with_one(tables):
    split = tables["split"]
    split.loc[split["image_id"] == "cat/1", "class_name"] = None
    problem = build_problem(**tables, normalise=NORMALISE)
    assert problem.y_test.tolist() == [0, -1, 0, 0, 1, 1, 1, 1]


def test_images_skipped_on_purpose_are_left_out(tables):
    problem = build_problem(**tables, normalise=NORMALISE, unreadable=["cat/1", "ant/0"])
    assert "cat/1" not in problem.test_ids
    assert len(problem.X_train) == 11


def _without_vector(t):
    keep = t["semantics"].ids != "bee"
    t["semantics"] = Vectors(t["semantics"].ids[keep], t["semantics"].matrix[keep])


def _overlap(t):
    extra = pd.DataFrame({"class_name": ["ant"], "role": ["unseen"]})
    t["classes"] = pd.concat([t["classes"], extra], ignore_index=True)


def _nan_feature(t):
    t["features"].matrix[t["features"].ids.tolist().index("dog/2"), 1] = np.nan


def _infinite_semantics(t):
    t["semantics"].matrix[0] = np.inf


def _zero_semantics(t):
    t["semantics"].matrix[t["semantics"].ids.tolist().index("cat")] = 0


def _duplicate_id(t):
    t["split"] = pd.concat([t["split"], t["split"].iloc[:1]], ignore_index=True)


def _one_seen_class(t):
    t["classes"] = t["classes"][t["classes"]["class_name"].isin(["ant", "cat"])]


def _missing_feature(t):
    keep = t["features"].ids != "eel/3"
    t["features"] = Vectors(t["features"].ids[keep], t["features"].matrix[keep])


def _stranger(t):
    t["split"].loc[0, "class_name"] = "yak"


def _empty_seen_class(t):
    t["split"] = t["split"][t["split"]["class_name"] != "bee"]


def _no_training(t):
    t["split"] = t["split"][t["split"]["zsl"] == "test"]


def _repeated_class(t):
    t["classes"] = pd.concat([t["classes"], t["classes"].iloc[:1]], ignore_index=True)


def _flat_features(t):
    t["features"] = Vectors(t["features"].ids, t["features"].matrix[:, 0])


def _no_numbers(t):
    t["features"] = Vectors(t["features"].ids, t["features"].matrix[:, :0])


def _deep_semantics(t):
    t["semantics"] = Vectors(t["semantics"].ids, t["semantics"].matrix[:, :, None])


def test_vectors_and_ids_of_different_number_are_refused(tables):
    with pytest.raises(DataError, match=r"\b19\b.*\b20\b"):
        Vectors(tables["features"].ids, tables["features"].matrix[:-1])


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (_without_vector, "semantics.*'bee'"),
        (_overlap, "'ant'"),
        (_repeated_class, "'ant'"),
        (_flat_features, "features"),
        (_no_numbers, "features"),
        (_deep_semantics, "semantics"),
        (_nan_feature, "features.*'dog/2'"),
        (_infinite_semantics, "semantics.*'eel'"),
        (_zero_semantics, "'cat'"),
        (_duplicate_id, "'ant/0'"),
        (_one_seen_class, "classes"),
        (_missing_feature, "features.*'eel/3'"),
        (_stranger, "'yak'"),
        (_empty_seen_class, "'bee'"),
        (_no_training, "training"),
    ],
)
def test_bad_data_is_refused_by_name(tables, spoil, named):
    spoil(tables)
    with pytest.raises(DataError, match=named):
        build_problem(**tables, normalise=NORMALISE)


def test_no_image_of_an_unseen_class_leaves_a_problem_to_train_on(tables):
    tables["split"] = tables["split"][tables["split"]["zsl"] == "train"]
    problem = build_problem(**tables, normalise=NORMALISE)
    assert (problem.X_test.shape, len(problem.y_test), problem.test_ids) == ((0, 6), 0, [])
    assert problem.summary()["n_test"] == 0
    tables["split"]["gzsl"] = "train"
    with pytest.raises(DataError):
        build_problem(**tables, normalise=NORMALISE, setting="gzsl")


def test_unknown_setting_is_refused(tables):
    with pytest.raises(DataError, match="open"):
        build_problem(**tables, normalise=NORMALISE, setting="open")
