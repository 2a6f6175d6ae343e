"""Image files to feature vectors."""

from typing import Any

import pandas as pd

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorSet
from aezsl.encoders.images.backbones import make_backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.formats.feature_files import import_features


def extract(images: pd.DataFrame, store: VectorStore, settings: dict[str, Any]) -> tuple[VectorSet, dict[str, str]]:
    """Vectors of the images that the store does not have yet, and the images that cannot be read."""
    if settings["backbone"] == "file":
        return import_features(images, settings["path"], store), {}
    backbone = make_backbone(settings["backbone"], settings["weights"], settings["layer"])
    return extract_to_store(backbone, images, store, settings)
