"""TransCLIP: a mixture of Gaussians on the pool, its assignments held to those of the texts and of neighbours."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from scipy.special import log_softmax, softmax

from aezsl.arrays import Array, unit_rows
from aezsl.kinds import Count, Positive
from aezsl.methods.core.history import LabelHistory
from aezsl.methods.paired import PairedTransductive
from aezsl.methods.shared.graph import cosine_graph


class TransCLIP(PairedTransductive):
    r"""TransCLIP without labelled images: Gaussians on the pool, tied to the texts' answers and to neighbours.

    With images f_i of the pool and texts t_c of the target classes at unit length, assignments z_i in the simplex,
    means :math:`\mu_c` and one diagonal covariance :math:`\Sigma` for all classes,

    .. math::
        \min_{z, \mu, \Sigma}\; -\sum_i z_i' \log p_i - \sum_{ij} w_{ij} z_i' z_j
        + \sum_i \left( z_i' \log z_i - \mathrm{lam}\, z_i' \log \hat y_i \right), \qquad
        \hat y_i = \mathrm{softmax}(\mathrm{scale}\, T f_i)

    where :math:`p_{ic}` is the density of f_i in the Gaussian of class c and :math:`w_{ij} = \max(0, f_i'f_j)` among
    nearest neighbours. In turn, with the concave second term replaced by its tangent,

    .. math::
        z_i \propto \hat y_i^{\mathrm{lam}} \odot \exp\Big(\log p_i + \sum_j w_{ij} z_j\Big), \qquad
        \mu_c = \frac{\sum_i z_{ic} f_i}{\sum_i z_{ic}}, \qquad
        \Sigma_{dd} = \frac{1}{m} \sum_{ic} z_{ic} (f_{id} - \mu_{cd})^2

    New samples are scored by :math:`\log p_c(x) + \mathrm{lam} \log \hat y_c(x)`.

    What differs: written from the paper. Means start from the texts' answers instead of their most confident images,
    the covariance at 1/d; weights of neighbours are symmetric; ``lam`` and ``scale`` are chosen on validation classes.

    Parameters
    ----------
    lam : float
        Weight of the texts' answers; must be positive.
    scale : float
        Inverse temperature of the texts' answers, 100 for CLIP; must be positive.
    n_neighbors : int
        Nearest neighbours per image of the pool.
    max_rounds : int
        Updates of means and covariance at most.
    n_inner : int
        Updates of the assignments in every round.
    stated_pair : bool
        See ``Paired``.

    """

    lam: Positive = 1.0
    scale: Positive = 100.0
    n_neighbors: Count = 3
    max_rounds: Count = 10
    n_inner: Count = 5

    grid: ClassVar[Mapping[str, list[Any]]] = {"lam": [0.5, 1.0, 2.0], "scale": [25.0, 50.0, 100.0]}
    #: The texts alone rule towards large lam.
    cautious_by: ClassVar[Mapping[str, int]] = {"lam": 1}
    citation: ClassVar[str] = (
        "M. Zanella, B. Gérin and I. Ben Ayed. Boosting vision-language models with transduction. NeurIPS 2024."
    )
    against_collapse: ClassVar[str] = "a larger lam keeps labels nearer to the texts' answers"

    def _propagate(self, images: Array, texts: Array, history: LabelHistory) -> dict[str, Array]:
        if not len(images):  # a density that is the same everywhere
            return {"means": texts, "precisions": np.zeros(texts.shape[1])}
        answers = log_softmax(self.scale * images @ texts.T, axis=1)
        W = cosine_graph(images, self.n_neighbors)
        z = np.exp(answers)
        means, variances = _means(z, images, texts), np.full(texts.shape[1], 1 / texts.shape[1])
        for _ in range(self.max_rounds):
            fixed = _log_density(images, means, 1 / variances) + self.lam * answers
            for _ in range(self.n_inner):
                z = softmax(fixed + W @ z, axis=1)
            means = _means(z, images, texts)
            variances = _variances(z, images, means)
            labels = z.argmax(axis=1)
            settled = np.array_equal(labels, history.labels)
            history.record(labels, mean_confidence=float(z.max(axis=1).mean()))
            if settled:
                break
        return {"means": means, "precisions": 1 / variances}

    def _scores(self, X: Array, texts: Array, means: Array, precisions: Array) -> Array:  # type: ignore[override]
        images = unit_rows(np.asarray(X, dtype=np.float64))
        answers: Array = log_softmax(self.scale * images @ texts.T, axis=1)
        return _log_density(images, means, precisions) + self.lam * answers


def _means(z: Array, images: Array, texts: Array) -> Array:
    """Weighted means (C, d); a class that nobody is assigned to stays at its text."""
    mass = z.sum(axis=0)[:, None]
    means: Array = np.where(mass > 1e-12, z.T @ images / np.maximum(mass, 1e-12), texts)
    return means


def _variances(z: Array, images: Array, means: Array) -> Array:
    """The variance of every dimension around the means; never below a millionth of the largest."""
    second = np.square(images).T @ z.sum(axis=1) - 2 * np.einsum("cd,cd->d", z.T @ images, means)
    variances = (second + np.square(means).T @ z.sum(axis=0)) / len(images)
    floored: Array = np.maximum(variances, max(1e-6 * float(variances.max()), 1e-12))
    return floored


def _log_density(images: Array, means: Array, precisions: Array) -> Array:
    """Log-densities of the Gaussians (m, C), up to what all classes share."""
    scaled = means * precisions
    log_p: Array = images @ scaled.T - 0.5 * np.einsum("cd,cd->c", scaled, means)
    return log_p - 0.5 * (np.square(images) @ precisions)[:, None]
