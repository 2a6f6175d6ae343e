"""What the end of a run says of normalisations and of images that nobody has named."""

import pandas as pd
import pytest
from kedro.io import DataCatalog, MemoryDataset

from aezsl.hooks.closing import _named, _own_way
from aezsl.selection import ConfidenceSettings

LENGTH = {"features": ["l2"], "semantics": ["l2"]}
CENTRED = {"features": ["l2"], "semantics": ["centre", "l2"]}


def catalog(**values):
    return DataCatalog({name: MemoryDataset(value) for name, value in values.items()})


@pytest.mark.parametrize("prefix", ["", "gzsl_"])
def test_a_normalisation_is_told_where_the_base_has_another(prefix):
    found = catalog(**{f"{prefix}aezsl_lr.normalisation": CENTRED, f"{prefix}aezsl.normalisation": LENGTH})
    assert _own_way(f"{prefix}aezsl_lr", found) == "l2 for features and centre+l2 for semantics"
    alike = catalog(**{f"{prefix}{method}.normalisation": LENGTH for method in ("aezsl", "aezsl_lr")})
    assert _own_way(f"{prefix}aezsl_lr", alike) == ""
    assert _own_way(f"{prefix}lrl", alike) == ""  # has no base
    assert _own_way("daezsl_end_to_end", alike) == ""  # is not a method of the registry


NOT_CALIBRATED = {"temperature": None, "threshold": 0.0, "stacking": None}
ALWAYS = {"temperature": 1.0, "threshold": 0.0, "stacking": None}
SOMETIMES = {"temperature": 1.0, "threshold": 0.4, "stacking": None}
DEFAULT = ConfidenceSettings()


@pytest.mark.parametrize(
    ("prefix", "confidence", "settings", "none", "told"),
    [
        ("", SOMETIMES, DEFAULT, [True, False], ", 1 of them 'none of these'"),
        ("", SOMETIMES, DEFAULT, [False, False], ""),
        ("", ALWAYS, DEFAULT, [False, False], "nothing showed"),
        ("", ALWAYS, ConfidenceSettings(none_share=0), [False, False], "none_share"),
        ("", NOT_CALIBRATED, ConfidenceSettings(calibrate=False), [False, False], "confidence.calibrate"),
        ("", NOT_CALIBRATED, DEFAULT, [False, False], "not calibrated"),  # a method trained by epochs
        ("gzsl_", {**NOT_CALIBRATED, "stacking": SOMETIMES}, DEFAULT, [False, False], ""),
        ("gzsl_", {**SOMETIMES, "stacking": ALWAYS}, DEFAULT, [False, False], "nothing showed"),
    ],
)
def test_images_are_counted_once_and_why_no_answer_is_none_of_these_is_told(prefix, confidence, settings, none, told):
    predictions = pd.DataFrame({"true": [None, None, "fox"], "none_of_these": [*none, True]})
    values = {"predictions": predictions, "confidence": confidence}
    values = {f"{prefix}{one}.{name}": value for one in ("aezsl", "aezsl_lr") for name, value in values.items()}
    (said,) = _named(set(values), catalog(**values, **{"params:confidence": settings}))
    assert said.startswith("2 images named")
    assert told in said
    assert ("every one" in said) == (told not in ("", ", 1 of them 'none of these'"))
