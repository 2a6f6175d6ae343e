"""Data sets as their authors lay them out, with one or more files spoilt; and WordNet's files."""

import shutil
import tempfile
from pathlib import Path

import numpy as np

from aezsl.datasets.inputs import CandidatesDataset
from aezsl.formats.wordnet import read_edges, read_synsets, similarity_vectors
from tests.campaign.damage import damaged, pick
from tests.helpers.benchmarks import LAYOUTS


def _spoil(path, rng):
    content = path.read_bytes()
    lines = content.splitlines(keepends=True) or [b""]
    at = int(rng.integers(len(lines)))
    match rng.integers(9):
        case 0:
            path.unlink()
        case 1:
            path.write_bytes(b"")
        case 2:
            path.write_bytes(b"".join(lines[:at] + lines[at + 1 :]))
        case 3:
            path.write_bytes(b"".join([*lines[at:], *lines[:at]]))
        case 4:
            path.write_bytes(content + lines[at])
        case 5:
            path.write_bytes(content.decode("latin-1").encode("utf-16"))
        case 6:
            path.unlink()
            path.mkdir()
        case 7:
            path.write_bytes(b"\xef\xbb\xbf" + content.replace(b"\n", b"\r\n"))
        case _:
            path.write_bytes(damaged(content, rng))


def benchmark_tree(rng):
    """Any format with some files spoilt: what is accepted is a benchmark whose tables fit together."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        data = LAYOUTS[pick(rng, LAYOUTS)](root)
        whole = data.read()
        for _ in range(int(rng.integers(1, 4))):
            files = sorted(path for path in root.rglob("*") if path.is_file())
            if rng.random() < 0.15:
                shutil.rmtree(
                    pick(rng, [path for path in root.rglob("*") if path.is_dir()] or [root]), ignore_errors=True
                )
            elif files:
                _spoil(pick(rng, files), rng)
        found = data.read()
    labels = found.images["class_name"].dropna()
    fits = labels.isin(found.classes["class_name"]).all() and not found.images["image_id"].duplicated().any()
    if "attributes" in found.classes:
        vectors = found.classes["attributes"].tolist()
        fits &= len({vector.shape for vector in vectors}) == 1 and np.isfinite(np.vstack(vectors)).all()
    return bool(fits and set(found.classes.columns) <= set(whole.classes.columns))


NOUNS = [("00000001", "entity", []), ("00000002", "animal", [1]), ("00000003", "dog", [2]), ("00000004", "cat", [2])]


def _noun(offset, word, parents):
    pointers = "".join(f" @ {parent:08d} n 0000" for parent in parents)
    return f"{offset} 03 n 01 {word} 0 {len(parents):03d}{pointers} | what a {word} is  \n"


def wordnet(rng):
    """A data.noun, or a list of edges, with one thing wrong: what is accepted gives numbers from 0 to 1."""
    noun = rng.random() < 0.5
    nouns = [(offset, word, list(parents)) for offset, word, parents in NOUNS]
    edges = [f"n0000000{parents[0]} n{offset}\n" for offset, _, parents in nouns if parents]
    cyclic = False
    match rng.integers(6):
        case 0:
            nouns[0][2].append(3)
            edges.append("n00000003 n00000001\n")
            cyclic = True
        case 1:
            nouns[3][2][0] = 9
            edges.append(pick(rng, ("n00000001\n", "a b\n", "n00000001 n00000002 n00000003\n", "n1 n2\n", "\0\n")))
        case 2:
            nouns[2] = (pick(rng, ("3", "0000000x", "", "000000033")), *nouns[2][1:])
            edges[0] = pick(rng, ("", "\n", "  \n", "\ufeff" + edges[0]))
    text = "".join(_noun(*one) for one in nouns) if noun else "".join(edges)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / ("data.noun" if noun else "edges.txt")
        content = text.encode()
        path.write_bytes(damaged(content, rng) if rng.random() < 0.4 else content)
        if noun:
            read_synsets(path)
        found = read_edges(path)
        matrix, _ = similarity_vectors(["n00000003", "n00000004"], found, pick(rng, ("path", "lin", "jiang_conrath")))
    return not cyclic and bool(np.isfinite(matrix).all() and matrix.min() >= 0 and matrix.max() <= 1 + 1e-6)


def candidate_list(rng):
    """A list of candidate classes: every name in it once, in its order."""
    names = [f"n{i:08d}" for i in range(int(rng.integers(1, 9)))]
    lines = [str(name) for name in rng.permutation(names)]
    change = rng.integers(5)
    if change == 0:
        lines.append(lines[0])
    text = "\n".join(lines) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "list.txt"
        content = {1: text.encode("utf-16"), 2: b"\xef\xbb\xbf" + text.encode(), 3: b"\n \n"}.get(
            int(change), text.encode()
        )
        path.write_bytes(content)
        found = CandidatesDataset(lists={"all": str(path)}).load().lists["all"]
    return change not in (0, 1, 3) and found == lines
