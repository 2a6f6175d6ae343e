"""Naming tasks made of ImageNet's own classes, to choose parameters by: some labels are known, some are held out.

A task has 5 to 40 labels below one class of WordNet, or of all kinds. A label is a class of ImageNet or one above it;
no label is above another. With three in five labels all classes below them are taken out of the knowledge, and with
some of these their neighbours, too: these labels are new. Photos are of ImageNet's validation set, features of
EfficientNet-Lite0 in ``$AEZSL_REFERENCE_DATA/imagenet``; no other data set plays a part.
"""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from aezsl.encoders.knowledge.named import imagenet_classes, upwards, wordnet

#: Most labels of a task, most photos of a label.
LABELS, PHOTOS = 40, 10
#: How many classes a topic has, and at most a label that is above others.
TOPIC, GROUP = (25, 420), 150
DOG = "n02084071"  # 118 breeds: one in seven tasks about dogs is taken


@dataclass(frozen=True)
class Task:
    labels: list[str]
    kept: np.ndarray  # (1000,) classes that are known
    X: np.ndarray
    y: np.ndarray
    kinds: list[str]  # of every label
    nodes: list[str]  # the class of WordNet that every label is
    classes: np.ndarray  # (n,) of ImageNet, what every photo shows


def data_folder():
    return Path(os.environ["AEZSL_REFERENCE_DATA"])


@cache
def imagenet_photos():
    """Features and classes of the validation photos; of those outside the 1,000 classes features and wnids."""
    with np.load(data_folder() / "imagenet/features/efficientnet_lite0.npz") as file:
        X, wnid, source = file["X"].astype(np.float64), file["wnid"], file["source"]
    place = {one: i for i, one in enumerate(imagenet_classes())}
    y = np.array([place.get(one, -1) for one in wnid])
    return X[source == "val5"], y[source == "val5"], X[y < 0], wnid[y < 0]


@cache
def members():
    """The classes of ImageNet below every class."""
    found = {}
    for i, wnid in enumerate(imagenet_classes()):
        for above in upwards(wnid):
            found.setdefault(above, []).append(i)
    return found


def draw_tasks(n, seed=0):
    rng = np.random.default_rng(seed)
    tasks = []
    while len(tasks) < n:
        if task := draw_task(rng):
            tasks.append(task)
    return tasks


def draw_task(rng):
    topic = draw_topic(rng) if rng.random() < 0.7 else None
    among = members()[topic] if topic else range(len(imagenet_classes()))
    wanted = int(np.exp(rng.uniform(np.log(5), np.log(LABELS))))
    nodes, used = [], set()
    for _ in range(20 * wanted):
        node = draw_label(rng, among, topic)
        if len(nodes) < wanted and node and not used & set(members()[node]):
            nodes.append(node)
            used |= set(members()[node])
    labels = [wordnet()[node].names[0] for node in nodes]
    if len(nodes) < 3 or len(set(labels)) < len(labels):
        return None
    held = rng.random(len(nodes)) < 0.6
    return with_photos(rng, labels, nodes, held)


def draw_topic(rng):
    while True:
        above = upwards(imagenet_classes()[rng.integers(1000)])
        if DOG in above and rng.random() < 0.85:
            continue
        if topics := [node for node in above if TOPIC[0] <= len(members()[node]) <= TOPIC[1]]:
            return topics[rng.integers(len(topics))]


def draw_label(rng, among, topic):
    wnid = imagenet_classes()[among[rng.integers(len(among))]]
    if rng.random() < 0.5:
        return wnid
    groups = [n for n in upwards(wnid)[1:] if 2 <= len(members()[n]) <= min(GROUP, 0.6 * len(among)) and n != topic]
    return groups[rng.integers(len(groups))] if groups else None


def with_photos(rng, labels, nodes, held):
    groups = [members()[node] for node in nodes]
    kept = np.ones(len(imagenet_classes()), dtype=bool)
    known = {i for group, out in zip(groups, held, strict=True) if not out for i in group}
    for group, out in zip(groups, held, strict=True):
        if out:
            kept[group] = False
            if rng.random() < 0.3:
                kept[sorted(neighbours(group) - known)] = False
    X, y, _, _ = imagenet_photos()
    rows = [rng.permutation(np.flatnonzero(np.isin(y, group)))[:PHOTOS] for group in groups]
    truth = np.repeat(np.arange(len(groups)), [len(own) for own in rows])
    kinds = [
        f"{'new' if out else 'known'} {'group' if len(g) > 1 else 'class'}" for g, out in zip(groups, held, strict=True)
    ]
    rows = np.concatenate(rows)
    return Task(labels, kept, X[rows], truth, kinds, nodes, y[rows])


def neighbours(group):
    """All below the highest class above these that has at most 30 classes."""
    above = [n for n in upwards(imagenet_classes()[group[0]]) if len(group) < len(members()[n]) <= 30]
    return set(members()[max(above, key=lambda n: len(members()[n]))]) if above else set()


def per_label(predicted, y):
    """The share of photos named right, for every label that has photos."""
    return {label: float((predicted[y == label] == label).mean()) for label in np.unique(y)}
