"""Environments of which the reference data has no images, from generated trees in the official layout."""

import json

import numpy as np
import pandas as pd
from PIL import Image

from tests.helpers.trees import write

COLOURS = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0.1], [1, 0.5, 0], [1, 1, 0], [0, 0, 0.5]])


def paint(root, relative, colour, seed):
    path = root / relative
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = 255 * colour + np.random.default_rng(seed).normal(0, 20, (64, 64, 3))
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(path, quality=95)


def summary(project, env):
    found = json.loads((project.folder / f"data/05_model_input/{env}/problem_summary.json").read_text())
    return tuple(found[key] for key in ("n_seen", "n_unseen", "n_train", "n_test", "n_features"))


def test_awa2_in_its_official_layout(make_project, tmp_path):
    names = ["fox", "frog", "blue+whale", "polar+bear", "mole", "tiger", "lion", "seal"]
    write(tmp_path / "classes.txt", "".join(f"{i:8d}\t{name}\n" for i, name in enumerate(names, start=1)))
    write(tmp_path / "predicates.txt", "       1\tred\n       2\tgreen\n       3\tblue\n")
    np.savetxt(tmp_path / "predicate-matrix-continuous.txt", 100 * COLOURS, fmt="%8.2f")
    write(tmp_path / "trainclasses.txt", "\n".join(names[:6]) + "\n")
    write(tmp_path / "testclasses.txt", "\n".join(names[6:]) + "\n")
    for c, name in enumerate(names):
        for i in range(4):
            paint(tmp_path, f"JPEGImages/{name}/{name}_{10001 + i}.jpg", COLOURS[c], 10 * c + i)
    project = make_project()
    given = f"--params=awa2.root={tmp_path},feature_extraction.backbone=efficientnet_lite0"
    project.kedro("run", "--env=awa2", "--pipeline=eszsl", given)
    assert summary(project, "awa2") == (6, 2, 24, 8, 1280)
    found = json.loads((project.folder / "data/08_reporting/awa2/eszsl/metrics.json").read_text())
    assert found["accuracy"] == 1


def test_imagenet_from_folders_by_the_papers_network(make_project, tmp_path):
    """GoogLeNet with random weights, since its own are a download: what is shown is the road, not the accuracy."""
    wnids = [f"n{number:08d}" for number in range(1, 9)]
    for c, wnid in enumerate(wnids):
        for i in range(3):
            paint(tmp_path, f"{'train' if c < 6 else 'fall11'}/{wnid}/{wnid}_{i}.JPEG", COLOURS[c], 10 * c + i)
    write(tmp_path / "seen_1k.txt", "\n".join(wnids[:6]))
    for name in ("2hop", "3hop", "all"):
        write(tmp_path / f"unseen_{name}.txt", "\n".join(wnids[6:]))
    write(tmp_path / "words.txt", "".join(f"{wnid}\tthing {wnid}\n" for wnid in wnids))
    write(tmp_path / "wordnet.is_a.txt", "".join(f"n00000000 {wnid}\n" for wnid in wnids))
    np.savez(tmp_path / "vectors.npz", vectors=COLOURS.astype(np.float32), wnid=np.array(wnids))
    given = [f"imagenet.root={tmp_path}", "imagenet.features=null", "imagenet.words=words.txt"]
    given += ["imagenet.vectors=vectors.npz", "feature_extraction.backbone=googlenet"]
    project = make_project()
    arguments = f"--params={','.join([*given, 'feature_extraction.weights=random'])}"
    project.kedro("run", "--env=imagenet", "--pipeline=eszsl", arguments)
    assert summary(project, "imagenet") == (6, 2, 18, 6, 1024)
    predictions = pd.read_parquet(project.folder / "data/07_model_output/imagenet/eszsl/predictions.parquet")
    assert set(predictions["true"]) == set(wnids[6:])
    assert set(predictions["image_id"].str.partition("/")[0]) == {"fall11"}
