import pytest

from aezsl.commands.pages import PAGES, with_list
from tests.helpers import ROOT


@pytest.mark.parametrize("page", PAGES)
def test_pages_list_what_the_code_has(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert with_list(page, text) == text, "python -m aezsl.commands.pages"
