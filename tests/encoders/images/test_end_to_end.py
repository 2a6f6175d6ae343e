"""Joint training of GoogLeNet and DAEZSL on real drawings, small enough for a CPU."""

import numpy as np
import pytest
import torch

from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.end_to_end import GoogLeNetFeatures, ImageInputs
from aezsl.formats.emoji import Emoji
from aezsl.formats.images import read_image
from aezsl.methods import make_method
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.methods.daezsl.network import AdaptiveNetwork, adaptive_loss
from tests.helpers.checkpoints import Interrupted

pytestmark = pytest.mark.slow  # GoogLeNet learns

CLASSES = ("dog", "cat", "horse", "peach", "banana", "bus")
SIZE = 64
TRAINING = {"epochs": 3, "validation_fraction": 0.0, "batch_size": 12, "random_state": 0}


@pytest.fixture(scope="module")
def drawings():
    images = Emoji().read().images
    chosen = images[images["class_name"].isin(CLASSES) & images["source"].isin(["Appl", "Goog", "Joy", "Twtr"])]
    names = sorted(set(chosen["class_name"]))
    assert len(names) == len(CLASSES)
    return chosen["path"].tolist(), chosen["class_name"].map(names.index).to_numpy()


@pytest.fixture(scope="module")
def encoder():
    return GoogLeNetFeatures("random")


@pytest.fixture(scope="module")
def semantics():
    S = np.random.default_rng(0).normal(size=(len(CLASSES), 8))
    return S / np.linalg.norm(S, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def trained(drawings, encoder, semantics):
    """Model and encoder of an uninterrupted training."""
    paths, y = drawings
    model = make_method("daezsl", **TRAINING)
    return model, model.fit_end_to_end(ImageInputs(paths, encoder, SIZE), y, semantics)


def test_gradients_reach_the_first_layer(drawings, encoder, semantics):
    paths, y = drawings
    inputs = ImageInputs(paths[:4], encoder, SIZE)
    network = AdaptiveNetwork(1024, 8, 20, torch.Generator().manual_seed(0))
    network.encoder = encoder
    encoder.train()
    (images,) = inputs.stream([torch.arange(4)], torch.Generator().manual_seed(0))
    S = torch.tensor(semantics, dtype=torch.float32)
    adaptive_loss(network.encode(images), torch.tensor(y[:4]), network.W, S, network.masks(S), 0.5).backward()
    gradients = {name: weight.grad for name, weight in network.named_parameters()}
    assert all(gradient is not None and gradient.isfinite().all() for gradient in gradients.values())
    first = gradients["encoder.network.conv1.conv.weight"]
    assert (first.abs().amax(dim=(1, 2, 3)) > 0).all()
    encoder.zero_grad()


def test_loss_falls_and_every_part_learns(trained, encoder):
    model, learnt = trained
    assert (np.diff(model.history_loss_) < 0).all()
    assert model.W_.any()
    assert model.W_.shape == (1024, 8)
    before = dict(encoder.named_parameters())
    assert all(not torch.equal(weight, before[name]) for name, weight in learnt.named_parameters())


def test_an_interrupted_training_ends_with_the_same_weights(tmp_path, drawings, encoder, semantics, trained):
    paths, y = drawings
    inputs = ImageInputs(paths, encoder, SIZE)
    with pytest.raises(KeyboardInterrupt):
        make_method("daezsl", **TRAINING).fit_end_to_end(inputs, y, semantics, Interrupted(tmp_path, 2))
    assert len(torch.load(tmp_path / "final.pt", weights_only=True)["history"]["loss"]) == 2
    model = make_method("daezsl", **TRAINING)
    resumed = model.fit_end_to_end(inputs, y, semantics, CheckpointFolder(tmp_path))
    for name, weight in trained[1].state_dict().items():  # running statistics too
        torch.testing.assert_close(resumed.state_dict()[name], weight, rtol=0, atol=0, msg=name)
    for name, value in trained[0].get_state().items():
        np.testing.assert_array_equal(model.get_state()[name], value, err_msg=name)


def test_early_stopping_judges_classes_left_out_by_the_encoder_as_it_learns(drawings, encoder, semantics):
    paths, y = drawings
    model = make_method("daezsl", **{**TRAINING, "epochs": 1, "validation_fraction": 0.3})
    learnt = model.fit_end_to_end(ImageInputs(paths, encoder, SIZE), y, semantics)
    assert len(model.history_accuracy_) == 2
    assert len(model.history_loss_) == model.n_epochs_
    assert learnt is not encoder


def test_trained_weights_serve_as_a_backbone(tmp_path, drawings, trained):
    _, learnt = trained
    CheckpointFolder(tmp_path).save("encoder", learnt.weights())
    backbone = make_backbone("googlenet", str(tmp_path / "encoder.pt"))
    preprocess, run = backbone.load()
    features = run(np.stack([preprocess(read_image(path)) for path in drawings[0][:2]]))
    expected = ImageInputs(drawings[0][:2], learnt).features(np.arange(2), learnt)
    np.testing.assert_allclose(features / np.linalg.norm(features, axis=1, keepdims=True), expected, atol=1e-3)


def test_local_weights_are_where_training_starts(tmp_path, trained):
    torch.save(trained[1].weights(), tmp_path / "mine.pth")
    again = GoogLeNetFeatures(str(tmp_path / "mine.pth"))
    for name, weight in trained[1].state_dict().items():
        assert torch.equal(again.state_dict()[name], weight), name
