"""Files of word or class vectors: word2vec and GloVe text, word2vec binary, ``.npz`` and parquet."""

import gzip
import re
from codecs import BOM_UTF8
from collections.abc import Collection, Iterator
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from aezsl.errors import DataError
from aezsl.formats.reading import FETCH_AGAIN, check_shape, reading

NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?|[-+]?(nan|inf)", re.IGNORECASE)

Vectors = dict[str, NDArray[np.float32]]
Row = tuple[str, NDArray[np.float32]]


def read_vectors(path: str | Path, wanted: Collection[str] | None = None) -> Vectors:
    """Vectors by name: of the wanted names that the file has, or of all.

    The kind of file follows from its name: ``.npz`` (an array ``vectors`` (n, d) and one of n names), ``.parquet``
    (columns ``name`` and ``vector``), ``.bin`` (word2vec), and text for anything else (one name and its numbers per
    line, after an optional line of count and dimension), all but the first two also as ``.gz``. Big files are read as
    a stream, up to the last wanted name. Of a name that occurs twice, the first vector counts.
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path} is missing: it should hold word or class vectors")
    lookup = None if wanted is None else frozenset(wanted)
    kind = path.suffixes[-2] if path.suffix == ".gz" and len(path.suffixes) > 1 else path.suffix
    read = {".npz": _npz, ".parquet": _parquet, ".bin": _binary}.get(kind, _text)
    found: Vectors = {}
    if lookup is not None and not lookup:
        return found
    with reading(path, "vectors"):
        shape = None
        for name, vector in read(path, lookup):
            shape = shape or vector.shape
            check_shape(vector, shape, f"{path}, vector of {name!r}")
            found.setdefault(name, vector)
            if (
                lookup is not None and len(found) == len(lookup) and path.suffix != ".gz"
            ):  # that has a check sum at its end
                break
    return found


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path) if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def _header(line: bytes) -> tuple[int, int] | None:
    """Count and dimension from the first line of a word2vec file; GloVe has none."""
    fields = line.split()
    return (int(fields[0]), int(fields[1])) if len(fields) == 2 and all(f.isdigit() for f in fields) else None


def _text(path: Path, wanted: frozenset[str] | None) -> Iterator[Row]:
    longer: dict[str, int] = {}  # names of which a line has more numbers than it should, if they are numbers
    with _open(path) as lines:
        first = lines.readline().removeprefix(BOM_UTF8)
        header = _header(first)
        dimension = header[1] if header else _count_numbers(first)
        if dimension < 1:
            raise DataError(f"{path}: expected a name and its numbers per line, got {first[:60]!r}")
        # A look at the first word spares most lines, which are not wanted, from being taken apart.
        starts = None if wanted is None else {name.encode().split(b" ", 1)[0] for name in wanted}
        count, line = 0, lines.readline() if header else first
        while line:
            if line.strip():
                count += 1
                if starts is None or line[: line.find(b" ")] in starts:
                    # The numbers stand last: a few names of GloVe contain spaces.
                    name, *numbers = line.rstrip().rsplit(b" ", dimension)
                    if len(numbers) != dimension:
                        raise DataError(f"{path}, vector {count}: expected {dimension} numbers; {FETCH_AGAIN}")
                    text = name.decode("utf-8", errors="replace")
                    if wanted is None or text in wanted:
                        longer.pop(text, None)
                        yield text, _numbers(path, count, numbers)
                    elif short := _before_numbers(text, wanted):
                        longer.setdefault(short, count)
            line = lines.readline()
    if longer:
        word, count = next(iter(longer.items()))
        raise DataError(f"{path}, vector {count}, of {word!r}: expected {dimension} numbers, got more; {FETCH_AGAIN}")
    if header and count != header[0]:
        raise DataError(f"{path}: its first line says {header[0]} vectors, there are {count}; {FETCH_AGAIN}")


def _count_numbers(line: bytes) -> int:
    """How many numbers stand at the end of a line, behind a name, which may be a number too or have spaces."""
    fields = line.decode("utf-8", errors="replace").split()[1:]
    return len(list(takewhile(NUMBER.fullmatch, reversed(fields))))


def _before_numbers(text: str, wanted: frozenset[str]) -> str | None:
    """The wanted name that a text begins with, where all that follows is numbers."""
    name, *rest = text.split(" ")
    while rest and not (name in wanted and all(map(NUMBER.fullmatch, rest))):
        name, *rest = f"{name} {rest[0]}", *rest[1:]
    return name if rest else None


def _numbers(path: Path, count: int, fields: list[bytes]) -> NDArray[np.float32]:
    try:
        return np.array([float(field) for field in fields], dtype=np.float32)
    except ValueError as error:
        raise DataError(f"{path}, vector {count}: {error}; expected {len(fields)} numbers") from error


def _binary(path: Path, wanted: frozenset[str] | None) -> Iterator[Row]:
    with _open(path) as file:
        header = _header(file.readline(100))
        if header is None:
            raise DataError(f"{path}: expected count and dimension in the first line of a word2vec file")
        count, dimension = header
        for i in range(count):
            name = bytearray()
            while (letter := file.read(1)) not in (b" ", b""):
                name += letter
            data = file.read(4 * dimension)
            if len(data) != 4 * dimension:
                raise DataError(f"{path} ends in vector {i + 1} of {count}; {FETCH_AGAIN}")
            text = name.decode("utf-8", errors="replace").lstrip("\n")
            if wanted is None or text in wanted:
                yield text, np.frombuffer(data, dtype="<f4").astype(np.float32)
        if file.read().strip():
            raise DataError(f"{path} has more lines than the {count} vectors that its first line says; {FETCH_AGAIN}")


def _npz(path: Path, wanted: frozenset[str] | None) -> Iterator[Row]:
    with np.load(path, allow_pickle=False) as content:
        names = [key for key in content.files if content[key].dtype.kind == "U" and content[key].ndim == 1]
        if "vectors" not in content.files or len(names) != 1:
            raise DataError(
                f"{path}: expected an array vectors (n, d) and one array of n names, got {', '.join(content.files)}"
            )
        labels, matrix = content[names[0]], content["vectors"]
    if matrix.ndim != 2 or len(matrix) != len(labels):
        raise DataError(f"{path}: expected vectors to be {len(labels)} rows, as {names[0]} has, got {matrix.shape}")
    for label, row in zip(labels.tolist(), matrix, strict=True):
        if wanted is None or label in wanted:
            yield label, row.astype(np.float32)


def _parquet(path: Path, wanted: frozenset[str] | None) -> Iterator[Row]:
    file = pq.ParquetFile(path, page_checksum_verification=True)
    if missing := {"name", "vector"} - set(file.schema_arrow.names):
        raise DataError(f"{path} has no column {', '.join(sorted(missing))}; it has {file.schema_arrow.names}")
    for batch in file.iter_batches(batch_size=10_000, columns=["name", "vector"]):
        for name, vector in zip(batch["name"].to_pylist(), _rows(batch["vector"]), strict=True):
            if wanted is None or name in wanted:
                yield name, vector


def _rows(column: pa.Array) -> Iterator[NDArray[Any]]:
    for value in column:
        yield np.asarray(value.values, dtype=np.float32)


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
