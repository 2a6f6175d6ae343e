import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorSet
from aezsl.encoders.images import encoder, extraction, pictures
from aezsl.encoders.images.backbones import Backbone
from aezsl.encoders.images.encoder import gather_features
from aezsl.encoders.images.extraction import UnreadableImagesError, extract_features
from aezsl.encoders.images.settings import ExtractionSettings
from aezsl.errors import DataError, ParameterError
from aezsl.formats.images import read_image


class Counting:
    """A backbone that is cheap to run and counts its images: the mean colour."""

    def __init__(self, name="counting"):
        self.seen = 0
        self.backbone = Backbone({"backbone": name}, lambda: (self._preprocess, self._run))

    def _preprocess(self, image):
        return np.asarray(image.resize((4, 4)), dtype=np.float32).transpose(2, 0, 1)

    def _run(self, batch):
        self.seen += len(batch)
        return batch.mean(axis=(2, 3))


@pytest.fixture
def images(tmp_path):
    rows = []
    for i in range(25):
        path = tmp_path / f"{i}.png"
        Image.new("RGB", (10, 10), (i * 10, 0, 255 - i * 10)).save(path)
        rows.append((str(i), str(path), "class"))
    return pd.DataFrame(rows, columns=["image_id", "path", "class_name"])


@pytest.fixture
def store(tmp_path):
    return VectorStore(tmp_path / "store")


def settings(backbone="x", **others):
    return ExtractionSettings(backbone=backbone, batch_size=4, shard_size=8, **others)


def run(images, store, counting, stop_after=None):
    known = store.known(counting.backbone.fingerprint)
    for number, (chunk, _) in enumerate(extract_features(images, known, counting.backbone, 4, 8), start=1):
        store.add(chunk)
        if number == stop_after:
            break
    store.use(VectorSet(counting.backbone.fingerprint))


def test_features_belong_to_their_images(images, store):
    run(images, store, Counting())
    vectors = store.load()
    rows = vectors.find(images["image_id"].tolist())
    np.testing.assert_allclose(vectors.matrix[rows, 0], np.arange(25) * 10, atol=1e-3)


def test_interrupted_work_resumes_and_a_second_run_computes_nothing(images, store):
    first, second, third = Counting(), Counting(), Counting()
    run(images, store, first, stop_after=1)  # one shard of 8 is saved
    assert len(store.load().ids) == 8
    run(images, store, second)
    assert second.seen == 17
    run(images, store, third)
    assert third.seen == 0
    assert len(store.load().ids) == 25


def test_changed_images_and_changed_backbones_are_computed_again(images, store):
    run(images, store, Counting())
    Image.new("RGB", (10, 10), (7, 7, 7)).save(images["path"][3])
    os.utime(images["path"][3], ns=(1, 1))
    again = Counting()
    run(images, store, again)
    assert again.seen == 1
    other = Counting("other")
    run(images, store, other)
    assert other.seen == 25


def test_unreadable_images_fail_by_name_or_are_skipped(images, tmp_path, monkeypatch):
    (tmp_path / "3.png").write_bytes(b"this is not a picture")
    (tmp_path / "20.png").unlink()
    monkeypatch.setattr(encoder, "make_backbone", lambda *_: Counting().backbone)
    cache = VectorStore(tmp_path / "store")
    with pytest.raises(UnreadableImagesError, match=r"3\.png(?s:.)*20\.png"):
        gather_features(images, cache, settings())
    _, unreadable = gather_features(images, cache, settings(on_error="skip"))
    assert set(unreadable) == {"3", "20"}


def test_another_image_of_the_same_name_size_and_time_is_not_taken_for_it(tmp_path, store):
    """Two folders, as an archive unpacks them: bitmaps of one size have files of one size."""
    for folder, colour in (("one", (250, 0, 0)), ("two", (0, 0, 250))):
        (tmp_path / folder).mkdir()
        Image.new("RGB", (10, 10), colour).save(tmp_path / folder / "0.bmp")
        os.utime(tmp_path / folder / "0.bmp", ns=(1, 1))
    for folder, expected in (("one", [250, 0, 0]), ("two", [0, 0, 250]), ("one", [250, 0, 0])):
        images = pd.DataFrame({"image_id": ["0.bmp"], "path": [str(tmp_path / folder / "0.bmp")]})
        run(images, store, Counting())
        np.testing.assert_allclose(store.load().get(["0.bmp"], "images", "store")[0], expected, atol=1e-3)
    again = Counting()
    run(images, store, again)
    assert again.seen == 0


def test_a_copy_of_an_image_at_another_time_is_known(images, store):
    run(images, store, Counting())
    os.utime(images["path"][3], ns=(1, 1))
    again = Counting()
    run(images, store, again)
    assert again.seen == 0


def test_few_batches_are_decoded_ahead_of_the_network(images, monkeypatch):
    """Not whole shards: the network would wait for them, and they would fill the memory."""
    monkeypatch.setattr(extraction, "available_cores", lambda: 2)
    counting, ahead = Counting(), []
    opened = []

    def preprocess(image):
        opened.append(1)
        return Counting._preprocess(counting, image)

    def network(batch):
        ahead.append(len(opened) - counting.seen)
        return counting._run(batch)

    backbone = Backbone({}, lambda: (preprocess, network))
    shards = list(extract_features(images, {}, backbone, batch_size=1, shard_size=25))
    assert [len(chunk.ids) for chunk, _ in shards] == [25]
    assert max(ahead) <= 4  # one image on each core, one more by a race, and the look at how large images must be


