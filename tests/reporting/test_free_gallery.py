import pandas as pd
import pytest
from matplotlib.text import Text
from PIL import Image

from aezsl.errors import DataError
from aezsl.reporting.gallery import ATTRIBUTIONS, draw_free_gallery


def predictions(*sources):
    rows = {"image_id": [f"{source}/1F600" for source in sources], "true": "elf", "predicted": "elf"}
    return pd.DataFrame(rows).assign(label_space="unseen", score=0.5)


def test_only_free_drawings_are_shown_and_their_artists_named(tmp_path):
    Image.new("RGB", (4, 4)).save(tmp_path / "elf.png")
    shown = predictions("Appl", "Twtr", "OpenMoji")
    figure = draw_free_gallery(shown, shown[["image_id"]].assign(path=str(tmp_path / "elf.png")))
    texts = [text.get_text() for text in figure.findobj(Text)]
    assert texts.count("✓ elf") == 2
    assert any(all(words in text for words in ATTRIBUTIONS.values()) for text in texts)


def test_without_any_it_refuses():
    shown = predictions("Appl")
    with pytest.raises(DataError):
        draw_free_gallery(shown, shown[["image_id"]].assign(path="nowhere.png"))
