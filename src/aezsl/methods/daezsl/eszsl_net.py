"""The network of DAEZSL with masks of one: what the paper's large-scale table calls ESZSL."""

from aezsl.methods.daezsl.daezsl import DAEZSL


class ESZSLNet(DAEZSL):
    r"""DAEZSL's network with masks of one: what the paper's large-scale table calls ESZSL.

    .. math:: \min_W \sum_i \|x_i' W S' - y_i\|^2

    One bilinear mapping, trained as DAEZSL is, so that a comparison shows what the masks do. It is
    DAEZSL's loss with every mask fixed to one: all rows of :math:`J^i` are then the same, the square is C times
    the above and the hinge a constant. Parameters as there.
    """

    def __init__(
        self,
        start: str = "zero",
        gamma: float = 1.0,
        lam: float = 1.0,
        epochs: int = 30,
        patience: int = 5,
        validation_fraction: float = 0.2,
        learning_rate: float = 0.001,
        batch_size: int = 128,
        random_state: int = 0,
        device: str = "cpu",
    ) -> None:
        super().__init__(
            masks="ones",
            start=start,
            gamma=gamma,
            lam=lam,
            epochs=epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            learning_rate=learning_rate,
            batch_size=batch_size,
            random_state=random_state,
            device=device,
        )
