"""ImageNet as folders named by wnid, with lists of seen and candidate classes."""

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from aezsl.data.benchmark import OFFICIAL_PARTS, Benchmark
from aezsl.errors import DataError
from aezsl.formats.image_folders import ImageFolders
from aezsl.formats.reading import BenchmarkFormat, find_list, first_few, logger, read_names, reading
from aezsl.formats.wordnet import WNID

#: Paths of some images of one or several classes, and the wnid of each.
Block = tuple[pa.Array, pa.Array]


class ImageNet(BenchmarkFormat):
    """``<wnid>/*.JPEG`` below one or several folders; a class is named by its wnid, and may have no image.

    root : the folder that holds the wnid folders, or the folders that hold them.
    seen_list, unseen_list : files of wnids, one per line: the classes to learn from, and the candidates of zero-shot
        prediction. With both, the classes are exactly theirs, and other folders are passed over; with one of them,
        all other folders have the other role; without, there are no roles.
    words : file of ``wnid<TAB>words`` lines (``words.txt``): the text of a class.
    folders : which folders below root hold wnid folders, and the official part that each stands for (or null), as in
        ``{train: train, val: test_seen, fall11: test_unseen}``; folders of test images may be missing. The default is
        root itself.
    image_list : file with the paths of the images below root, one per line, instead of a walk through the folders.
    features : ``.npz`` file of stored features with an array ``wnid``, one row per image, instead of images. Their ids
        are wnid and row, and ``feature_extraction.path`` names the same file.

    A million images fit in little memory: names go to Arrow as they are read, class names are categories.
    """

    def __init__(
        self,
        *,
        root: str,
        seen_list: str | None = None,
        unseen_list: str | None = None,
        words: str | None = None,
        folders: dict[str, str | None] | None = None,
        image_list: str | None = None,
        features: str | None = None,
    ) -> None:
        super().__init__(root=root)
        self.folders = folders or {"": None}
        if bad := sorted({part for part in self.folders.values() if part} - set(OFFICIAL_PARTS)):
            raise DataError(f"folders: {bad[0]!r} is not an official part; they are {', '.join(OFFICIAL_PARTS)}")
        self.seen_list, self.unseen_list, self.words, self.image_list = seen_list, unseen_list, words, image_list
        self.features = features

    def read(self) -> Benchmark:
        """List the images and read the lists; no image is opened."""
        seen = self._wnids(self.seen_list, "the seen classes")
        unseen = self._wnids(self.unseen_list, "the candidate classes")
        if both := [name for name in unseen if name in set(seen)]:
            raise DataError(f"{self.seen_list} and {self.unseen_list} both name {first_few(both)}")
        ids, wnids = self._collect(set(seen) | set(unseen) if seen and unseen else None)
        found = sorted(wnids.categories)
        listed = dict.fromkeys([*seen, *unseen])
        names = [*listed, *(name for name in found if name not in listed)]
        classes = pd.DataFrame({"class_name": names, "wnid": names})
        if seen or unseen:
            known, role, other = (set(seen), "seen", "unseen") if seen else (set(unseen), "unseen", "seen")
            classes["role"] = [role if name in known else other for name in names]
            self._check_images(classes, set(found))
        if self.words is not None:
            classes["text"] = self._texts(names)
        return Benchmark(self._images(ids, wnids.set_categories(names)), classes)

    def _wnids(self, given: str | None, what: str) -> list[str]:
        if given is None:
            return []
        path = find_list(self.root, given, what)
        names = read_names(path, what)
        if bad := [name for name in names if not WNID.fullmatch(name)]:
            raise DataError(f"{path}: expected one wnid like n01440764 per line, got {first_few(bad)}")
        return names

    @staticmethod
    def _check_images(classes: pd.DataFrame, found: set[str]) -> None:
        seen = classes["class_name"][classes["role"] == "seen"]
        if missing := [name for name in seen if name not in found]:
            raise DataError(
                f"no image of the seen classes {first_few(missing)}: add their folders, or take them off the seen list"
            )

    def _collect(self, wanted: set[str] | None) -> tuple[pa.ChunkedArray, pd.Categorical]:
        """Ids and classes of all images, or of those of the wanted classes."""
        if self.features is not None:
            blocks = [self._stored(self.features)]
        else:
            blocks = list(self._scanned(wanted) if self.image_list is None else self._listed(self.image_list))
        ids = pa.chunked_array([block[0] for block in blocks], pa.string())
        wnids = pa.chunked_array(
            [block[1].dictionary_encode() for block in blocks], pa.dictionary(pa.int32(), pa.string())
        )
        if wanted is not None:
            keep = pc.is_in(wnids.cast(pa.string()), pa.array(sorted(wanted)))
            if passed_over := len(keep) - (pc.sum(keep).as_py() or 0):
                logger.info("%d images of classes that are on no list are passed over", passed_over)
            ids, wnids = ids.filter(keep), wnids.filter(keep)
        if not len(ids):
            raise DataError(f"no image of the wanted classes below {self.root}: expected {self._expected()}")
        codes = wnids.unify_dictionaries().combine_chunks()
        categories = codes.dictionary.to_pylist()
        values = pd.Categorical.from_codes(codes.indices.to_numpy(), categories=pd.Index(categories))
        return ids, values.remove_unused_categories()

    def _expected(self) -> str:
        return " or ".join(f"{os.path.join(folder, 'n01440764')}/*.JPEG" for folder in self.folders)

    def _scanned(self, wanted: set[str] | None) -> Iterator[Block]:
        for folder in self.folders:
            if str(self.folders[folder]).startswith("test") and not (self.root / folder).is_dir():
                continue
            place = self.require(folder, "folders of images named by wnid") if folder else self.root
            listing = ImageFolders(place)
            names = [name for name in listing.folders(place) if WNID.fullmatch(name)]
            if not names:
                raise DataError(f"{place} has no folder named by a wnid, like n01440764")
            for name in names:
                if wanted is None or name in wanted:
                    prefix = f"{folder.strip('/')}/{name}/" if folder else f"{name}/"
                    files = [prefix + file for file in listing.images(place / name, name)]
                    yield pa.array(files, pa.string()), pa.repeat(pa.scalar(name, pa.string()), len(files))
            listing.log_rest()

    def _listed(self, given: str) -> Iterator[Block]:
        path = find_list(self.root, given, "paths of images")
        with reading(path, "paths of images, one per line"):
            # The delimiter cannot occur in a text file: a line is a path, whatever is in it.
            parse = pyarrow.csv.ParseOptions(delimiter="\x1f", quote_char=False)
            convert = pyarrow.csv.ConvertOptions(column_types={"path": pa.string()})
            read = pyarrow.csv.ReadOptions(column_names=["path"], block_size=1 << 22, use_threads=False)
            with pyarrow.csv.open_csv(path, read, parse, convert) as batches:
                for batch in batches:
                    yield batch["path"], self._wnid_of(path, batch["path"])

    def _stored(self, given: str) -> Block:
        path = find_list(self.root, given, "stored features")
        with reading(path, "stored features"), np.load(path, allow_pickle=False) as arrays:
            if "wnid" not in arrays:
                raise DataError(f"{path}: expected an array wnid, one per image, got {', '.join(arrays.files)}")
            wnids = arrays["wnid"].tolist()
        if bad := [name for name in wnids if not WNID.fullmatch(name)]:
            raise DataError(f"{path}: expected wnids like n01440764, got {first_few(bad)}")
        return pa.array([f"{name}/{row:07d}" for row, name in enumerate(wnids)]), pa.array(wnids, pa.string())

    @staticmethod
    def _wnid_of(source: Path, paths: pa.Array) -> pa.Array:
        wnids = pc.struct_field(pc.extract_regex(paths, r"(?:^|/)(?P<wnid>n\d{8})/[^/]+$"), "wnid")
        if wnids.null_count:
            bad = paths.filter(pc.is_null(wnids))
            raise DataError(f"{source}: expected paths like n01440764/n01440764_18.JPEG, got {bad[0].as_py()!r}")
        return wnids

    def _images(self, ids: pa.ChunkedArray, wnids: pd.Categorical) -> pd.DataFrame:
        prefix = os.path.join(self.root.absolute(), "")
        table = pa.table({"image_id": ids, "path": pc.binary_join_element_wise(pa.scalar(prefix), ids, "")})
        images: pd.DataFrame = table.to_pandas(split_blocks=True, self_destruct=True)
        images["class_name"] = wnids
        if any(self.folders.values()) and self.features is None:
            images["official"] = pd.Categorical.from_codes(self._parts(ids), categories=pd.Index(OFFICIAL_PARTS))
        return images

    def _parts(self, ids: pa.ChunkedArray) -> NDArray[np.int8]:
        codes = np.full(len(ids), -1, dtype=np.int8)
        for folder, part in self.folders.items():
            if part is not None:
                inside = pc.starts_with(ids, f"{folder.strip('/')}/" if folder else "")
                codes[np.asarray(inside)] = OFFICIAL_PARTS.index(part)
        return codes

    def _texts(self, names: list[str]) -> list[str]:
        path = find_list(self.root, self.words or "", "wnid<TAB>words lines")
        wanted, texts = set(names), {}
        with reading(path, "wnid<TAB>words lines"), path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                wnid, tab, words = line.rstrip("\r\n").partition("\t")
                if line.strip() and (not tab or not words.strip() or not WNID.fullmatch(wnid)):
                    raise DataError(f"{path}, line {number}: expected wnid<TAB>words, got {line.strip()!r}")
                if wnid in wanted:
                    texts[wnid] = words.strip()
        if missing := [name for name in names if name not in texts]:
            raise DataError(f"{path} has no words for {first_few(missing)}: add them, or take them off the lists")
        return [texts[name] for name in names]
