"""Labels and descriptions in five languages: ``python -m tests.benchmarks.bench_languages [labels | texts | choose]``.

``texts_in_languages.tsv`` has them in English, German, French, Spanish and Chinese. Data in ``$AEZSL_REFERENCE_DATA``.

* labels: per-class accuracy of the photo model (Lite0) on four photo sets whose labels are written in each language.
  Rows: what is done to a label, up to what the code does.
* texts: 30 emoji and 22 animals with a description each; ESZSL learns from three in four classes and names images of
  the others, over 20 draws. Rows: the language of all descriptions by the multilingual encoder; and descriptions of
  unseen classes in that language for a model that learnt from English ones by MiniLM.
* choose: what other languages lose on tasks of held-out ImageNet classes, with names in four languages from PyPI's
  ``clip-benchmark``. Nothing was chosen on the sets of the other two parts.
"""

import csv
import json
import sys
from pathlib import Path

import numpy as np

from aezsl.arrays import unit_rows
from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.labels import plain_label, read_labels
from aezsl.encoders.knowledge.make_texts import mapping
from aezsl.encoders.knowledge.named import imagenet_classes, wordnet
from aezsl.encoders.knowledge.vectors import encode, joined, kept_vectors
from aezsl.encoders.texts.fingerprints import VECTORS
from aezsl.encoders.texts.written import written_files
from aezsl.methods import make_method
from aezsl.methods.heads.methods import AEZSLHeads
from tests.benchmarks.bench_photo_choice import FAR_SHARE
from tests.benchmarks.bench_photos import accuracy, photo_sets
from tests.benchmarks.photo_tasks import data_folder, draw_tasks

LANGUAGES = ("English", "German", "French", "Spanish", "Chinese")
#: Directions of the features of a few classes that are kept: the others say nothing, and cost time.
DIRECTIONS = 200
TEXTS = Path(__file__).with_name("texts_in_languages.tsv")


def written(name):
    """By language the texts of a set, in the order of its classes, which are the first value."""
    with TEXTS.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file, delimiter="\t") if row["set"] == name]
    return [row["class"] for row in rows], {language: [row[language] for row in rows] for language in LANGUAGES}


def unit(vectors):
    return unit_rows(vectors.astype(np.float64))


def translated(labels):
    texts, foreign = read_labels(labels)
    return label_vectors(texts, foreign=foreign)


def by_dictionary(labels):
    return label_vectors(read_labels(labels)[0])


#: What gives the vectors of labels.
READ = {
    "as they are typed": lambda labels: label_vectors([plain_label(label) for label in labels]),
    "words of emoji in English": by_dictionary,
    "and others mapped to English": translated,
}


def labels():
    model = AEZSLHeads().fit(load_knowledge())
    for name, names, features, y in photo_sets(data_folder() / "photos"):
        classes, texts = written(name)
        if classes != names:
            raise SystemExit(f"the classes of the photos are others: {names}")
        print_row(name, LANGUAGES)
        for way, vectors in READ.items():
            found = [model.decision_function(features["lite0"], unit(vectors(own))) for own in texts.values()]
            print_row(way, [accuracy(scores, y) for scores in found])
        far = [
            len(model.doubts(unit(translated(own)), read_labels(own)[1]).far) / len(own) * 100 for own in texts.values()
        ]
        print_row("labels that nothing resembles, %", far)


def print_row(name, values):
    cells = (f"{value:>9}" if isinstance(value, str) else f"{value:9.1f}" for value in values)
    print(f"{name:40}" + "".join(cells), flush=True)


def texts(n_draws=20):
    for name, read in {"animals texts": animal_photos, "emoji texts": emoji_drawings}.items():
        classes, own = written(name)
        X, y = read(classes)
        X = X - X.mean(axis=0)
        X = X @ np.linalg.svd(X, full_matrices=False)[2][:DIRECTIONS].T
        english = unit(encode("minilm", own["English"]))
        many, mapped = ([unit(encode(one, said)) for said in own.values()] for one in ("multilingual", "translated"))
        rows = {
            "all classes, multilingual": zip(many, many, strict=True),
            "all classes, translated": zip(mapped, mapped, strict=True),
            "all classes, both side by side": ((unit(np.hstack(two)),) * 2 for two in zip(many, mapped, strict=True)),
            "unseen classes, translated": ((english, S) for S in mapped),
        }
        print_row(f"{name} ({drawn(X, y, english, english, n_draws):.1f} by minilm)", LANGUAGES)
        for row, pairs in rows.items():
            print_row(row, [drawn(X, y, *pair, n_draws) for pair in pairs])


