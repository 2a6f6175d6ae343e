"""Which images and classes take part, and in which role."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Literal

import numpy as np
import pandas as pd

from aezsl.arrays import Mask
from aezsl.data.benchmark import Benchmark
from aezsl.data.draws import held_out_mask, long_tail
from aezsl.errors import DataError, ParameterError, counted
from aezsl.kinds import AtLeastOne, Fraction, Seed, Settings, Text


class IngestionSettings(Settings):
    """Which part of the data takes part. null: what the data set itself proposes (all of it, but for emoji).

    Lists of names are joined by + on the command line: --params=ingestion.sources=Twtr+OpenMoji.
    """

    groups: list[Text] | Text | None = None
    """Groups of classes, where the data has some (emoji: People & Body, Animals & Nature, ...). []: all."""
    sources: list[Text] | Text | None = None
    """Sources of images, where the data has some (emoji: artists such as Twtr, OpenMoji). []: all."""
    complete: bool | None = None
    """true: only classes that every chosen source shows. false: all of them."""


class SplitSettings(Settings):
    """Which classes are unseen, and which images are tested."""

    seed: Seed = 0
    """Of all draws below. Another seed is another split."""
    rule: Literal["given", "drawn"] = "given"
    """given: unseen are the classes that the data names, drawn where it names none. drawn: always drawn, as many as
    the data names, among all classes that have images (kedro repeat)."""
    unseen_fraction: Fraction = 0.2
    """Share of the classes of each group, drawn. Only where the data does not say which are unseen."""
    seen_test_fraction: Fraction = 0.2
    """Share of the images of each seen class, drawn. They are tested in the generalized setting only."""
    test_imbalance: AtLeastOne = 1
    """How many times as many test images the largest unseen class keeps as the smallest. 1 takes all images; 10 draws a
    part of them, class by class in random order shrinking exponentially down to a tenth. Seen classes stay."""
    folder: str = ""
    """Folder below that of the benchmark, where results are kept. kedro repeat has one per split."""


def select_data(benchmark: Benchmark, ingestion: IngestionSettings) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """The images and classes that the parameters ask for, and the names of the attributes."""
    images, classes = benchmark.images, benchmark.classes
    proposed = asdict(benchmark.proposal)
    wanted = {key: own if (given := getattr(ingestion, key)) is None else given for key, own in proposed.items()}
    if wanted["groups"]:
        classes = _keep(classes, "group", wanted["groups"])
    if wanted["sources"]:
        images = _keep(images, "source", wanted["sources"])
    labelled = images["class_name"].notna()
    images = images[~labelled | images["class_name"].isin(classes["class_name"])]
    if wanted["complete"]:
        counts = images.groupby("class_name")["source"].nunique()
        complete = counts.index[counts == images["source"].nunique()]
        classes = classes[classes["class_name"].isin(complete)]
        images = images[images["class_name"].isin(complete)]
    if images.empty or classes.empty:
        raise ParameterError(
            "nothing is left of the data: loosen ingestion.groups, ingestion.sources or ingestion.complete"
        )
    return images.reset_index(drop=True), classes.reset_index(drop=True), list(benchmark.attribute_names)


def _keep(table: pd.DataFrame, column: str, wanted: str | Sequence[str]) -> pd.DataFrame:
    if column not in table:
        raise ParameterError(f"this data has no {column}s to choose from; leave ingestion.{column}s empty")
    known = set(table[column])
    if isinstance(wanted, str):
        wanted = [wanted] if wanted in known else wanted.split("+")
    if unknown := sorted(set(wanted) - known):
        raise ParameterError(f"unknown {column}s {unknown}; expected some of: {sorted(known)}")
    return table[table[column].isin(wanted)]


def split_classes(images: pd.DataFrame, classes: pd.DataFrame, split: SplitSettings) -> pd.DataFrame:
    """Every class with its role. A role that the data gives stays; else a seeded share of each group is unseen.

    With the rule ``drawn`` roles that the data gives say only how many classes of each group are unseen. Classes
    without images cannot be learnt from: they stay unseen, and the draw is among the others.
    """
    classes = classes.drop(columns="attributes", errors="ignore")  # they have become semantics
    if "role" in classes and classes["role"].isna().any():
        missing = classes.loc[classes["role"].isna(), "class_name"]
        raise DataError(
            f"{counted(len(missing), 'classes have', 'class has')} no role, for example {missing.iloc[0]!r}"
        )
    if "role" in classes and split.rule == "given":
        return classes
    pictured = classes
    if "role" in classes:
        pictured = classes[classes["class_name"].isin(images["class_name"]) | classes["role"].eq("seen")]
        if not pictured["role"].eq("unseen").any():
            raise ParameterError("split.rule: drawn needs images of unseen classes, and this data has none of them")
    rng = np.random.default_rng(split.seed)
    role = pd.Series("unseen", index=classes.index).mask(classes.index.isin(pictured.index), "seen")
    groups = pictured.groupby("group") if "group" in classes else [("all", pictured)]
    for _, members in groups:
        if "role" in members:
            n_unseen = int(members["role"].eq("unseen").sum())
        else:
            n_unseen = round(len(members) * split.unseen_fraction)
        role[rng.choice(members.index.to_numpy(), n_unseen, replace=False)] = "unseen"
    return classes.assign(role=role)


def split_images(images: pd.DataFrame, classes: pd.DataFrame, split: SplitSettings) -> pd.DataFrame:
    """What each image is for: train, test or unused, in the conventional and in the generalized setting.

    Conventional: seen classes train, unseen classes test. Generalized: a seeded share of every seen class's
    images, or those that the data officially holds out, joins the test images. Images that are officially
    test images of seen classes train in neither setting. Unlabelled images are test images in both. Official parts
    belong to the roles that the data gives: the rule ``drawn`` leaves them aside.

    Of test images of unseen classes, ``test_imbalance`` leaves a long tail; the others are unused in both settings.
    """
    role = images["class_name"].map(classes.set_index("class_name")["role"])
    has_parts = "official" in images and split.rule == "given"
    official = images["official"] if has_parts else pd.Series(pd.NA, index=images.index)
    held_out = official.eq("test_seen").fillna(False).to_numpy(dtype=bool)
    zsl_unused = held_out
    if not held_out.any():
        seen = images["class_name"].where(role == "seen")  # rows without a label are left alone
        held_out = held_out_mask(seen.to_numpy(), split.seen_test_fraction, split.seed)
    unseen = role.eq("unseen").to_numpy(dtype=bool)
    test = unseen | images["class_name"].isna().to_numpy(dtype=bool)
    dropped = _dropped_by_imbalance(images["class_name"], unseen, split)
    return pd.DataFrame(
        {
            "image_id": images["image_id"],
            "class_name": images["class_name"],
            "zsl": np.select([dropped | (zsl_unused & ~test), test], ["unused", "test"], "train"),
            "gzsl": np.select([dropped, test | held_out], ["unused", "test"], "train"),
        }
    )


def _dropped_by_imbalance(class_names: "pd.Series[str]", unseen: Mask, split: SplitSettings) -> Mask:
    """Images of unseen classes that ``test_imbalance`` leaves out."""
    ratio = split.test_imbalance
    dropped = unseen.copy()
    if ratio == 1 or not unseen.any():
        return np.zeros_like(dropped)
    rows = np.flatnonzero(unseen)
    dropped[rows[long_tail(pd.factorize(class_names.iloc[rows])[0], ratio, split.seed)]] = False
    return dropped
