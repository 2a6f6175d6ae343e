"""What the end of a run says of normalisations and of images that nobody has named."""

import pandas as pd
import pytest
from kedro.io import DataCatalog, MemoryDataset

from aezsl.hooks.closing import _named, _own_way

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


@pytest.mark.parametrize(
    ("threshold", "none", "said"),
    [
        (0.4, [True, False], "2 images named, 1 of them 'none of these'"),
        (0.4, [False, False], "2 images named"),
        (0.0, [False, False], "2 images named: every one, as nothing showed when to say 'none of these'"),
    ],
)
def test_images_are_counted_once_and_that_no_answer_is_none_of_these_is_told(threshold, none, said):
    predictions = pd.DataFrame({"true": [None, None, "fox"], "none_of_these": [*none, True]})
    values = {"predictions": predictions, "confidence": {"threshold": threshold}}
    values = {f"{method}.{name}": value for method in ("aezsl", "aezsl_lr") for name, value in values.items()}
    assert _named(set(values), catalog(**values)) == [said]
