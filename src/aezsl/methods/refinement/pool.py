"""A pool of unlabelled samples on its principal axes."""

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from aezsl.arrays import Array
from aezsl.data.once import Once
from aezsl.methods.shared.graph import heat_kernel_graph
from aezsl.methods.shared.linalg import row_space_eigh


@dataclass
class Pool:
    """What refinement derives from X alone, so that all settings tried on one pool share it.

    Z (n, r) are the coordinates of the (centred) samples on V (d, r), the principal axes, strongest first.
    """

    X: Array
    centre: bool
    mean: Array = field(init=False)
    V: Array = field(init=False)
    Z: Array = field(init=False)
    _graphs: Once = field(init=False, default_factory=Once)

    def __post_init__(self) -> None:
        X = np.asarray(self.X, dtype=np.float64)
        self.mean = X.mean(axis=0) if self.centre else np.zeros(X.shape[1])
        centred = X - self.mean
        # All samples alike leave nothing after centring: one zero coordinate stands for the empty space.
        self.V, _ = row_space_eigh(centred) if centred.any() else (np.eye(X.shape[1], 1), None)
        self.Z = centred @ self.V

    def graph(self, n_neighbors: int) -> csr_array:
        """Neighbourhood weights (n, n), built once per number of neighbours."""
        return self._graphs(n_neighbors, lambda: heat_kernel_graph(self.X, n_neighbors))
