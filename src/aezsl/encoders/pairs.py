"""Whether images and classes come from one pair of encoders, as methods need it that compare the two."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aezsl.data.normalise import PARTS, NormaliseSettings, moving_steps
from aezsl.encoders.images.settings import ExtractionSettings, named_backbones
from aezsl.encoders.pretrained import is_hub_model, is_pair, model_folder
from aezsl.encoders.texts.fingerprints import MINILM, Sources
from aezsl.encoders.texts.semantics import EmbeddingSettings
from aezsl.errors import DataError

#: Kinds of semantics that an encoder makes of texts; ``auto`` may turn out to be one.
ENCODED = ("text", "auto")


def require_pair(
    method: str, backbones: Sequence[str], sources: Sources, ways: Mapping[str, Sequence[Sequence[str]]]
) -> None:
    """Refuse a method that compares images with texts unless one pair of encoders made both, and nothing moved.

    ways : alternatives of the steps that normalise features and semantics.
    """
    encoders = [source.get("encoder", MINILM) if source["kind"] in ENCODED else source["kind"] for source in sources]
    one = len(backbones) == len(sources) == 1 and sources[0]["kind"] in ENCODED
    if not one or _place(backbones[0]) != _place(encoders[0]) or not _is_pair(backbones[0]):
        raise DataError(
            f"{method} needs a pair of encoders like CLIP, one model as feature_extraction.backbone and as encoder of "
            f"a single source of kind text; got {', '.join(dict.fromkeys([*backbones, *encoders]))}. Name a pair by "
            "--params=feature_extraction.backbone=<folder>,semantic_embedding.sources=text:encoder=<folder>, or where "
            f"stored vectors do come from one, say so by --params={method}.stated_pair=true"
        )
    moved = [moving_steps(steps) for part in PARTS if all(map(moving_steps, ways[part])) for steps in ways[part]]
    if moved:
        raise DataError(
            f"{method} compares images with texts as their encoders gave them, but normalise has {moved[0][0]!r}, "
            "which moves them: set --params=normalise.features=l2,normalise.semantics=l2"
        )


def check_pair(
    method: str, extraction: ExtractionSettings, embedding: EmbeddingSettings, normalise: NormaliseSettings
) -> None:
    """The same of parameters, before anything is computed."""
    backbones = [one["backbone"] for one in named_backbones(extraction)]
    require_pair(method, backbones, embedding.sources, normalise.alternatives())


def _place(name: str) -> str:
    folder = Path(name).expanduser()
    return str(folder.resolve()) if folder.is_dir() else name


def _is_pair(name: str) -> bool:
    return is_hub_model(name) and is_pair(model_folder(name))
