"""Image files to feature vectors."""

from typing import Any

import pandas as pd

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorSet
from aezsl.encoders.images.encoder import gather_features


def extract(images: pd.DataFrame, store: VectorStore, settings: dict[str, Any]) -> tuple[VectorSet, dict[str, str]]:
    """Vectors of the images that the store does not have yet, and the images that cannot be read."""
    return gather_features(images, store, settings)
