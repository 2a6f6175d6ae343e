import pandas as pd
import pytest

from aezsl.data.benchmark import Benchmark
from aezsl.errors import DataError


def tables():
    images = pd.DataFrame({"image_id": ["1", "2"], "path": ["a.jpg", "b.jpg"], "class_name": ["ant", "bee"]})
    return images, pd.DataFrame({"class_name": ["ant", "bee"], "role": ["seen", "unseen"]})


@pytest.mark.parametrize(
    ("spoil", "named"),
    [
        (lambda i, c: (i.drop(columns="path"), c), "path"),
        (lambda i, c: (i.assign(colour="red"), c), "colour"),
        (lambda i, c: (pd.concat([i, i]), c), "image_id"),
        (lambda i, c: (i, pd.concat([c, c])), "class_name"),
        (lambda i, c: (i, c.iloc[:1]), "bee"),
        (lambda i, c: (i, c.assign(role="hidden")), "role"),
        (lambda i, c: (i.assign(official="maybe"), c), "official"),
        (lambda i, c: (i.iloc[:0], c), "images"),
    ],
)
def test_inconsistent_tables_are_refused(spoil, named):
    Benchmark(*tables())
    with pytest.raises(DataError, match=named):
        Benchmark(*spoil(*tables()))
