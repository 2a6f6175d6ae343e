"""The network of DAEZSL with masks of one: what the paper's large-scale table calls ESZSL."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.methods.daezsl.daezsl import DAEZSL


class ESZSLNet(DAEZSL):
    r"""DAEZSL's network with masks of one: what the paper's large-scale table calls ESZSL.

    .. math:: \min_W \sum_i \|x_i' W S' - y_i\|^2

    One bilinear mapping, trained as DAEZSL is, so that a comparison shows what the masks do. It is
    DAEZSL's loss with every mask fixed to one: all rows of :math:`J^i` are then the same, the square is C times
    the above and the hinge a constant. Parameters as there.
    """

    # Without masks there is nothing to give them: no rate of their own, no hinge, no dropout.
    fixed: ClassVar[Mapping[str, Any]] = {
        "masks": "ones",
        "mapping_rate": None,
        "rho": DAEZSL.rho,
        "dropout": DAEZSL.dropout,
    }
