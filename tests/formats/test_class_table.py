"""classes.csv, as people write it."""

import pytest

from aezsl.formats.folder import Folder
from tests.helpers.trees import refused, write

HEADER = "class_name,role,description\n"


def load(root):
    return Folder(root=str(root)).read()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("\x00\x00", ["classes.csv"]),
        (HEADER, []),
        ("name,role,description\ncat,seen,x\n", ["class_name"]),
        (HEADER + "cat,seen,x\ncat,unseen,y\n", ["cat"]),
        (HEADER + "cat,seen,x\n,unseen,y\n", ["line 3"]),
        (HEADER + "cat,seen,x\ndog,new,y\n", ["'dog'", "'new'"]),
        (HEADER + "cat,seen,x\ndog,seen,y\n", []),
        (HEADER + "cat,seen,x\ndog,unseen,\n", ["dog"]),
        (HEADER + "cat,seen,purrs, sleeps\ndog,unseen,barks, runs\n", []),
        (HEADER + "cat,seen,purrs\ndog,unseen,barks, runs\n", []),
        (HEADER + "dog,seen,x\ncat,unseen,y\n", ["dog"]),
        (HEADER + "cats,seen,x\ndog,unseen,y\n", ["cat", "cats"]),
        (HEADER + "cat,seen,x\ndog,unseen,x\n", ["'cat'", "'dog'"]),
        (HEADER + "cat,seen,a x\ndog,unseen,A  x\n", ["'cat'", "'dog'"]),
        (HEADER + "\u200e,seen,x\ndog,unseen,y\n", ["line 2"]),
        (HEADER + "cat,seen,x\ndog,unseen,a\x07b\n", ["'dog'", "x07"]),
        (HEADER + f"cat,seen,x\ndog,unseen,{'a' * 100_001}\n", ["'dog'", "100,000"]),
        (HEADER + f"cat,seen,x\n{'d' * 1_001},unseen,y\n", ["1,000"]),
        ("class_name,role\ncat,seen\ndog,unseen\n", []),
        ("class_name,role,text,description\ncat,seen,a,b\ndog,unseen,a,b\n", []),
        ("class_name,role,big\ncat,seen,1\ndog,unseen,yes\n", ["'big'", "'dog'", "'yes'"]),
        ("class_name,role,big\ncat,seen,1\ndog,unseen,\n", ["'big'"]),
        ("class_name,role,big\ncat,seen,inf\ndog,unseen,1\n", ["'big'"]),
        ("class_name,role,big\ncat,seen,1e39\ndog,unseen,1\n", ["'big'", "'cat'", "3e38", "'1e39'"]),
        ("class_name,role,big\ncat,seen,1e-60\ndog,unseen,1\n", ["'big'", "'cat'", "1e-38", "'1e-60'"]),
        (",class_name,role,big\n0,cat,seen,1\n1,dog,unseen,2\n", []),
        ("Unnamed: 0,class_name,role,big\n0,cat,seen,1\n1,dog,unseen,2\n", ["'Unnamed: 0'"]),
        ("class_name,role,ID,big\ncat,seen,7,1\ndog,unseen,9,2\n", ["'ID'"]),
        ("class_name,role,Nr.,big\ncat,seen,7,1\ndog,unseen,9,2\n", ["'Nr.'"]),
        ("class_name,role,Unnamed: 0.1,big\ncat,seen,7,1\ndog,unseen,9,2\n", ["'Unnamed: 0.1'"]),
        (
            "class_name,role,species_id,big\ncat,seen,70,1\n"
            + "".join(f"c{i},unseen,{i * i},{i}.5\n" for i in range(5)),
            ["'species_id'"],
        ),
        (
            "class_name,role,odd,big\ncat,seen,9,1\n" + "".join(f"c{i},unseen,{9 - i},{i * i}\n" for i in range(1, 6)),
            ["'odd'"],
        ),
        (HEADER + "cat,seen,x\nCat,unseen,y\n", ["'Cat'"]),
        (HEADER + "cat,seen,x\nc a t,unseen,y\nc  a\u00a0t,seen,z\n", ["'c a t'"]),
        (HEADER + "cat,seen,x\ncat\u200b,unseen,y\n", []),
        (HEADER + 'cat,seen,x\n"d\nog",unseen,y\n', []),
        ("class_name,rloe,big\ncat,seen,1\ndog,unseen,2\n", ["rloe"]),
        ("Class,role,big\ncat,seen,1\ndog,unseen,2\n", ["class_name"]),
        ('class_name,role,big\ncat,seen,1\ndog,unseen,"1,5"\n', ["'1,5'"]),
        ('class_name,role,description\ncat,seen,"red\ndog,unseen,y\n', []),
        ("class_name,role,legs,legs\ncat,seen,4,1\ndog,unseen,4,2\n", ["'legs'"]),
        ("class_name,role,legs, legs \ncat,seen,4,1\ndog,unseen,4,2\n", ["'legs'"]),
        ("class_name,role,legs,Legs\ncat,seen,4,1\ndog,unseen,4,2\n", ["'Legs'"]),
        ("class_name,role,legs,legs.1\ncat,seen,4,1\ndog,unseen,4,2\n", ["'legs.1'", "'legs'"]),
        ("class_name,role,role.1,big\ncat,seen,4,1\ndog,unseen,4,2\n", ["'role.1'", "'role'"]),
        (
            "class_name,role,key,big\ncat,seen,1,1\n" + "".join(f"c{i},unseen,{i},{i * i}\n" for i in range(2, 7)),
            ["'key'"],
        ),
    ],
)
def test_wrong_tables_are_refused(tree, text, parts):
    write(tree / "classes.csv", text)
    with refused(tree, *parts):
        load(tree)


def test_a_table_that_is_not_a_file_is_refused(tree):
    (tree / "classes.csv").unlink()
    (tree / "classes.csv").mkdir()
    with refused(tree / "classes.csv"):
        load(tree)


def test_the_log_says_which_columns_are_attributes(tree, caplog):
    write(tree / "classes.csv", "class_name,role,legs,size\ncat,seen,4,0.5\ndog,unseen,4,2\n")
    with caplog.at_level("INFO"):
        load(tree)
    assert "legs 4 .. 4, size 0.5 .. 2" in caplog.text


def test_an_index_of_a_body_is_an_attribute(tree):
    write(tree / "classes.csv", "class_name,role,body mass index\ncat,seen,18.5\ndog,unseen,22\n")
    assert load(tree).attribute_names == ("body mass index",)


def test_the_header_may_have_commas_where_semicolons_separate(tree):
    write(tree / "classes.csv", 'class_name;role;"size, in cm"\ncat;seen;30\ndog;unseen;60\n')
    assert load(tree).attribute_names == ("size, in cm",)


def test_attributes_that_may_be_none_are_told(tree, caplog):
    rows = "".join(f"c{i},unseen,{i * 2 % 5 + 10},3\n" for i in range(5))
    write(tree / "classes.csv", f"class_name,role,odd,same\ncat,seen,15,3\n{rows}")
    load(tree)
    assert "'odd'" in caplog.text
    assert "'same'" in caplog.text


def test_a_table_in_another_encoding_is_refused_with_advice(tree):
    (tree / "classes.csv").write_bytes("class_name,role,description\ncafé,seen,a drink\n".encode("latin-1"))
    with refused(tree / "classes.csv"):
        load(tree)
