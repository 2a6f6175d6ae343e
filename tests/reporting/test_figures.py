"""Figures of awkward data: names that look like formulas, no rounds, no images, no cases."""

from io import BytesIO

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from aezsl.reporting.cases import draw_cases, draw_mapping
from aezsl.reporting.figures import LONGEST_NAME, draw_refinement_curve, draw_reliability, draw_sensitivity, short_name
from aezsl.reporting.gallery import GallerySettings, draw_gallery
from aezsl.reporting.pictures import data_uri

FORMULA = r"$\frac$_of_it"
SETTINGS = GallerySettings()


def rendered(figure: Figure) -> set[str]:
    """Draw the figure, as saving it does; and the texts that it shows."""
    figure.savefig(BytesIO(), format="png", dpi=40)
    return {text.get_text().replace(r"\$", "$") for text in figure.findobj(Text)}


def predictions(n, **columns):
    table = {"image_id": [str(i) for i in range(n)], "true": None, "predicted": FORMULA, "label_space": "unseen"}
    return pd.DataFrame(table | {"score": 0.25, "probability": 0.25, "none_of_these": False} | columns)


def test_long_names_are_cut_and_underscores_are_blanks():
    assert short_name("polar_bear") == "polar bear"
    assert short_name("001.Black_footed_Albatross") == "Black footed Albatross"
    assert [short_name(name) for name in ("007", "3.5_inch", "100.5")] == ["007", "3.5 inch", "100.5"]
    assert short_name("x" * LONGEST_NAME) == "x" * LONGEST_NAME
    assert short_name("x" * (LONGEST_NAME + 1)) == "x" * (LONGEST_NAME - 1) + "…"


@pytest.fixture
def damaged(tmp_path):
    """A file that is there, and is not an image."""
    (tmp_path / "damaged.png").touch()
    return str(tmp_path / "damaged.png")


def test_a_name_with_dollars_is_shown_as_it_is(damaged):
    images = pd.DataFrame({"image_id": ["0", "1"], "path": damaged})
    texts = rendered(draw_gallery(predictions(2, true=[FORMULA, "$"]), images, SETTINGS))
    assert {"✓ $\\frac$ of it", "✗ $\\frac$ of it\n($)", "no image"} <= texts


def test_a_gallery_is_no_larger_than_its_images_fill(damaged):
    images = pd.DataFrame({"image_id": [str(i) for i in range(99)], "path": damaged})
    settings = GallerySettings(rows=3)
    sizes = [draw_gallery(predictions(n), images, settings).get_size_inches() for n in (3, 12, 99)]
    assert [size[0] for size in sizes] == pytest.approx([4.5, 15, 15])
    assert sizes[0][1] < sizes[1][1] < sizes[2][1]
    assert "0 images" in rendered(draw_gallery(predictions(0), images, SETTINGS))


def test_long_names_have_two_lines_and_files_keep_theirs(damaged):
    names = {"image_id": ["IMG_20240512_133312_HDR.jpg"], "predicted": "person in motorized wheelchair"}
    shown = predictions(1, **names)
    texts = rendered(draw_gallery(shown, shown[["image_id"]].assign(path=damaged), SETTINGS))
    assert "person in motorized\nwheelchair 25%\nIMG_20240512_133312_HD\nR.jpg" in texts


def test_images_fill_their_square_and_no_more(tmp_path):
    Image.new("RGB", (40, 20)).save(tmp_path / "wide.png")
    shown = predictions(2)
    images = shown[["image_id"]].assign(path=str(tmp_path / "wide.png"))
    (axes,) = draw_gallery(shown, images, SETTINGS).axes
    for picture in axes.images:
        left, right, lower, upper = picture.get_extent()
        assert right - left == pytest.approx(2 * (lower - upper))
        assert axes.get_xlim()[0] <= left < right <= axes.get_xlim()[1]
        assert axes.get_ylim()[1] <= upper < lower <= axes.get_ylim()[0]


@pytest.mark.parametrize(
    ("columns", "surely"),
    [
        ({"probability": 0.834}, "83%"),
        ({"probability": 0.2, "none_of_these": True}, "20% (none of these)"),
    ],
)
def test_an_image_that_nobody_has_named_has_its_file_and_how_sure_its_name_is(columns, surely, damaged):
    shown = predictions(1, image_id=["trip/fox 1.jpg"], predicted="fox", **columns)
    images = shown[["image_id"]].assign(path=damaged)
    assert f"fox {surely}\nfox 1.jpg" in rendered(draw_gallery(shown, images, SETTINGS))


