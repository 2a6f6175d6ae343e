"""Models in the form of ``transformers``: a folder, or a name on the hub that becomes one."""

import json
from pathlib import Path
from typing import Any

from aezsl.errors import DataError

#: What a model consists of. Weights in any other form than safetensors could hold code, and are not taken.
PATTERNS = ("*.json", "*.txt", "*.model", "*.safetensors")


def is_hub_model(name: str) -> bool:
    """Whether a name means a folder or a model on the hub (``owner/model``), and not a network known here."""
    return "/" in name or Path(name).expanduser().is_dir()


def model_folder(name: str) -> Path:
    """The folder of a model: itself, or where the hub's cache has it; a model that is in neither is downloaded."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        if not _is_model(folder):
            raise DataError(f"{folder} has no config.json: expected a model saved by save_pretrained")
        return folder
    if name.startswith(("/", "~", ".")) or name.count("/") > 1:
        raise DataError(f"no folder {folder}: expected a model saved by save_pretrained, or a name on the hub")
    return _from_hub(name)


def _is_model(folder: Path) -> bool:
    return any((folder / file).is_file() for file in ("config.json", "modules.json"))


def found_near(name: str, file: Path) -> str:
    """The name of a model's folder, or of a file, as it is found from here, or else from where ``file`` lies.

    A command is typed in the project's root and names are often relative to it; what it leaves below that root may be
    used from anywhere. On another machine an absolute name means nothing, but the folder may lie beside the file, or
    above it. Names of other things stay.
    """
    given = Path(name).expanduser()
    if given.exists():
        return name
    places = (folder / (given.name if given.is_absolute() else given) for folder in file.absolute().parents)
    return next((str(place) for place in places if place.is_file() or _is_model(place)), name)


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download

    for local_files_only in (True, False):
        try:
            place = snapshot_download(name, allow_patterns=list(PATTERNS), local_files_only=local_files_only)
        except Exception as error:  # of many kinds: no network, no such model, no permission
            reason = str(error).strip().partition("\n")[0]
            continue
        if any(Path(place).rglob("*.safetensors")):
            return Path(place)
        reason = "it has no weights as .safetensors there"
    raise DataError(
        f"the model {name!r} is not in the cache of the hub and could not be downloaded ({reason}). On a connected "
        f"machine run: hf download {name} --local-dir <folder>, copy the folder here, and name it instead"
    )


def model_config(folder: Path) -> dict[str, Any]:
    """What config.json says; nothing where there is none."""
    path = folder / "config.json"
    config: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    return config


def is_pair(folder: Path) -> bool:
    """Whether the model has an image tower and a text tower that share one space, as CLIP and SigLIP do."""
    return {"text_config", "vision_config"} <= model_config(folder).keys()
