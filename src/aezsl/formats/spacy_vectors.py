"""Word vectors as spaCy's pipelines store them, read without spaCy.

Below ``vocab/``: ``vectors`` is a matrix (rows, d) in NumPy's format, ``key2row`` a msgpack map from the hash of a word
to its row. Many words share a row. The hash is MurmurHash64A of the word in UTF-8 with seed 1.
"""

from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from aezsl.errors import DataError
from aezsl.formats.reading import FETCH_AGAIN, check_shape, reading

Vectors = dict[str, NDArray[np.float32]]

_MASK = 2**64 - 1
_FACTOR, _SHIFT = 0xC6A4A7935BD1E995, 47


def vectors_place(path: str) -> Path:
    """The file or folder that a path names; where there is none, the folder of the installed package of that name."""
    place = Path(path).expanduser()
    if place.exists() or not path.isidentifier():
        return place
    found = find_spec(path)
    return Path(found.origin).parent if found is not None and found.origin else place


def is_spacy_folder(path: Path) -> bool:
    """Whether a folder holds a pipeline of spaCy, or is its ``vocab``."""
    return path.is_dir() and _vocab(path) is not None


def read_spacy_vectors(folder: Path, wanted: Collection[str]) -> Vectors:
    """Vectors of those wanted words that the pipeline has."""
    vocab = _vocab(folder)
    if vocab is None:
        raise DataError(f"{folder} has no vocab/vectors and vocab/key2row: expected a pipeline of spaCy with vectors")
    with reading(vocab, "vectors of spaCy"):
        matrix = np.load(vocab / "vectors", mmap_mode="r", allow_pickle=False)
        rows = read_int_map((vocab / "key2row").read_bytes())
    if matrix.ndim != 2 or matrix.dtype.kind != "f":
        raise DataError(
            f"{vocab / 'vectors'}: expected a matrix of numbers, got {matrix.dtype} of shape {matrix.shape}"
        )
    if rows and not -1 <= min(rows.values()) <= max(rows.values()) < len(matrix):  # -1: a word without a vector
        raise DataError(
            f"{vocab / 'key2row'} names rows from {min(rows.values())} to {max(rows.values())}, but vectors has "
            f"{len(matrix)}; {FETCH_AGAIN}"
        )
    places = {word: rows.get(word_hash(word), -1) for word in wanted}
    found = {word: np.asarray(matrix[row], dtype=np.float32) for word, row in places.items() if row >= 0}
    for word, vector in found.items():
        check_shape(vector, (matrix.shape[1],), f"{vocab / 'vectors'}, vector of {word!r}")
    return found


def _vocab(folder: Path) -> Path | None:
    """The folder of the vectors: this one, the one below, or that of the only pipeline in it (a package)."""
    places = (folder, folder / "vocab", *sorted(folder.glob("*/vocab")))
    return next((place for place in places if (place / "vectors").is_file() and (place / "key2row").is_file()), None)


def word_hash(word: str) -> int:
    """MurmurHash64A of the word in UTF-8, seed 1."""
    data = word.encode("utf-8")
    n = len(data)
    h = (1 ^ (n * _FACTOR)) & _MASK
    whole = n - n % 8
    for start in range(0, whole, 8):
        k = (int.from_bytes(data[start : start + 8], "little") * _FACTOR) & _MASK
        k = ((k ^ (k >> _SHIFT)) * _FACTOR) & _MASK
        h = ((h ^ k) * _FACTOR) & _MASK
    if n % 8:
        h = ((h ^ int.from_bytes(data[whole:], "little")) * _FACTOR) & _MASK
    h = ((h ^ (h >> _SHIFT)) * _FACTOR) & _MASK
    return h ^ (h >> _SHIFT)


def read_int_map(data: bytes) -> dict[int, int]:
    """A msgpack map of whole numbers; anything else in it is refused."""
    size, at = _map_header(data)
    numbers = []
    for _ in range(2 * size):
        value, at = _integer(data, at)
        numbers.append(value)
    return dict(zip(numbers[::2], numbers[1::2], strict=True))


def _map_header(data: bytes) -> tuple[int, int]:
    kind = data[0]
    if kind & 0xF0 == 0x80:
        return kind & 0x0F, 1
    width = {0xDE: 2, 0xDF: 4}.get(kind)
    if width is None:
        raise DataError(f"a msgpack map was expected, got a value of kind {kind:#x}")
    return int.from_bytes(data[1 : 1 + width], "big"), 1 + width


def _integer(data: bytes, at: int) -> tuple[int, int]:
    kind = data[at]
    if kind < 0x80:  # a small one stands for itself
        return kind, at + 1
    if kind >= 0xE0:
        return kind - 256, at + 1
    if not 0xCC <= kind <= 0xD3:
        raise DataError(f"a whole number was expected, got a msgpack value of kind {kind:#x}")
    width = 1 << (kind - 0xCC) % 4
    if len(data) < at + 1 + width:
        raise DataError("the map ends in the middle of a number")
    return int.from_bytes(data[at + 1 : at + 1 + width], "big", signed=kind >= 0xD0), at + 1 + width
