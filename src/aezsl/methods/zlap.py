"""ZLaP: labels that spread from the texts over a graph of texts and images of the pool."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack, vstack

from aezsl.arrays import Array, unit_rows
from aezsl.evaluation.ranking import top_k
from aezsl.kinds import Count, Fraction, NotNegative
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.paired import PairedTransductive
from aezsl.methods.shared.graph import cosine_graph

#: Propagation ends once no entry changes by more than this part of the largest.
TOLERANCE = 1e-9


class ZLaP(PairedTransductive):
    r"""Zero-shot label propagation: labels spread from the texts over a graph of texts and images.

    Nodes are the texts t_c of the target classes and the images x_i of the pool, all at unit length. An image is
    tied to its nearest images and to its nearest texts, by powers of their cosines, which differ between images among
    themselves and between images and texts, whose cosines lie lower; texts are not tied to each other:

    .. math::
        w_{ij} = \max(0, x_i'x_j)^{\mathrm{gamma}}, \qquad w_{ic} = \max(0, x_i't_c)^{\mathrm{beta}}, \qquad
        Z = (I - \alpha D^{-1/2} W D^{-1/2})^{-1} \begin{bmatrix} I_C \\ 0 \end{bmatrix}

    with D the row sums of W. Row i of Z has the scores of image i. A new sample has the mean of the rows of its nearest
    images and texts, weighted as in the graph.

    What differs: written from the paper. The system is solved by the series :math:`Z \leftarrow \alpha \hat W Z + Y`;
    columns of Z are not rescaled; the weights of neighbours are symmetric; alpha, beta and gamma are chosen on
    validation classes.

    Parameters
    ----------
    alpha : float
        How far labels spread, between 0 and 1, both excluded.
    beta : float
        Power of the cosines between images and texts; must not be negative.
    gamma : float
        Power of the cosines between images; must not be negative.
    n_neighbors : int
        Nearest images, and nearest texts, per image.
    stated_pair : bool
        See ``Paired``.

    """

    alpha: Fraction = 0.3
    beta: NotNegative = 3.0
    gamma: NotNegative = 3.0
    n_neighbors: Count = 5

    grid: ClassVar[Mapping[str, list[Any]]] = {
        "alpha": [0.1, 0.3, 0.6],
        "beta": [1.0, 3.0, 10.0],
        "gamma": [1.0, 3.0, 10.0],
    }
    #: The texts alone rule towards small alpha.
    cautious_by: ClassVar[Mapping[str, int]] = {"alpha": -1}
    citation: ClassVar[str] = (
        "V. Stojnić, Y. Kalantidis and G. Tolias. Label propagation for zero-shot classification with vision-language "
        "models. CVPR 2024."
    )
    against_collapse: ClassVar[str] = "a smaller alpha keeps labels nearer to the texts"

    def _propagate(self, images: Array, texts: Array, history: LabelHistory) -> dict[str, Array]:
        m = len(images)
        of_texts = self._ties(images @ texts.T, self.beta)
        of_images = cosine_graph(images, self.n_neighbors, self.gamma)
        among_texts = csr_array((len(texts), len(texts)))
        W = csr_array(vstack([hstack([among_texts, of_texts.T]), hstack([of_texts, of_images])])) if m else among_texts
        Z = _spread(W, len(texts), self.alpha)
        if m:
            history.record(Z[len(texts) :].argmax(axis=1))
        return {"images": images, "scores": Z}

    def _ties(self, cosines: Array, power: float) -> csr_array:
        """The nearest columns of every row, weighted."""
        m, n = cosines.shape
        k = min(self.n_neighbors, n)
        if not m or not k:
            return csr_array((m, n))
        nearest = top_k(cosines, k)
        weights = np.maximum(nearest.scores.astype(np.float64), 0) ** power
        return csr_array((weights.ravel(), nearest.classes.ravel(), np.arange(m + 1) * k), shape=(m, n))

    def _scores(self, X: Array, texts: Array, images: Array, scores: Array) -> Array:  # type: ignore[override]
        own = unit_rows(np.asarray(X, dtype=np.float64))
        to_texts, to_images = self._ties(own @ texts.T, self.beta), self._ties(own @ images.T, self.gamma)
        found: Array = to_texts @ scores[: len(texts)] + to_images @ scores[len(texts) :]
        mass = np.asarray(to_texts.sum(axis=1) + to_images.sum(axis=1))[:, None]
        # A trace of the cosine orders classes that no neighbour speaks of.
        return found / np.maximum(mass, 1e-12) + 1e-9 * own @ texts.T


def _spread(W: csr_array, n_texts: int, alpha: float) -> Array:
    degrees = np.asarray(W.sum(axis=1), dtype=np.float64)
    scale = diags_array(1 / np.sqrt(np.where(degrees > 0, degrees, 1)))
    step = csr_array(alpha * (scale @ W @ scale))
    start = np.eye(W.shape[0], n_texts)
    Z = start
    while True:
        after = np.asarray(step @ Z) + start
        if np.abs(after - Z).max() <= TOLERANCE * np.abs(after).max():
            return after
        Z = after
