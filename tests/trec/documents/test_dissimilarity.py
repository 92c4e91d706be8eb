"""Dissimilarities from text and from files, with the message of every rule."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import Invalid, MissingInput
from leaderboard.trec.documents import dissimilarity
from leaderboard.trec.documents.dissimilarity import (
    from_pairs,
    from_texts,
    read_dissimilarities,
    text_dissimilarities,
)
from tests.trec.conftest import Written

TEXTS = st.lists(st.text(alphabet="ab c", max_size=12), max_size=6)


def refusal(written: Written, content: str | bytes) -> str:
    """The message with which a file is refused."""
    with pytest.raises(Invalid) as caught:
        read_dissimilarities(written(content))
    return caught.value.message


def plain_cosine(one: str, two: str) -> float:
    """The cosine of the term counts, term by term."""
    terms = {*one.split(), *two.split()}
    counts = [(one.split().count(term), two.split().count(term)) for term in terms]
    lengths = sum(a * a for a, _ in counts) * sum(b * b for _, b in counts)
    return sum(a * b for a, b in counts) / math.sqrt(lengths) if lengths else 0.0


@given(TEXTS)
def test_text_is_compared_by_the_cosine_of_its_term_counts(texts: list[str]) -> None:
    """Every pair has 1 less its cosine, the same in both directions, and 0 with itself."""
    unlike = text_dissimilarities(texts)
    assert unlike.shape == (len(texts), len(texts))
    for row, one in enumerate(texts):
        for column, two in enumerate(texts):
            expected = 0.0 if row == column else 1.0 - plain_cosine(one, two)
            assert unlike[row, column] == pytest.approx(expected, abs=1e-12)
    assert unlike.tolist() == unlike.T.tolist()
    assert (unlike >= 0.0).all()


def test_equal_texts_are_exactly_alike() -> None:
    """The same words in another order, case or punctuation differ by 0, not by a rounding."""
    unlike = text_dissimilarities(["One two, two: three!", "TWO three (one) two", "Straße", "STRASSE"])
    assert unlike[0, 1] == 0.0
    assert unlike[2, 3] == 0.0
    assert unlike[0, 2] == 1.0


def test_texts_without_terms_are_unlike_every_other() -> None:
    """Nothing in common with anything, also not with each other."""
    assert text_dissimilarities(["", "...", "a"]).tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


def test_many_terms_are_added_up_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many terms are taken at once changes nothing, to the last bit."""
    texts = ["a b c d e f a", "b c d x", "f e d c", "z"]
    whole = text_dissimilarities(texts)
    monkeypatch.setattr(dissimilarity, "TERMS_AT_ONCE", 2)
    assert text_dissimilarities(texts).tolist() == whole.tolist()


def test_texts_of_the_top_documents_make_a_matrix_a_topic() -> None:
    """Topics keep their order, documents that of the ranking; a missing text is an error that names it."""
    texts = {b"d1": "red wine", b"d2": "red meat", b"d3": "white"}
    matrices = from_texts(texts, {"2": [b"d3", b"d1"], "1": [b"d1", b"d2"], "3": []})
    assert [matrix.shape for matrix in matrices] == [(2, 2), (2, 2), (0, 0)]
    assert matrices[0][0, 1] == 1.0
    assert matrices[1][0, 1] == pytest.approx(0.5, abs=1e-12)
    with pytest.raises(MissingInput, match="No text was given for document d9"):
        from_texts(texts, {"1": [b"d1", b"d9"]})


@pytest.mark.parametrize(
    "content",
    [
        "1 a b 0.25\n1 c a 1\n1 b c 5e-1\n",
        "1\ta\tb\t.25\r\n# comment\n\n  1 c a +1.\n1 b c 0.50",
        "a b 0.25\nc a 1\nb c 0.5\n",
        "1 a b 0.25\n1 b a 0.25\n1 a a 0\n1 c a 1\n1 b c 0.5\n",
    ],
    ids=["topics", "tabs, comment, CR LF", "all topics", "both orders, itself"],
)
def test_formats_say_the_same(content: str, written: Written) -> None:
    """The same pairs in every accepted form give the same matrix."""
    (matrix,) = from_pairs(read_dissimilarities(written(content)), {"1": [b"b", b"a", b"c"]})
    assert matrix.tolist() == [[0.0, 0.25, 0.5], [0.25, 0.0, 1.0], [0.5, 1.0, 0.0]]


def test_a_pair_that_was_not_supplied_is_not_guessed(written: Written) -> None:
    """A file with topics says nothing of another topic, nor of other documents."""
    supplied = read_dissimilarities(written("1 a b 0.25\n"))
    assert np.array_equal(supplied.matrix("1", [b"a"]), [[0.0]])
    with pytest.raises(MissingInput, match="Topic 1 has no dissimilarity of c and a"):
        supplied.matrix("1", [b"a", b"c"])
    with pytest.raises(MissingInput, match="Topic 2"):
        supplied.matrix("2", [b"a", b"b"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "1 a b 0.5\na b 0.5\n",
            "line 2: 'a b 0.5': A line has 4 fields (topic docno docno value); this one has 3.",
        ),
        (
            "a b 0.5\n1 a b 0.5\n",
            "line 2: '1 a b 0.5': A line has 3 fields (docno docno value); this one has 4.",
        ),
        (
            "1 a b x\n",
            "line 1: value 'x': A dissimilarity must be a number of at least 0. "
            "The last column is the value.",
        ),
        ("1 a b -0.1\n", "value '-0.1': A dissimilarity must be a number of at least 0."),
        ("1 a b nan\n", "value 'nan': A dissimilarity must be a number of at least 0."),
        ("1 a b 1e999\n", "value '1e999': A dissimilarity must be a number of at least 0."),
        (
            "1 a a 0.5\n",
            "value '0.5': A document has no dissimilarity to itself. Remove the line, or write 0.",
        ),
        (
            "1 a b 0.5\n1 b a 0.25\n",
            "line 2: docno 'a, b': The two documents have dissimilarity 0.5 on line 1;",
        ),
        ("# nothing\n", "The file has no dissimilarities. Write one line each: topic docno docno value."),
        (f"1 {'a' * 256} b 1\n", "Topics and docnos have at most 255 bytes."),
        (b"1 \xff b 1\n", "line 1"),
    ],
)
def test_what_breaks_a_rule_is_refused(content: str | bytes, message: str, written: Written) -> None:
    """Line, value, rule and remedy are in the message."""
    assert message in refusal(written, content)


def test_problems_are_collected(written: Written) -> None:
    """One reading shows all problems, up to 25."""
    with pytest.raises(Invalid) as caught:
        read_dissimilarities(written("1 a b x\n1 a c 1\n1 a d y\n"))
    assert [problem.line for problem in caught.value.problems] == [1, 3]
