"""Judgment files: the ways they are written, and one test for each rule that shows its message."""

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.qrels.qrels import read_qrels
from tests.trec.conftest import Written


def refusal(written: Written, content: str | bytes) -> str:
    """The message with which a qrels file is refused."""
    with pytest.raises(Invalid) as caught:
        read_qrels(written(content))
    return caught.value.message


def test_four_columns_become_grades(written: Written) -> None:
    """Topics keep the file's order, negative grades are kept, the iteration is not part of the judgment."""
    qrels = read_qrels(written("2 0 b 1\n2 0 a -2\n1 Q0 a 3\n"))
    assert qrels.judgments == {"2": {b"b": 1, b"a": -2}, "1": {b"a": 3}}
    assert list(qrels.judgments) == ["2", "1"]
    assert (qrels.kind, qrels.notes, qrels.subtopics) == ("graded", (), {})
    assert list(qrels.entries()) == [("2", "", b"b", 1), ("2", "", b"a", -2), ("1", "", b"a", 3)]
    assert qrels.grades() == {-2: 1, 1: 1, 3: 1}


@pytest.mark.parametrize(
    "content",
    [
        "1 0 a 2\n1 0 b 0\n",
        "1\t0\ta\t2\n1\t0\tb\t0\n",
        "# comment\n\n  1  0 a   2  \r\n1 0 b 0",
        "query-id\tcorpus-id\tscore\n1\ta\t2\n1\tb\t0\n",
        "1 a 2\n1 b 0\n",
        "1 0 a L2\n1 0 b L0\n",
        "1 a L2\n1 b L0\n",
    ],
    ids=["TREC", "tabs", "blanks, comment, CR LF", "BEIR", "three columns", "NTCIR", "NTCIR, three columns"],
)
def test_formats_say_the_same(content: str, written: Written) -> None:
    """The same judgments in every accepted format are the same judgments."""
    assert read_qrels(written(content)).judgments == {"1": {b"a": 2, b"b": 0}}


def test_several_iterations_of_a_document_are_subtopics(written: Written) -> None:
    """Where a document of a topic has several iterations, these are subtopics; its grade is the highest."""
    qrels = read_qrels(written("1 1 a 0\n1 2 a 2\n1 2 b 1\n2 1 c -2\n"))
    assert qrels.kind == "subtopic"
    assert qrels.judgments == {"1": {b"a": 2, b"b": 1}, "2": {b"c": -2}}
    assert qrels.subtopics["1"] == {"1": {b"a": 0}, "2": {b"a": 2, b"b": 1}}
    assert ("1", "2", b"a", 2) in list(qrels.entries())
    assert len(list(qrels.entries())) == 4


def test_rounds_are_not_subtopics(written: Written) -> None:
    """No document has two values of the second column: they are rounds unless the sender says more."""
    path = written("1 0.5 a 2\n1 1 b 1\n2 1 c 0\n")
    seen = read_qrels(path)
    assert seen.kind == "graded"
    assert "holds 0.5, 1, but no document of a topic has two of them" in str(seen.notes[0])
    told = read_qrels(path, second="rounds")
    assert (told.kind, told.notes, told.judgments) == ("graded", (), seen.judgments)
    assert read_qrels(path, second="subtopics").subtopics["1"] == {"0.5": {b"a": 2}, "1": {b"b": 1}}
    assert read_qrels(written("1 1 a 0\n1 2 a 2\n"), second="rounds").judgments == {"1": {b"a": 2}}
    assert read_qrels(written("1 1 a 0\n2 2 a 2\n")).notes == ()
    with pytest.raises(Invalid, match="not 'x'"):
        read_qrels(path, second="x")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("1 Q0 a 1 0.5 tag\n", "This is a run, not judgments."),
        ("<top>\n<num> 1\n", "This is a topics file, not judgments. Submit it as topics."),
        ("1\ta title\n2\tanother\n", "This is a topics file"),
        ('{"id": "1", "title": "x"}\n', "This is a topics file"),
    ],
)
def test_another_kind_of_file_is_called_what_it_is(content: str, words: str, written: Written) -> None:
    """A run or topics in the place of judgments are named once, not once a line."""
    assert words in refusal(written, content)
    assert "more)" not in refusal(written, content)


