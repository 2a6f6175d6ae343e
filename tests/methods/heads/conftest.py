"""What all tests of methods on classifiers share."""

import pytest

from tests.helpers.heads import make_seen
from tests.synthetic import make_synthetic


@pytest.fixture(scope="module")
def data():
    return make_synthetic(nonnegative=False)


@pytest.fixture(scope="module")
def seen(data):
    return make_seen(data)