def drawn(X, y, S_seen, S_unseen, n_draws):
    """Mean per-class accuracy over draws of a quarter of the classes as unseen ones."""
    found = []
    for seed in range(int(n_draws)):
        unseen = np.sort(np.random.default_rng(seed).permutation(len(S_seen))[: round(len(S_seen) / 4)])
        seen = np.setdiff1d(np.arange(len(S_seen)), unseen)
        train, test = np.isin(y, seen), np.isin(y, unseen)
        model = make_method("eszsl").fit(unit(X[train]), np.searchsorted(seen, y[train]), S_seen[seen])
        scores = model.decision_function(unit(X[test]), S_unseen[unseen])
        found.append(accuracy(scores, np.searchsorted(unseen, y[test])))
    return float(np.mean(found))


def animal_photos(classes):
    _, names, features, y = next(one for one in photo_sets(data_folder() / "photos") if one[0] == "animals")
    if names != classes:
        raise SystemExit(f"the classes of the photos are others: {names}")
    return features["lite0"], y


def emoji_drawings(classes):
    from aezsl.encoders.images.backbones import make_backbone
    from aezsl.encoders.images.pictures import load_encode
    from aezsl.formats.emoji import Emoji

    images = Emoji().read().images
    images = images[images["class_name"].isin(classes)]
    features = load_encode([make_backbone("efficientnet_lite0")])(images["path"].tolist())
    return np.sqrt(np.maximum(features.astype(np.float64), 0)), images["class_name"].map(classes.index).to_numpy()


def mapped_by(ridge):
    """Vectors of labels that are of another language by a mapping of its own."""
    names = sorted({name for synset in wordnet().values() for name in synset.names})
    with np.load(VECTORS) as shipped:
        X, Y = (np.vstack([unit(kept_vectors(names, one)), unit(shipped[one])]) for one in ("multilingual", "minilm"))
    M = mapping(X, Y, ridge)

    def vectors(labels):
        texts, foreign = read_labels(labels)
        A = label_vectors(texts)
        many = unit(encode("multilingual", texts))
        return np.where(np.array(foreign)[:, None], joined([many, unit(many @ M)]), A)

    return vectors


def choose(n_tasks=60):
    """Accuracy by language, on the labels of each task that have a name in it, and how near the farthest tenth is."""
    names = json.loads(written_files("cupl")[0].with_name("babel_imagenet.json").read_text(encoding="utf-8"))
    called = {language: dict(zip(*names[language], strict=True)) for language in ("DE", "FR", "ES", "ZH")}
    number = {wnid: i for i, wnid in enumerate(imagenet_classes())}
    ways = READ | {f"with a ridge of {ridge:g}": mapped_by(ridge) for ridge in (1.0, 10.0, 100.0)}
    found = {way: {language: [] for language in called} for way in ("English", *ways)}
    near, seen = {False: [], True: []}, load_knowledge()
    for task in draw_tasks(int(n_tasks)):
        model = AEZSLHeads().fit(seen.subset(task.kept))
        for language, known in called.items():
            kept = [i for i, node in enumerate(task.nodes) if number.get(node) in known]
            if len(kept) < 3:
                continue
            rows = np.isin(task.y, kept)
            X, y = task.X[rows], np.searchsorted(kept, task.y[rows])
            own = [known[number[task.nodes[i]]] for i in kept]
            english = label_vectors([plain_label(task.labels[i]) for i in kept])
            near[False] += model.similarity(unit(english)).max(axis=1).tolist()
            foreign = np.array(read_labels(own)[1])
            near[True] += model.similarity(unit(translated(own)))[foreign].max(axis=1).tolist()
            for way, A in {"English": english, **{way: read(own) for way, read in ways.items()}}.items():
                found[way][language].append(accuracy(model.decision_function(X, unit(A)), y))
    print_row("held-out classes", called)
    for way, by_language in found.items():
        print_row(way, [np.mean(values) for values in by_language.values()])
    for other, values in near.items():
        what = "of another language" if other else "English"
        print(f"one label in ten that is {what} resembles no class more than {np.quantile(values, FAR_SHARE):.2f}")


PARTS = {"labels": labels, "texts": texts, "choose": choose}


def main(part=None, *size):
    for name, run in PARTS.items():
        if part in (None, name):
            run(*size)


if __name__ == "__main__":
    main(*sys.argv[1:])
