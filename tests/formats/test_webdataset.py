"""Images in tar files: labels, templates, and pixels read where they lie."""

import io
import tarfile

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from aezsl.data.vector_store import VectorStore
from aezsl.encoders.images.backbones import Backbone
from aezsl.encoders.images.extraction import extract_to_store
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.encoders.texts.semantics import resolve_sources
from aezsl.errors import DataError
from aezsl.formats.images import read_content, read_image
from aezsl.formats.webdataset import WebDataset, read_templates
from aezsl.machine.files import file_digest, has_digest, split_member

COLOURS = [(250, 0, 0), (0, 250, 0), (0, 0, 250)]


def png(colour):
    stream = io.BytesIO()
    Image.new("RGB", (6, 6), colour).save(stream, "png")
    return stream.getvalue()


def write_tar(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))


@pytest.fixture
def root(tmp_path):
    (tmp_path / "classnames.txt").write_text("red thing\ngreen thing\nblue thing\n")
    (tmp_path / "zeroshot_classification_templates.txt").write_text("a photo of a {c}.\na drawing of a {}.\n")
    for folder, labels in (("train", [0, 1, 1]), ("test", [2, 0])):
        members = {}
        for number, label in enumerate(labels):
            members |= {f"s{number:04d}.png": png(COLOURS[label]), f"s{number:04d}.cls": f"{label}\n".encode()}
        write_tar(tmp_path / folder / "0.tar", members)
    write_tar(tmp_path / "test" / "1.tar", {"s0.png": png((9, 9, 9)), "s0.json": b"{}", "note.txt": b"no sample"})
    return tmp_path


def test_images_and_their_classes(root):
    data = WebDataset(root=str(root)).read()
    assert data.classes["class_name"].tolist() == ["red thing", "green thing", "blue thing"]
    labels = dict(zip(data.images["image_id"], data.images["class_name"], strict=True))
    assert labels["train/0.tar/s0002.png"] == "green thing"
    assert labels["test/0.tar/s0000.png"] == "blue thing"
    assert labels["test/1.tar/s0.png"] is None
    assert len(labels) == 6
    path = data.images.set_index("image_id").loc["train/0.tar/s0002.png", "path"]
    assert read_image(path).getpixel((0, 0)) == COLOURS[1]
    assert has_digest(path, file_digest(path))
    assert not has_digest(path, file_digest(data.images["path"][0]))


def test_roles_and_the_official_part(root):
    (root / "unseen.txt").write_text("blue thing\n")
    data = WebDataset(root=str(root), unseen_list="unseen.txt").read()
    assert data.classes["role"].tolist() == ["seen", "seen", "unseen"]
    official = dict(zip(data.images["image_id"], data.images["official"], strict=True))
    assert official["train/0.tar/s0000.png"] == "train"
    assert official["test/0.tar/s0001.png"] == "test_seen"
    assert official["test/0.tar/s0000.png"] == "test_unseen"


def test_features_are_extracted_from_the_shards(root, tmp_path):
    images = WebDataset(root=str(root)).read().images
    preprocess = lambda image: np.asarray(image, dtype=np.float32).transpose(2, 0, 1)  # noqa: E731
    backbone = Backbone({"backbone": "mean"}, lambda: (preprocess, lambda batch: batch.mean(axis=(2, 3))))
    store = VectorStore(tmp_path / "store")
    settings = ExtractionSettings(batch_size=2, shard_size=4)
    store.use(extract_to_store(backbone, images, store, settings)[0])
    found = store.load().get(images["image_id"].tolist(), "images", "the store")
    expected = [read_image(path).getpixel((0, 0)) for path in images["path"]]
    np.testing.assert_allclose(found, expected)
    known = store.known(backbone.fingerprint)
    assert all(has_digest(path, known[name]) for name, path in zip(images["image_id"], images["path"], strict=True))


def test_templates_come_from_a_file(root):
    path = root / "zeroshot_classification_templates.txt"
    expected = ["a photo of a {}.", "a drawing of a {}."]
    assert read_templates(path) == expected
    classes = pd.DataFrame({"class_name": ["a"], "text": ["a"]})
    (source,) = resolve_sources(classes, [{"kind": "text", "templates": str(path)}])
    assert source["templates"] == expected
    path.write_text("no place\n")
    with pytest.raises(DataError):
        read_templates(path)


def test_a_file_with_the_name_of_a_member_is_a_file(tmp_path):
    path = tmp_path / "a::1+2::b.png"
    path.write_bytes(b"content")
    assert read_content(path) == b"content"
    assert has_digest(path, file_digest(path))


def test_broken_data_is_named(root):
    write_tar(root / "train" / "9.tar", {"a.png": png((1, 1, 1)), "a.cls": b"7"})
    with pytest.raises(DataError, match=r"9\.tar, a\.cls"):
        WebDataset(root=str(root)).read()
    write_tar(root / "train" / "9.tar", {"a.txt": b"x"})
    with pytest.raises(DataError, match=r"9\.tar"):
        WebDataset(root=str(root)).read()
    (root / "train" / "9.tar").write_bytes(b"this is no archive" * 100)
    with pytest.raises(DataError, match=r"9\.tar"):
        WebDataset(root=str(root)).read()
    (root / "train" / "9.tar").unlink()
    path = WebDataset(root=str(root)).read().images["path"].iloc[-1]
    shard = split_member(path)[0]
    shard.write_bytes(shard.read_bytes()[:200])
    with pytest.raises(DataError):
        read_content(path)
    for tar in root.rglob("*.tar"):
        tar.unlink()
    with pytest.raises(DataError, match="tar"):
        WebDataset(root=str(root)).read()
