"""Documents files, blocks of documents, and the filter of known docnos."""

import gzip
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.trec.documents import blocks as document_blocks
from leaderboard.trec.documents.documents import (
    DocnoFilter,
    Document,
    find_documents,
    pack_documents,
    read_documents,
)
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.runs import Ranking, block_of
from tests.trec.conftest import Written

SGML = """<DOC>
<DOCNO> FT911-3 </DOCNO>
<DATE>910514</DATE>
<HEADLINE> FT 14 MAY 91 /
Deals &amp; more </HEADLINE>
<TEXT>
First <b>line</b>.

AT&T second.
</TEXT>
</DOC>
<doc><docno>2</docno>bare body</doc>
"""

documents = st.builds(
    Document, st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1), st.text(), st.text()
)


def refusal(written: Written, content: str | bytes) -> str:
    """The message with which a documents file is refused."""
    with pytest.raises(Invalid) as caught:
        list(read_documents(written(content)))
    return caught.value.message


def test_trec_sgml(written: Written) -> None:
    """Docno, headline and text are read; markup goes, references are resolved."""
    first, second = read_documents(written(SGML))
    assert first == Document("FT911-3", "FT 14 MAY 91 / Deals & more", "First line.\n\nAT&T second.")
    assert second == Document("2", "", "bare body")


@pytest.mark.parametrize(
    "content",
    [
        '{"_id": "d1", "title": "", "text": "body", "metadata": {}}\n\n',
        '{"docno": "d1", "contents": "body"}',
        '{"id": "d1", "title": null, "text": "body"}',
        "d1\tbody\n",
        "<DOC><DOCNO>d1</DOCNO><TEXT>body</TEXT></DOC>",
    ],
)
def test_formats_say_the_same(content: str, written: Written) -> None:
    """The same document in every accepted format is the same document."""
    assert list(read_documents(written(content))) == [Document("d1", "", "body")]


def test_compressed_files_are_read(written: Written) -> None:
    """Documents files may be compressed as runs may."""
    assert list(read_documents(written(gzip.compress(b"d1\ta\tb\n")))) == [Document("d1", "", "a\tb")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("d1\ta\nd2 b\n", "line 2: 'd2 b': A document has 2 columns, docno and text, separated by a tab"),
        ('{"_id": "1"}\n{"_id"\n', "line 2: '{\"_id\"': The line is not valid JSON"),
        ('{"title": "x"}\n', "A document needs an id, as text, under one of _id, docno, docid, id."),
        ("a b\ttext\n", "line 1: docno 'a b': A docno may not contain blanks or control characters."),
        ("\ttext\n", "line 1: The document has no docno."),
        ("x" * 256 + "\ttext\n", "A docno has at most 255 bytes."),
        ('{"_id": "1", "text": "a\\u0000"}', "The document's text contains NUL or half a surrogate pair."),
        ("<DOC>\n<DOCNO>1</DOCNO>\n", "line 1: The last document has no </DOC>."),
        ("", "The file has no documents."),
    ],
)
def test_faults_are_refused_with_their_line(content: str, message: str, written: Written) -> None:
    """What cannot be stored or matched with a run is refused with line and remedy."""
    assert message in refusal(written, content)


def test_a_document_that_never_ends_is_refused(written: Written) -> None:
    """A missing </DOC> does not gather the whole file in memory."""
    path = written("<DOC>\n" + "text\n" * 100)
    with pytest.raises(Invalid, match="The document that starts on line 1 is longer than 50 characters"):
        list(read_documents(path, Limits(line_bytes=50)))


def test_no_document_comes_after_a_problem(written: Written) -> None:
    """After the first problem the rest is only checked."""
    reading = read_documents(written("a\t1\nb 2\nc\t3\nd 4\n"))
    assert next(reading).docno == "a"
    with pytest.raises(Invalid) as caught:
        next(reading)
    assert [problem.line for problem in caught.value.problems] == [2, 4]


@given(st.lists(documents, unique_by=lambda document: document.docno))
def test_documents_survive_packing(collection: list[Document]) -> None:
    """Each is found in the one block whose docnos span its own, and no text is taken for a document."""
    blocks = list(pack_documents(collection))
    docnos = sorted((document.docno for document in collection), key=str.encode)
    unpacked = [document for block in blocks for document in find_documents(block.body, docnos)]
    assert unpacked == sorted(collection, key=lambda document: document.docno.encode())
    assert sum(block.count for block in blocks) == len(collection)


def test_blocks_are_of_a_size_and_in_order() -> None:
    """Blocks close at 64 KB, name their first and last docno, and do not overlap."""
    collection = [Document(f"d{number:04}", "", "x" * 1000) for number in reversed(range(500))]
    blocks = list(pack_documents(collection))
    assert [block.count for block in blocks[:2]] == [65, 65]
    assert blocks[0].first == "d0000"
    assert all(before.last < after.first for before, after in pairwise(blocks))


def test_more_than_fits_in_memory_is_sorted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sorting through temporary files gives the same blocks as sorting in memory."""
    collection = [Document(f"é{number * 7919 % 1000}", "t\n", "x" * 50) for number in range(1000)]
    expected = list(pack_documents(collection))
    monkeypatch.setattr(document_blocks, "SORTED_AT_ONCE", 5000)
    assert list(pack_documents(collection)) == expected


def test_doubled_docnos_are_refused() -> None:
    """Two documents of one docno are refused, wherever they stood."""
    collection = [Document("b", "", ""), Document("a", "", ""), Document("b", "", "")]
    with pytest.raises(Invalid, match="Two documents have the docno b. Give each document its own"):
        list(pack_documents(collection))


def missing(filter_: bytes, docnos: list[bytes]) -> list[bytes]:
    """Those of the docnos that the filter does not know."""
    block = block_of([Ranking("1", np.array(docnos, "S"), np.zeros(len(docnos)))])
    places = DocnoFilter.unknown(filter_, block.body, block.columns.at, block.columns.length)
    return [docnos[place] for place in places.tolist()]


@given(st.sets(st.binary(min_size=1, max_size=30).filter(lambda docno: b"\0" not in docno)))
def test_filter_never_misses_a_known_docno(known: set[bytes]) -> None:
    """No docno that is in the collection is ever called unknown."""
    assert missing(DocnoFilter.build(known), sorted(known)) == []


def test_filter_finds_nearly_all_unknown_docnos() -> None:
    """At 12 bits a docno fewer than one unknown docno in a hundred passes."""
    body = DocnoFilter.build(f"doc-{number}".encode() for number in range(70_000))
    unknown = [f"doc-{number}".encode() for number in range(70_000, 90_000)]
    assert len(body) < 70_000 * 1.6
    assert len(missing(body, unknown)) > 0.99 * len(unknown)


def test_filter_keeps_the_order_and_copes_with_nothing() -> None:
    """Unknown docnos come in the order asked; an empty collection knows none."""
    body = DocnoFilter.build([b"b"])
    assert missing(body, [b"z", b"b", b"a-much-longer-docno"]) == [b"z", b"a-much-longer-docno"]
    assert missing(DocnoFilter.build([]), [b"a"]) == [b"a"]
    assert missing(body, []) == []


def test_data_of_another_version_is_refused() -> None:
    """Stored bytes without the magic word are refused with a sentence, not misread."""
    with pytest.raises(LeaderboardError, match="another version"):
        find_documents(b"XXXX....", ["a"])
    with pytest.raises(LeaderboardError, match="another version"):
        missing(b"XXXX....", [b"a"])
