import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aezsl.formats.wordnet import Taxonomy, read_edges, read_synsets, similarity_vectors
from tests.helpers.trees import folder, quick, reference, refused, words, write

LICENCE = "  1 This software and database is being provided to you  \n"
DOG = (
    "02084071 05 n 03 dog 0 domestic_dog 0 Canis_familiaris 0 003 @ 02083346 n 0000 @ 01317541 n 0000 "
    '~ 02085272 n 0000 | a member of the genus Canis; occurs in many breeds; "the dog barked all night"  \n'
)


def noun(offset, parents=(), lemmas=("x",), pointer="@", gloss="something"):
    data = f"{offset:08d} 05 n {len(lemmas):02x} " + "".join(f"{lemma} 0 " for lemma in lemmas)
    return data + f"{len(parents):03d} " + "".join(f"{pointer} {p:08d} n 0000 " for p in parents) + f"| {gloss}  \n"


@st.composite
def graphs(draw):
    """Every node but the first has one or two parents among the earlier ones: acyclic, one root."""
    size = draw(st.integers(2, 12))
    return [(), *(tuple(draw(st.sets(st.integers(0, i - 1), min_size=1, max_size=2))) for i in range(1, size))]


def wnid(number):
    return f"n{number:08d}"


@quick
@given(graphs(), st.lists(words, min_size=1, max_size=17), st.sampled_from(["@", "@i"]))
def test_reads_what_was_written(graph, lemmas, pointer):
    with folder() as root:
        path = write(root / "data.noun", LICENCE + "".join(noun(i, p, lemmas, pointer) for i, p in enumerate(graph)))
        synsets, edges = read_synsets(path), read_edges(path)
        listed = write(root / "is_a.txt", "".join(f"{parent} {child}\n" for parent, child in edges))
        assert read_edges(listed) == edges
    assert list(synsets) == [wnid(i) for i in range(len(graph))]
    assert set(edges) == {(wnid(p), wnid(child)) for child, parents in enumerate(graph) for p in parents}
    assert synsets[wnid(0)].lemmas == tuple(lemma.replace("_", " ") for lemma in lemmas)


def test_a_line_of_wordnet(tmp_path):
    text = LICENCE + DOG + noun(2083346) + noun(1317541)
    dog = read_synsets(write(tmp_path / "data.noun", text))["n02084071"]
    assert dog.lemmas == ("dog", "domestic dog", "Canis familiaris")
    assert dog.definition == "a member of the genus Canis; occurs in many breeds"
    assert dog.hypernyms == ("n02083346", "n01317541")
    assert dog.text.startswith("dog, domestic dog, Canis familiaris: a member")


@quick
@given(graphs(), st.data())
def test_a_truncated_file_is_refused_or_shorter(graph, data):
    text = LICENCE + "".join(noun(i, p) for i, p in reversed(list(enumerate(graph))))  # parents come last
    end = data.draw(st.integers(len(LICENCE), text.index("\n00000000")))  # so the root is always lost
    with folder() as root:
        path = write(root / "data.noun", text[:end])
        with refused(path):
            read_synsets(path)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("n00000001 n00000002\nn00000002 n00000001\n", ["n00000001"]),
        ("n00000001 n00000001\n", []),
        ("", []),
        ("n00000001 n00000002\nn00000001\n", ["line 2"]),
        ("dog puppy\n", ["line 1", "n02084071"]),
        (DOG, ["n01317541"]),
        ("02084071 05 v 01 dog 0 000 | chase\n", ["line 1"]),
    ],
)
def test_wrong_edges_are_refused(tmp_path, text, parts):
    with refused(tmp_path / "edges", *parts):
        read_edges(write(tmp_path / "edges", text))
    with refused(tmp_path / "nowhere"):
        read_edges(tmp_path / "nowhere")


@quick
@given(graphs(), st.sampled_from(["path", "lin", "jiang_conrath"]))
def test_similarities_are_similarities(graph, measure):
    edges = [(wnid(p), wnid(child)) for child, parents in enumerate(graph) for p in parents]
    everyone = [wnid(i) for i in range(len(graph))]
    matrix, nodes = similarity_vectors(everyone, edges, measure)
    assert nodes == everyone
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(matrix), 1, atol=1e-6)
    assert (matrix >= 0).all()
    assert (matrix <= 1 + 1e-6).all()
    subset, reached = similarity_vectors(everyone[-1:], edges, measure)
    columns = [nodes.index(node) for node in reached]
    np.testing.assert_allclose(subset[0], matrix[-1, columns], atol=1e-6)


def test_similarities_by_hand():
    #      0
    #    1   2
    #   3 4
    edges = [(wnid(p), wnid(c)) for p, c in [(0, 1), (0, 2), (1, 3), (1, 4)]]
    matrix, nodes = similarity_vectors([wnid(3), wnid(2)], edges)
    assert nodes == [wnid(i) for i in (3, 2, 0, 1)]
    np.testing.assert_allclose(matrix, [[1, 1 / 4, 1 / 3, 1 / 2], [1 / 4, 1, 1 / 2, 1 / 3]], rtol=1e-6)
    tree = Taxonomy(edges)
    information = 1 - np.log(3) / np.log(5)  # two of five nodes lie below node 1
    assert tree.information(wnid(1)) == pytest.approx(information)
    assert tree.information(wnid(0)) == pytest.approx(0)
    assert tree.information(wnid(3)) == 1
    assert tree.similarity(wnid(3), wnid(4), "lin") == pytest.approx(information)
    assert tree.similarity(wnid(3), wnid(4), "jiang_conrath") == pytest.approx(1 / (3 - 2 * information))
    assert tree.similarity(wnid(3), wnid(2), "lin") == pytest.approx(0)
    with refused(wnid(9)):
        similarity_vectors([wnid(9)], edges)
    with refused("jiang_conrath"):
        similarity_vectors([wnid(3)], edges, "cosine")


@pytest.mark.slow
def test_the_reference_data():
    edges = read_edges(reference("imagenet", "wordnet.is_a.txt"))
    assert len(edges) == 75_850
    lines = reference("dogs", "classes.tsv").read_text().splitlines()[1:]
    dogs = [line.split("\t")[1] for line in lines]
    matrix, nodes = similarity_vectors(dogs, edges)
    assert matrix.shape == (120, 172)
    assert nodes[:120] == dogs
    assert len(np.unique(matrix, axis=0)) == 120  # no two breeds share a vector


@pytest.mark.slow
def test_wordnet_itself():
    path = Path(os.environ.get("AEZSL_WORDNET", "/usr/share/wordnet"), "data.noun")
    if not path.exists():
        pytest.skip(f"{path} is missing: install the package wordnet-base, or set AEZSL_WORDNET")
    synsets = read_synsets(path)
    assert len(synsets) == 82_115
    edges, listed = set(read_edges(path)), set(read_edges(reference("imagenet", "wordnet.is_a.txt")))
    assert listed < edges
    assert len(edges - listed) == 8577  # from instances to their classes, which ImageNet's list leaves out
