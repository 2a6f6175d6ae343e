"""What networks know: heads of packages, of torchvision and of transformers, names, descriptions and their vectors."""

import json
import subprocess
import sys

import numpy as np
import pytest

from aezsl.encoders.knowledge import NamedClassifiers, label_vectors, load_knowledge, seen_classifiers
from aezsl.encoders.knowledge import heads as of_networks
from aezsl.encoders.knowledge.heads import named_classifiers
from aezsl.encoders.knowledge.named import found_by_name, groups_of, imagenet_classes, upwards, wordnet
from aezsl.encoders.knowledge.vectors import kept_vectors
from aezsl.errors import DataError, ParameterError
from aezsl.methods.heads.methods import AEZSLHeads
from tests.helpers.pretrained import save_vision


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("AEZSL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def place(name):
    return next(i for i, wnid in enumerate(imagenet_classes()) if wordnet()[wnid].names[0] == name)


def test_the_table_has_imagenet_in_the_order_of_the_networks_and_all_above_it():
    wnids = imagenet_classes()
    assert len(wnids) == len(set(wnids)) == 1000
    assert list(wnids) == sorted(wnids)
    above = {parent for synset in wordnet().values() for parent in synset.parents}
    assert above <= wordnet().keys()
    assert [wordnet()[one].names for one in wordnet() if not wordnet()[one].parents] == [("entity",)]


def test_a_class_is_described_by_what_is_above_it_and_called_by_all_of_it():
    named = NamedClassifiers.build(np.eye(1000, 4), np.zeros(1000), [wordnet()[w].names[0] for w in imagenet_classes()])
    collie = place("collie")
    assert named.descriptions[collie] == "collie, shepherd dog, working dog"
    called = named.lineage[collie]
    assert called[0] == "collie"
    assert {"dog", "domestic dog", "animal", "carnivore"} <= set(called)
    assert len(called) == len(set(called))
    assert upwards(imagenet_classes()[collie])[0] == imagenet_classes()[collie]


def test_names_are_found_in_imagenet_whatever_the_case_and_others_stand_for_themselves():
    named = NamedClassifiers.build(np.eye(3), np.zeros(3), ["Collie", "my cousin", "tench, Tinca tinca"])
    assert named.wnids == (imagenet_classes()[place("collie")], None, imagenet_classes()[place("tench")])
    assert named.lineage[1] == ("my cousin",)
    assert named.descriptions[1] == "my cousin"


@pytest.mark.parametrize("names", [["a", "b"], ["a", " ", "c"]])
def test_every_classifier_needs_a_name(names):
    with pytest.raises(DataError):
        NamedClassifiers.build(np.eye(3), np.zeros(3), names)


def test_the_head_of_a_package_is_that_of_its_network():
    import torch

    from aezsl.encoders.images.backbones import packaged_weights

    named = named_classifiers("efficientnet_lite0")
    state = torch.load(packaged_weights("efficientnet_lite0"), map_location="cpu", weights_only=True)
    np.testing.assert_array_equal(named.rows, state["_fc.weight"].numpy())
    np.testing.assert_array_equal(named.biases, state["_fc.bias"].numpy())
    assert named.wnids == imagenet_classes()


def test_a_head_is_read_from_its_network_once_and_again_where_the_file_is_damaged(cache, monkeypatch):
    first = named_classifiers("efficientnet_lite0")
    (path,) = (cache / "knowledge").glob("*.npz")
    with monkeypatch.context() as patched:
        patched.setattr(of_networks, "_head", lambda *_: pytest.fail("read again"))
        np.testing.assert_array_equal(named_classifiers("efficientnet_lite0").rows, first.rows)
    path.write_bytes(path.read_bytes()[:-100])
    np.testing.assert_array_equal(named_classifiers("efficientnet_lite0").rows, first.rows)


@pytest.mark.parametrize("name", ["resnet18", "efficientnet_b0", "vit_b_32"])
@pytest.mark.slow
def test_heads_of_torchvision_read_what_features_are(name, tmp_path):
    """Logits of the whole network are features times rows plus biases."""
    import torch

    from aezsl.encoders.images.networks import torchvision_network
    from aezsl.encoders.torchvision import torchvision

    torch.manual_seed(3)
    network = torchvision.models.get_model(name, weights=None).eval()
    file = tmp_path / "weights.pth"
    torch.save(network.state_dict(), file)
    named = named_classifiers(name, str(file))
    images = torch.randn(2, 3, 224, 224)
    with torch.inference_mode():
        expected = network(images).numpy()
        features = torchvision_network(name, str(file), None)(images).numpy()
    np.testing.assert_allclose(features @ named.rows.T + named.biases, expected, atol=1e-4)
    assert named.wnids == imagenet_classes()


@pytest.mark.parametrize("name", ["vgg11", "squeezenet1_1"])
@pytest.mark.slow
def test_networks_whose_features_no_linear_classifier_reads_are_refused(name, tmp_path):
    import torch

    from aezsl.encoders.torchvision import torchvision

    file = tmp_path / "weights.pth"
    torch.save(torchvision.models.get_model(name, weights=None).state_dict(), file)
    with pytest.raises(DataError, match=name):
        named_classifiers(name, str(file))


def test_random_weights_know_nothing():
    with pytest.raises(DataError, match="efficientnet_lite0"):
        named_classifiers("efficientnet_lite0", "random")


def classifier_folder(folder, labels):
    import torch

    from aezsl.encoders import torchvision  # noqa: F401

    from transformers import AutoConfig, AutoModelForImageClassification  # isort: skip

    save_vision(folder, "vit")
    config = AutoConfig.from_pretrained(folder)
    config.num_labels = 3
    if labels:
        config.id2label = dict(enumerate(labels))
    torch.manual_seed(1)
    model = AutoModelForImageClassification.from_config(config)
    model.save_pretrained(folder)
    return model


def test_the_head_of_a_model_of_transformers_has_its_names(tmp_path):
    model = classifier_folder(tmp_path, ["collie", "my cousin", "tench"])
    named = named_classifiers(str(tmp_path))
    assert named.names == ("collie", "my cousin", "tench")
    np.testing.assert_array_equal(named.rows, model.classifier.weight.detach().numpy())


def test_a_model_without_names_or_without_a_head_is_refused(tmp_path):
    classifier_folder(tmp_path / "nameless", None)
    with pytest.raises(DataError, match="id2label"):
        named_classifiers(str(tmp_path / "nameless"))
    save_vision(tmp_path / "headless", "vit")
    config = json.loads((tmp_path / "headless/config.json").read_text())
    config["id2label"] = {"0": "a dog", "1": "a cat"}
    (tmp_path / "headless/config.json").write_text(json.dumps(config))
    with pytest.raises(DataError, match="classifier"):
        named_classifiers(str(tmp_path / "headless"))


def test_knowledge_names_coarse_and_fine_labels():
    """Rows of the head itself stand for photos of its classes."""
    model = AEZSLHeads().fit(load_knowledge())
    rows = model.seen_.rows
    photos = 25 * np.stack(
        [rows[place(name)] - rows.mean(axis=0) for name in ("collie", "tabby", "goldfish", "banana")]
    )
    for labels in (["dog", "cat", "fish", "fruit"], ["ein Hund", "eine Katze", "ein Fisch", "eine Frucht"]):
        np.testing.assert_array_equal(model.predict(photos, label_vectors(labels)), [0, 1, 2, 3])


def test_networks_with_other_classes_are_compared_by_their_names():
    named = NamedClassifiers.build(np.eye(3, 4, dtype=np.float32), np.zeros(3), ["a cow", "my cousin", "collie"])
    seen = seen_classifiers(named)
    own = label_vectors(["my cousin"])[0]
    assert seen.S @ own == pytest.approx([0, 1, 0], abs=0.6)
    assert seen.S[1] @ own == pytest.approx(1, abs=1e-3)


def test_vectors_of_names_are_kept_and_unknown_encoders_refused(cache):
    first = kept_vectors(["a dog", "a cat"], "multilingual")
    (path,) = (cache / "knowledge").glob("*.npy")
    np.save(path, first[::-1])
    np.testing.assert_array_equal(kept_vectors(["a dog", "a cat"], "multilingual"), first[::-1])
    path.write_bytes(b"damaged")
    np.testing.assert_array_equal(kept_vectors(["a dog", "a cat"], "multilingual"), first)
    with pytest.raises(ParameterError, match="glove"):
        label_vectors(["a dog"], ("glove",))


@pytest.mark.slow
def test_an_answer_needs_no_torch_once_the_head_is_kept(cache):
    load_knowledge()
    code = (
        "import sys; from aezsl.encoders.knowledge import load_knowledge, label_vectors;"
        "load_knowledge(); label_vectors(['a dog']);"
        "print([name for name in ('torch', 'transformers', 'onnxruntime') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.strip() == "[]"


def test_labels_are_found_in_wordnet_by_a_name_that_one_class_has():
    dog, collie, *others = found_by_name(["A dog", "collie", "crane", "moka pot", "a", ""])
    assert dog in upwards(collie)
    assert others == [""] * 4  # two classes are called crane


def test_groups_of_labels_are_classes_above_them_that_are_not_too_wide():
    labels = ["a dog", "collie", "tabby", "macaw", "rocket", "moka pot"]
    groups = groups_of(found_by_name(labels))
    found = {name: groups.classes(number).tolist() for number, name in enumerate(groups.names)}
    assert found["dog"] == [0, 1]
    assert found["animal"] == [0, 1, 2, 3]
    assert "object" not in found
    assert groups_of(["", ""]) is None
