"""Text encoders and the languages they read."""

import logging
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from aezsl.arrays import Float32
from aezsl.encoders.pretrained import is_pair, model_config
from aezsl.encoders.texts.fingerprints import MINILM, MULTILINGUAL, TRANSLATED, check_source, encoder_folder
from aezsl.encoders.texts.minilm import load_minilm
from aezsl.encoders.texts.multilingual import load_multilingual, load_translated
from aezsl.errors import DataError
from aezsl.machine.screen import progress_bar

log = logging.getLogger(__name__)

#: Texts that are encoded together.
BATCH = 64

#: Texts between two steps of a progress bar, and how many of these are worth one.
TOGETHER = 16 * BATCH
MANY_BLOCKS = 3

#: Families whose text tower has only seen texts filled up to its full length.
FULL_LENGTH = ("siglip", "siglip2")

#: Texts -> (n, a).
Encode = Callable[[Sequence[str]], Float32]

#: Encoders that need no torch: what loads them from their folder.
LOADERS: dict[str, Callable[[Path], Encode]] = {
    MULTILINGUAL: load_multilingual,
    MINILM: load_minilm,
    TRANSLATED: load_translated,
}


@lru_cache(maxsize=4)
def load_encoder(encoder: str, fingerprint: str) -> Encode:
    """The encoder in memory, loaded once for a service that is asked again and again; its files must be the same."""
    check_source({"kind": "text", "encoder": encoder, "fingerprint": fingerprint})
    try:
        folder = encoder_folder(encoder)
        if encoder in LOADERS:
            encode = LOADERS[encoder](folder)
        else:
            from aezsl.encoders import torchvision  # noqa: F401  # the libraries behind these import it, unguarded

            encode = _tower(folder) if is_pair(folder) else _sentences(folder)
        encode(["a"])  # some that are made for images alone say so only when they are asked
        return encode
    except Exception as error:  # whatever a damaged folder makes of it
        reason = str(error) if isinstance(error, DataError) else f"{type(error).__name__}: {error}"
        raise DataError(
            f"the text encoder {encoder!r} cannot be loaded ({reason}): "
            "give the folder or the name of a sentence-transformers model, or of a pair like CLIP"
        ) from error


def _sentences(folder: Path) -> Encode:
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    from aezsl.encoders.pretrained import require_vocabulary

    disable_progress_bar()  # type: ignore[no-untyped-call]  # a second of loading is not worth one
    model = SentenceTransformer(str(folder), device="cpu").float()  # some are stored in half precision
    require_vocabulary(folder, model.tokenizer)

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

    from aezsl.encoders.pretrained import load_model, load_tokenizer

    model = load_model(folder, "a text encoder")
    if not hasattr(model, "get_text_features"):
        raise DataError(f"a {type(model).__name__} has no text tower of a pair")
    tokenizer = load_tokenizer(folder)
    config = model_config(folder)
    padding = "max_length" if config.get("model_type") in FULL_LENGTH else "longest"
    longest = model.config.text_config.max_position_embeddings
    shape = {"padding": padding, "truncation": True, "max_length": longest}

    def encode(texts: Sequence[str]) -> Float32:
        lengths = [len(tokens) for tokens in tokenizer(list(texts), verbose=False)["input_ids"]]
        if too_long := sum(length > longest for length in lengths):
            message = "%d of %d texts are longer than the %d tokens that %s reads: their ends count for nothing"
            log.warning(message, too_long, len(texts), longest, folder.name)
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


#: Small words of English, and of its neighbours where English has none that look like them.
ENGLISH, OTHERS = (
    frozenset(words.split())
    for words in (
        "a an and at by for from has in is its of on or that the to with",
        "avec con das del der di dos een ein eine einem einen einer el es est et gli het il ist jest la las le les los "
        "med met mit mu och og os oraz se sur um uma un una und une van von y z",
    )
)

#: Letters of other scripts that are a name or a sign, not yet a language.
FEW = 0.2


def looks_english(texts: Sequence[str]) -> bool:
    """False where most letters are not Latin ones, or small words are mostly those of another language.

    Lists of keywords have no small words, and pass: this is for sentences, which are what people write.
    """
    letters = Counter(
        unicodedata.name(letter, "").startswith("LATIN") for text in texts for letter in text if letter.isalpha()
    )
    if letters[False] > FEW * letters.total():
        return False
    words = Counter(word for text in texts for word in re.findall(r"[^\W\d_]+", text.lower()))
    english, others = (sum(words[word] for word in known) for known in (ENGLISH, OTHERS))
    return not (others > english and others >= len(texts) / 2)
