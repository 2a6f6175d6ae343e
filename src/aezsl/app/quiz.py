"""Guess before the model does: test images of classes that it has never been shown."""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from aezsl.app.library import LARGE, Pictures
from aezsl.app.opened import OpenModel
from aezsl.errors import DataError
from aezsl.reporting.pictures import data_uri

#: Names to choose among, the right one with them.
CHOICES = 6


@dataclass(frozen=True)
class Question:
    """An image, its class, and the names to choose among."""

    file: Path
    true: str
    choices: list[str]


@dataclass
class Quiz:
    """A visitor's game. The true name leaves the server after the guess."""

    question: Question | None = None
    asked: int = 0
    right: int = 0
    model_right: int = 0
    chance: random.Random = field(default_factory=random.Random)

    def ask(self, model: OpenModel, pictures: Pictures) -> dict[str, Any]:
        """The next image, at random, and names for it."""
        names = [name for name, _ in model.prefilled()]
        tests = pictures.tests(names)
        if not tests or len(names) < 2:
            raise DataError("there are no test pictures of new classes for this model: choose another one")
        true, file = self.chance.choice(tests)
        others = self.chance.sample([name for name in names if name != true], min(CHOICES, len(names)) - 1)
        self.question = Question(file, true, self.chance.sample([true, *others], len(others) + 1))
        return {"picture": data_uri(file, LARGE), "choices": self.question.choices}

    def guess(self, model: OpenModel, name: str) -> dict[str, Any]:
        """Who was right, this time and so far. The model chooses among the same names as the visitor."""
        question, self.question = self.question, None
        if question is None or name not in question.choices:
            self.question = question
            raise DataError("expected a guess among the names shown: ask for a picture first")
        features = np.vstack([model.encode(question.file.read_bytes())])
        (answer,) = model.name(features, tuple(model.prefilled()))
        named = next(one for one in answer["names"] if one in question.choices)
        self.asked += 1
        self.right += name == question.true
        self.model_right += named == question.true
        score = {"asked": self.asked, "right": self.right, "model_right": self.model_right}
        return {"true": question.true, "model": named, "guess": name, **score}
