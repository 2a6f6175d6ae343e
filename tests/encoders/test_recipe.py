import numpy as np
import pandas as pd
import pytest

from aezsl.data.normalise import Normaliser
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.settings import ExtractionSettings, named_backbones
from aezsl.errors import DataError
from aezsl.methods import UNPAIRED, make_method
from aezsl.serving.model_file import load_trained, save_trained
from aezsl.serving.trained import TrainedModel
from tests.helpers.quick import slow_unless_quick
from tests.helpers.recipes import make_recipe


def described(vectors, names):
    return pd.DataFrame({"class_name": names, "attributes": list(vectors)})


def test_a_saved_recipe_gives_the_same_numbers(tmp_path):
    recipe, data = make_recipe()
    model = make_method("eszsl").fit(*data[:3])
    save_trained(tmp_path / "model.npz", TrainedModel(model, recipe))
    loaded = load_trained(tmp_path / "model.npz").recipe
    np.testing.assert_array_equal(loaded.features(data.X_new), recipe.features(data.X_new))
    np.testing.assert_array_equal(loaded.targets().vectors, recipe.targets().vectors)
    pd.testing.assert_frame_equal(loaded.classes, recipe.classes)
    assert (loaded.backbone, loaded.sources) == (recipe.backbone, recipe.sources)


def test_new_data_are_classified_as_if_they_had_been_in_the_problem():
    recipe, data = make_recipe()
    X, X_new = recipe.features(data.X), recipe.features(data.X_new)
    S, S_new = recipe.semantics(data.S), recipe.semantics(data.S_new)
    model = make_method("eszsl").fit(X, data.y, S)
    expected = model.rank(X_new, S_new, 3)
    targets = recipe.targets()
    answer = TrainedModel(model, recipe).answer(data.X_new, targets, 3)
    names = np.array(targets.names)
    assert answer.names.tolist() == names[expected.classes].tolist()
    np.testing.assert_allclose(answer.scores, expected.scores)


@pytest.mark.parametrize("name", slow_unless_quick(UNPAIRED))
def test_a_few_new_rows_suffice_for_any_method_on_disk(name, tmp_path):
    recipe, data = make_recipe()
    model = make_method(name).fit(recipe.features(data.X), data.y, recipe.semantics(data.S))
    save_trained(tmp_path / "model.npz", TrainedModel(model, recipe))
    trained = load_trained(tmp_path / "model.npz")
    for count in (1, 3):
        answer = trained.answer(data.X_new[:count], recipe.targets(), 2)
        assert answer.names.shape == (count, 2)
        assert np.isfinite(answer.scores).all()


def test_targets_by_name_by_description_and_by_default():
    recipe, data = make_recipe()
    n_seen = len(data.S)
    assert recipe.targets().names == [f"class{n_seen + c}" for c in range(len(data.S_new))]
    by_name = recipe.targets(pd.DataFrame({"class_name": ["class3", "class1"]}))
    np.testing.assert_allclose(by_name.vectors, recipe.semantics(data.S[[3, 1]]))
    by_description = recipe.targets(described(data.S[[3, 1]], ["x", "y"]))
    np.testing.assert_allclose(by_description.vectors, by_name.vectors, rtol=1e-5, atol=1e-6)
    assert by_description.names == ["x", "y"]


def test_attributes_are_brought_into_the_order_of_training():
    recipe, data = make_recipe()
    order = np.random.default_rng(0).permutation(data.S.shape[1])
    shuffled = recipe.targets(described(data.S[:2][:, order], ["x", "y"]), [f"a{i}" for i in order])
    np.testing.assert_allclose(shuffled.vectors, recipe.semantics(data.S[:2]), rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match="no attribute 'a0'"):
        recipe.targets(described(data.S[:2, 1:], ["x", "y"]), recipe.attribute_names[1:])
    with pytest.raises(ValueError, match="described by"):
        recipe.targets(described(data.S[:2, 1:], ["x", "y"]))


def test_strangers_without_a_description_are_refused():
    with pytest.raises(DataError, match="unicorn"):
        make_recipe()[0].targets(pd.DataFrame({"class_name": ["class1", "unicorn"]}))


def test_the_backbone_must_be_that_of_training():
    config = {"backbone": "resnet18", "weights": "random", "layer": None}
    fingerprint = make_backbone("resnet18", "random").fingerprint
    good = make_recipe(backbone={"parts": [config], "fingerprint": fingerprint})[0]
    assert good.make_encoder().vectors.fingerprint == fingerprint
    with pytest.raises(DataError, match=r"resnet18.*vgg16"):
        good.make_encoder("vgg16")
    with pytest.raises(ValueError, match="train again"):
        make_recipe()[0].make_encoder()
    from_file = make_recipe(backbone={"parts": [{**config, "backbone": "file"}], "fingerprint": ""})[0]
    with pytest.raises(DataError):
        from_file.make_encoder()
    (named,) = from_file.make_encoder("efficientnet_lite0").backbones
    assert named.config["backbone"] == "efficientnet_lite0"
    with pytest.raises(DataError):
        from_file.make_encoder("efficientnet_lite0+resnet18")


def test_new_images_are_seen_in_the_precision_of_training():
    settings = ExtractionSettings(precision="int8")
    parts = [{key: value for key, value in one.items() if key != "path"} for one in named_backbones(settings)]
    fingerprint = make_backbone("efficientnet_lite0", precision="int8").fingerprint
    recipe = make_recipe(backbone={"parts": parts, "fingerprint": fingerprint})[0]
    recipe.check()
    assert recipe.make_encoder().vectors.fingerprint == fingerprint
    with pytest.raises(DataError):
        make_recipe(backbone={"parts": [parts[0] | {"precision": "int4"}], "fingerprint": ""})[0].check()


def test_no_steps_change_nothing():
    rows = np.arange(6.0).reshape(2, 3)
    assert Normaliser()(rows) is rows
