"""What the page asks, each a function of a visitor and a request: no web server is needed to call them."""

from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from aezsl.app.lessons import Lessons
from aezsl.app.library import CREDITS, LARGE, Library, is_open, measured
from aezsl.app.opened import LOOKING, MAX_CLASSES, MAX_NAME, Described, OpenModel
from aezsl.app.visitors import MAX_PHOTOS, Visitor
from aezsl.app.why import explain
from aezsl.data.spreadsheet import escape_formulas
from aezsl.errors import DataError
from aezsl.evaluation.confidence import NONE_OF_THESE, NOTHING
from aezsl.formats.corrections import written
from aezsl.formats.names import composed
from aezsl.formats.sorted_folders import sorted_places
from aezsl.reporting.pictures import data_uri
from aezsl.selection.folds import LEAST_SEEN
from aezsl.serving.photos import PHOTOS
from aezsl.serving.requests import MAX_DESCRIPTION, MAX_IMAGE

#: Photos that are said to be worth a look.
ASKED = 3

#: Names in a line of the downloaded table.
TABLE_NAMES = 5

Answer = dict[str, Any]
Asked = Mapping[str, Any]


class Handlers:
    """The page's questions about the models of a library."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.questions: dict[str, Callable[[Visitor, Asked], Answer]] = {
            "model": self.model,
            "example": self.example,
            "forget": self.forget,
            "scores": self.scores,
            "sort": self.sort,
            "corrected": self.corrected,
            "table": self.table,
            "places": self.places,
            "why": self.why,
            "runs": self.runs,
            "begin": self.begin,
            "train": self.train,
            "progress": self.progress,
        }
        place = library.place
        self._lessons = Lessons(place.root, place.models.parent, place.training)

    def close(self) -> None:
        """End what is under way."""
        self._lessons.close()

    def models(self, visitor: Visitor, asked: Asked) -> Answer:
        """All models, the one to begin with first, and what a visitor may send."""
        names = self.library.names()
        limits = {"photos": MAX_PHOTOS, "bytes": MAX_IMAGE, "classes": MAX_CLASSES, "name": MAX_NAME}
        return {
            "models": [
                {"id": name, "label": self.library.label(name), "refines": self.library.refines(name)} for name in names
            ],
            "teaches": bool(self.library.place.training),
            "training": visitor.under_way(),
            "limits": {**limits, "description": MAX_DESCRIPTION, "least_taught": LEAST_SEEN},
        }

    def model(self, visitor: Visitor, asked: Asked) -> Answer:
        """What the page shows of a model: its classes, its examples, what can be done with it."""
        model, name = self._model(asked)
        return {
            "classes": model.prefilled(),
            "describable": model.describable,
            "several": model.says_several,
            "known": model.names("seen"),
            "n_new": len(model.names("unseen")),
            "examples": [data_uri(path, LARGE) for path in self.library.examples(name)],
            "by_words": bool(model.words),
            "credits": CREDITS if name == PHOTOS else "",
        }

    def photo(self, visitor: Visitor, content: bytes, name: str) -> Answer:
        """Look at a photo that the visitor sent; the photo itself is not kept."""
        if len(content) > MAX_IMAGE:
            raise DataError(f"a photo may have {MAX_IMAGE // 2**20} MB: make it smaller")
        return {"photo": visitor.add(content, self.library.open(name))}

    def preview(self, visitor: Visitor, content: bytes) -> Answer:
        """A photo as a picture that every browser shows; the photo itself is not kept."""
        with LOOKING:
            return {"picture": data_uri(content, LARGE)}

    def example(self, visitor: Visitor, asked: Asked) -> Answer:
        """Look at one of the examples of a model, or with this model at one ``of`` another."""
        examples = self.library.examples(self._model({"model": asked.get("of", asked.get("model"))})[1])
        number = asked.get("number")
        if not isinstance(number, int) or not 0 <= number < len(examples):
            raise DataError(f"expected the number of an example below {len(examples)}, got {number!r}")
        return {"photo": visitor.add(examples[number].read_bytes(), self._model(asked)[0])}

    def forget(self, visitor: Visitor, asked: Asked) -> Answer:
        """Forget all photos of the visitor."""
        visitor.forget()
        return {}

    def scores(self, visitor: Visitor, asked: Asked) -> Answer:
        """Names of photos, best first, what to expect of them, and why to doubt; if refined, what that changed.

        multi : several classes may be true of a photo.
        """
        model = self._model(asked)[0]
        classes, photos = self._classes(asked, model), _photos(asked)
        features, multi = visitor.features(photos, model), bool(asked.get("multi"))
        answers = model.name(features, classes, multi=multi)
        about = {"doubts": model.doubts(classes, multi), "expected": "" if multi else model.expected(classes)}
        if multi or not asked.get("refine"):
            return {"answers": answers, **about}
        refined = model.name(features, classes, refine=True)
        pairs = [(before["names"][0], after["names"][0]) for before, after in zip(answers, refined, strict=True)]
        changed = [
            {"place": place, "before": before, "after": after}
            for place, (before, after) in enumerate(pairs)
            if before != after
        ]
        return {"answers": refined, **about, "changed": changed}

    def sort(self, visitor: Visitor, asked: Asked) -> Answer:
        """Names of photos that belong together, where the visitor has named some; what to look at, and to describe.

        corrections : photo -> one of the classes, or null where it shows none of them. pair : two names, about which is
        said how much they are confused.
        """
        model = self._model(asked)[0]
        classes, photos = self._classes(asked, model), _photos(asked)
        corrections = _corrections(asked, photos, [name for name, _ in classes])
        pair = asked.get("pair")
        if pair is not None and not (
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(n, str) for n in pair)
        ):
            raise DataError("expected a pair as a list of two names")
        return model.sort(visitor.features(photos, model), classes, corrections, ASKED, [tuple(pair)] if pair else [])

    def corrected(self, visitor: Visitor, asked: Asked) -> Answer:
        """The visitor's corrections as the file that commands read beside the photos."""
        photos, files, given = _photos(asked), _files(asked), asked.get("corrections")
        if not isinstance(given, dict) or not all(isinstance(name, str | None) for name in given.values()):
            raise DataError("expected corrections as an object of photos and their classes")
        named = [(file, photo) for file, photo in zip(files, photos, strict=True) if photo in given]
        return {"csv": written((file, given[photo] or NONE_OF_THESE, photo) for file, photo in named)}

    def table(self, visitor: Visitor, asked: Asked) -> Answer:
        """The same as CSV, which a spreadsheet opens without computing anything."""
        lines = []
        for file, name, answer in self._named_files(visitor, asked):
            line: dict[str, Any] = {"file": file, "name": name}
            for place, (own, share) in enumerate(zip(answer["names"], answer["probabilities"], strict=True), start=1):
                if place <= TABLE_NAMES:
                    line |= {f"name_{place}": own, f"probability_{place}": round(share, 4)}
            lines.append(line)
        return {"csv": escape_formulas(pd.DataFrame(lines)).to_csv(index=False)}

    def places(self, visitor: Visitor, asked: Asked) -> Answer:
        """Where every photo belongs among folders by name; the page has the photos and fills the folders itself."""
        files, names, _ = zip(*self._named_files(visitor, asked), strict=True)
        return {"places": sorted_places(files, names)}

    def _named_files(self, visitor: Visitor, asked: Asked) -> list[tuple[str, str, Answer]]:
        """The file, the name and the answer of every photo."""
        files = _files(asked)
        answers = (self.sort if "corrections" in asked else self.scores)(visitor, asked)["answers"]
        names = [", ".join(answer["said"]) or NONE_OF_THESE for answer in answers]
        return list(zip(files, names, answers, strict=True))

    def why(self, visitor: Visitor, asked: Asked) -> Answer:
        """What speaks for one name of a photo and against another.

        place : which of the photos. corrections : as ``sort`` has them, where photos are named together.
        """
        model, name = self._model(asked)
        classes, photos = self._classes(asked, model), _photos(asked)
        features, place = visitor.features(photos, model), asked.get("place", 0)
        if not isinstance(place, int) or not 0 <= place < len(photos):
            raise DataError(f"expected the place of a photo below {len(photos)}, got {place!r}")
        first, second = str(asked.get("first")), str(asked.get("second"))
        found = explain(model, self.library.pictures(name), features[place], classes, first, second)
        if "corrections" in asked:
            corrections = _corrections(asked, photos, [name for name, _ in classes])
            found["neighbours"] = model.neighbours(features, classes, corrections, place)
        return found

    def runs(self, visitor: Visitor, asked: Asked) -> Answer:
        """What was measured of a model on test images, and what opens the page of the runs where nobody has."""
        _, name = self._model(asked)
        if name == PHOTOS:
            return {"measured": {}, "command": ""}
        place = self.library.place
        benchmark, method = name.split("/", 1)
        found = measured(place.tracking, place.runs_page, benchmark, method, place.problem_of(name))
        return {"measured": found, "command": "" if is_open(place.runs_page) else place.runs_command}

    def begin(self, visitor: Visitor, asked: Asked) -> Answer:
        """Begin a collection of the visitor's own images."""
        if not self.library.place.training:
            raise DataError("nothing can be taught on this page")
        return {"lesson": visitor.begin(self._lessons.begin(str(asked.get("name")), asked.get("classes")))}

    def lesson_photo(self, visitor: Visitor, content: bytes, lesson: str, number: str) -> Answer:
        """A photo of a class of a collection."""
        self._lessons.add(visitor.lesson(lesson), int(number) if number.isdecimal() else -1, content)
        return {}

    def train(self, visitor: Visitor, asked: Asked) -> Answer:
        """Train on a collection."""
        self._lessons.train(visitor.lesson(asked.get("lesson")))
        return {}

    def progress(self, visitor: Visitor, asked: Asked) -> Answer:
        """How far the training on a collection is."""
        return visitor.lesson(asked.get("lesson")).progress()

    def _model(self, asked: Asked) -> tuple[OpenModel, str]:
        name = str(asked.get("model"))
        return self.library.open(name), name

    def _classes(self, asked: Asked, model: OpenModel) -> tuple[Described, ...]:
        given = asked.get("classes")
        fits = isinstance(given, list) and all(
            isinstance(one, list) and len(one) == 2 and all(isinstance(text, str) for text in one) for one in given
        )
        if not fits or given is None:
            raise DataError("expected classes as a list of pairs, name and description")
        return model.classes(
            [(composed(name.strip()), text.strip() if model.describable else "") for name, text in given]
        )


def _photos(asked: Asked) -> list[str]:
    photos = asked.get("photos")
    if not isinstance(photos, list) or not all(isinstance(photo, str) for photo in photos):
        raise DataError("expected photos as a list of those that were sent before")
    return photos


def _files(asked: Asked) -> list[str]:
    files = asked.get("files")
    if not isinstance(files, list) or len(files) != len(_photos(asked)) or not all(isinstance(f, str) for f in files):
        raise DataError("expected the name of the file of every photo")
    return files


def _corrections(asked: Asked, photos: list[str], names: list[str]) -> dict[int, int]:
    """Row -> number of its class."""
    given, place = asked.get("corrections"), {photo: row for row, photo in enumerate(photos)}
    if not isinstance(given, dict):
        raise DataError("expected corrections as an object of photos and their classes")
    if unknown := [name for name in given.values() if name is not None and name not in names]:
        raise DataError(f"a photo was corrected to {unknown[0]!r}, which is not among the classes: add it")
    numbers = {photo: NOTHING if name is None else names.index(name) for photo, name in given.items()}
    return {place[photo]: number for photo, number in numbers.items() if photo in place}
