"""Models of ``transformers`` from their folders, whole or not at all. Loads torch: only where a network is needed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aezsl.encoders.hub import model_config
from aezsl.errors import DataError
from aezsl.formats.reading import first_few, reading

#: Whatever lies in a folder, none of it is run, and nothing is fetched.
SAFE = {"local_files_only": True, "trust_remote_code": False}

#: How classes are named that have a tower alone and the projection into the space of its pair.
PROJECTED = "WithProjection"

REMEDY = "expected a folder as save_pretrained makes it, or hf download: fetch it again"


def load_model(folder: Path, what: str, **options: Any) -> Any:
    """The model of a folder in single precision, by the class of its family; a tower alone with its projection.

    what : what it is wanted as, for messages.

    ``transformers`` draws weights that are not in the files at random, which would be other features every time: such
    a folder is refused.
    """
    import torch

    with reading(folder, what, REMEDY), _quietly() as transformers:
        named = next(iter(model_config(folder).get("architectures") or ()), "")
        kind = getattr(transformers, named) if named.endswith(PROJECTED) else transformers.AutoModel
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