def test_several_backbones_stand_side_by_side_and_adding_one_computes_only_that(images, store, monkeypatch):
    made = {name: Counting(name) for name in ("first", "second")}
    monkeypatch.setattr(encoder, "make_backbone", lambda name, *_: made[name].backbone)
    store.use(gather_features(images, store, settings("first"))[0])
    alone = store.load()
    store.use(gather_features(images, store, settings(["first", "second"]))[0])
    assert [counting.seen for counting in made.values()] == [25, 25]
    both = store.load()
    assert both.fingerprint != alone.fingerprint
    vectors = both.get(images["image_id"].tolist(), "images", "the store")
    expected = alone.get(images["image_id"].tolist(), "images", "the store")
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(vectors, np.hstack([expected, expected]), rtol=1e-6)
    streamed = VectorStore(store.folder, streamed=True).load()
    np.testing.assert_array_equal(streamed.get(images["image_id"].tolist(), "images", "the store"), vectors)
    loaded = encoder.make_encoder(settings("first+second")).load()  # as predict does
    np.testing.assert_allclose(loaded([read_image(path) for path in images["path"]]), vectors, rtol=1e-6)
    store.use(gather_features(images, store, settings("first"))[0])
    assert store.load().fingerprint == alone.fingerprint
    assert made["first"].seen == 50  # the 25 of loaded


def test_files_and_backbones_mix(images, store, tmp_path, monkeypatch):
    monkeypatch.setattr(encoder, "make_backbone", lambda *_: Counting().backbone)
    for name, scale in (("a", 1.0), ("b", 5.0)):
        np.savez(tmp_path / f"{name}.npz", X=np.full((25, 4), scale, dtype=np.float32))
    both = f"{tmp_path}/a.npz+{tmp_path}/b.npz"
    store.use(gather_features(images, store, settings("file", path=both))[0])
    np.testing.assert_allclose(store.load().take(np.arange(25)), 0.5)
    mixed = ["counting", {"backbone": "file", "path": str(tmp_path / "a.npz")}]
    store.use(gather_features(images, store, settings(mixed))[0])
    assert store.load().take(np.arange(25)).shape == (25, 7)
    store.use(gather_features(images, store, settings("counting+file", path=str(tmp_path / "b.npz")))[0])
    assert store.load().take(np.arange(25)).shape == (25, 7)


def test_one_file_of_weights_for_several_backbones_is_refused():
    with pytest.raises(ParameterError, match=r"mine\.pth"):
        encoder.make_encoder(ExtractionSettings(backbone="vgg16+vgg19", weights="mine.pth"))


def test_photos_are_decoded_as_large_as_the_network_looks_at_them(tmp_path):
    Image.new("RGB", (1600, 1200)).save(tmp_path / "photo.jpg")
    seen = []

    def looking_at(side):
        def preprocess(image):
            seen.append(min(image.size))
            return np.zeros((3, side, side), dtype=np.float32)

        return Backbone({"side": side}, lambda: (preprocess, lambda batch: batch.mean(axis=(2, 3))))

    for side, expected in ((224, 600), (518, 600), (700, 1200)):
        encoder.ImageEncoder((looking_at(side),)).load()([str(tmp_path / "photo.jpg")])
        assert seen[-1] == expected


@pytest.fixture
def loaded(monkeypatch):
    """Two networks that want images of one size, side by side on two cores, and how often an image was decoded."""
    decoded = []

    def counted(*given):
        decoded.append(given[1])
        return read_image(*given)

    monkeypatch.setattr(pictures, "available_cores", lambda: 2)
    monkeypatch.setattr(pictures, "read_image", counted)
    both = encoder.ImageEncoder((Counting("first").backbone, Counting("second").backbone))
    return both.load(side_by_side=True), both.load(), decoded


def test_images_side_by_side_have_the_features_of_images_in_turn_and_are_decoded_once(images, loaded):
    side_by_side, in_turn, decoded = loaded
    for paths in (images["path"].tolist(), images["path"][:1].tolist(), images["path"][:3].tolist()):
        expected = in_turn(paths)
        decoded.clear()
        np.testing.assert_array_equal(side_by_side(paths), expected)
        assert sorted(decoded) == sorted(paths)
    with Image.open(images["path"][3]) as opened:  # one object, whose file is read by whoever comes first
        np.testing.assert_array_equal(side_by_side([opened] * 9), in_turn([images["path"][3]] * 9))


def test_an_image_that_cannot_be_read_is_named_by_its_number_where_there_are_several(images, loaded):
    good = (images["path"].map(lambda path: Path(path).read_bytes())).tolist()
    with pytest.raises(DataError, match="image 7"):
        loaded[0]([*good[:7], b"no image", *good[8:]])
    with pytest.raises(DataError):
        loaded[0]([b"no image"])
