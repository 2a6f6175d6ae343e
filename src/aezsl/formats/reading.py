"""Helpers of readers: text, tables and MATLAB files, with errors that name the file."""

import difflib
import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from aezsl.errors import DataError
from aezsl.formats.names import duplicates

if TYPE_CHECKING:
    import pandas as pd

    from aezsl.data.benchmark import Benchmark

logger = logging.getLogger(__name__)

#: Published lists of unseen classes, one class per line; ``unseen_list`` takes their names. See data/01_raw/README.md.
SPLITS = Path(__file__).parent / "splits"
FETCH_AGAIN = "it may be truncated, or not the official file: fetch it again"


@contextmanager
def reading(path: Path, what: str, remedy: str = FETCH_AGAIN) -> Iterator[None]:
    """Turn whatever a parser raises over a broken file into an error that names the file, and what to do."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:  # parsers of foreign formats fail in their own ways: MatReadError, BadZipFile, ...
        reason = " ".join(f"{type(error).__name__}: {error}".split())  # some have several lines
        raise DataError(f"{path} cannot be read as {what} ({reason}); {remedy}") from error


def first_few(items: Iterable[object], shown: int = 3) -> str:
    """The first items of a collection and how many there are, for messages."""
    every = [str(item) for item in items]
    return f"{', '.join(every[:shown])}{', ...' if len(every) > shown else ''} ({len(every)} in all)"


def find_list(root: Path, given: str, what: str) -> Path:
    """A file that the user named: below the root of the data, where the path itself points, or a list shipped here."""
    for path in (root / given, Path(given).expanduser(), SPLITS / f"{given}.txt"):
        if path.is_file():
            return path
    shipped = ", ".join(sorted(path.stem for path in SPLITS.glob("*.txt")))
    raise DataError(
        f"{given} is neither a file below {root}, nor a path of its own, nor a list that comes with aezsl ({shipped}): "
        f"it should hold {what}"
    )


def read_lines(path: Path, what: str) -> list[str]:
    """The lines of a text file that are not blank, without surrounding space."""
    with reading(path, what):
        lines = [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    lines = [line for line in lines if line]
    if not lines:
        raise DataError(f"{path} is empty: it should hold {what}")
    return lines


def read_names(path: Path, what: str) -> list[str]:
    """One name per line, none of them twice."""
    names = read_lines(path, what)
    if repeated := duplicates(names):
        raise DataError(f"{path} names {first_few(repeated)} more than once; it should hold {what}, one per line")
    return names


def read_numbered(path: Path, what: str) -> list[str]:
    """The values of a file of ``<number> <value>`` lines, ordered by number: the numbers must be 1, 2, ..., n."""
    fields = [line.split(maxsplit=1) for line in read_lines(path, what)]
    for line, field in enumerate(fields, start=1):
        if len(field) != 2 or not field[0].isdecimal():
            raise DataError(
                f"{path}, entry {line}: expected '<number> <value>', got {' '.join(field)!r}; {FETCH_AGAIN}"
            )
    values = {int(number): value for number, value in fields}
    if len(values) != len(fields) or min(values) != 1 or max(values) != len(fields):
        raise DataError(
            f"{path}: the numbers must be 1 to {len(fields)}, each once; they run from {min(values)} to {max(values)} "
            f"with {len(values)} different ones in {len(fields)} lines; {FETCH_AGAIN}"
        )
    return [values[number] for number in range(1, len(values) + 1)]


def zero_based(numbers: NDArray[Any], size: int, source: str, of: str) -> NDArray[np.int64]:
    """1-based indices of ``size`` things as 0-based ones: the one place where this happens."""
    indices = np.asarray(numbers, dtype=np.float64).ravel()
    whole = indices.astype(np.int64)
    if (whole != indices).any():
        raise DataError(f"{source}: indices of {of} must be whole numbers, got {indices[whole != indices][0]}")
    if len(whole) and (whole.min() < 1 or whole.max() > size):
        hint = ": they look 0-based, while this format counts from 1" if whole.min() == 0 else ""
        raise DataError(f"{source}: indices of {of} must lie in 1..{size}, got {whole.min()}..{whole.max()}{hint}")
    return whole - 1


def read_matrix(path: Path, shape: tuple[int, int], what: str) -> NDArray[np.float32]:
    """A matrix of numbers separated by space, of exactly this shape."""
    with reading(path, what):
        matrix = np.loadtxt(path, dtype=np.float32, ndmin=2)
    check_shape(matrix, shape, f"{path} ({what})")
    return matrix


def check_shape(matrix: NDArray[Any], shape: tuple[int, ...], source: str) -> None:
    """Refuse a matrix of another shape, or with values that are not finite."""
    if matrix.shape != shape:
        raise DataError(f"{source}: expected shape {shape}, got {matrix.shape}; {FETCH_AGAIN}")
    if not np.isfinite(matrix).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(matrix))[0])
        raise DataError(f"{source}: not a finite number at {where}; {FETCH_AGAIN}")


def check_known(names: Iterable[str], known: Iterable[str], source: Path | str, what: str = "classes") -> None:
    """Refuse names that are not among the known ones, with the closest known name where one is close."""
    every = list(known)
    lookup = set(every)
    if strangers := [name for name in names if name not in lookup]:
        close = difflib.get_close_matches(strangers[0], every, n=1)
        hint = f"; did you mean {close[0]!r} for {strangers[0]!r}?" if close else f"; known are {first_few(every)}"
        raise DataError(f"{source} names unknown {what}: {first_few(strangers)}{hint}")


def roles_from_unseen(class_names: Sequence[str], unseen: Sequence[str], source: Path) -> list[str]:
    """Seen or unseen for every class, given the list of the unseen ones."""
    check_known(unseen, class_names, source)
    if len(unseen) == len(class_names):
        raise DataError(f"{source} lists all {len(class_names)} classes as unseen: none is left to learn from")
    lookup = set(unseen)
    return ["unseen" if name in lookup else "seen" for name in class_names]


def image_table(folder: Path, files: Sequence[str], class_names: Sequence[str | None]) -> "pd.DataFrame":
    """Images by their path relative to ``folder``, which is also their id."""
    import pandas as pd

    prefix = os.path.join(folder.absolute(), "")
    return pd.DataFrame({"image_id": files, "path": [prefix + file for file in files], "class_name": class_names})


def as_column(matrix: NDArray[Any]) -> "pd.Series[Any]":
    """The rows of a matrix as a column of float32 vectors."""
    import pandas as pd

    return pd.Series(list(np.asarray(matrix, dtype=np.float32)), dtype=object)


def warn_of_missing(images: "pd.DataFrame") -> None:
    """Say how many listed images are not on disk: features may come from a file, so this is not an error yet."""
    missing = [path for path in images["path"] if not os.path.exists(path)]
    if missing:
        logger.warning("%d of %d listed images are not on disk, such as %s", len(missing), len(images), missing[0])


Mat = dict[str, NDArray[Any]]


def read_mat(path: Path, required: Iterable[str], optional: Iterable[str] = ()) -> Mat:
    """These variables of a MATLAB file; cell arrays of strings become 1-d arrays of ``str``."""
    required, optional = list(required), list(optional)
    if not path.is_file():
        raise DataError(f"{path} is missing: it should hold {', '.join(required)}")
    with reading(path, f"a MATLAB file with {', '.join(required)}"):
        import h5py

        load = _read_hdf5 if h5py.is_hdf5(path) else _read_classic
        content, present = load(path, {*required, *optional})
    if missing := [key for key in required if key not in content]:
        raise DataError(f"{path} has no {', '.join(missing)}; it has {', '.join(present) or 'nothing'}")
    return content


def _read_classic(path: Path, keys: set[str]) -> tuple[Mat, list[str]]:
    import scipy.io

    present = [name for name, _, _ in scipy.io.whosmat(path)]
    content = scipy.io.loadmat(path, variable_names=sorted(keys & set(present)))
    return {key: _strings(content[key]) for key in keys & set(present)}, present


def _strings(value: NDArray[Any]) -> NDArray[Any]:
    """A cell array of strings as a 1-d array of them; anything else as it is."""
    if value.dtype != object:
        return value
    texts = [_text(cell) for cell in value.ravel(order="F")]
    return np.array(texts, dtype=object)


def _text(cell: Any) -> str:
    array = np.asarray(cell)
    if array.dtype.kind != "U" or array.size > 1:
        raise ValueError(f"expected a cell array of strings, got a cell of type {array.dtype} and shape {array.shape}")
    return str(array.item()) if array.size else ""


def _read_hdf5(path: Path, keys: set[str]) -> tuple[Mat, list[str]]:
    import h5py

    with h5py.File(path, "r") as file:
        present = [key for key in file if not key.startswith("#")]
        return {key: _hdf5_value(file, file[key]) for key in keys & set(present)}, present


def _hdf5_value(file: Any, item: Any) -> NDArray[Any]:
    import h5py

    if not isinstance(item, h5py.Dataset):
        raise ValueError(f"{item.name} is a struct, expected an array")
    if item.dtype == h5py.ref_dtype:  # a cell array: references to arrays of UTF-16 code units
        cells = [file[reference] for reference in item[()].ravel()]
        return np.array([_hdf5_text(cell) for cell in cells], dtype=object)
    return np.asarray(item[()]).T  # MATLAB is column-major: HDF5 stores the transpose


def _hdf5_text(cell: Any) -> str:
    if cell.attrs.get("MATLAB_empty"):
        return ""
    return np.asarray(cell[()]).astype(np.uint16).ravel().tobytes().decode("utf-16-le")


class BenchmarkFormat:
    """A data set as its authors lay it out below ``root``."""

    def __init__(self, *, root: str) -> None:
        self.root = Path(str(root)).expanduser()  # a number on the command line is a name, too

    def read(self) -> "Benchmark":
        """Read the whole layout below ``root``."""
        raise TypeError(f"{type(self).__name__} must define read")

    def exists(self) -> bool:
        """Whether there is anything to read."""
        return self.root.is_dir()

    def require(self, relative: str, what: str) -> Path:
        """The path of a file or folder below root, or an error that names it and says what it holds."""
        path = self.root / relative
        if not path.exists():
            raise DataError(
                f"{path} is missing: it holds {what}. Put the data there as data/01_raw/README.md says, "
                f"or set the root of this data set to the folder where it lies"
            )
        return path
