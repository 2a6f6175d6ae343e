"""The page of a project that has learnt colours, without a browser."""

import pytest

from aezsl.app.library import Library
from aezsl.app.server import make_app
from aezsl.serving.trained import TrainedModel
from tests.helpers.colours import encode, make_place, visit


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return make_place(tmp_path_factory.mktemp("colours"), ("eszsl", "aezsl", "eszsl_t"))


@pytest.fixture
def looks(monkeypatch):
    """Every time the network was asked, how many images it saw."""
    seen = []
    monkeypatch.setattr(
        TrainedModel, "encode", lambda self: lambda images: (seen.append(len(images)), encode(images))[1]
    )
    return seen


@pytest.fixture
def page(place, looks):
    with visit(make_app(Library(place))) as client:
        yield client
