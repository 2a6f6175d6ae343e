import pandas as pd
import pytest

from aezsl.errors import DataError, ParameterError
from aezsl.pipelines.ingestion.nodes import SplitSettings, split_classes, split_images

SPLIT = SplitSettings(unseen_fraction=0.25)


def drawn_by(seed):
    return SplitSettings(rule="drawn", seed=seed, unseen_fraction=0.25)


DRAWN = drawn_by(0)


@pytest.fixture
def classes():
    groups = ["fish"] * 8 + ["bird"] * 12
    return pd.DataFrame({"class_name": [f"c{i:02d}" for i in range(20)], "group": groups})


@pytest.fixture
def images(classes):
    rows = [(f"{name}/{i}", name) for name in classes["class_name"] for i in range(10)]
    return pd.DataFrame(rows, columns=["image_id", "class_name"])


def test_every_group_gives_its_share_of_unseen_classes(classes, images):
    roles = split_classes(images, classes, SPLIT)
    assert roles[roles["role"] == "unseen"].groupby("group").size().to_dict() == {"fish": 2, "bird": 3}


def test_the_split_follows_its_seed(classes, images):
    first, again, other = (
        split_classes(images, classes, SplitSettings(unseen_fraction=0.25, seed=seed))["role"].tolist()
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_roles_that_the_data_gives_stay(classes, images):
    given = classes.assign(role=["unseen"] * 2 + ["seen"] * 18)
    pd.testing.assert_frame_equal(split_classes(images, given, SPLIT), given)
    with pytest.raises(DataError, match="c00"):
        split_classes(images, given.assign(role=[None] + ["seen"] * 19), SPLIT)


def test_a_fifth_of_every_seen_class_is_held_out_in_the_generalized_setting(classes, images):
    roles = split_classes(images, classes, SPLIT)
    split = split_images(images, roles, SPLIT)
    seen = split["class_name"].isin(roles.loc[roles["role"] == "seen", "class_name"])
    assert (split.loc[seen, "zsl"] == "train").all()
    assert (split.loc[seen & (split["gzsl"] == "test")].groupby("class_name").size() == 2).all()
    assert (split.loc[~seen, ["zsl", "gzsl"]] == "test").all(axis=None)


def test_official_lists_rule(classes, images):
    roles = split_classes(images, classes, SPLIT)
    unseen = images["class_name"].isin(roles.loc[roles["role"] == "unseen", "class_name"])
    official = pd.Series("train", index=images.index).where(~unseen, "test_unseen")
    official.iloc[(~unseen).to_numpy().nonzero()[0][::7]] = "test_seen"
    split = split_images(images.assign(official=official), roles, SPLIT)
    assert (split.loc[official == "test_seen", "zsl"] == "unused").all()
    assert (split.loc[official == "test_seen", "gzsl"] == "test").all()
    assert (split.loc[official == "train", ["zsl", "gzsl"]] == "train").all(axis=None)


def test_official_parts_without_test_images_of_seen_classes_leave_that_to_the_seed(classes, images):
    roles = split_classes(images, classes, SPLIT)
    split = split_images(images.assign(official="train"), roles, SPLIT)
    pd.testing.assert_frame_equal(split, split_images(images, roles, SPLIT))
    assert {"train", "test"} == set(split["gzsl"])


def test_unlabelled_images_are_test_images(classes, images):
    roles = split_classes(images, classes, SPLIT)
    images.loc[0, "class_name"] = None
    split = split_images(images, roles, SPLIT)
    assert split.loc[0, ["zsl", "gzsl"]].tolist() == ["test", "test"]


def test_a_drawn_split_has_as_many_unseen_classes_as_the_data_names_but_follows_the_seed(classes, images):
    given = classes.assign(role=["unseen"] * 3 + ["seen"] * 16 + ["unseen"])
    drawn = [split_classes(images, given, drawn_by(seed)) for seed in range(4)]
    for roles in drawn:
        assert roles[roles["role"] == "unseen"].groupby("group").size().to_dict() == {"fish": 3, "bird": 1}
    assert len({tuple(roles["role"]) for roles in drawn}) == 4


def test_without_roles_in_the_data_both_rules_draw_the_same(classes, images):
    pd.testing.assert_frame_equal(split_classes(images, classes, DRAWN), split_classes(images, classes, SPLIT))


def test_classes_without_images_are_never_drawn_as_seen(classes, images):
    given = classes.assign(role=["unseen"] * 5 + ["seen"] * 15)
    images = images[~images["class_name"].isin(["c00", "c01"])]
    for seed in range(5):
        roles = split_classes(images, given, drawn_by(seed)).set_index("class_name")["role"]
        assert (roles[["c00", "c01"]] == "unseen").all()
        assert (roles == "unseen").sum() == 5
    with pytest.raises(ParameterError, match="drawn"):
        split_classes(images[images["class_name"] > "c04"], given, DRAWN)


def test_a_drawn_split_leaves_official_parts_aside(classes, images):
    roles = split_classes(images, classes, DRAWN)
    split = split_images(images.assign(official="test_seen"), roles, DRAWN)
    pd.testing.assert_frame_equal(split, split_images(images, roles, DRAWN))


def test_imbalance_leaves_a_long_tail_of_test_images_and_all_others_as_they_are(classes, images):
    roles = split_classes(images, classes, SPLIT)
    plain, long_tailed = (split_images(images, roles, SplitSettings(test_imbalance=ratio)) for ratio in (1, 10))
    unseen = images["class_name"].isin(roles.loc[roles["role"] == "unseen", "class_name"])
    pd.testing.assert_frame_equal(plain[~unseen], long_tailed[~unseen])
    for setting in ("zsl", "gzsl"):
        assert set(long_tailed.loc[unseen, setting]) == {"test", "unused"}
        kept = long_tailed[unseen & (long_tailed[setting] == "test")].groupby("class_name").size()
        assert sorted(kept) == [1, 2, 3, 6, 10]  # 10 images, shares 10 ** -(0, 1/4, ..., 1)
    other = split_images(images, roles, SplitSettings(test_imbalance=10, seed=1))
    assert (other["zsl"] != long_tailed["zsl"]).any()
