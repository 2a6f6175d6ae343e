"""The page of a project in which nothing was trained; modules that train something have a place of their own."""

import pytest

from aezsl.app.library import Library, Place
from aezsl.app.server import make_app
from tests.helpers.colours import visit
from tests.helpers.photos import ask


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A project in which nothing was trained."""
    root = tmp_path_factory.mktemp("empty")
    return Place(root, root / "06_models/emoji", root / "03_primary/emoji")


@pytest.fixture(scope="module")
def page(place):
    with visit(make_app(Library(place))) as client:
        yield client


@pytest.fixture(scope="module")
def photos(page):
    return [ask(page, "example", number=number)["photo"] for number in range(3)]
