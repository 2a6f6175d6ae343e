"""The photo model in tests: photos that installed packages carry, and how the page and the console are asked."""

from click.testing import CliRunner

from aezsl.app.library import WORDS
from aezsl.console import main

#: Of the page: classes, and what the installed photos show.
ANY = [[word, ""] for word in WORDS]
SHOWN = ["a temple", "a flower", "a person"]

#: Of commands: labels, and what the photos of a folder show.
LABELS = "a flower, a temple, a dog, a car"
RIGHT = {"china.jpg": "a temple", "flower.jpg": "a flower"}


def ask(page, question, status=200, **about):
    answer = page.post(f"/api/{question}", json={"model": "photos", **about})
    assert answer.status_code == status, answer.text
    return answer.json()


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])
