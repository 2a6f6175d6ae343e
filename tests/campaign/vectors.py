"""Files of vectors: features of images, vectors of words. Every name keeps its own vector."""

import gzip
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.io

from aezsl.formats.feature_files import import_features
from aezsl.formats.word_vectors import read_spacy_vectors, read_vectors, word_hash
from tests.campaign.damage import damaged, pick, same_numbers
from tests.helpers.matlab import cells


class _Store:
    def __init__(self):
        self.values = {}

    def known(self, fingerprint):
        return {}

    def add(self, chunk):
        self.values |= dict(zip(chunk.ids, chunk.vectors, strict=True))


def _spoilt_rows(names, vectors, rng):
    """Names and lists of numbers with one thing wrong; what was done."""
    names, vectors = list(names), [row.tolist() for row in vectors]
    at, d = int(rng.integers(len(names))), len(vectors[0])
    change = pick(
        rng,
        (
            "none",
            "none",
            "none",
            "longer",
            "shorter",
            "null",
            "twice",
            "nan",
            "inf",
            "huge",
            "hole",
            "missing",
            "no name",
        ),
    )
    match change:
        case "longer":
            vectors[at] = vectors[at] + [0.5] * int(rng.integers(1, 2 * d + 1))
        case "shorter":
            vectors[at] = vectors[at][: int(rng.integers(d))]
        case "null":
            vectors[at] = None
        case "twice":
            names[at] = names[at - 1]
        case "nan" | "inf" | "huge":
            vectors[at][0] = {"nan": float("nan"), "inf": float("-inf"), "huge": 1e39}[change]
        case "hole":
            vectors[at][int(rng.integers(d))] = None
        case "missing":
            del names[at], vectors[at]
        case "no name":
            names[at] = None
    return names, vectors, change


def feature_parquet(rng):
    """A Parquet file of features with one thing wrong in its rows, its columns or its bytes, or none."""
    ids, X, images = _features(rng)
    order = rng.permutation(len(ids))
    names, vectors, change = _spoilt_rows([ids[i] for i in order], X[order], rng)
    kinds = [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.float32())]
    kind = pick(rng, [*kinds, pa.list_(pa.float32(), X.shape[1])] if change not in ("longer", "shorter") else kinds)
    columns = {"image_id": pa.array(names, pa.string()), "vector": pa.array(vectors, kind)}
    if change == "none":
        match rng.integers(6):
            case 0:
                columns["vector"] = pa.array([str(vector) for vector in vectors])
            case 1:
                columns = {f"{name}s": column for name, column in columns.items()}
            case 2:
                columns["vector"] = pa.array([[vector] for vector in vectors])
            case 3:
                columns["image_id"] = pa.array(range(len(names)))
            case 4:
                columns["vector"] = pa.FixedSizeListArray.from_arrays(np.concatenate(vectors), X.shape[1])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.parquet"
        # With check sums, as only then anybody can tell that a number in it was changed.
        pq.write_table(
            pa.table(columns), file, write_page_checksum=True, compression=pick(rng, ("snappy", "zstd", "none"))
        )
        if rng.random() < 0.3:
            file.write_bytes(damaged(file.read_bytes(), rng))
        return _imported(ids, X, images, file)


def feature_npz(rng):
    """An .npz file of features with one thing wrong in its arrays or its bytes, or none."""
    ids, X, images = _features(rng)
    order = rng.permutation(len(ids))
    arrays = {pick(rng, ("X", "features", "vectors")): X[order], pick(rng, ("image_id", "files")): np.array(ids)[order]}
    matrix, names = arrays
    match rng.integers(14):
        case 12:
            arrays[next(key for key in ("X", "features", "vectors") if key != matrix)] = X * 0
        case 13:
            arrays[matrix] = arrays[matrix] * pick(rng, (1e-60, 1e-300))
        case 0:
            arrays[matrix] = pick(
                rng, (X[0], X[None], X[:, :0], X.astype(str), X + 1j, X.astype("M8[s]"), np.float64(1))
            )
        case 1:
            arrays[names] = arrays[names][: int(rng.integers(len(ids)))]
        case 2:
            arrays[names] = pick(
                rng, (np.arange(len(ids)), rng.random(len(ids)), np.array([True] * len(ids)), arrays[names][:, None])
            )
        case 3:
            arrays[names] = np.array([ids[0]] * len(ids))
        case 4:
            arrays[matrix] = np.where(
                np.arange(len(ids))[:, None] == 0, pick(rng, (np.nan, np.inf, 1e39)), arrays[matrix]
            )
        case 5:
            del arrays[matrix]
        case 6:
            arrays = {matrix: X}  # in the order of the images
        case 7:
            arrays = {matrix: X[:-1]}
        case 8:
            arrays[names] = np.char.encode(arrays[names])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.npz"
        pick(rng, (np.savez, np.savez_compressed))(file, **arrays)
        if rng.random() < 0.3:
            file.write_bytes(damaged(file.read_bytes(), rng))
        return _imported(ids, X, images, file)


