"""How much the way in which labels are written changes answers: ``python -m tests.benchmarks.bench_label_words [tasks]``.

The same labels in ten ways, taken as they are typed, after more and more has been done to them: mean per-class accuracy of
the photo model over tasks of held-out ImageNet classes (``photo_tasks``), which choose what is done to a label, and the
spread, best way minus worst. Then the same on the photo sets of ``bench_photos``, which choose nothing.
"""  # noqa: E501

import sys

import numpy as np

from aezsl.arrays import unit_rows
from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.labels import plain_label
from aezsl.encoders.knowledge.named import ARTICLE, known_words
from aezsl.methods.heads.methods import AEZSLHeads
from tests.benchmarks.bench_photos import accuracy, photo_sets
from tests.benchmarks.photo_tasks import data_folder, draw_tasks


def plural(label):
    if label.endswith("y") and label[-2:-1] not in "aeiou":
        return f"{label[:-1]}ies"
    return f"{label}es" if label.endswith(("s", "x", "ch", "sh")) else f"{label}s"


def singular(label):
    """The last word without the end of a plural, where WordNet knows what is left."""
    for end, instead in (("ies", "y"), ("es", ""), ("s", "")):
        one = label.removesuffix(end) + instead
        if label.endswith(end) and one.split()[-1] in known_words():
            return one
    return label


def article(label):
    return f"{'an' if label[0].lower() in 'aeiou' else 'a'} {label}"


WAYS = {
    "as WordNet has it": str,
    "article": article,
    "the": lambda label: f"the {label}",
    "plural": plural,
    "underscores": lambda label: label.replace(" ", "_"),
    "CAPITALS": str.upper,
    "Title Case": str.title,
    "a photo of": lambda label: f"a photo of {article(label)}.",
    "with a synonym": lambda label: f"{label}, {plural(label)}",
    "in a sentence": lambda label: f"In this picture you can see {article(label)} that I met on my way home.",
}

#: What may be done to a label: more and more of it.
STEPS = {
    "as typed": str,
    "small letters, no underscores": lambda label: label.replace("_", " ").lower(),
    "and no article": lambda label: ARTICLE.sub("", label.replace("_", " ").lower()),
    "plain_label": plain_label,
    "and the singular": lambda label: ", ".join(map(singular, plain_label(label).split(", "))),
}


def vectors_of(labels):
    """Unit vectors by text, of all labels in all ways, after all steps."""
    texts = sorted({step(way(label)) for label in labels for way in WAYS.values() for step in STEPS.values()})
    return dict(zip(texts, unit_rows(label_vectors(texts).astype(np.float64)), strict=True))


def table(tasks):
    """tasks: labels, what names photos, features and truth. Rows: steps; columns: ways."""
    vectors = vectors_of({label for labels, *_ in tasks for label in labels})
    found = np.zeros((len(STEPS), len(WAYS), len(tasks)))
    for t, (labels, model, X, y) in enumerate(tasks):
        of_texts = {}  # several ways may come to the same
        for s, step in enumerate(STEPS.values()):
            for w, way in enumerate(WAYS.values()):
                texts = tuple(step(way(label)) for label in labels)
                if texts not in of_texts:
                    scores = model.decision_function(X, np.stack([vectors[text] for text in texts]))
                    of_texts[texts] = accuracy(scores, y)
                found[s, w, t] = of_texts[texts]
    return found.mean(axis=2)


def report(found):
    print(f"{'':32}{'mean':>7}{'spread':>8}   " + ", ".join(WAYS))
    for step, row in zip(STEPS, found, strict=True):
        print(
            f"{step:32}{row.mean():7.1f}{np.ptp(row):8.1f}   " + " ".join(f"{value:.1f}" for value in row), flush=True
        )


def main(n_tasks=30):
    seen = load_knowledge()
    fitted = ((task, AEZSLHeads().fit(seen.subset(task.kept))) for task in draw_tasks(int(n_tasks)))
    print("tasks of held-out classes")
    report(table([(task.labels, model, task.X, task.y) for task, model in fitted]))
    model = AEZSLHeads().fit(seen)
    for name, labels, features, y in photo_sets(data_folder() / "photos"):
        print(name)
        report(table([(labels, model, features["lite0"], y)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
