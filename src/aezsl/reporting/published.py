"""Figures that Niu, Cai and Veeraraghavan published, in percent: for comparison of order, never of level.

They were measured on VGG (CUB, SUN) and GoogLeNet (Dogs, ImageNet) features, which this project's runs need
not share.
"""

from typing import NamedTuple

NOTE = (
    "Published on other features (VGG for CUB and SUN, GoogLeNet for Dogs and ImageNet) and on the paper's own "
    "splits: compare the order of methods, not the level."
)


class Row(NamedTuple):
    """One line of the paper's Table 1: its name there, the registered method it is (if any), the accuracies."""

    label: str
    method: str | None
    kind: str
    cub: float
    sun: float
    dogs: float


#: Table 1, accuracy in the conventional setting, in the paper's order.
TABLE_1 = (
    Row("ESZSL", "eszsl", "inductive", 49.74, 82.50, 40.27),
    Row("LatEm", "latem", "inductive", 45.50, 83.50, 37.41),
    Row("Zhang and Saligrama 2016 (JLSE)", "jlse", "inductive", 46.11, 83.83, 43.42),
    Row("Bucher et al. (SECML)", "secml", "inductive", 43.29, 84.41, 36.18),
    Row("AMP", "amp", "inductive", 43.12, 82.50, 38.02),
    Row("COSTA", "costa", "inductive", 44.19, 76.00, 33.98),
    Row("SSE", "sse", "inductive", 40.64, 82.50, 38.63),
    Row("SJE", "sje", "inductive", 51.70, 84.00, 37.11),
    Row("DAP (published as DAP/IAP)", "dap", "inductive", 41.40, 72.00, 37.11),
    Row("IAP (published as DAP/IAP)", "iap", "inductive", 41.40, 72.00, 37.11),
    Row("Changpinyo et al. 2016 (SynC)", "sync", "inductive", 54.50, 83.50, 42.01),
    Row("ConSE", "conse", "inductive", 37.33, 73.00, 23.49),
    Row("RKT", "rkt", "inductive", 53.73, 81.00, 42.11),
    Row("EXEM", "exem", "inductive", 58.54, 86.00, 42.90),
    Row("Li et al. 2015", "lrl", "transductive", 43.94, 87.50, 43.50),
    Row("Kodirov et al.", "uda", "transductive", 57.42, 86.00, 48.59),
    Row("Zhang and Saligrama 2016, transductive", "structured_prediction", "transductive", 56.90, 89.50, 48.53),
    Row("Shojaee and Baghshah", "jeac", "transductive", 58.80, 86.16, 47.49),
    Row("Li and Guo", "max_margin", "transductive", 57.14, 88.50, 47.84),
    Row("SMS", "sms", "transductive", 57.14, 83.50, 47.95),
    Row("Xu et al.", "tzsar", "transductive", 55.74, 85.50, 43.09),
    Row("AEZSL_sim", "aezsl_sim", "inductive", 57.55, 87.50, 43.98),
    Row("AEZSL", "aezsl", "inductive", 59.73, 88.00, 44.62),
    Row("AEZSL_LR (one-step)", "aezsl_lr_one_step", "transductive", 60.08, 89.00, 48.90),
    Row("AEZSL_LR", "aezsl_lr", "transductive", 64.44, 92.50, 50.62),
)


def published_column(data_set: str | None) -> str | None:
    """The column of Table 1 that is of a data set, however its name is written; None where there is none."""
    name = (data_set or "").lower().removeprefix("xlsa17_")
    return name if name in ("cub", "sun", "dogs") else None


#: Generalized setting on CUB: name there, registered method, whether calibrated, accuracy.
GENERALIZED_CUB = (
    ("ESZSL", "eszsl", False, 26.35),
    ("AEZSL", "aezsl", False, 30.76),
    ("AEZSL with calibrated stacking", "aezsl", True, 42.08),
    ("Chao et al.", None, True, 35.60),
)

#: The columns of the paper's large-scale table, by the keys of this project's metrics.
IMAGENET_COLUMNS = (
    "hit_at_1", "hit_at_2", "hit_at_5", "hit_at_10", "hit_at_20",
    "hp_at_2", "hp_at_5", "hp_at_10", "hp_at_20",
)  # fmt: skip

