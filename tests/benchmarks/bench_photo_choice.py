"""What parameters, temperature, threshold and bounds of ``aezsl_heads`` rest on: ``python -m tests.benchmarks.bench_photo_choice [folders] [tasks]``.

Per-class accuracy over tasks of ``photo_tasks`` (Lite0) at the defaults, and with one parameter changed at a time: the
difference and its standard error over tasks. Then how well probabilities are calibrated, and what the two warnings are
worth. ``folders``: of photos that are named together alone.
"""  # noqa: E501

import sys

import numpy as np

from aezsl.encoders.knowledge import ENCODERS, label_vectors, load_knowledge
from aezsl.evaluation.confidence import probabilities
from aezsl.evaluation.ranking import top_k
from aezsl.methods.heads import union
from aezsl.methods.heads.folder import AEZSLHeadsT
from aezsl.methods.heads.methods import AEZSLHeads, HeadMapping, conse
from tests.benchmarks.photo_tasks import draw_tasks, per_label

CHANGES = {
    "weighting": ["none", "cosine", "cosine_power_4"],
    "lam": [0.3, 3.0],
    "similar": [30, 200, 1000],
    "sharpness": [10.0, 15.0, 30.0],
    "by_name": [0.0, 0.5, 0.8, 1.0],
    "novelty": [0.1, 0.25, 1.0],
}
#: The labels that resemble the classes least are far, one in ten, so that the warning stays one; labels are alike where
#: two that overlap as much or more are told apart in two of three cases.
FAR_SHARE, TOLD_APART = 0.1, 2 / 3


class Choice:
    def __init__(self, n_tasks, encoders=ENCODERS):
        self.tasks, self.seen = draw_tasks(n_tasks), load_knowledge(encoders=encoders)
        labels = sorted({label for task in self.tasks for label in task.labels})
        vectors = label_vectors(labels, encoders).astype(np.float64)
        self.vectors = dict(zip(labels, vectors, strict=True))
        self.known = [self.seen.subset(task.kept) for task in self.tasks]

    def semantics(self, task):
        return np.stack([self.vectors[label] for label in task.labels])

    def scores(self, make):
        for task, known in zip(self.tasks, self.known, strict=True):
            yield task, make(known).decision_function(task.X, self.semantics(task))

    def accuracy(self, make):
        """Of every task, and of every kind of label."""
        tasks, kinds = [], {}
        for task, scores in self.scores(make):
            right = per_label(scores.argmax(axis=1), task.y)
            tasks.append(100 * np.mean(list(right.values())))
            for label, share in right.items():
                kinds.setdefault(task.kinds[label], []).append(100 * share)
        return np.array(tasks), {kind: np.mean(kinds[kind]) for kind in sorted(kinds)}


def report(name, accuracy, base=None):
    tasks, kinds = accuracy
    parts = " ".join(f"{kind} {value:.1f}" for kind, value in kinds.items())
    change = ""
    if base is not None:
        difference = tasks - base[0]
        change = f" ({difference.mean():+.2f} +- {difference.std() / np.sqrt(len(difference)):.2f})"
    print(f"{name:26} {tasks.mean():.1f}{change} | {parts}", flush=True)


def parameters(choice):
    base = choice.accuracy(lambda seen: AEZSLHeads().fit(seen))
    report("defaults", base)
    report("conse", choice.accuracy(conse), base)
    for weighting in ("none", "cosine_squared"):
        made = choice.accuracy(lambda seen: HeadMapping(weighting=weighting, similar=1000).fit(seen))  # noqa: B023
        report(f"head_mapping, {weighting}", made, base)
    for parameter, values in CHANGES.items():
        for value in values:
            found = choice.accuracy(lambda seen: AEZSLHeads(**{parameter: value}).fit(seen))  # noqa: B023
            report(f"{parameter} {value}", found, base)


