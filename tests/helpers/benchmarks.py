"""One small data set per format, by the name that the catalog gives the format."""

import io
import tarfile

import numpy as np

from aezsl.formats.awa2 import AWA2
from aezsl.formats.cub import CUB, N_ATTRIBUTES
from aezsl.formats.dogs import Dogs
from aezsl.formats.folder import Folder
from aezsl.formats.imagenet import ImageNet
from aezsl.formats.sun import SUN
from aezsl.formats.webdataset import WebDataset
from aezsl.formats.xlsa17 import Xlsa17
from tests.helpers.layouts import CubFiles, Xlsa17Files, write_awa2, write_dogs, write_folder, write_sun
from tests.helpers.trees import touch, write


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


def xlsa17(root):
    split = {
        "trainval_loc": [0, 1, 2],
        "train_loc": [0, 1],
        "val_loc": [2],
        "test_seen_loc": [3],
        "test_unseen_loc": [4, 5],
    }
    labels = np.array([0, 1, 0, 1, 2, 2])
    Xlsa17Files(["Auk", "Bee", "Crow"], np.eye(3), labels, np.arange(12.0).reshape(6, 2), split).write(root)
    return Xlsa17(root=str(root), name="TOY")


def webdataset(root):
    write(root / "classnames.txt", "ant\nbee\ncat\n")
    write(root / "unseen.txt", "cat\n")
    for shard in range(2):
        (root / "train").mkdir(exist_ok=True)
        with tarfile.open(root / f"train/{shard}.tar", "w") as tar:
            for sample in range(3):
                for suffix, content in (("jpg", b"picture"), ("cls", str(sample).encode())):
                    member = tarfile.TarInfo(f"{shard}{sample}.{suffix}")
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    return WebDataset(root=str(root), unseen_list="unseen.txt")


LAYOUTS = {layout.__name__: layout for layout in (cub, sun, dogs, awa2, imagenet, own, xlsa17, webdataset)}
