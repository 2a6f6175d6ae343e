"""One line to classify: images and the labels to choose among in, labels with scores out."""

import logging
import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from aezsl.arrays import Float32
from aezsl.encoders.images.pictures import Encode, Picture
from aezsl.errors import DataError, ParameterError
from aezsl.evaluation.confidence import NONE_OF_THESE
from aezsl.formats.image_folders import read_new_images
from aezsl.formats.images import UnreadableImageError
from aezsl.machine.screen import progress_bar
from aezsl.methods import METHODS
from aezsl.serving.classes import Given, find_classes, parsed, placed
from aezsl.serving.model_file import SCHEME, load_exported, load_registered, load_trained
from aezsl.serving.photos import PHOTOS, Named, photo_model
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)

#: Where a project keeps its models, ``<benchmark>/<method>/model.npz`` below it.
MODELS = Path("data/06_models")
#: The benchmark of ``kedro run`` without a name: its model is taken where there is no other.
DEFAULT_BENCHMARK, DEFAULT_METHOD = "emoji", "aezsl"

Answer = list[dict[str, Any]]

#: Images that are encoded together.
TOGETHER = 64


def classify(
    images: Picture | Sequence[Picture],
    labels: Given,
    model: TrainedModel | str | Path | None = None,
    top: int | None = None,
    project: str | Path = ".",
    device: str = "auto",
    none: bool = True,
    multi: bool = False,
) -> Answer | list[Answer]:
    r"""Name images: for each the labels, best first, ``[{"label": ..., "score": ...}, ...]``, scores that sum to one.

    images : one image, or a list of them, by path, content (bytes) or as PIL images; a list gives a list of answers.
    labels : the names to choose among, as a list or with commas between them; or a mapping of name -> description; or
        a table of classes (see ``aezsl.serving.classes``). A name of a class of training means that class; any other
        label is described by its own words.
    model : a trained model, its file (``model.npz``), or a method of the project; by default the one that
        ``find_model`` finds.
    top : how many labels to give; all by default. The scores of all of them sum to one.
    project : the folder of the project whose models are looked for.
    device : what computes the features, see ``feature_extraction.device``.
    multi : several labels may be true of an image. Every label has a probability of yes of its own, whatever the other
        labels are (see ``aezsl.evaluation.yes_no``); "none of these" is said where none has a half.

    A score is the probability of the label, calibrated on validation classes of training (see
    ``aezsl.evaluation.confidence``); labels behind the twentieth have none. Where the best one is too improbable,
    ``{"label": "none of these", "score": 0.0}`` stands before the labels, unless ``none`` is False or one of them has
    that name. Where classes have groups (a column ``group``, a wnid, or for the photo model labels that WordNet has),
    an answer that is not sure enough is given by the smallest group that is: then ``{"label": "gull", "score": 0.8,
    "group": True}`` stands before the labels. A transductive method takes all images of a call as its pool.
    """
    single = isinstance(images, str | Path | bytes | Image.Image)
    pictures: list[Picture] = [images] if isinstance(images, str | Path | bytes | Image.Image) else list(images)
    if not pictures:
        return []
    if top is not None and top < 1:
        raise ParameterError(f"top must be at least 1, got {top}")
    trained = model if isinstance(model, TrainedModel) else find_model(model, Path(project))
    if not parsed(labels):
        raise DataError("labels must be names to choose among, such as 'a red fox, a melon'")
    targets = find_classes(trained.recipe, labels)
    features = trained.encode(device, side_by_side=len(pictures) > 1)(pictures)
    none = none and NONE_OF_THESE not in targets.names
    found = trained.answer_each(features, targets) if multi else trained.answer(features, targets, None)
    answers = found.best(top).labels(none)
    return answers[0] if single else answers


