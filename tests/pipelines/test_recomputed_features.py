"""Features of real photographs, extracted through the benchmarks' environments, against those that others stored."""

import numpy as np
import pytest

from aezsl.data.vector_store import VectorStore
from tests.helpers.trees import reference


def cub():
    root = reference("cub/CUB_200_2011")
    files = [line.split()[1] for line in (root / "images.txt").read_text().splitlines()]
    return root / "images", files, [f"cub.root={root}", "cub.attributes=shipped"]


def dogs():
    root = reference("dogs")
    files = np.load(root / "features/efficientnet_lite0.npz")["files"].tolist()
    return root / "Images", files, [f"dogs.root={root}"]


@pytest.mark.parametrize(("env", "data"), [("cub", cub), ("dogs", dogs)])
def test_recomputed_features_match_the_stored_ones(make_project, env, data):
    folder, files, given = data()
    present = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.jpg"))
    assert len(present) >= 30
    # The reference data has a sample of the images: those that are listed but not there are left out.
    given += ["feature_extraction.backbone=efficientnet_lite0", "feature_extraction.on_error=skip"]
    project = make_project()
    project.kedro("run", f"--env={env}", "--pipelines=ingestion,feature_extraction", f"--params={','.join(given)}")
    vectors = VectorStore(project.folder / f"data/04_feature/{env}/features").load()
    assert sorted(vectors.ids) == present
    row_of = {name: row for row, name in enumerate(files)}
    stored = np.load(reference(env, "features/efficientnet_lite0.npz"))["X"]
    theirs = stored[[row_of[name] for name in vectors.ids]].astype(float)
    ours = vectors.matrix.astype(float)
    cosine = (ours * theirs).sum(axis=1) / np.linalg.norm(ours, axis=1) / np.linalg.norm(theirs, axis=1)
    assert cosine.min() > 0.99999  # what is left comes from the 16 bits on disk
