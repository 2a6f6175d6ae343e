"""Max-margin zero-shot learning: a support vector machine over all classes, and the pool's labels that suit it."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np

from aezsl.arrays import Array, Labels
from aezsl.kinds import Seed
from aezsl.methods.core.classifiers import LinearClassifier
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.core.seen import Targets
from aezsl.methods.large_margin import LargeMargin, Scene
from aezsl.methods.shared.margin import Labelling, Machine, train

#: Rounds end when the objective falls, or promises to fall, by less than this part of it.
SETTLED = 1e-4
#: Parts of a step that are tried one after the other, and the part of its promise that it must keep.
LENGTHS, KEPT = (1.0, 0.5, 0.25, 0.125), 1e-4


class MaxMargin(LargeMargin):
    r"""Max-margin zero-shot learning over seen and unseen classes together, by Li and Guo.

    One support vector machine after Crammer and Singer has all L classes, seen and target ones, with class vectors U
    (L, h) from semantics; samples F (t, d) are the seen ones and the pool Z. For labels Y (t, L), of which those of
    seen samples are known,

    .. math::
        \mathcal F(Y) = \min_W \tfrac\beta2 \|W\|_F^2 + \sum_i \max_k \left[ 1 - Y_{ik} + (U_k - Y_iU) W f_i \right]

    and the labels of the pool are those for which this is least, in a relaxation to mixtures of classes:

    .. math:: \min_Y \mathcal F(Y), \qquad Y \ge 0, \quad Y1 = 1, \quad \mathrm{low} \le Y'1 \le \mathrm{high}

    Rounds of conditional gradients: :math:`G = -M - FW'U'` is the derivative by Y, with M the weights of the violating
    classes (dual variables); the labels :math:`\hat Y` that are best along it are an exact balanced assignment; and Y
    moves towards :math:`\hat Y` by 1, 1/2, 1/4 or 1/8 of the way, the first that lowers the objective. A target is
    decided by :math:`\arg\max_k U_k W f`, for the pool and for other samples.

    Confirmed by the paper, read in full: the problem, its dual, algorithm and rule of decision, bounds of 0.5 and 2
    times the mean class size (counting known labels), cosine similarity between classes. That similarity is UU' here,
    so that the kernelised text becomes a mapping W. Inferred: pool samples take target classes only, and where the pool
    is too small for the lower bounds they shrink in proportion.

    What differs: the maximum is smoothed (softmax, temperature 0.05), within 1% of the exact optimum in a fraction of
    the time; L-BFGS solves for W instead of a quadratic program for M. First labels are a balanced assignment by
    the machine that seen samples alone teach, so that nothing hangs on a seed; the paper's are random (``start``).
    Features are linear, centred, on ``n_components`` principal axes of the seen samples, where the paper has an RBF
    kernel; they may be brought into the metric of the seen classes before (``shrinkage``). The number of rounds is
    searched: where the pool's structure is not that of its classes the objective falls further than accuracy rises.
    Class vectors are centred before they are brought to unit length (``centre``); False is the paper's cosine.
    The paper rounds Y for the samples it learnt from (``rounded``), which was no better on validation classes of CUB.

    Parameters, beside those of ``LargeMargin``
    -------------------------------------------
    start : {"balanced", "random"}
        Where the first labels come from.
    rounded : bool
        Labels of the pool are the largest entries of Y, not of the scores.
    seed : int
        Of random first labels.

    """

    start: Literal["balanced", "random"] = "balanced"
    rounded: bool = False
    seed: Seed = 0

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "shrinkage": [None, 0.3],  # features as they are, and in the seen classes' metric
        "beta": [1.0, 10.0],  # of the paper's 0.001 to 1,000
        "max_rounds": [2, 10],  # a lower objective is not always a better label
    }
    #: The pool is trusted less the fewer rounds there are.
    cautious_by: ClassVar[Mapping[str, int]] = {"max_rounds": -1}
    citation: ClassVar[str] = (
        "X. Li and Y. Guo. Max-margin zero-shot learning for multi-class classification. AISTATS 2015."
    )

    def _learn(self, S_target: Array, pool: Array, targets: Targets) -> tuple[LinearClassifier, LabelHistory]:
        scene = self._scene(S_target, pool)
        U = scene.U[scene.columns]
        if not len(pool):
            return self._classifier(targets, scene.W, U), LabelHistory(np.empty(0, dtype=np.int64))
        Y = self._one_hot(scene.assign(self._first_scores(scene)), scene)
        history = LabelHistory(Y[:, scene.columns].argmax(axis=1))
        machine, length = self._train(scene, Y, scene.W), 1.0
        for number in range(self.max_rounds):
            decided = Y if self.rounded else machine.scores
            history.record(decided[:, scene.columns].argmax(axis=1), objective=machine.value, step=length)
            found = self._step(scene, machine, Y) if number + 1 < self.max_rounds else None
            if found is None:
                break
            machine, Y, length = found
        return self._classifier(targets, machine.W, U), history

    def _first_scores(self, scene: Scene) -> Array:
        if self.start == "balanced":
            return scene.first_scores()
        return np.random.default_rng(self.seed).random((len(scene.F) - scene.n, len(scene.columns)))

    def _train(self, scene: Scene, Y: Array, start: Array) -> Machine:
        return train(scene.F, scene.U, Labelling(self.y_, Y), self.beta, start)

    def _step(self, scene: Scene, machine: Machine, Y: Array) -> tuple[Machine, Array, float] | None:
        """Towards the labels that promise most: the machine and labels after the step, and its length."""
        G = -(machine.M + machine.scores)
        goal = self._one_hot(scene.assign(-G[:, scene.columns]), scene)
        promise = float(np.vdot(G, Y - goal))
        if promise <= SETTLED * machine.value:
            return None
        for length in LENGTHS:
            mixed = (1 - length) * Y + length * goal
            new = self._train(scene, mixed, machine.W)
            if machine.value - new.value > KEPT * length * promise:
                return new, mixed, length
        return None

    def _one_hot(self, labels: Labels, scene: Scene) -> Array:
        Y = np.zeros((len(labels), len(scene.U)), dtype=scene.F.dtype)
        Y[np.arange(len(labels)), scene.columns[labels]] = 1
        return Y
