"""One line to classify: images and the labels to choose among in, labels with scores out."""

import logging
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from PIL import Image

from aezsl.encoders.images.encoder import Picture
from aezsl.errors import DataError, ParameterError
from aezsl.evaluation.confidence import NONE_OF_THESE
from aezsl.methods import METHODS
from aezsl.serving.classes import Given, find_classes, parsed
from aezsl.serving.model_file import load_trained
from aezsl.serving.trained import TrainedModel

log = logging.getLogger(__name__)

#: Where a project keeps its models, ``<benchmark>/<method>/model.npz`` below it.
MODELS = Path("data/06_models")
#: The benchmark of ``kedro run`` without a name: its model is taken where there is no other.
DEFAULT_BENCHMARK, DEFAULT_METHOD = "emoji", "aezsl"

Answer = list[dict[str, Any]]


def classify(
    images: Picture | Sequence[Picture],
    labels: Given,
    model: TrainedModel | str | Path | None = None,
    top: int | None = None,
    project: str | Path = ".",
    device: str = "auto",
    none: bool = True,
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

    A score is the probability of the label, calibrated on validation classes of training (see
    ``aezsl.evaluation.confidence``); labels behind the twentieth have none. Where the best one is too improbable,
    ``{"label": "none of these", "score": 0.0}`` stands before the labels, unless ``none`` is False or one of them has
    that name. A transductive method takes all images of a call as its pool.
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
    answers = trained.answer(features, targets, None).best(top).labels(none)
    return answers[0] if single else answers


def find_model(given: str | Path | None = None, project: Path = Path()) -> TrainedModel:
    """A trained model: the file that is given, that of a method of the project, or the one that suits best.

    That is one of the project's own data if there is one, else of the default benchmark; of several AEZSL's, or the
    newest of those that need no pool.
    """
    if given is not None and Path(given).is_file():
        return load_trained(Path(given))
    for path in _candidates(project / MODELS, None if given is None else str(given)):
        trained = load_trained(path)
        if all(part["backbone"] != "file" for part in trained.recipe.backbone["parts"]):
            log.info("classifying by %s", path)
            return trained
    what = f"no model {given!s}" if given is not None else "no trained model that can take images"
    if near := [] if given is None or str(given) in METHODS else get_close_matches(str(given), METHODS, n=1):
        what += f" (did you mean {near[0]}?)"
    raise DataError(
        f"{what} below {(project / MODELS).resolve()}: make one of the default benchmark by kedro run "
        f"--pipeline={DEFAULT_METHOD}, or of your own images by kedro run --env=own --pipeline={DEFAULT_METHOD}"
    )


def _candidates(models: Path, method: str | None) -> Iterator[Path]:
    """Files of models, those to be preferred first."""
    found = [path for path in models.glob("*/*/model.npz") if path.parent.name in METHODS]
    found = [path for path in found if method in (None, path.parent.name)]

    def preference(path: Path) -> tuple[bool, bool, bool, float]:
        benchmark, name = path.parent.parent.name, path.parent.name
        is_default = name == DEFAULT_METHOD
        return benchmark == DEFAULT_BENCHMARK, METHODS[name].pool, not is_default, -path.stat().st_mtime

    return iter(sorted(found, key=preference))
