"""Texts to vectors: sentence-transformers models, and the text tower of a CLIP-like pair."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.arrays import Float32
from aezsl.encoders.hub import is_pair, model_config
from aezsl.encoders.texts.fingerprints import check_source, encoder_folder
from aezsl.errors import DataError
from aezsl.machine.progress import progress_bar

#: Texts that are encoded together.
BATCH = 64

#: Texts between two steps of a progress bar, and how many of these are worth one.
TOGETHER = 16 * BATCH
MANY_BLOCKS = 3

#: Families whose text tower has only seen texts filled up to its full length.
FULL_LENGTH = ("siglip", "siglip2")

#: Texts -> (n, a).
Encode = Callable[[Sequence[str]], Float32]


@lru_cache(maxsize=4)
def load_encoder(encoder: str, fingerprint: str) -> Encode:
    """The encoder in memory, loaded once for a service that is asked again and again; its files must be the same."""
    check_source({"kind": "text", "encoder": encoder, "fingerprint": fingerprint})
    from aezsl.encoders import torchvision  # noqa: F401  # the libraries below import torchvision, unguarded

    try:
        folder = encoder_folder(encoder)
        return _tower(folder) if is_pair(folder) else _sentences(folder)
    except Exception as error:  # whatever a damaged folder makes of it
        raise DataError(
            f"the text encoder {encoder!r} cannot be loaded ({type(error).__name__}: {error}): "
            "give the folder or the name of a sentence-transformers model, or of a pair like CLIP"
        ) from error


def _sentences(folder: Path) -> Encode:
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]  # a second of loading is not worth one
    model = SentenceTransformer(str(folder), device="cpu").float()  # some are stored in half precision

    def encode(texts: Sequence[str]) -> Float32:
        starts = range(0, len(texts), TOGETHER)
        blocks = [
            model.encode(list(texts[i : i + TOGETHER]), batch_size=BATCH, show_progress_bar=False)
            for i in progress_bar(starts, desc="descriptions", disable=len(starts) < MANY_BLOCKS)
        ]
        vectors: Float32 = np.concatenate(blocks)
        return vectors

    return encode


def _tower(folder: Path) -> Encode:
    """The text tower of a pair, pooled and projected into the space that it shares with images."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()  # type: ignore[no-untyped-call]
    options = {"local_files_only": True, "trust_remote_code": False}
    model: Any = AutoModel.from_pretrained(folder, use_safetensors=True, dtype=torch.float32, **options).eval()
    if not hasattr(model, "get_text_features"):
        raise DataError(f"a {type(model).__name__} has no text tower of a pair")
    tokenizer: Any = AutoTokenizer.from_pretrained(folder, **options)
    config = model_config(folder)
    padding = "max_length" if config.get("model_type") in FULL_LENGTH else "longest"
    shape = {"padding": padding, "truncation": True, "max_length": model.config.text_config.max_position_embeddings}

    def encode(texts: Sequence[str]) -> Float32:
        blocks = []
        for start in range(0, len(texts), BATCH):
            tokens = tokenizer(list(texts[start : start + BATCH]), return_tensors="pt", **shape)
            tokens.pop("token_type_ids", None)  # towers know one kind of token
            if padding == "max_length":
                tokens.pop("attention_mask", None)  # they have attended to what texts are filled up with, too
            with torch.inference_mode():
                found = model.get_text_features(**tokens)
            blocks.append((found if isinstance(found, torch.Tensor) else found.pooler_output).numpy())
        vectors: Float32 = np.concatenate(blocks)
        return vectors

    return encode
