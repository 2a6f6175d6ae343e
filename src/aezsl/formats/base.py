"""What readers of benchmarks have in common: rooted in a folder, failing with the name of what is missing."""

from pathlib import Path

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError


class BenchmarkFormat:
    """A data set as its authors lay it out below ``root``."""

    def __init__(self, *, root: str) -> None:
        self.root = Path(str(root)).expanduser()  # a number on the command line is a name, too

    def read(self) -> Benchmark:
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
