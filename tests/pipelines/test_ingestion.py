import pandas as pd
import pytest

from aezsl.pipelines.ingestion.nodes import split_classes, split_images

SPLIT = {"seed": 0, "unseen_fraction": 0.25, "seen_test_fraction": 0.2}


@pytest.fixture
def classes():
    groups = ["fish"] * 8 + ["bird"] * 12
    return pd.DataFrame({"class_name": [f"c{i:02d}" for i in range(20)], "group": groups})


@pytest.fixture
def images(classes):
    rows = [(f"{name}/{i}", name) for name in classes["class_name"] for i in range(10)]
    return pd.DataFrame(rows, columns=["image_id", "class_name"])


def test_every_group_gives_its_share_of_unseen_classes(classes):
    roles = split_classes(classes, SPLIT)
    assert roles[roles["role"] == "unseen"].groupby("group").size().to_dict() == {"fish": 2, "bird": 3}


def test_the_split_follows_its_seed(classes):
    first, again, other = (split_classes(classes, SPLIT | {"seed": seed})["role"].tolist() for seed in (0, 0, 1))
    assert first == again != other


def test_roles_that_the_data_gives_stay(classes):
    given = classes.assign(role=["unseen"] * 2 + ["seen"] * 18)
    pd.testing.assert_frame_equal(split_classes(given, SPLIT), given)
    with pytest.raises(ValueError, match="1 classes have no role, for example 'c00'"):
        split_classes(given.assign(role=[None] + ["seen"] * 19), SPLIT)


def test_a_fifth_of_every_seen_class_is_held_out_in_the_generalized_setting(classes, images):
    roles = split_classes(classes, SPLIT)
    split = split_images(images, roles, SPLIT)
    seen = split["class_name"].isin(roles.loc[roles["role"] == "seen", "class_name"])
    assert (split.loc[seen, "zsl"] == "train").all()
    assert (split.loc[seen & (split["gzsl"] == "test")].groupby("class_name").size() == 2).all()
    assert (split.loc[~seen, ["zsl", "gzsl"]] == "test").all(axis=None)


def test_official_lists_rule(classes, images):
    roles = split_classes(classes, SPLIT)
    unseen = images["class_name"].isin(roles.loc[roles["role"] == "unseen", "class_name"])
    official = pd.Series("train", index=images.index).where(~unseen, "test_unseen")
    official.iloc[(~unseen).to_numpy().nonzero()[0][::7]] = "test_seen"
    split = split_images(images.assign(official=official), roles, SPLIT)
    assert (split.loc[official == "test_seen", "zsl"] == "unused").all()
    assert (split.loc[official == "test_seen", "gzsl"] == "test").all()
    assert (split.loc[official == "train", ["zsl", "gzsl"]] == "train").all(axis=None)


def test_official_parts_without_test_images_of_seen_classes_leave_that_to_the_seed(classes, images):
    roles = split_classes(classes, SPLIT)
    split = split_images(images.assign(official="train"), roles, SPLIT)
    pd.testing.assert_frame_equal(split, split_images(images, roles, SPLIT))
    assert {"train", "test"} == set(split["gzsl"])


def test_unlabelled_images_are_test_images(classes, images):
    roles = split_classes(classes, SPLIT)
    images.loc[0, "class_name"] = None
    split = split_images(images, roles, SPLIT)
    assert split.loc[0, ["zsl", "gzsl"]].tolist() == ["test", "test"]
