"""How much the way in which labels are written changes answers: ``python -m tests.benchmarks.bench_label_words [tasks [sets]]``.

The same labels in ten ways, taken as they are typed, after more and more has been done to them: mean per-class accuracy of
the photo model over tasks of held-out ImageNet classes (``photo_tasks``), which choose what is done to a label, and the
spread, best way minus worst. Then the same on the photo sets of ``bench_photos``, which choose nothing.
"""  # noqa: E501

import sys

import numpy as np

from aezsl.arrays import unit_rows
from aezsl.encoders.knowledge import label_vectors, load_knowledge
from aezsl.encoders.knowledge.labels import plain_label, read_labels
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


def of_each(step):
    return lambda labels: [step(label) for label in labels]


#: What may be done to labels: more and more of it. ``read_labels`` is what the code does.
STEPS = {
    "as typed": of_each(str),
    "small letters, no underscores": of_each(lambda label: label.replace("_", " ").lower()),
    "and no article": of_each(lambda label: ARTICLE.sub("", label.replace("_", " ").lower())),
    "read_labels": lambda labels: read_labels(labels)[0],
    "and the singular": of_each(lambda label: ", ".join(map(singular, plain_label(label).split(", ")))),
}


def table(tasks):
    """tasks: labels, what names photos, features and truth. Rows: steps; columns: ways."""
    known = {}  # unit vectors by text
    found = np.zeros((len(STEPS), len(WAYS), len(tasks)))
    for t, (labels, model, X, y) in enumerate(tasks):
        written = {(s, w): tuple(STEPS[s]([WAYS[w](label) for label in labels])) for s in STEPS for w in WAYS}
        if new := sorted({text for texts in written.values() for text in texts} - known.keys()):
            known |= dict(zip(new, unit_rows(label_vectors(new).astype(np.float64)), strict=True))
        of_texts = {  # several ways may come to the same
            texts: accuracy(model.decision_function(X, np.stack([known[text] for text in texts])), y)
            for texts in set(written.values())
        }
        found[:, :, t] = [[of_texts[written[s, w]] for w in WAYS] for s in STEPS]
    return found.mean(axis=2)


def report(found):
    print(f"{'':32}{'mean':>7}{'spread':>8}   " + ", ".join(WAYS))
    for step, row in zip(STEPS, found, strict=True):
        print(
            f"{step:32}{row.mean():7.1f}{np.ptp(row):8.1f}   " + " ".join(f"{value:.1f}" for value in row), flush=True
        )


def main(n_tasks=30, *sets):
    seen = load_knowledge()
    fitted = ((task, AEZSLHeads().fit(seen.subset(task.kept))) for task in draw_tasks(int(n_tasks)))
    print("tasks of held-out classes")
    report(table([(task.labels, model, task.X, task.y) for task, model in fitted]))
    model = AEZSLHeads().fit(seen)
    for name, labels, features, y in photo_sets(data_folder() / "photos"):
        if sets and name not in sets:
            continue
        print(name)
        report(table([(labels, model, features["lite0"], y)]))


if __name__ == "__main__":
    main(*sys.argv[1:])
