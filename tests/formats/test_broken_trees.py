"""Random damage to any file of any layout: a benchmark that is whole, or an error of ours that names a place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.errors import DataError
from aezsl.formats.awa2 import AWA2
from aezsl.formats.cub import CUB, N_ATTRIBUTES
from aezsl.formats.dogs import Dogs
from aezsl.formats.folder import Folder
from aezsl.formats.imagenet import ImageNet
from aezsl.formats.sun import SUN
from tests.helpers.layouts import CubFiles, write_awa2, write_dogs, write_folder, write_sun
from tests.helpers.trees import folder, quick, touch, write


def cub(root):
    present = np.random.default_rng(0).integers(0, 2, (4, N_ATTRIBUTES))
    shipped = np.ones((3, N_ATTRIBUTES))
    names = ["001.Auk", "002.Bee_eater", "003.Crow"]
    CubFiles(names, np.array([0, 1, 1, 2]), np.array([1, 0, 1, 1]), present, shipped).write(root)
    write(root / "unseen.txt", "003.Crow\n")
    return CUB(root=str(root), unseen_list="unseen.txt", official_split=True)


def sun(root):
    write_sun(root, ["a/abbey/1.jpg", "b/bakery/shop/2.jpg"], ["sailing", "driving"], np.eye(2))
    write(root / "unseen.txt", "a/abbey\n")
    return SUN(root=str(root), unseen_list="unseen.txt")


def dogs(root):
    names = ["n02085620-Chihuahua", "n02100583-vizsla", "n02110627-affenpinscher"]
    write_dogs(root, names)
    write(root / "unseen.txt", f"{names[2]}\n")
    write(root / "breeds.txt", "\n".join(names) + "\n")
    return Dogs(root=str(root), unseen_list="unseen.txt", breeds_list="breeds.txt")


def awa2(root):
    write_awa2(root, ["antelope", "grizzly+bear", "killer+whale"], 1, np.arange(6.0).reshape(3, 2))
    return AWA2(root=str(root))


def imagenet(root):
    wnids = [f"n{i:08d}" for i in range(1, 5)]
    for wnid in wnids[:3]:
        touch(root, f"train/{wnid}/{wnid}_1.JPEG")
    write(root / "seen.txt", "\n".join(wnids[:2]) + "\n")
    write(root / "unseen.txt", "\n".join(wnids[2:]) + "\n")
    write(root / "words.txt", "".join(f"{wnid}\tword, {wnid}\n" for wnid in wnids))
    lists = {"seen_list": "seen.txt", "unseen_list": "unseen.txt", "words": "words.txt"}
    return ImageNet(root=str(root), folders={"train": "train"}, **lists)


def own(root):
    columns = {"class_name": ["ant", "bee", "cat"], "role": ["seen", "seen", "unseen"], "legs": [6, 6, 4]}
    columns["description"] = ["small, busy", 'it "hums"', "soft"]
    write_folder(root, columns, [2, 1, 0], unlabelled=1)
    return Folder(root=str(root))


@st.composite
def damages(draw):
    """How to spoil a file, given its content: what remains of it, or None where it is gone."""
    kind = draw(st.sampled_from(["cut", "noise", "line", "swap", "empty", "gone"]))
    at, noise = draw(st.floats(0, 1, exclude_max=True)), draw(st.binary(min_size=1, max_size=8))

    def spoil(content):
        place = int(at * len(content))
        lines = content.splitlines(keepends=True) or [b""]
        line = int(at * len(lines))
        return {
            "cut": content[:place],
            "noise": content[:place] + noise + content[place + len(noise) :],
            "line": b"".join(lines[:line] + lines[line + 1 :]),
            "swap": b"".join([*lines[line:], *lines[:line]]),
            "empty": b"",
            "gone": None,
        }[kind]

    return spoil


@pytest.mark.parametrize("layout", [cub, sun, dogs, awa2, imagenet, own])
@quick
@given(spoil=damages(), which=st.floats(0, 1, exclude_max=True))
def test_a_damaged_file_is_refused_by_us_or_does_no_harm(layout, spoil, which):
    with folder() as root:
        dataset = layout(root)
        whole = dataset.read()
        files = sorted(path for path in root.rglob("*") if path.is_file())
        path = files[int(which * len(files))]
        content = spoil(path.read_bytes())
        path.unlink() if content is None else path.write_bytes(content)
        found, message = None, ""
        try:
            found = dataset.read()
        except DataError as error:
            message = str(error)
        # Kedro wraps what others raise into "Failed while loading": that would be a traceback from the depths.
        assert not message.startswith("Failed while loading"), message
        assert found is None or set(found.classes.columns) <= set(whole.classes.columns)
        assert found is not None or str(root) in message or "classes" in message, message
