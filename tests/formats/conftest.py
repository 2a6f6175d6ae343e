import pytest

from tests.helpers.layouts import write_folder


@pytest.fixture
def tree(tmp_path):
    columns = {"class_name": ["cat", "dog"], "role": ["seen", "unseen"], "description": ["Purrs, sleeps.", "Barks."]}
    write_folder(tmp_path, columns, [1, 0])
    return tmp_path
