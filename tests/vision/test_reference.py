"""Features of real photographs, against those that others stored for them."""

import numpy as np
import pandas as pd
import pytest

from aezsl.vision.backbones import make_backbone
from aezsl.vision.extraction import extract_features
from tests.datasets.helpers import reference


@pytest.mark.parametrize(
    ("images", "features", "listed"),
    [
        ("cub/CUB_200_2011/images", "cub/features/efficientnet_lite0.npz", "cub/CUB_200_2011/images.txt"),
        ("dogs/Images", "dogs/features/efficientnet_lite0.npz", None),
    ],
)
def test_recomputed_features_match_the_stored_ones(images, features, listed):
    folder, stored = reference(images), np.load(reference(features))
    ids = [line.split()[1] for line in reference(listed).read_text().splitlines()] if listed else stored["files"]
    row_of = {name: row for row, name in enumerate(ids)}
    paths = sorted(folder.rglob("*.jpg"))
    assert len(paths) >= 30
    table = pd.DataFrame({"image_id": [str(p.relative_to(folder)) for p in paths], "path": [str(p) for p in paths]})
    chunks = [
        chunk for chunk, unreadable in extract_features(table, {}, make_backbone("efficientnet_lite0")) if chunk.ids
    ]
    ours = np.vstack([chunk.vectors for chunk in chunks]).astype(float)
    theirs = stored["X"][[row_of[name] for chunk in chunks for name in chunk.ids]].astype(float)
    cosine = (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert len(cosine) == len(paths)
    assert cosine.min() > 0.99999  # what is left comes from the 16 bits on disk
