"""DAEZSL: one mapping and a mask per class, learnt once for any number of classes."""

import copy
import hashlib
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from aezsl.arrays import Array, Labels, Mask
from aezsl.errors import DataError
from aezsl.evaluation.metrics import per_class_accuracy
from aezsl.kinds import Count, NotNegative, Positive, Rate, Seed, Share, Text
from aezsl.methods.core.checks import check_labels, check_semantics
from aezsl.methods.core.contract import LinearZeroShotClassifier, Needs
from aezsl.methods.core.seen import SeenData
from aezsl.methods.daezsl.inputs import BLOCK, Inputs, StoredFeatures
from aezsl.methods.eszsl import ESZSL

if TYPE_CHECKING:
    import torch

    from aezsl.methods.daezsl.network import AdaptiveNetwork
    from aezsl.methods.daezsl.training import Checkpoint


class DAEZSL(LinearZeroShotClassifier):
    r"""Deep adaptive embedding: one mapping, and per class a mask that a network makes from its semantics.

    .. math::
        \min_{W, g} \sum_i \|J^i - \bar Y_i\|_F^2 + \sum_{c \ne c(i)} \max(0, J^i_{c,c(i)} - J^i_{c(i),c(i)} + \rho),
        \qquad J^i_{c_1 c_2} = (x_i \circ m_{c_1})' W a_{c_2}, \quad m_c = g(a_c)

    W (d, a) is the shared mapping, :math:`g(a) = \mathrm{sigmoid}(A_2 \mathrm{relu}(A_1 a + b_1) + b_2)` with
    floor((d + a) / 2) hidden units and dropout behind them. The square asks every mask to serve all classes, the
    hinge asks the mask of a class to serve that class best. A class is scored under its own mask, so it is one linear
    classifier, :math:`p_c = m_c \circ W a_c`; a new class needs its semantics and no training.

    The loss is exact and costs 2 C d^2 + B d^2 + B C d per batch of B samples, not B C^2 d: see ``adaptive_loss``. At
    d = 1024, a = 500, C = 1000, B = 128 a step took 0.45 s of processor time and 83 MB, the literal loss 13.5 s and
    3.1 GB (``python -m tests.benchmarks.bench_daezsl``): 1.3 to 1.7 hours for an epoch of ImageNet's 1.28 million
    features, which may lie in a mapped file. ``fit_end_to_end`` trains the network that makes the features, too.

    Early stopping: a seeded share of the seen classes is left out, and training continues while the accuracy of
    telling *them* apart grows. Then the network is trained again, from the start, on all seen classes for the best
    number of epochs, at least one, since classes are what it learns from. The paper does not say how long it trains;
    with ``validation_fraction=0`` it is ``epochs`` on all seen classes.

    Parameters
    ----------
    masks : "learned" or "ones"
        With masks of one the network is the baseline that the paper's large-scale table calls ESZSL.
    start : "zero", "random" or "eszsl"
        Where W starts; the paper does not say. At random (Glorot) it takes long to forget its start: the loss has no
        regulariser. From zero it grows only where data ask for it. "eszsl" takes the closed-form solution with
        ``gamma`` and ``lam``, at the scale that fits the labels best; the masks then start at one half and W at twice
        that, so that epoch 0 is ESZSL itself.
    gamma, lam : float
        Parameters of ESZSL, for that start only.
    epochs : int
        Most passes over the samples.
    patience : int
        Epochs without a better validation accuracy after which training stops.
    validation_fraction : float
        Share of the seen classes left out to find the number of epochs; 0 for none.
    learning_rate : float
        AdaGrad's rate.
    mapping_rate : float or None
        AdaGrad's rate for W where it is another one (None: the same). AdaGrad's steps have a size of their own,
        whatever the gradient's, so this says how large W is against them, as scaling the features would.
    batch_size, rho, dropout : int, float, float
        Samples per step, margin of the hinge, share of hidden units dropped: as in the paper.
    random_state : int
        Seed of weights, order, dropout and validation classes. Global generators are left alone.
    device : str
        "cpu", "cuda", "mps", or "auto" for an accelerator where there is one.

    """

    masks: Literal["learned", "ones"] = "learned"
    start: Literal["zero", "random", "eszsl"] = "zero"
    gamma: Positive = 1.0
    lam: Positive = 1.0
    epochs: Count = 30
    patience: Count = 5
    validation_fraction: Share = 0.2
    learning_rate: Rate = 0.001
    mapping_rate: Rate | None = None
    batch_size: Count = 128
    rho: NotNegative = 0.5
    dropout: Share = 0.5
    random_state: Seed = 0
    device: Text = "cpu"

    needs: ClassVar[Needs] = "epochs"
    # Nothing: the paper gives its settings, and early stopping finds the number of epochs.
    grid: ClassVar[Mapping[str, list[Any]]] = {}
    own_threads: ClassVar[bool] = True
    citation: ClassVar[str] = (
        "L. Niu, J. Cai, A. Veeraraghavan, L. Zhang. Zero-shot learning via category-specific visual-semantic mapping "
        "and label refinement. IEEE Transactions on Image Processing, 2019."
    )

    def fit_resumable(self, X: ArrayLike, y: ArrayLike, S: ArrayLike, checkpoint: "Checkpoint") -> Self:
        """As ``fit``, keeping every epoch in ``checkpoint`` and resuming from what it holds."""
        seen = SeenData(X, y, S)
        self._fit_inputs(StoredFeatures(seen.X), seen.y, seen.S, checkpoint)
        return self

    def fit_end_to_end(
        self, inputs: Inputs, y: ArrayLike, S: ArrayLike, checkpoint: "Checkpoint | None" = None
    ) -> "torch.nn.Module | None":
        """Train the encoder of ``inputs`` together with the rest; the trained encoder.

        The model then classifies what ``inputs.features`` gives with that encoder. ``inputs.encoder`` itself stays as
        it is: the search for the number of epochs and the final training both start from it.
        """
        S = check_semantics("S", S)
        return self._fit_inputs(inputs, check_labels(y, len(inputs), len(S)), S, checkpoint)

    def training_history(self) -> pd.DataFrame:
        """One row per epoch: mean loss of the final training, accuracy on the classes left out in the search."""
        longest = max(len(self.history_loss_), len(self.history_accuracy_) - 1)
        columns = {"loss": self.history_loss_, "validation_accuracy": self.history_accuracy_[1:]}
        padded = {name: np.pad(v, (0, longest - len(v)), constant_values=np.nan) for name, v in columns.items()}
        return pd.DataFrame({"epoch": np.arange(1, longest + 1), **padded})

    def _fit(self, seen: SeenData) -> None:
        self._fit_inputs(StoredFeatures(seen.X), seen.y, seen.S)

    def _fit_inputs(
        self, inputs: Inputs, y: Labels, S: Array, checkpoint: "Checkpoint | None" = None
    ) -> "torch.nn.Module | None":
        self.check_parameters()
        self._check_classes(len(S))
        self.n_features_in_, self.n_semantics_in_, self.moved_semantics_ = inputs.width, S.shape[1], False
        self.n_epochs_ = self.epochs
        self.history_accuracy_: Array = np.empty(0)
        if self.validation_fraction:
            history, _ = self._train("search", inputs, y, S, self._held_out(len(S)), checkpoint)
            self.history_accuracy_ = history["accuracy"]
            self.n_epochs_ = self._best_epoch(self.history_accuracy_)
        history, encoder = self._train("final", inputs, y, S, np.zeros(len(S), dtype=bool), checkpoint)
        self.history_loss_ = history["loss"]
        return encoder

    def _best_epoch(self, accuracy: Array) -> int:
        """The number of epochs that did best, at least one: a network that has learnt nothing is not an answer."""
        best = 1 + int(np.argmax(accuracy[1:]))
        if accuracy[0] >= accuracy[best]:
            warnings.warn(
                f"{type(self).__name__}: no epoch told the validation classes apart better than the network before its "
                f"first step did (accuracy {accuracy[0]:.3g}); {best} epochs are trained. Give it more seen classes or "
                "images, another learning_rate, or set validation_fraction=0",
                ConvergenceWarning,
                stacklevel=2,
            )
        return best

    def _check_classes(self, n_classes: int) -> None:
        if self.validation_fraction and n_classes < 4:
            raise DataError(f"early stopping needs at least 4 seen classes, got {n_classes}: set validation_fraction=0")

    def _held_out(self, n_classes: int) -> Mask:
        """The validation classes: at least two, and at least two are left."""
        size = int(np.clip(round(n_classes * self.validation_fraction), 2, n_classes - 2))
        chosen = np.random.default_rng(self.random_state).choice(n_classes, size, replace=False)
        return np.isin(np.arange(n_classes), chosen)

    def _train(
        self, phase: str, inputs: Inputs, y: Labels, S: Array, held_out: Mask, checkpoint: "Checkpoint | None"
    ) -> "tuple[dict[str, Array], torch.nn.Module | None]":
        """Learn from the classes that are not held out; stop early by the accuracy on those that are."""
        import torch

        from aezsl.methods.daezsl.network import pick_device
        from aezsl.methods.daezsl.training import Settings, train

        searching = bool(held_out.any())
        rows, S_train = np.flatnonzero(~held_out[y]), S[~held_out]
        labels = (np.cumsum(~held_out) - 1)[y[rows]]
        generator = torch.Generator().manual_seed(self.random_state)
        network = self._start(inputs, rows, labels, S_train, generator)

        def validate() -> float:
            self._keep(network)
            samples = np.flatnonzero(held_out[y])
            blocks = [samples[i : i + BLOCK] for i in range(0, len(samples), BLOCK)]
            X_blocks = (inputs.features(block, network.encoder) for block in blocks)
            predicted = np.concatenate([self.predict(X, S[held_out]) for X in X_blocks])
            return per_class_accuracy((np.cumsum(held_out) - 1)[y[samples]], predicted)

        history = train(
            network,
            inputs,
            rows,
            labels,
            S_train,
            Settings(
                epochs=self.epochs if searching else self.n_epochs_,
                batch_size=self.batch_size,
                learning_rate=self.learning_rate,
                mapping_rate=self.learning_rate if self.mapping_rate is None else self.mapping_rate,
                rho=self.rho,
                dropout=self.dropout,
                patience=self.patience if searching else None,
            ),
            generator,
            pick_device(self.device),
            validate if searching else None,
            checkpoint,
            phase,
            self._origin(inputs, y, S),
        )
        self._keep(network)
        return history, network.encoder

    def _start(
        self, inputs: Inputs, rows: Labels, labels: Labels, S: Array, generator: "torch.Generator"
    ) -> "AdaptiveNetwork":
        """The network before its first step, with an encoder of its own where the inputs need one."""
        from aezsl.methods.daezsl.network import AdaptiveNetwork

        d, a = inputs.width, S.shape[1]
        hidden = (d + a) // 2 if self.masks == "learned" else None
        if self.start == "eszsl":
            W = self._closed_form(inputs.features(rows, inputs.encoder), labels, S)
            network = AdaptiveNetwork.started_at(W, hidden, generator)
        else:
            network = AdaptiveNetwork(d, a, hidden, generator, zero=self.start == "zero")
        network.encoder = copy.deepcopy(inputs.encoder)
        return network

    def _closed_form(self, X: Array, y: Labels, S: Array) -> Array:
        """ESZSL's mapping, at the scale where its scores fit the one-hot labels best."""
        model = ESZSL(self.gamma, self.lam).fit(X, y, S)
        P = model.classifiers(S)
        own = squares = 0.0
        for i in range(0, len(X), BLOCK):  # never all scores at once
            J = X[i : i + BLOCK] @ P
            own += J[np.arange(len(J)), y[i : i + BLOCK]].sum()
            squares += np.square(J).sum()
        return model.W_ * (own / squares)

    def _origin(self, inputs: Inputs, y: Labels, S: Array) -> str:
        """Tells a checkpoint of these data, this start and this model from others."""
        digest = hashlib.sha256(repr((type(self).__name__, self.get_params(), inputs.fingerprint())).encode())
        for array in (y, S):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def _keep(self, network: "AdaptiveNetwork") -> None:
        for name, array in network.arrays().items():
            setattr(self, f"{name}_", array)

    def _classifiers(self, S_target: Array) -> Array:
        P: Array = self.W_.astype(S_target.dtype) @ S_target.T
        if self.masks == "learned":
            P *= self.class_masks(S_target).T
        return P

    def class_masks(self, S_target: ArrayLike) -> Array:
        """The mask (C, d) of every class, in (0, 1)."""
        S_target = np.asarray(S_target)
        if self.masks == "ones":
            return np.ones((len(S_target), self.n_features_in_), dtype=S_target.dtype)
        A1, b1, A2, b2 = (getattr(self, f"{name}_").astype(S_target.dtype) for name in ("A1", "b1", "A2", "b2"))
        masks: Array = expit(np.maximum(S_target @ A1.T + b1, 0) @ A2.T + b2)
        return masks
