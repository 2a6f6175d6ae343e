import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from aezsl.errors import AezslError, ParameterError
from aezsl.methods import make_method
from aezsl.methods.daezsl.inputs import StoredFeatures
from aezsl.methods.daezsl.network import AdaptiveNetwork, adaptive_loss
from tests.helpers import ROOT
from tests.methods.core.contract import MethodContract
from tests.oracles.daezsl import daezsl_loss, decision_matrices
from tests.synthetic import make_synthetic

QUICK = {"epochs": 12, "learning_rate": 0.02, "batch_size": 32}
SMALL = {"epochs": 6, "validation_fraction": 0.0, "learning_rate": 0.02}


class TestDAEZSL(MethodContract):
    method = "daezsl"
    params = QUICK


class TestDAEZSLFromClosedForm(MethodContract):
    method = "daezsl"
    params = {**QUICK, "start": "eszsl", "gamma": 0.1, "lam": 0.1}


def problem(B=7, d=9, a=5, C=6, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(*shape, generator=generator, dtype=torch.float64).requires_grad_()

    y = torch.randint(C, (B,), generator=generator)
    return draw(B, d), y, draw(d, a), draw(C, a), draw(C, d)


# Fewer and more samples than classes, features than classes and semantic dimensions, two classes only.
SHAPES = [{}, {"B": 30, "d": 4}, {"d": 40, "C": 12}, {"a": 20}, {"C": 2}, {"B": 1}]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rho", [0.0, 0.5, 3.0])
def test_loss_and_all_gradients_equal_the_literal_ones(shape, rho):
    X, y, W, S, M = problem(**shape)
    fast = adaptive_loss(X, y, W, S, M, rho)
    literal = daezsl_loss(X, y, W, S, M, rho)
    torch.testing.assert_close(fast, literal, rtol=1e-10, atol=1e-10)
    gradients = [torch.autograd.grad(loss, (X, W, S, M)) for loss in (fast, literal)]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10 * other.abs().max())


def test_gradients_reach_every_weight_of_the_network_as_the_literal_ones_do():
    X, y, _, S, _ = problem()
    network = AdaptiveNetwork(9, 5, 7, torch.Generator().manual_seed(0)).double()
    X, S = X.detach(), S.detach()
    gradients = []
    for loss in (adaptive_loss, daezsl_loss):
        network.zero_grad()
        loss(X, y, network.W, S, network.masks(S), 0.5).backward()
        gradients.append({name: weight.grad.clone() for name, weight in network.named_parameters()})
    assert set(gradients[0]) == {"W", "A1", "b1", "A2", "b2"}
    for name, gradient in gradients[0].items():
        assert gradient.abs().max() > 0
        torch.testing.assert_close(gradient, gradients[1][name], rtol=1e-10, atol=1e-10)


def test_no_masks_are_masks_of_one():
    X, y, W, S, M = problem()
    ones = torch.ones_like(M)
    none = adaptive_loss(X, y, W, S, None, 0.5)
    torch.testing.assert_close(none, daezsl_loss(X, y, W, S, ones, 0.5), rtol=1e-10, atol=1e-10)
    for one, other in zip(
        torch.autograd.grad(none, (X, W, S)),
        torch.autograd.grad(adaptive_loss(X, y, W, S, ones, 0.5), (X, W, S)),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10 * other.abs().max())


def test_scores_are_the_diagonals_of_the_decision_matrices():
    data = make_synthetic()
    model = make_method("daezsl", **SMALL).fit(*data[:3])
    X, S = torch.tensor(data.X_new), torch.tensor(data.S_new)
    J = decision_matrices(X, torch.tensor(model.W_).double(), S, torch.tensor(model.class_masks(data.S_new)))
    diagonals = J.diagonal(dim1=1, dim2=2).numpy()
    np.testing.assert_allclose(model.decision_function(data.X_new, data.S_new), diagonals, rtol=1e-9, atol=1e-12)


def test_masks_in_prediction_are_those_of_the_network():
    data = make_synthetic()
    model = make_method("daezsl", **SMALL).fit(*data[:3])
    network = AdaptiveNetwork(24, 10, 17, torch.Generator())
    network.load_state_dict({name: torch.tensor(getattr(model, f"{name}_")) for name in ("W", "A1", "b1", "A2", "b2")})
    expected = network.double().masks(torch.tensor(data.S_new)).detach().numpy()
    np.testing.assert_allclose(model.class_masks(data.S_new), expected, rtol=1e-6)


def test_hidden_units_and_defaults_are_the_papers():
    data = make_synthetic(d=24, a=11)
    model = make_method("daezsl", epochs=1, validation_fraction=0).fit(*data[:3])
    assert model.A1_.shape == (17, 11)  # floor((24 + 11) / 2)
    defaults = make_method("daezsl").get_params()
    paper = {"learning_rate": 0.001, "batch_size": 128, "rho": 0.5, "dropout": 0.5}
    assert {name: defaults[name] for name in paper} == paper


