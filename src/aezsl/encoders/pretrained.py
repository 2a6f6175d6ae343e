"""Loading pretrained networks: folders, and the hub's cache."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aezsl.errors import DataError
from aezsl.formats.reading import first_few, reading

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


#: Whatever lies in a folder, none of it is run, and nothing is fetched.
SAFE = {"local_files_only": True, "trust_remote_code": False}

#: How classes are named that have a tower alone and the projection into the space of its pair.
PROJECTED = "WithProjection"

REMEDY = "expected a folder as save_pretrained makes it, or hf download: fetch it again"


def load_model(folder: Path, what: str, auto: str = "AutoModel", **options: Any) -> Any:
    """The model of a folder in single precision, by the class of its family; a tower alone with its projection.

    what : what it is wanted as, for messages. auto : what of ``transformers`` finds the class.

    ``transformers`` draws weights that are not in the files at random, which would be other features every time: such
    a folder is refused.
    """
    import torch

    with reading(folder, what, REMEDY), _quietly() as transformers:
        named = next(iter(model_config(folder).get("architectures") or ()), "")
        kind = getattr(transformers, named) if named.endswith(PROJECTED) else getattr(transformers, auto)
        options |= {"use_safetensors": True, "dtype": torch.float32, "output_loading_info": True}
        model, found = kind.from_pretrained(folder, **options, **SAFE)
        if missing := sorted(found["missing_keys"]):
            raise DataError(
                f"{folder} does not have all weights of a {type(model).__name__}: {first_few(missing)} are in none of "
                f"its files; {REMEDY}"
            )
        return model.eval()


def load_processor(folder: Path) -> Any:
    """What prepares images for the model of a folder."""
    with reading(folder, "a vision model with its processor", REMEDY), _quietly() as transformers:
        # Pillow's resizing, as these networks were trained with; torchvision's gives slightly other pixels.
        return transformers.AutoImageProcessor.from_pretrained(folder, backend="pil", **SAFE)


def load_tokenizer(folder: Path) -> Any:
    """What makes tokens of texts for the model of a folder."""
    with reading(folder, "a text encoder with its tokenizer", REMEDY), _quietly() as transformers:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **SAFE)
        require_vocabulary(folder, tokenizer)
        return tokenizer


def require_vocabulary(folder: Path, tokenizer: Any) -> None:
    """Refuse a tokenizer whose vocabulary is in no file: ``transformers`` gives it one that knows no word.

    All texts of as many words would then have the same vector.
    """
    own = getattr(type(tokenizer), "vocab_files_names", None)
    if own is None:  # of another library, which reads its files itself
        return
    names = {"tokenizer.json", *own.values()}
    if not any(any(folder.rglob(name)) for name in names):
        raise DataError(f"{folder} has no vocabulary, none of {', '.join(sorted(names))}; {REMEDY}")


@contextmanager
def _quietly() -> Iterator[Any]:
    """The library, without its bars and reports: what matters of them is said here."""
    from aezsl.encoders import torchvision  # noqa: F401  # transformers imports torchvision, unguarded

    import transformers  # isort: skip
    from transformers.utils import logging  # isort: skip

    before = logging.get_verbosity()
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # a second of loading is not worth one
    try:
        yield transformers
    finally:
        logging.set_verbosity(before)