#: ImageNet, by test set: name there, registered method, the columns above.
IMAGENET = {
    "2-hop": (
        ("DeViSE", "devise", (6.0, 10.0, 18.1, 26.4, 36.4, 15.2, 19.2, 21.7, 23.3)),
        ("ConSE", "conse", (9.4, 15.1, 24.7, 32.7, 41.8, 21.4, 24.7, 26.9, 28.4)),
        ("Changpinyo et al. (SynC)", "sync", (10.5, 16.7, 28.6, 40.1, 52.0, 25.1, 27.7, 30.3, 32.1)),
        ("EXEM", "exem", (12.5, 19.5, 32.3, 43.7, 55.2, 26.9, 29.1, 31.2, 33.3)),
        ("ESZSL", "eszsl", (8.6, 13.8, 24.1, 35.0, 47.4, 21.8, 24.7, 27.4, 30.2)),
        ("DAEZSL", "daezsl", (13.9, 21.3, 33.8, 45.2, 57.1, 28.4, 29.8, 32.5, 34.8)),
    ),
    "3-hop": (
        ("DeViSE", "devise", (1.7, 2.9, 5.3, 8.2, 12.5, 3.7, 19.1, 21.4, 23.6)),
        ("ConSE", "conse", (2.7, 4.4, 7.8, 11.5, 16.1, 5.3, 20.2, 22.4, 24.7)),
        ("Changpinyo et al. (SynC)", "sync", (2.9, 4.9, 9.2, 14.2, 20.9, 8.0, 23.7, 26.4, 28.6)),
        ("EXEM", "exem", (3.6, 5.9, 10.7, 16.1, 23.1, 8.2, 25.3, 27.8, 30.1)),
        ("ESZSL", "eszsl", (2.4, 4.1, 7.6, 11.8, 17.5, 5.8, 20.9, 23.1, 25.2)),
        ("DAEZSL", "daezsl", (4.3, 6.6, 11.9, 17.6, 24.5, 8.0, 26.7, 28.9, 31.8)),
    ),
    "all": (
        ("DeViSE", "devise", (0.8, 1.4, 2.5, 3.9, 6.0, 1.7, 7.2, 8.5, 9.6)),
        ("ConSE", "conse", (1.4, 2.2, 3.9, 5.8, 8.3, 2.5, 7.8, 9.2, 10.4)),
        ("Changpinyo et al. (SynC)", "sync", (1.5, 2.4, 4.5, 7.1, 10.9, 3.6, 9.6, 11.0, 12.5)),
        ("EXEM", "exem", (1.8, 2.9, 5.3, 8.2, 12.2, 3.7, 10.4, 12.1, 13.5)),
        ("ESZSL", "eszsl", (1.2, 2.0, 3.8, 5.9, 9.1, 2.8, 9.3, 10.7, 11.9)),
        ("DAEZSL", "daezsl", (2.0, 3.2, 5.9, 8.7, 13.6, 3.5, 11.8, 12.9, 14.7)),
    ),
}


XLSA17_NOTE = (
    "Published: Y. Xian, C. H. Lampert, B. Schiele and Z. Akata, Zero-shot learning - a comprehensive evaluation of "
    "the good, the bad and the ugly, IEEE TPAMI 2019: the same features and splits, nothing subtracted from scores of "
    "seen classes. Behind a published figure stands by how much the one made so here is above it."
)

#: The data sets of xlsa17, in the order of the columns below.
XLSA17 = ("sun", "cub", "awa1", "awa2", "apy")

#: Mean per-class accuracy on the proposed splits of xlsa17, by registered method.
XLSA17_ZSL = {
    "eszsl": (54.5, 53.9, 58.2, 58.6, 38.3),
    "sje": (53.7, 53.9, 65.6, 61.9, 32.9),
    "devise": (56.5, 52.0, 54.2, 59.7, 39.8),
}

#: Unseen, seen, harmonic mean in the generalized setting there; None where the figures were not at hand.
XLSA17_GZSL = {
    "eszsl": ((11.0, 27.9, 15.8), (12.6, 63.8, 21.0), (6.6, 75.6, 12.1), (5.9, 77.8, 11.0), (2.4, 70.1, 4.6)),
    "devise": (None, (23.8, 53.0, 32.8), (13.4, 68.7, 22.4), (17.1, 74.7, 27.8), None),
    "latem": (None, (15.2, 57.3, 24.0), (7.3, 71.7, 13.3), (11.5, 77.3, 20.0), None),
}


def xlsa17_figures(data_set: str | None, method: str, setting: str) -> dict[str, float]:
    """What was published of a method on a data set of xlsa17 (``xlsa17_CUB``), by column of the tables, if anything."""
    name = (data_set or "").lower().removeprefix("xlsa17_")
    if name == (data_set or "").lower() or name not in XLSA17:
        return {}
    if setting == "zsl":
        values = XLSA17_ZSL.get(method)
        return {} if values is None else {"per_class_accuracy": values[XLSA17.index(name)]}
    sides = XLSA17_GZSL.get(method, (None,) * len(XLSA17))[XLSA17.index(name)]
    return dict(zip(("unseen", "seen", "harmonic"), sides or (), strict=False))