def name_images(
    place: Path | Sequence[Path],
    labels: Given,
    model: TrainedModel | str | Path | None = None,
    device: str = "auto",
    together: bool = False,
    multi: bool = False,
    ask: int = 0,
    pairs: Sequence[tuple[str, str]] = (),
) -> Named:
    """Names of the photo, of several, or of all below the folder; what cannot be read is passed over and listed.

    together : name a folder as a whole, where the model can learn from the photos to be named.
    multi : several labels may be true of a photo, see ``classify``. ask : how many photos worth a look to find,
        and how many pairs of labels that the folder confuses, beside these ``pairs``.

    Names that somebody has given in ``corrections.csv`` are taken over; a folder that is named as a whole follows them.
    """
    folder = place if isinstance(place, Path) and place.is_dir() else None
    new = None if folder is None else read_new_images(folder)
    photos = [place] if isinstance(place, Path) else place
    paths: list[str] = list(dict.fromkeys(map(str, photos))) if new is None else new.images["path"].tolist()
    trained = model if isinstance(model, TrainedModel) else find_model(model, Path(), together and not multi)
    if not parsed(labels):
        raise DataError("labels must be names to choose among, such as 'a red fox, a melon'")
    targets = find_classes(trained.recipe, labels)
    features, unreadable = _read_all(trained.encode(device, side_by_side=len(paths) > 1), paths)
    readable = [path for path in paths if path not in unreadable]
    if not readable:
        raise DataError(f"no image can be read: {next(iter(unreadable.values()))}")
    shown = readable if folder is None else [os.path.relpath(path, folder) for path in readable]
    warnings, corrections = trained.doubts(targets, multi), dict[int, int]()
    if new is not None:
        ids = [Path(name).as_posix() for name in shown]
        targets, corrections, notes = placed(trained.recipe, targets, ids, new.corrections)
        warnings += [*new.doubts, *notes]
    if multi:
        answers = trained.answer_each(features, targets).corrected(corrections, targets.names)
    else:
        adapted = trained.adapt_to_rows(features, targets)
        answers = trained.answer(features, targets, None, adapted, corrections)
    worth, confused = [], []
    if ask and not multi:
        worth = trained.worth_a_look(adapted, corrections, ask)
        confused = trained.confused(adapted, targets.names, corrections, ask, pairs)
    return Named(
        readable,
        shown,
        answers,
        NONE_OF_THESE not in targets.names,
        unreadable,
        warnings,
        frozenset(corrections),
        tuple(worth),
        tuple(confused),
    )


def _read_all(encode: Encode, paths: Sequence[str]) -> tuple[Float32, dict[str, str]]:
    """Features of the images that can be read, and why the others cannot."""
    found, unreadable = [], {}
    for start in progress_bar(range(0, len(paths), TOGETHER), desc="photos", disable=len(paths) <= TOGETHER):
        part = paths[start : start + TOGETHER]
        try:
            found.append(encode(part))
        except UnreadableImageError:
            for path in part:
                try:
                    found.append(encode([path]))
                except UnreadableImageError as error:
                    unreadable[path] = str(error)
    return np.concatenate(found) if found else np.empty((0, 0), dtype=np.float32), unreadable


def find_model(given: str | Path | None = None, project: Path = Path(), together: bool = False) -> TrainedModel:
    """A trained model: a file, an exported folder, one of MLflow's registry, of a method here, or the photo model.

    Of several models of a method, one of the project's own data is preferred to one of the default benchmark.
    together : whether a folder is to be named as a whole, if the photo model is meant.
    """
    if given is None or str(given) == PHOTOS:
        return photo_model(together=together)
    if str(given).startswith(SCHEME):
        return load_registered(str(given))
    if Path(given).is_file():
        return load_trained(Path(given))
    if (Path(given) / "MLmodel").is_file():
        return load_exported(Path(given))
    for path in _candidates(project / MODELS, str(given)):
        trained = load_trained(path)
        if all(part["backbone"] != "file" for part in trained.recipe.backbone["parts"]):
            log.info("classifying by %s", path)
            return trained
    if len(Path(given).parts) > 1 or Path(given).suffix == ".npz":
        raise DataError(
            f"{given} is neither the file of a model nor an exported folder; without one it is the photo model"
        )
    near = [] if str(given) in METHODS else get_close_matches(str(given), [*METHODS, PHOTOS], n=1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise DataError(
        f"no model {given!s}{hint} that can take images below {(project / MODELS).resolve()}: train it by kedro run "
        f"--pipeline={given if str(given) in METHODS else DEFAULT_METHOD}, or name none for the photo model"
    )


def _candidates(models: Path, method: str) -> list[Path]:
    """Files of the models of a method: of the project's own data before the default benchmark's, new ones first."""
    found = models.glob(f"*/{method}/model.npz")
    return sorted(found, key=lambda path: (path.parent.parent.name == DEFAULT_BENCHMARK, -path.stat().st_mtime))
