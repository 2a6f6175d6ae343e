"""A trained model as the page asks it: photos one by one, classes as visitors edit them."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from aezsl.arrays import Array, digest
from aezsl.encoders.knowledge.labels import plain_label, read_labels
from aezsl.encoders.named_classes import NamedClasses
from aezsl.errors import DataError
from aezsl.formats.names import CONTROLS, alike_as, check_text, duplicates
from aezsl.machine.workers import small_products
from aezsl.methods import TargetClassifier
from aezsl.methods.heads.folder import FolderClassifier
from aezsl.serving.requests import MAX_DESCRIPTION
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)

#: How errors call what a visitor typed.
TYPED = Path("the list of classes")

#: Classes among which the page chooses at most, and characters of a name.
MAX_CLASSES, MAX_NAME = 300, 200

#: Vectors of descriptions, and sets of classes a model has adapted to, that are kept in memory.
KEPT_VECTORS, KEPT_SETS = 5_000, 16

#: Sets of photos that are named together and corrected, kept in memory.
KEPT_FOLDERS = 4

#: A name and a description; the page has an empty one where the model knows classes by something else than words.
Described = tuple[str, str]


#: Photos are decoded and looked at one at a time: a large one takes much memory, and a network all cores.
LOOKING = Lock()


class OpenModel:
    """A trained model with what it has computed lately. Any number of visitors ask it at once; none changes it.

    together : the same model for photos that are named as a whole, where that is another one.
    words : names to begin with, for a model that has no unseen classes; names alone suffice to it.
    """

    def __init__(self, trained: TrainedModel, together: TrainedModel | None = None, words: Sequence[str] = ()) -> None:
        if any(part["backbone"] == "file" for part in trained.recipe.backbone["parts"]):
            raise DataError("this model has learnt from numbers in a file, not from photos: choose another model")
        self.trained, self.words = trained, words
        self._together = together or trained
        self._adapted = lru_cache(maxsize=KEPT_SETS)(self._adapt)
        known = trained.recipe.classes
        texts = known["text"].fillna("") if "text" in known else [""] * len(known)
        self._texts = dict(zip(known["class_name"], texts, strict=True))
        #: As NamedClasses has them: vectors, those given where there are such, and whether the class is a seen one; by
        #: name, description, and what a name means where that is all.
        self._vectors: dict[tuple[str, str, tuple[str, bool] | None], tuple[Array, Array | None, bool]] = {}
        self._embedding = Lock()
        self._folders: OrderedDict[bytes, TargetClassifier] = OrderedDict()
        self._naming = Lock()

    @property
    def describable(self) -> bool:
        """Whether words can describe a class to this model."""
        return self.trained.recipe.reads_words

    @property
    def sees_by(self) -> str:
        """What tells whether two models see photos alike, and can share features."""
        return str(self.trained.recipe.backbone["fingerprint"])

    def names(self, role: str) -> list[str]:
        """Classes of training of a role."""
        classes = self.trained.recipe.classes
        found: list[str] = classes.loc[classes["role"] == role, "class_name"].tolist()
        return found

    def prefilled(self) -> list[Described]:
        """The classes that the page begins with: the unseen ones of training, as many as it may have, or words."""
        if self.words:
            return [(word, "") for word in self.words]
        return [self._as_described(name) for name in self.names("unseen")[:MAX_CLASSES]]

    def _as_described(self, name: str) -> Described:
        return name, self._texts[name] if self.describable else ""

    def encode(self, content: bytes) -> Array:
        """Features (d,) of a photo, as the backbone gives them."""
        with LOOKING:
            features: Array = self.trained.encode()([content])[0]
        return features

    def warm_up(self) -> None:
        """Load what the first visitor would have to wait for."""
        try:
            if self.describable:
                self.targets([("a", "a word")])
            with LOOKING:
                self.trained.encode()
        except Exception as error:  # whoever needs it will be told in a sentence
            log.warning("not everything that visitors may need can be loaded: %s", error)

    def classes(self, given: Sequence[Described]) -> tuple[Described, ...]:
        """Classes as a visitor gave them, checked."""
        if not given or len(given) > MAX_CLASSES:
            raise DataError(f"expected 1 to {MAX_CLASSES} classes to choose among, got {len(given)}")
        names = [name for name, _ in given]
        for number, (name, text) in enumerate(given):
            if not name or len(name) > MAX_NAME:
                raise DataError(f"class {number + 1} needs a name of 1 to {MAX_NAME} characters: type one")
            if names.index(name) < number:
                raise DataError(f"there are two classes called {name!r}: give each a name of its own")
            if len(text) > MAX_DESCRIPTION:
                raise DataError(f"the description of {name!r} has more than {MAX_DESCRIPTION} characters: shorten it")
            if not self.describable and name not in self._texts:
                raise DataError(f"this model knows no class {name!r} and cannot read descriptions: pick a known name")
            check_text(TYPED, f"the name {name!r}", name, MAX_NAME)
            check_text(TYPED, f"the description of {name!r}", text, MAX_DESCRIPTION, CONTROLS)
        said = [alike_as(text) for _, text in given if text]
        if same := duplicates(said):
            both = " and ".join(repr(name) for name, text in given if alike_as(text) == same[0])
            raise DataError(f"the descriptions of {both} say the same: describe them apart")
        return tuple(given)

    def targets(self, classes: Sequence[Described]) -> NamedClasses:
        """The numbers of checked classes: those of training where nothing was edited, else of the description.

        A class without a description is the one of training with its name, else its name describes it.
        """
        named = [name for name, text in classes if not text]
        senses = dict(zip(named, zip(*read_labels(named), strict=True), strict=True))
        wanted = [(name, text, None if text else senses[name]) for name, text in classes]
        with self._embedding:
            missing = [c for c in wanted if c not in self._vectors]
            if len(self._vectors) + len(missing) > KEPT_VECTORS:
                self._vectors.clear()
                missing = wanted
            if any(sense != (plain_label(name), False) for name, sense in senses.items()):
                missing = [c for c in wanted if c in missing or not c[1]]  # what names mean depends on the others
            table = pd.DataFrame([c[:2] for c in missing], columns=["class_name", "text"], dtype=str)
            is_named = table["text"] == ""
            for part in (table[~is_named], table.loc[is_named, ["class_name"]]):
                if len(part):
                    found = self.trained.recipe.targets(part)
                    beside = [None] * len(found.names) if found.given is None else found.given
                    about = zip(found.vectors, beside, found.seen.tolist(), strict=True)
                    self._vectors |= dict(zip((missing[i] for i in part.index), about, strict=True))
            vectors, given, seen = zip(*(self._vectors[c] for c in wanted), strict=True)
        unmoved = None if given[0] is None else np.vstack(given)
        return NamedClasses([name for name, _ in classes], np.vstack(vectors), unmoved, np.array(seen))

    def doubts(self, classes: Sequence[Described], multi: bool = False) -> list[str]:
        """Why names among checked classes should not be trusted, each in a sentence."""
        return [f"{doubt[0].upper()}{doubt[1:]}." for doubt in self.trained.doubts(self.targets(classes), multi)]

    def expected(self, classes: Sequence[Described]) -> str:
        """How many names among checked classes will be right, in a sentence; empty where nothing is known."""
        told = self.trained.expected(len(classes), bool(self.targets(classes).seen.any()))
        return told and f"{told[0].upper()}{told[1:]}."

    def adapted(self, classes: Sequence[Described]) -> TargetClassifier:
        """The classifier of checked classes; those that differ from known ones by their names alone share theirs."""
        targets = self.targets(classes)
        given = None if targets.given is None else targets.given.tobytes()
        return self._adapted(targets.vectors.shape, targets.vectors.tobytes(), given)

    def _adapt(self, shape: tuple[int, int], content: bytes, beside: bytes | None) -> TargetClassifier:
        given = None if beside is None else np.frombuffer(beside).reshape(shape)
        with small_products():  # beside other work on the machine threads of BLAS would wait for each other
            return self.trained.model.adapt(np.frombuffer(content).reshape(shape), given=given)

    @property
    def says_several(self) -> bool:
        """Whether several classes may be true of a photo."""
        return self.trained.confidence.yes_no is not None

    def name(
        self, features: Array, classes: tuple[Described, ...], refine: bool = False, multi: bool = False
    ) -> list[dict[str, Any]]:
        """For every row of features (n, d) all classes, best first, as ``Answers.page`` gives them.

        refine : learn from these rows together, where the method can; else every row is named by itself.
        multi : several classes may be true of a photo; nothing is learnt from the rows then.
        """
        rows = self._rows(features)
        classifier = self.adapted(classes)
        if multi:
            return self.trained.answer_rows_each(rows, self.targets(classes), classifier).page()
        if refine:
            if not self._together.model.transductive:
                raise DataError("this model names every photo by itself: choose one that learns from photos to refine")
            with small_products():
                classifier = self._together.model.adapt(classifier.S_target, rows, given=self.targets(classes).given)
        return self.trained.answer_rows(rows, self.targets(classes), classifier).page()

    def sort(
        self,
        features: Array,
        classes: tuple[Described, ...],
        corrections: Mapping[int, int],
        ask: int,
        pair: Sequence[tuple[str, str]] = (),
    ) -> dict[str, Any]:
        """As ``name`` of photos that belong together, some of which a visitor has named.

        corrections : row -> number of its class, or ``NOTHING``. Where the method learns from photos together, others
        follow; ``ask`` of them are worth a look, and as many pairs of names are confused, beside those asked for.
        """
        rows, targets = self._rows(features), self.targets(classes)
        with small_products():
            adapted = self._as_folder(targets, rows)
            answers = self.trained.answer_rows(rows, targets, adapted, corrections=corrections).page()
            together = isinstance(adapted, FolderClassifier)
            worth = self.trained.worth_a_look(adapted, corrections, ask) if together else []
            confused = self.trained.confused(adapted, targets.names, corrections, ask, pair)
            return {"answers": answers, "worth": worth, "confused": [one._asdict() for one in confused]}

    def neighbours(
        self, features: Array, classes: tuple[Described, ...], corrections: Mapping[int, int], place: int
    ) -> list[dict[str, Any]]:
        """The photos that are linked with one of a folder, the nearest first, and what they are called."""
        rows, targets = self._rows(features), self.targets(classes)
        with small_products():
            adapted = self._as_folder(targets, rows)
            if not isinstance(adapted, FolderClassifier) or not adapted.folder:
                return []
            answers = self.trained.answer_rows(rows, targets, adapted, corrections=corrections).page()
        return [{"place": near, "said": answers[near]["said"]} for near in adapted.folder.neighbours(place)]

    def _as_folder(self, targets: NamedClasses, rows: Array) -> TargetClassifier:
        """The classifier of photos that are named together; kept, as each correction asks for it again."""
        key = digest(targets.vectors) + digest(rows)
        with self._naming:
            if key not in self._folders:
                self._folders[key] = self._together.model.adapt(targets.vectors, rows, given=targets.given)
            self._folders.move_to_end(key)
            while len(self._folders) > KEPT_FOLDERS:
                self._folders.popitem(last=False)
            return self._folders[key]

    def _rows(self, features: Array) -> Array:
        return self.trained.recipe.features(np.asarray(features, dtype=np.float64))