def feature_mat(rng):
    """A res101.mat with one thing wrong in its arrays, or damaged so that it cannot be parsed."""
    ids, X, images = _features(rng)
    content = {"features": X.T, "labels": np.ones((len(ids), 1)), "image_files": cells([f"/a/{name}" for name in ids])}
    match rng.integers(7):
        case 0:
            del content[pick(rng, content)]
        case 1:
            content["features"] = pick(rng, (X[:-1].T, X[:1].T, X.T[None], "text", X.T + 1j))
        case 2:
            content["image_files"] = pick(rng, (np.arange(len(ids)), cells(ids[:-1]), "text"))
        case 3:
            content["features"] = np.where(X.T.max() == X.T, np.nan, X.T)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "res101.mat"
        scipy.io.savemat(file, content, do_compression=True)  # compressed, it has check sums
        if rng.random() < 0.3:
            file.write_bytes(damaged(file.read_bytes(), rng))
        store = _Store()
        import_features(images.assign(image_id=[f"{i:06d}" for i in range(len(ids))]), str(file), store)
    found = [store.values[name] for name in sorted(store.values)]
    return len(found) == len(ids) and same_numbers(found, X)


def _features(rng):
    n, d = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    ids = [f"{pick(rng, ('i', 'é', 'a b', 'c/'))}{i}.jpg" for i in range(n)]
    return ids, rng.normal(size=(n, d)), pd.DataFrame({"image_id": ids, "path": "", "class_name": "x"})


def _imported(ids, X, images, file):
    store = _Store()
    import_features(images, str(file), store)
    return set(store.values) == set(ids) and same_numbers([store.values[name] for name in ids], X)


WORDS = ("the", "fox", "new york", "café", "狐", "2", "<unk>", "a-b")


def word_vectors(rng):
    """A file of word vectors in any format, whole, with one thing wrong, or damaged."""
    words = [str(word) for word in rng.permutation(WORDS)[: int(rng.integers(2, 9))]]
    X = rng.normal(size=(len(words), int(rng.integers(2, 6)))).astype(np.float32).round(4)
    kind = pick(rng, ("txt", "vec", "bin", "npz", "parquet", "txt.gz", "bin.gz"))
    change, at = (
        pick(rng, ("none", "none", "bom", "count", "longer", "word", "nan", "damaged")),
        int(rng.integers(len(words))),
    )
    rows = [[f"{value:.4f}" for value in row] for row in X]
    if change == "longer":
        rows[at] = rows[at] + ["1"]
    elif change in ("word", "nan"):
        rows[at][0] = change
    n = len(words) + int(change == "count")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"v.{kind}"
        if kind == "npz":
            np.savez(path, vectors=X[: len(X) - int(change == "count")], words=np.array(words))
        elif kind == "parquet":
            numbers = [[float(value) if value != "word" else None for value in row] for row in rows]
            pq.write_table(pa.table({"name": words, "vector": numbers}), path, write_page_checksum=True)
        elif "bin" in kind:
            data = b"".join(
                word.replace(" ", "_").encode() + b" " + row.tobytes() + b"\n"
                for word, row in zip(words, X, strict=True)
            )
            words = [word.replace(" ", "_") for word in words]
            _write(path, f"{n} {X.shape[1]}\n".encode() + data)
        else:
            header = f"{n} {X.shape[1]}\n" if kind == "vec" or change == "count" else ""
            lines = "".join(f"{word} {' '.join(row)}\n" for word, row in zip(words, rows, strict=True))
            _write(path, ("\ufeff" if change == "bom" else "").encode() + (header + lines).encode())
        if change == "damaged" and kind not in ("txt", "vec", "bin"):  # these have no check sums: any text is a text
            path.write_bytes(damaged(path.read_bytes(), rng))
        # Asked for all, a name may be anything, numbers included.
        found = read_vectors(path, words if change in ("longer", "word") else pick(rng, (None, words)))
    meant = dict(zip(words, X, strict=True))
    return found.keys() == meant.keys() and all(same_numbers(found[word], meant[word], 1e-4) for word in words)


def _write(path, data):
    with gzip.open(path, "wb") if path.suffix == ".gz" else path.open("wb") as file:
        file.write(data)


def spacy_vectors(rng):
    """A folder of spaCy's vectors, whole or damaged; a word has its row, or none."""
    words = [f"w{i}" for i in range(int(rng.integers(1, 12)))]
    X = rng.normal(size=(len(words), 3)).astype(np.float32)
    rows = rng.permutation(len(words))
    with tempfile.TemporaryDirectory() as folder:
        vocab = Path(folder) / "vocab"
        vocab.mkdir()
        matrix = pick(rng, (X, X, X, X[0], X[..., None], X.astype(str), np.where(X > 0, np.nan, X)))
        with (vocab / "vectors").open("wb") as file:
            np.save(file, matrix)
        pairs = b"".join(
            b"\xcf" + word_hash(word).to_bytes(8, "big") + b"\xcd" + int(row).to_bytes(2, "big")
            for word, row in zip(words, rows, strict=True)
        )
        (vocab / "key2row").write_bytes(bytes([0x80 | len(words)]) + pairs)
        if spoilt := rng.random() < 0.5:
            path = vocab / "key2row"
            path.write_bytes(path.read_bytes()[: int(rng.integers(len(path.read_bytes())))])
        found = read_spacy_vectors(Path(folder), [*words, "none"])
    return (
        not spoilt
        and "none" not in found
        and all(same_numbers(found[w], X[r]) for w, r in zip(words, rows, strict=True))
    )