@pytest.mark.parametrize("listed", [{"image_id": [], "path": []}, {"image_id": ["7", "8"], "path": "nowhere.png"}])
def test_without_images_the_gallery_is_a_table(listed):
    shown = predictions(2, true=["cat", None], predicted="dog", image_id=["7", "8"])
    figure = draw_gallery(shown, pd.DataFrame(listed), SETTINGS)
    assert "no image" not in rendered(figure)
    texts = {cell.get_text().get_text() for cell in figure.axes[0].tables[0].get_celld().values()}
    assert texts == {"image", "is", "was called", "how sure", "7", "8", "cat", "dog", "25%", ""}


def test_of_images_that_are_partly_on_disk_those_are_shown(damaged):
    shown = predictions(50, image_id=[f"{i}.jpg" for i in range(50)], predicted="fox")
    images = shown[["image_id"]].assign(path=[damaged if i in (7, 33) else f"nowhere/{i}.jpg" for i in range(50)])
    figure = draw_gallery(shown, images, SETTINGS)
    assert {text for text in rendered(figure) if "fox" in text} == {"fox 25%\n7.jpg", "fox 25%\n33.jpg"}
    assert figure.get_size_inches()[0] == pytest.approx(3)  # two tiles


@pytest.mark.parametrize("named", [True, False])
def test_cases_and_mapping_show_names_with_dollars(named):
    attributes = [{"name": FORMULA, "eszsl_standardised": -1.0, "aezsl_standardised": 2.0}] if named else []
    neighbours = [{"class_name": FORMULA, "cosine": 0.5, "picture": ""}]
    case = {"class_name": FORMULA, "confused_with": "$", "pictures": ["nowhere.png"], "attributes": attributes}
    case |= {"margin_eszsl": -0.25, "margin_aezsl": 0.75, "neighbours": neighbours, "confused_neighbours": neighbours}
    texts = rendered(draw_cases({"cases": [case], "why": ""}))
    assert {"$\\frac$ of it, not $", "Nearest seen classes of $", "$\\frac$ of it\n0.50"} <= texts
    assert ({"-1.00", "+2.00"} if named else {"-0.25", "+0.75"}) <= texts
    weights = [{"class_name": FORMULA, "weight": 0.5}, {"class_name": f"{FORMULA}_too", "weight": 0.25}]
    mapping = {"class_name": FORMULA, "moved": 0.1, "weights": weights, "n_seen": 7}
    mapping["histogram"] = {"counts": [5, 2], "edges": [0.0, 0.25, 0.5]}
    texts = rendered(draw_mapping(mapping))
    assert {"$\\frac$ of it", "All 7 seen classes"} <= texts
    assert "AEZSL's mapping of $\\frac$ of it: moved 10.0% from the shared one" in texts


def test_without_cases_the_figure_says_why():
    assert "the test images have no labels" in rendered(
        draw_cases({"cases": [], "why": "the test images have no labels"})
    )


def test_curves_without_a_point_are_empty_figures():
    history = pd.DataFrame(columns=["round", "accuracy", "changed"])
    assert "AEZSL_LR: label refinement, 0 rounds" in rendered(draw_refinement_curve(history, "aezsl_lr"))
    table = pd.DataFrame(columns=["k", "accuracy", "per_class_accuracy"])
    assert "chosen: 3" in rendered(draw_sensitivity(table, {"k": 3}, "aezsl_lr", "k"))
    unknown = pd.DataFrame({"true": [None], "predicted": ["cat"], "probability": [0.5]})
    assert "no test image has a label" in rendered(draw_reliability(unknown, "aezsl"))


@pytest.mark.parametrize(("values", "scale"), [([0.1, 10], "log"), ([80, 120], "linear"), ([0, 10], "linear")])
def test_wide_ranges_have_a_logarithmic_axis(values, scale):
    table = pd.DataFrame({"k": values, "accuracy": [0.5, 0.6], "per_class_accuracy": [0.5, 0.6]})
    (axes,) = draw_sensitivity(table, {"k": values[0]}, "aezsl_lr", "k").axes
    assert axes.get_xscale() == scale


def test_labels_that_are_not_known_are_counted_where_they_change():
    history = pd.DataFrame({"round": [1, 2], "accuracy": [np.nan, np.nan], "changed": [4, 1]})
    assert "Labels changed" in rendered(draw_refinement_curve(history, "aezsl_lr"))


def test_a_picture_that_is_not_there_or_broken_is_left_out(tmp_path):
    (tmp_path / "half.png").write_bytes(b"\x89PNG")
    assert data_uri(None) == data_uri(tmp_path / "half.png") == ""
    Image.new("RGBA", (40, 20)).save(tmp_path / "clear.png")
    assert data_uri(tmp_path / "clear.png", 10).startswith("data:image/webp;base64,")
