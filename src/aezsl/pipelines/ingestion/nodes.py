"""Which images and classes take part, and in which role."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from aezsl.data.benchmark import Benchmark
from aezsl.selection import held_out_mask


def select_data(benchmark: Benchmark, ingestion: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """The images and classes that the parameters ask for, and the names of the attributes."""
    images, classes = benchmark.images, benchmark.classes
    proposed = asdict(benchmark.proposal)
    wanted = {key: proposed[key] if ingestion[key] is None else ingestion[key] for key in proposed}
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
        raise ValueError("nothing is left of the data: loosen groups, sources or complete in parameters_ingestion.yml")
    return images.reset_index(drop=True), classes.reset_index(drop=True), list(benchmark.attribute_names)


def _keep(table: pd.DataFrame, column: str, wanted: str | Sequence[str]) -> pd.DataFrame:
    wanted = [wanted] if isinstance(wanted, str) else wanted
    if column not in table:
        raise ValueError(f"this data has no {column}s to choose from; leave ingestion.{column}s empty")
    if unknown := sorted(set(wanted) - set(table[column])):
        raise ValueError(f"unknown {column}s {unknown}; expected some of: {sorted(set(table[column]))}")
    return table[table[column].isin(wanted)]


def split_classes(classes: pd.DataFrame, split: dict[str, Any]) -> pd.DataFrame:
    """Every class with its role. A role that the data gives stays; else a seeded share of each group is unseen."""
    classes = classes.drop(columns="attributes", errors="ignore")  # they have become semantics
    if "role" in classes:
        if classes["role"].isna().any():
            missing = classes.loc[classes["role"].isna(), "class_name"]
            raise ValueError(f"{len(missing)} classes have no role, for example {missing.iloc[0]!r}")
        return classes
    rng = np.random.default_rng(split["seed"])
    role = pd.Series("seen", index=classes.index)
    groups = classes.groupby("group") if "group" in classes else [("all", classes)]
    for _, members in groups:
        n_unseen = round(len(members) * split["unseen_fraction"])
        role[rng.choice(members.index.to_numpy(), n_unseen, replace=False)] = "unseen"
    return classes.assign(role=role)


def split_images(images: pd.DataFrame, classes: pd.DataFrame, split: dict[str, Any]) -> pd.DataFrame:
    """What each image is for: train, test or unused, in the conventional and in the generalized setting.

    Conventional: seen classes train, unseen classes test. Generalized: a seeded share of every seen class's
    images, or those that the data officially holds out, joins the test images. Images that are officially
    test images of seen classes train in neither setting. Unlabelled images are test images in both.
    """
    role = images["class_name"].map(classes.set_index("class_name")["role"])
    official = images["official"] if "official" in images else pd.Series(pd.NA, index=images.index)
    held_out = official.eq("test_seen").fillna(False).to_numpy(dtype=bool)
    zsl_unused = held_out
    if not held_out.any():
        seen = images["class_name"].where(role == "seen")  # rows without a label are left alone
        held_out = held_out_mask(seen.to_numpy(), split["seen_test_fraction"], split["seed"])
    test = role.eq("unseen").to_numpy(dtype=bool) | images["class_name"].isna().to_numpy(dtype=bool)
    return pd.DataFrame(
        {
            "image_id": images["image_id"],
            "class_name": images["class_name"],
            "zsl": np.select([test, zsl_unused], ["test", "unused"], "train"),
            "gzsl": np.where(test | held_out, "test", "train"),
        }
    )
