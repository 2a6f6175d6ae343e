import os

from aezsl.formats.image_folders import read_new_images
from tests.helpers.trees import refused, touch, write


def test_all_images_below_a_folder_and_the_table_in_it(tmp_path):
    for name in ("b.jpg", "deep/er/a.PNG", "notes.txt", ".hidden.jpg"):
        touch(tmp_path, name)
    new = read_new_images(tmp_path)
    assert new.images["image_id"].tolist() == ["b.jpg", "deep/er/a.PNG"]
    assert new.images["path"].tolist() == [str(tmp_path / "b.jpg"), str(tmp_path / "deep/er/a.PNG")]
    assert new.classes is None
    write(tmp_path / "classes.csv", "class_name,stripes\nzebra,1\nhorse,0\n")
    new = read_new_images(tmp_path)
    assert new.classes["class_name"].tolist() == ["zebra", "horse"]
    assert new.attribute_names == ("stripes",)


def test_a_table_elsewhere_counts_more(tmp_path):
    touch(tmp_path, "images/b.jpg")
    write(tmp_path / "images/classes.csv", "class_name\nx\n")
    table = write(tmp_path / "other.csv", "class_name;description\nzebra;a striped horse\n")
    new = read_new_images(tmp_path / "images", table)
    assert new.classes.to_dict("list") == {"class_name": ["zebra"], "text": ["a striped horse"]}


def test_what_is_missing_is_named(tmp_path):
    with refused("none", "predict.images"):
        read_new_images(tmp_path / "none")
    with refused(tmp_path):
        read_new_images(tmp_path)
    touch(tmp_path, "b.jpg")
    with refused("none.csv"):
        read_new_images(tmp_path, tmp_path / "none.csv")


def test_what_is_not_read_is_counted_and_named(tmp_path, caplog):
    for name in ("a.jpg", "b.gif", "c.heic", ".thumbs/d.jpg", "deep/e.tif", "deep/.f.jpg"):
        touch(tmp_path, name)
    write(tmp_path / "classes.csv", "class_name\nx\n")
    os.mkfifo(tmp_path / "pipe.png")
    (tmp_path / "deep/up").symlink_to(tmp_path)
    (tmp_path / "elsewhere.png").symlink_to(tmp_path / "nothing")
    with caplog.at_level("WARNING"):
        assert read_new_images(tmp_path).images["image_id"].tolist() == ["a.jpg", "b.gif", "deep/e.tif"]
    for line in (
        "files .heic: c.heic (1 in all)",
        "hidden folders: .thumbs (1 in all)",
        "hidden files: deep/.f.jpg (1 in all)",
        "links to a folder above: deep/up (1 in all)",
        "links to nothing, pipes or devices: elsewhere.png, pipe.png (2 in all)",
    ):
        assert line in caplog.text
    assert "classes.csv" not in caplog.text


def test_names_that_are_not_text_are_refused(tmp_path):
    touch(tmp_path, os.fsdecode(b"deep/caf\xe9.jpg"))
    with refused(tmp_path / "deep"):
        read_new_images(tmp_path)


def test_an_image_behind_several_links_is_listed_once(tmp_path, caplog):
    outside = tmp_path / "outside"
    touch(outside, "photo.jpg")
    folder = tmp_path / "new"
    touch(folder, "b/1.jpg")
    for link, to in {"a": folder / "b", "c": outside, "d": outside, "e.jpg": outside / "photo.jpg"}.items():
        (folder / link).symlink_to(to)
    assert read_new_images(folder).images["image_id"].tolist() == ["b/1.jpg", "e.jpg"]
    assert "a, c/photo.jpg, d" in caplog.text
