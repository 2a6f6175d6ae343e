from aezsl.formats.new_images import read_new_images
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
    with refused("no folder", "none", "predict.images"):
        read_new_images(tmp_path / "none")
    with refused("has no images", tmp_path):
        read_new_images(tmp_path)
    touch(tmp_path, "b.jpg")
    with refused("no table of classes", "none.csv"):
        read_new_images(tmp_path, tmp_path / "none.csv")
