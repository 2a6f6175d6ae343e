import pandas as pd
import pytest

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError


def tables():
    images = pd.DataFrame({"image_id": ["1", "2"], "path": ["a.jpg", "b.jpg"], "class_name": ["ant", "bee"]})
    return images, pd.DataFrame({"class_name": ["ant", "bee"], "role": ["seen", "unseen"]})


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda i, c: (i.drop(columns="path"), c), r"missing: \['path'\]"),
        (lambda i, c: (i.assign(colour="red"), c), r"unknown: \['colour'\]"),
        (lambda i, c: (pd.concat([i, i]), c), "image_ids occur more than once"),
        (lambda i, c: (i, pd.concat([c, c])), "class_names occur more than once"),
        (lambda i, c: (i, c.iloc[:1]), "not described, for example 'bee'"),
        (lambda i, c: (i, c.assign(role="hidden")), "role must be one of seen, unseen"),
        (lambda i, c: (i.assign(official="maybe"), c), "official must be one of"),
        (lambda i, c: (i.iloc[:0], c), "images table is empty"),
    ],
)
def test_inconsistent_tables_are_refused(spoil, message):
    Benchmark(*tables())
    with pytest.raises(DataError, match=message):
        Benchmark(*spoil(*tables()))
