"""Random damage to any file of any layout: a benchmark that is whole, or an error of ours that names a place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.errors import DataError
from tests.helpers.benchmarks import LAYOUTS
from tests.helpers.trees import folder, quick


@st.composite
def damages(draw):
    """How to spoil a file, given its content: what remains of it, or None where it is gone."""
    kind = draw(st.sampled_from(["cut", "noise", "line", "swap", "empty", "gone"]))
    at, noise = draw(st.floats(0, 1, exclude_max=True)), draw(st.binary(min_size=1, max_size=8))

    def spoil(content):
        place = int(at * len(content))
        lines = content.splitlines(keepends=True) or [b""]
        line = int(at * len(lines))
        return {
            "cut": content[:place],
            "noise": content[:place] + noise + content[place + len(noise) :],
            "line": b"".join(lines[:line] + lines[line + 1 :]),
            "swap": b"".join([*lines[line:], *lines[:line]]),
            "empty": b"",
            "gone": None,
        }[kind]

    return spoil


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@quick
@given(spoil=damages(), which=st.floats(0, 1, exclude_max=True))
def test_a_damaged_file_is_refused_by_us_or_does_no_harm(layout, spoil, which):
    with folder() as root:
        dataset = layout(root)
        whole = dataset.read()
        files = sorted(path for path in root.rglob("*") if path.is_file())
        path = files[int(which * len(files))]
        content = spoil(path.read_bytes())
        path.unlink() if content is None else path.write_bytes(content)
        found, message = None, ""
        try:
            found = dataset.read()
        except DataError as error:
            message = str(error)
        # Kedro wraps what others raise into "Failed while loading": that would be a traceback from the depths.
        assert not message.startswith("Failed while loading"), message
        assert found is None or set(found.classes.columns) <= set(whole.classes.columns)
        assert found is not None or str(root) in message or "classes" in message, message
