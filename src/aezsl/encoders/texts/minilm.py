r"""all-MiniLM-L6-v2 in numpy: a sentence encoder that is there at once, without torch or transformers.

A BERT of six layers. With H the token vectors of a text, layer by layer:

.. math::
    A_h = softmax(Q_h K_h' / \sqrt{d_h}) V_h, \quad
    H \leftarrow norm(H + [A_1 \dots A_{12}] W_o), \quad
    H \leftarrow norm(H + gelu(H W_1) W_2)

The vector of a text is the mean of its token vectors, at unit length. Vectors are those of the library to 1e-5
(``tests/encoders``).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.arrays import Float32, unit_rows
from aezsl.errors import DataError

N_LAYERS, N_HEADS, EPSILON = 6, 12, 1e-12
WORDS = "embeddings.word_embeddings.weight"

#: Tokens of a text that count at most, and of texts that are encoded together.
LONGEST, TOGETHER = 256, 4096

#: How files of safetensors call types of numbers.
TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "U8": np.uint8}


def read_safetensors(path: Path) -> dict[str, Any]:
    """Arrays of a safetensors file by name, mapped: nothing is read before it is used."""
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > min(path.stat().st_size, 2**24):
            raise DataError(f"{path} is not a safetensors file")
        header: Mapping[str, Any] = json.loads(file.read(size))
    content = np.asarray(np.memmap(path, dtype=np.uint8, mode="r", offset=8 + size))
    arrays = {}
    for name, about in header.items():
        if name != "__metadata__":
            start, end = about["data_offsets"]
            arrays[name] = content[start:end].view(TYPES[about["dtype"]]).reshape(about["shape"])
    return arrays


def load_minilm(folder: Path) -> Callable[[Sequence[str]], Float32]:
    """What gives vectors (n, 384) of texts, from the files of the model."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.no_padding()
    mapped = read_safetensors(folder / "model.safetensors")
    # A mapped array may lie at any byte, which products of matrices are slow with; of words few rows are read.
    weights = {name: mapped[name] if name == WORDS else np.array(mapped[name]) for name in mapped}

    def encode(texts: Sequence[str]) -> Float32:
        tokens = [encoding.ids for encoding in tokenizer.encode_batch([str(text) for text in texts])]
        vectors = np.empty((len(tokens), weights["embeddings.LayerNorm.bias"].shape[0]), dtype=np.float32)
        for rows in _of_like_length(tokens):
            vectors[rows] = _encode(weights, [tokens[row] for row in rows])
        return vectors

    return encode


def _of_like_length(tokens: Sequence[Sequence[int]]) -> list[list[int]]:
    """Rows that are encoded together, shorter texts first: at most half as much again is filled up."""
    batches: list[list[int]] = []
    for row in sorted(range(len(tokens)), key=lambda row: len(tokens[row])):
        length, shortest = len(tokens[row]), len(tokens[batches[-1][0]]) if batches else 0
        if not batches or length > 1.5 * shortest + 2 or length * (len(batches[-1]) + 1) > TOGETHER:
            batches.append([])
        batches[-1].append(row)
    return batches


def _encode(weights: Mapping[str, Any], tokens: Sequence[Sequence[int]]) -> Float32:
    longest = max(map(len, tokens))
    ids = np.array([[*own, *[0] * (longest - len(own))] for own in tokens])
    mask = np.arange(longest) < np.array([[len(own)] for own in tokens])
    names = ("word_embeddings", "position_embeddings", "token_type_embeddings")
    word, position, kind = (weights[f"embeddings.{name}.weight"] for name in names)
    H = _norm(word[ids] + position[:longest] + kind[0], weights, "embeddings.LayerNorm")
    for layer in range(N_LAYERS):
        H = _layer(H, mask, weights, f"encoder.layer.{layer}.")
    total = np.einsum("ntd,nt->nd", H, mask.astype(np.float32))
    return unit_rows(total / mask.sum(axis=1, keepdims=True)).astype(np.float32)


def _layer(H: Float32, mask: Any, weights: Mapping[str, Any], at: str) -> Float32:
    n, t, d = H.shape
    parts = (_linear(H, weights, f"{at}attention.self.{name}") for name in ("query", "key", "value"))
    Q, K, V = (part.reshape(n, t, N_HEADS, d // N_HEADS).transpose(0, 2, 1, 3) for part in parts)
    scores = Q @ K.transpose(0, 1, 3, 2) / np.float32(np.sqrt(d // N_HEADS))
    scores += np.where(mask, np.float32(0), np.float32(-1e30))[:, None, None]
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    scores /= scores.sum(axis=-1, keepdims=True)
    A = (scores @ V).transpose(0, 2, 1, 3).reshape(n, t, d)
    H = _norm(H + _linear(A, weights, f"{at}attention.output.dense"), weights, f"{at}attention.output.LayerNorm")
    inner = _gelu(_linear(H, weights, f"{at}intermediate.dense"))
    return _norm(H + _linear(inner, weights, f"{at}output.dense"), weights, f"{at}output.LayerNorm")


def _linear(H: Float32, weights: Mapping[str, Any], at: str) -> Float32:
    flat = H.reshape(-1, H.shape[-1]) @ weights[f"{at}.weight"].T + weights[f"{at}.bias"]
    return flat.reshape(*H.shape[:-1], -1)  # type: ignore[no-any-return]


def _norm(H: Float32, weights: Mapping[str, Any], at: str) -> Float32:
    H = H - H.mean(axis=-1, keepdims=True)
    H = H / np.sqrt((H * H).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
    return H * weights[f"{at}.weight"] + weights[f"{at}.bias"]  # type: ignore[no-any-return]


def _gelu(x: Float32) -> Float32:
    """``x (1 + erf(x / sqrt 2)) / 2``, with erf to 1.5e-7 (Abramowitz and Stegun, 7.1.26)."""
    z = np.abs(x) * np.float32(np.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.float32(1.061405429) * t
    for c in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
        series = (series + np.float32(c)) * t
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    return np.float32(0.5) * x * (1 + erf)  # type: ignore[no-any-return]
