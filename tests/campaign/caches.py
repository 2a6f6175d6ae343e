"""What a run leaves for the next one, damaged: it is refused by name or made again, never taken for what it is not."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from aezsl.data.vector_store import VectorStore
from aezsl.data.vectors import VectorChunk, VectorSet
from aezsl.datasets.models import ProblemDataset, RecipeDataset
from aezsl.methods import make_method
from aezsl.methods.daezsl.checkpoint import CheckpointFolder
from aezsl.selection import SelectionStore
from tests.campaign.damage import damaged, odd_value, pick, plain_value, same_numbers
from tests.helpers.checkpoints import Interrupted
from tests.helpers.problems import make_problem
from tests.helpers.recipes import make_recipe
from tests.synthetic import make_synthetic


def vector_store(rng):
    """Shards, manifest, or something beside them spoilt: every vector that is given is the one that was stored."""
    ids = [f"i{i}" for i in range(6)]
    X = rng.normal(size=(6, 3)).astype(np.float32)
    with tempfile.TemporaryDirectory() as folder:
        store = VectorStore(folder, streamed=rng.random() < 0.5)
        for start in (0, 3):
            part = slice(start, start + 3)
            store.add(VectorChunk("f", ids[part], [f"d{i}" for i in range(start, start + 3)], X[part]))
        store.use(VectorSet("f", {"backbone": "x"}))
        root = Path(folder)
        match rng.integers(5):
            case 0:
                path = root / "manifest.json"
                path.write_text(
                    pick(rng, ("", "{}", "[]", "null", '{"fingerprint": 1}', '{"fingerprint": "g", "config": {}}'))
                )
            case 1:
                path = pick(rng, [path for path in root.rglob("*") if path.is_file()])
                path.write_bytes(damaged(path.read_bytes(), rng))
            case 2:
                name = pick(
                    rng,
                    ("copy of 1.parquet", "1 (2).parquet", ".x.parquet", "notes.txt", "99.parquet.tmp", "a.parquet"),
                )
                (root / "f" / name).write_bytes(rng.bytes(20))
            case 3:
                (root / "f" / pick(rng, ("x", "7.parquet"))).mkdir()
            case _:
                pick(rng, sorted((root / "f").glob("*.parquet"))).unlink()
        known = store.known("f")
        found = store.load()
        kept = [name for name in ids if name in set(found.ids)]
        right = same_numbers(found.get(kept, "images", "the store"), X[[ids.index(name) for name in kept]])
    return right and set(kept) <= set(known) and all(known[name] == f"d{name[1:]}" for name in kept)


def selection_table(rng):
    """A table of a former selection, spoilt: as it was, or selected again."""
    points = int(rng.integers(1, 6))
    table = pd.DataFrame({"key": "k", "point": range(points), "lam": rng.random(points), "score": rng.random(points)})
    with tempfile.TemporaryDirectory() as folder:
        store = SelectionStore(Path(folder) / "selection.csv")
        store.save(table)
        match rng.integers(4):
            case 0:
                store.path.write_bytes(damaged(store.path.read_bytes(), rng))
            case 1:
                spoilt = table.astype(object)
                spoilt.iloc[int(rng.integers(points)), int(rng.integers(4))] = str(odd_value(rng))
                spoilt.to_csv(store.path, index=False)
            case 2:
                table.drop(columns=pick(rng, table.columns)).to_csv(store.path, index=False)
            case _:
                store.path.unlink()
                store.path.mkdir()
        found = store.find("k", points)
    if found is None:
        return True
    return list(found) == list(table) and same_numbers(found.drop(columns="key"), table.drop(columns="key"))


_EXPECTED = {}


def checkpoint(rng):
    """A training that is resumed from a spoilt checkpoint ends as one that was never interrupted."""
    name = pick(rng, ("daezsl", "eszsl_net"))
    data = make_synthetic(n_seen=8, n_unseen=3, per_class=4, d=6, a=4)

    def train(folder):
        model = make_method(name, epochs=3).fit_resumable(data.X, data.y, data.S, folder)
        return model.decision_function(data.X_new, data.S_new)

    with tempfile.TemporaryDirectory() as folder:
        if name not in _EXPECTED:
            _EXPECTED[name] = train(CheckpointFolder(Path(folder) / "none"))
        with contextlib.suppress(KeyboardInterrupt):
            train(Interrupted(folder, int(rng.integers(1, 4))))
        files = sorted(Path(folder).glob("*.pt"))
        if files:
            import torch

            path = pick(rng, files)
            if rng.random() < 0.4:
                path.write_bytes(damaged(path.read_bytes(), rng))
            else:
                state = torch.load(path, weights_only=True)
                torch.save(_spoilt_state(state, rng), path)
        return same_numbers(train(CheckpointFolder(folder)), _EXPECTED[name], 1e-5)


def _spoilt_state(state, rng):
    match rng.integers(3):
        case 0:
            return plain_value(rng)
        case 1:
            return {name: value for name, value in state.items() if name != pick(rng, state)}
        case _:
            return {**state, pick(rng, state): plain_value(rng)}


def problem_file(rng):
    """A problem or a recipe on disk, spoilt: refused, or the one that was saved."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.npz"
        if rng.random() < 0.5:
            problem = make_problem(pick(rng, ("zsl", "gzsl")))
            ProblemDataset(filepath=str(path)).save(problem)
            _spoil_npz(path, rng)
            return ProblemDataset(filepath=str(path)).load().fingerprint == problem.fingerprint
        recipe, _ = make_recipe()
        RecipeDataset(filepath=str(path)).save(recipe)
        _spoil_npz(path, rng)
        found = RecipeDataset(filepath=str(path)).load()
        return (
            same_numbers(found.targets().vectors, recipe.targets().vectors)
            and found.targets().names == recipe.targets().names
        )


def _spoil_npz(path, rng):
    if rng.random() < 0.5:
        path.write_bytes(damaged(path.read_bytes(), rng))
        return
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    name = pick(rng, arrays)
    match rng.integers(4):
        case 0:
            del arrays[name]
        case 1:
            arrays[name] = arrays[name][:-1] if arrays[name].ndim else np.array("{}")
        case 2:
            arrays[name] = arrays[name].astype(np.float32) if arrays[name].dtype.kind == "f" else np.array("[]")
        case _:
            arrays[f"{name}_"] = arrays[name]
    np.savez(path, **arrays)