def test_an_added_class_changes_no_other_score():
    data = make_synthetic()
    model = make_method("daezsl", **SMALL).fit(*data[:3])
    np.testing.assert_allclose(
        model.decision_function(data.X_new, data.S_new)[:, :3],
        model.decision_function(data.X_new, data.S_new[:3]),
        rtol=1e-9,
    )


def test_epoch_zero_from_the_closed_form_is_eszsl():
    data = make_synthetic()
    eszsl = make_method("eszsl", gamma=0.3, lam=0.2).fit(*data[:3])
    # A rate so small that nothing moves: what is left is the start.
    model = make_method("daezsl", start="eszsl", gamma=0.3, lam=0.2, learning_rate=1e-12, epochs=1)
    for masks in ("learned", "ones"):
        P = model.set_params(masks=masks).fit(*data[:3]).classifiers(data.S_new)
        Q = eszsl.classifiers(data.S_new)
        scale = np.vdot(P, Q) / np.vdot(Q, Q)
        np.testing.assert_allclose(P, scale * Q, rtol=1e-4, atol=1e-5 * np.abs(P).max())
    J = data.X @ (scale * eszsl.classifiers(data.S))
    Y = np.eye(len(data.S))[data.y]
    for other in (0.98, 1.02):  # the scale fits the labels best
        assert np.linalg.norm(J - Y) < np.linalg.norm(other * J - Y)


class TestEarlyStopping:
    data = make_synthetic()

    def test_the_best_epoch_of_the_held_out_classes_is_used(self):
        model = make_method("daezsl", **QUICK, patience=3).fit(*self.data[:3])
        accuracy = model.history_accuracy_
        assert model.n_epochs_ == 1 + accuracy[1:].argmax()
        assert len(model.history_loss_) == model.n_epochs_
        assert len(accuracy) <= min(12, model.n_epochs_ + 3) + 1

    def test_training_again_on_all_classes_equals_that_many_epochs(self):
        model = make_method("daezsl", **QUICK).fit(*self.data[:3])
        fixed = {**QUICK, "epochs": model.n_epochs_, "validation_fraction": 0.0}
        alone = make_method("daezsl", **fixed).fit(*self.data[:3])
        np.testing.assert_array_equal(model.W_, alone.W_)
        np.testing.assert_array_equal(model.A1_, alone.A1_)

    @pytest.mark.parametrize("name", ["daezsl", "eszsl_net"])
    def test_a_network_that_has_learnt_nothing_is_never_the_answer(self, name, monkeypatch):
        tiny = make_synthetic(n_seen=5)
        monkeypatch.setattr("aezsl.methods.daezsl.daezsl.per_class_accuracy", lambda *_: 0.5)  # no epoch is better
        with pytest.warns(ConvergenceWarning):
            model = make_method(name, epochs=2).fit(*tiny[:3])
        assert model.n_epochs_ == len(model.history_loss_) == 1
        assert len(set(model.predict(tiny.X_new, tiny.S_new))) > 1

    def test_held_out_classes_never_train_in_the_search(self):
        model = make_method("daezsl", **QUICK)
        held_out = model._held_out(30)
        assert held_out.sum() == 6
        first = model.fit(*self.data[:3]).history_accuracy_[0]
        spoilt = self.data.X.copy()
        spoilt[held_out[self.data.y]] = 0.0  # nothing to learn there, nothing to tell apart either
        other = model.fit(spoilt, self.data.y, self.data.S).history_accuracy_
        assert other.max() <= 1 / 6 + 1e-9
        assert np.isfinite(first)

    def test_loss_falls(self):
        loss = make_method("daezsl", **SMALL).fit(*self.data[:3]).history_loss_
        assert (np.diff(loss) < 0).all()


def test_global_random_state_is_left_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    make_method("daezsl", **SMALL).fit(*make_synthetic()[:3])
    assert torch.equal(torch.get_rng_state(), before)


def test_seeds_differ():
    data = make_synthetic()
    one, two = (make_method("daezsl", **SMALL, random_state=seed).fit(*data[:3]) for seed in (0, 1))
    assert not np.array_equal(one.A1_, two.A1_)


def test_parameters_are_checked_before_training_end_to_end():
    data = make_synthetic()
    with pytest.raises(ParameterError, match=r"^epochs of DAEZSL"):
        make_method("daezsl", epochs=0).fit_end_to_end(StoredFeatures(data.X), data.y, data.S)


@pytest.mark.parametrize(("name", "rate"), [("learning_rate", 1e25), ("learning_rate", 1e300), ("mapping_rate", 1e300)])
def test_a_rate_at_which_the_loss_explodes_or_that_has_no_number_is_refused(name, rate):
    with pytest.raises(AezslError, match=name):
        make_method("daezsl", **{**SMALL, name: rate}).fit(*make_synthetic()[:3])


@pytest.mark.slow
def test_prediction_needs_no_torch():
    code = "import sys; from aezsl.methods import make_method; make_method('daezsl'); assert 'torch' not in sys.modules"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
