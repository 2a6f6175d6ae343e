"""AEZSL_sim: AEZSL without the co-regulariser, every target on its own."""

from collections.abc import Mapping
from typing import Any, ClassVar

from aezsl.methods.aezsl.aezsl import AEZSL


class AEZSLSim(AEZSL):
    r"""AEZSL with :math:`\lambda_3 = 0`: similarity weights only, no ties between the targets' mappings.

    .. math::
        \min_{W_c} \frac12 \|(X W_c S' - Y)\, \mathrm{diag}(s_c)\|_F^2
        + \frac{\lambda_1}{2} \|X W_c\|_F^2 + \frac{\lambda_2}{2} \|W_c\|_F^2

    for each target c by itself, in closed form: the scores of a class do not depend on the classes it is asked with.
    Symbols, shapes and parameters as in ``AEZSL``.
    """

    # A closed form has no solver to choose.
    fixed: ClassVar[Mapping[str, Any]] = {
        "lambda3": 0.0,
        "solver": "direct",
        "tol": AEZSL.tol,
        "max_iter": AEZSL.max_iter,
    }
    # As AEZSL's, but for what is fixed.
    grid: ClassVar[Mapping[str, list[float]]] = {name: AEZSL.grid[name] for name in ("lambda1", "lambda2")}
