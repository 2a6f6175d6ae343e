"""Settings of what is done on validation classes: seen classes that play unseen."""

from typing import Literal

from aezsl.kinds import Count, Fraction, Seed, Settings, Share


class SelectionSettings(Settings):
    """Parameters are chosen on validation classes.

    Where points tie, a warning says how many and on how many classes. The one in their middle is taken, or the most
    cautious one where a method says what that is.
    """

    rule: Literal["random", "first"] = "random"
    """random: seeded class folds. first: the paper's rule, the first classes in the data's own order."""
    n_folds: Count = 1
    """Folds, with rule: random. The paper has one; each costs as much again."""
    seed: Seed = 0
    """Of the folds, and of the images held out to calibrate the generalized setting."""
    fraction: Fraction | None = None
    """Share of the seen classes that play unseen. null: the paper's, unseen classes / all classes."""
    search: Literal["race", "exhaustive"] = "race"
    """race: coarse points in every normalisation, then what surrounds the best of those that lead. exhaustive: all
    points in all normalisations."""
    criterion: Literal["accuracy", "harmonic", "ausuc"] = "accuracy"
    """What parameters are chosen for in the generalized setting. accuracy: on the validation classes alone. Where
    validation classes compete with the others, of which images are held out (see calibration): harmonic, the harmonic
    mean of both accuracies at the calibrated constant; ausuc, the area under the seen-unseen curve."""


class ConfidenceSettings(Settings):
    """Probabilities of names, and when an image shows none of the classes."""

    calibrate: bool = True
    """Whether probabilities are calibrated on validation classes. false: they are shares by the model's own spread of
    scores, and no answer is "none of these"."""
    none_share: Share = 0.05
    """Share of images that you expect to show none of the classes. 0: every image gets a name."""


class CalibrationSettings(Settings):
    """Calibrated stacking: a constant subtracted from the scores of seen classes, in the generalized setting."""

    criterion: Literal["ausuc", "harmonic", "accuracy"] = "ausuc"
    """What the constant maximises: ausuc (seen times unseen accuracy), harmonic or accuracy."""
    per_class: bool = True
    """Whether accuracies count classes (true, the usual way) or images (false)."""
    seen_test_fraction: Fraction = 0.2
    """Share of the training images of each class, held out to validate the seen side."""
