"""Figures as catalog entries."""

from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kedro.io import AbstractDataset
from kedro_datasets._typing import ImagePreview

from aezsl.datasets.whole import once_saved
from aezsl.errors import NotReadyError
from aezsl.machine.files import written_whole

if TYPE_CHECKING:  # every run has entries of figures, and a run that draws none should not wait for matplotlib
    from matplotlib.figure import Figure


class FigureDataset(AbstractDataset["Figure", bytes]):
    """A picture of a matplotlib figure, written whole or not at all; kedro-viz shows it. Loads the file's content."""

    def __init__(
        self, *, filepath: str, save_args: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None
    ) -> None:
        self._filepath = Path(filepath)
        self._save_args = save_args or {}
        self.metadata = metadata

    def save(self, data: "Figure") -> None:
        """Draw the figure."""
        self._filepath.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(self._filepath, self._filepath.suffix) as path:
            data.savefig(path, **self._save_args)

    def load(self) -> bytes:
        """The picture."""
        if not self._filepath.is_file():
            raise NotReadyError(f"no picture at {self._filepath}: run the pipeline that draws it")
        return self._filepath.read_bytes()

    @once_saved
    def preview(self) -> ImagePreview:
        """The picture for kedro-viz."""
        return ImagePreview(b64encode(self.load()).decode())

    def _exists(self) -> bool:
        return self._filepath.is_file()

    def _describe(self) -> dict[str, Any]:
        return {"filepath": str(self._filepath), "save_args": self._save_args}