def test_equal_double_is_noted(written: Written) -> None:
    """The same judgment twice is taken once, with a note of its line."""
    qrels = read_qrels(written("1 0 a 1\n1 0 a 1\n"))
    assert qrels.judgments == {"1": {b"a": 1}}
    assert [str(note) for note in qrels.notes] == [
        "line 2: docno 'a': The judgment is listed twice. It was counted once."
    ]


def test_contradicting_double_is_refused_naming_both_lines(written: Written) -> None:
    """One document with two grades in a topic is refused with both lines and grades."""
    message = refusal(written, "1 0 a 1\n1 0 b 1\n1 0 a 2\n")
    assert (
        "line 3: docno 'a': Topic 1 has this document already on line 1 with grade 1; here it has 2."
        in message
    )


@pytest.mark.parametrize("grade", ["1.5", "x", "1_0", "٣", "1234567890", "-1234567890", "9" * 19, "L", ""])
def test_grade_is_a_whole_number(grade: str, written: Written) -> None:
    """Anything but a whole number of at most nine digits is refused."""
    message = refusal(written, f"query-id\tcorpus-id\tscore\n1\ta\t{grade}\n")
    assert "A grade is a whole number of at most 9 digits, or L0 to L9." in message


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("1 Q0 a 1 0.5 tag", "This looks like a run; use the qrels."),
        ("1 0 a 1 0.25", "Name the columns: map columns=topic,iteration,docno,-,grade (--map)."),
        ("1 a", "Separate the fields by blanks or tabs."),
    ],
)
def test_wrong_number_of_fields_is_refused(line: str, remedy: str, written: Written) -> None:
    """The number of fields is the first line's, and the remedy fits what was sent."""
    message = refusal(written, "1 0 b 1\n" + line)
    assert "line 2: " in message
    assert "A judgment has 4 fields (topic iteration docno grade); this line has" in message
    assert remedy in message


def test_beir_ids_hold_no_blanks(written: Written) -> None:
    """BEIR's columns are separated by tabs alone; a blank in an id could never match a run."""
    message = refusal(written, "query-id\tcorpus-id\tscore\n1\ta b\t1\n")
    assert "line 2: docno 'a b': A docno is one word" in message


def test_undecodable_bytes_are_refused(written: Written) -> None:
    """Judgments are stored as text, so they must be UTF-8."""
    assert "line 1: bytes" in refusal(written, b"1 0 M\xfcller 1\n")


@pytest.mark.parametrize(
    "content",
    [
        "1 0 a 0\r1 0 b 1\r2 0 a 1\r",
        "1 a 0\r1 b 1\r",
        "query-id\tcorpus-id\tscore\r1\ta\t1\r",
        "# comment\r1 0 a 1\r",
        "1 0 a 1\n# comment\r1 0 b 1\n",
        "1 0 a 1\n" + "1 0 b 1\r" * 200_000,
    ],
    ids=["TREC", "three columns", "BEIR", "comment first", "comment", "longer than a line may be"],
)
def test_the_line_ends_of_old_macs_are_named(content: str, written: Written) -> None:
    """Where CR stands alone no judgment is lost in silence: the file is refused, with what to do."""
    message = refusal(written, content)
    assert "line " in message
    assert "The lines end in CR alone, as on old Macs; end them in LF or CR LF." in message


@pytest.mark.parametrize("content", ["", "# nothing\n", "query-id\tcorpus-id\tscore\n"])
def test_empty_file_is_refused(content: str, written: Written) -> None:
    """A file without judgments is refused, with how one looks."""
    assert "The file has no judgments. Write one line each: topic 0 docno grade." in refusal(written, content)