def folders(choice):
    """The photos of a task named together, where they show all of its labels and where they show half or a quarter."""
    ways = {
        "alone": AEZSLHeads(),
        "together": AEZSLHeadsT(),
        "together, equal shares": AEZSLHeadsT(totals="uniform"),
        "together, class_weight 0": AEZSLHeadsT(class_weight=0.0),
        "together, balance 0.7": AEZSLHeadsT(balance=0.7),
        "together, graph_weight 4": AEZSLHeadsT(graph_weight=4.0),
    }
    for part in (1, 2, 4):
        rng, found, sure = np.random.default_rng(0), {name: [] for name in ways}, []
        for task, known in zip(choice.tasks, choice.known, strict=True):
            present = rng.permutation(len(task.labels))[: -(-len(task.labels) // part)]
            rows = np.isin(task.y, present)
            if len(present) < 2 or rows.sum() < 2 * len(task.labels):  # it would be left alone
                continue
            for name, method in ways.items():
                labels = method.fit(known).predict(task.X[rows], choice.semantics(task))
                found[name].append(100 * np.mean(list(per_label(labels, task.y[rows]).values())))
            folder = ways["together"].adapt(choice.semantics(task), task.X[rows])
            if folder.folder.reason is None:
                scores = folder.scores(task.X[rows])
                sure.append((_best(scores, task.y[rows], 1.0, False), scores.argmax(axis=1) == task.y[rows]))
        p, right = (np.concatenate(part) for part in zip(*sure, strict=True))
        error = 100 * calibration_error(p, right)
        print(f"together: ECE {error:.1f}, mean {p.mean():.3f}, right {right.mean():.3f}")
        alone = np.array(found["alone"])
        print(f"1/{part} of the labels present, {len(alone)} folders, alone {alone.mean():.1f}")
        for name in list(ways)[1:]:
            change = np.array(found[name]) - alone
            print(f"  {name}: {change.mean():+.1f} +- {change.std() / np.sqrt(len(change)):.1f}", flush=True)


def confidence(choice):
    """Temperature and threshold over all tasks together, by the rule of ``evaluation.confidence``."""
    rows = [(task, scores) for task, scores in choice.scores(lambda seen: AEZSLHeads().fit(seen))]
    right = np.concatenate([scores.argmax(axis=1) == task.y for task, scores in rows])

    def best(temperature, taken_away=False):
        return np.concatenate([_best(scores, task.y, temperature, taken_away) for task, scores in rows])

    for temperature in (0.7, 0.8, 0.9, 1.0, 1.1, 1.25):
        p = best(temperature)
        error = 100 * calibration_error(p, right)
        print(f"temperature {temperature}: ECE {error:.1f}, mean {p.mean():.3f}, right {right.mean():.3f}")
    for share in (0.1, 0.25, 0.5):
        own, away = best(1.0)[right], best(1.0, taken_away=True)
        tried = np.linspace(0, 1, 201)
        value = [(1 - share) * (own >= t).mean() * right.mean() + share * (away < t).mean() for t in tried]
        t = tried[int(np.argmax(value))]
        kept, refused = (own >= t).mean(), (away < t).mean()
        print(f"none of these in {share}: threshold {t:.3f}, keeps {kept:.2f}, refuses {refused:.2f}")


def _best(scores, y, temperature, taken_away):
    if taken_away:
        rest = np.ones_like(scores, dtype=bool)
        rest[np.arange(len(y)), y] = False
        scores = scores[rest].reshape(len(y), -1)
    return probabilities(top_k(scores, 20), temperature)[:, 0]


def calibration_error(p, right, n_bins=15):
    bins = np.minimum((p * n_bins).astype(int), n_bins - 1)
    parts = [(np.mean(bins == b), p[bins == b].mean() - right[bins == b].mean()) for b in np.unique(bins)]
    return sum(share * abs(gap) for share, gap in parts)


def warnings(choice):
    near, right, overlaps, apart = [], [], [], []
    for (task, scores), known in zip(choice.scores(lambda seen: AEZSLHeads().fit(seen)), choice.known, strict=True):
        model = AEZSLHeads().fit(known)
        u = model.similarity(choice.semantics(task))
        shared = union.overlap(union.cover(u, model.sharpness))
        for label, share in per_label(scores.argmax(axis=1), task.y).items():
            near.append(u[label].max())
            right.append(share)
            for other in np.unique(task.y[task.y < label]):
                overlaps.append(shared[label, other])
                apart.append(_told_apart(scores, task.y, label, other))
    near, right, overlaps, apart = map(np.array, (near, right, overlaps, apart))
    few = np.quantile(near, FAR_SHARE)
    named, of_all = right[near < few].mean(), right.mean()
    print(f"far below {few:.2f}: {named:.2f} of their photos right, of all {of_all:.2f}")
    much = min(b for b in np.arange(0.5, 1.0, 0.01) if apart[overlaps > b].mean() <= TOLD_APART)
    share, told = (overlaps > much).mean(), apart[overlaps > much].mean()
    print(f"alike above {much:.2f}: {share:.1%} of pairs, {told:.2f} of their photos told apart")


def _told_apart(scores, y, one, other):
    sure = scores[:, one] > scores[:, other]
    return (sure[y == one].mean() + (~sure[y == other]).mean()) / 2


def main(*words):
    n_tasks = int(next((word for word in words if word.isdigit()), 300))
    choice = Choice(n_tasks)
    if "folders" in words:
        return folders(choice)
    parameters(choice)
    folders(choice)
    confidence(choice)
    warnings(choice)
    for encoders in (ENCODERS[:1], ENCODERS[1:]):
        report("+".join(encoders), Choice(n_tasks, encoders).accuracy(lambda seen: AEZSLHeads().fit(seen)))
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
