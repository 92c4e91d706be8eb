"""Run files: what is read, and one test for each rule that shows its message."""

import numpy as np
import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.runs import Run, read_run
from tests.trec.conftest import Written

pytestmark = pytest.mark.usefixtures("each_kernel")

GOOD = "1 Q0 a 1 2.5 tag\n1 Q0 b 2 1.5 tag\n2 Q0 a 1 7 tag\n"


def entries(run: Run) -> list[tuple[str, bytes, float]]:
    """All entries of a run, topic by topic."""
    return [
        (topic, docno, score)
        for topic, ranking in run.rankings.items()
        for docno, score in zip(ranking.docnos.tolist(), ranking.scores.tolist(), strict=True)
    ]


def refusal(written: Written, content: str | bytes, *, strict: bool = True) -> str:
    """The message with which a run file is refused."""
    with pytest.raises(Invalid) as caught:
        read_run(written(content), strict=strict)
    return caught.value.message


def test_six_columns_become_rankings(written: Written) -> None:
    """Topics, docnos and scores come in the order of the file, as arrays."""
    run = read_run(written(GOOD))
    assert entries(run) == [("1", b"a", 2.5), ("1", b"b", 1.5), ("2", b"a", 7.0)]
    assert run.rankings["1"].docnos.dtype.kind == "S"
    assert run.rankings["1"].scores.dtype == np.float64
    assert (run.tag, run.tags, run.entries, run.notes, run.metadata) == ("tag", ("tag",), 3, (), {})
    assert run.first_lines == {"1": 1, "2": 3}


@pytest.mark.parametrize(
    "content",
    [
        GOOD.replace(" ", "\t"),
        GOOD.replace(" ", " \t  "),
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "  \n\n"),
        GOOD.rstrip("\n"),
        "# a comment\n" + GOOD,
        GOOD.replace("2 Q0", "#a comment: 1 2 3\n2 Q0"),
    ],
    ids=["tabs", "several blanks", "CR LF", "blank lines", "no last newline", "comment", "comment inside"],
)
def test_way_of_writing_does_not_matter(content: str, written: Written) -> None:
    """Tabs, runs of blanks, CR LF, blank lines and comments do not change what is read."""
    assert entries(read_run(written(content))) == entries(read_run(written(GOOD)))


def test_line_numbers_count_blanks_and_comments(written: Written) -> None:
    """The line a topic starts on is the line of the file."""
    assert read_run(written("# one\n\n" + GOOD)).first_lines == {"1": 3, "2": 5}


def test_topics_in_parts_are_joined_and_named(written: Written) -> None:
    """A topic whose lines are apart becomes one ranking."""
    run = read_run(written("1 Q0 a 1 3 t\n2 Q0 a 1 3 t\n1 Q0 long-docno 2 1 t\n"))
    assert run.rankings["1"].docnos.tolist() == [b"a", b"long-docno"]
    assert run.split_topics == ("1",)


def test_topic_across_blocks_is_not_split(written: Written) -> None:
    """A topic that goes over a block's end is one part, and nothing is lost."""
    content = "".join(f"{1 + n // 500} Q0 d{n} {n % 500} {-n} t\n" for n in range(2000))
    run = read_run(written(content), limits=Limits(line_bytes=300))
    assert run.split_topics == ()
    assert [len(ranking.docnos) for ranking in run.rankings.values()] == [500] * 4
    assert run.rankings["2"].scores.tolist() == [float(-n) for n in range(500, 1000)]


def test_a_hash_inside_a_docno_is_no_comment(written: Written) -> None:
    """Only a line that starts with # is a comment."""
    assert entries(read_run(written("1 Q0 doc#2_3 1 1 #t\n"))) == [("1", b"doc#2_3", 1.0)]


@pytest.mark.parametrize(
    "text", ["1", "-1.5", "+.5", "5.", "1e3", "1.25E-7", "0", "123456789012345678901234567890"]
)
def test_score_is_the_nearest_double(text: str, written: Written) -> None:
    """Decimal and scientific notation are read exactly as Python reads them."""
    assert entries(read_run(written(f"1 Q0 a 1 {text} t\n"))) == [("1", b"a", float(text))]


@pytest.mark.parametrize("text", ["abc", "1_000", "0x10", "1,5", "٣", "1e", "--1", "1.2.3", "."])
@pytest.mark.parametrize("strict", [True, False])
def test_score_that_is_no_number_is_refused(text: str, strict: bool, written: Written) -> None:
    """Anything but ASCII decimal notation is refused, with the value."""
    message = refusal(written, f"1 Q0 a 1 {text} t\n", strict=strict)
    assert f"line 1: score '{text}': A score is a decimal number such as 12.5 or 1.2e-3." in message


def test_decimal_comma_has_its_own_remedy(written: Written) -> None:
    """Who writes 1,5 is told to write a point."""
    assert "Write a point, not a comma." in refusal(written, "1 Q0 a 1 1,5 t\n")


@pytest.mark.parametrize("text", ["nan", "NaN", "inf", "-Infinity"])
@pytest.mark.parametrize("strict", [True, False])
def test_score_that_is_not_finite_is_refused(text: str, strict: bool, written: Written) -> None:
    """NaN and infinities are refused, with the value."""
    message = refusal(written, f"1 Q0 a 1 {text} t\n", strict=strict)
    assert f"line 1: score '{text}': A score is a finite number." in message


def test_score_too_large_is_refused(written: Written) -> None:
    """A number beyond 64-bit floats would become infinite and is refused."""
    assert "score '1e999': The score is too large for a 64-bit number." in refusal(
        written, "1 Q0 a 1 1e999 t\n"
    )


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("1 Q0 a 1 1", "Often the second column (Q0) or the tag is missing."),
        ("1 Q0 a 1 1 my tag", "Remove the blanks from docnos and tags."),
        ("1 0 a 1", "This looks like a judgment; use the run, not the qrels."),
        ("1,Q0,a,1,1,t", "Separate the fields by blanks or tabs, not by commas."),
        ('{"1": {"a": 1.0}}', "This is JSON; write plain lines of six columns."),
        ("1 Q0 a 1 1 t\r2 Q0 a 1 1 t", "The lines end in CR alone, as on old Macs; end them in LF or CR LF."),
    ],
)
def test_wrong_number_of_fields_is_refused(line: str, remedy: str, written: Written) -> None:
    """Not six fields: the count is named, with a remedy that fits what was sent."""
    message = refusal(written, GOOD + line + "\n")
    assert "line 4: " in message
    assert "An entry has 6 fields (topic Q0 docno rank score tag); this line has" in message
    assert remedy in message


def test_document_twice_in_a_topic_is_refused_naming_both_lines(written: Written) -> None:
    """The second line is where the problem is, the first is named."""
    message = refusal(written, GOOD + "2 Q0 a 2 6 tag\n")
    assert (
        "line 4: docno 'a': Topic 2 has this document already on line 3. Keep one of the two lines."
        in message
    )


def test_document_twice_in_a_split_topic_is_refused(written: Written) -> None:
    """Two parts of a topic may not share a document either."""
    message = refusal(written, GOOD + "1 Q0 b 3 0.5 tag\n", strict=False)
    assert "line 4: docno 'b': Topic 1 has this document already on line 2." in message


def test_control_characters_are_refused(written: Written) -> None:
    """An escape sequence in a docno never reaches a terminal."""
    assert "The line contains a control character." in refusal(written, "1 Q0 a\x1b[31m 1 1 t\n")


def test_undecodable_bytes_are_refused(written: Written) -> None:
    """Bytes that are not UTF-8 are refused with their line."""
    assert "line 4: bytes" in refusal(written, GOOD.encode() + b"3 Q0 M\xfcller 1 1 t\n")


@pytest.mark.parametrize("content", ["", "\n\n", "# only a comment\n", b"\xef\xbb\xbf"])
def test_empty_file_is_refused(content: str | bytes, written: Written) -> None:
    """A file without entries is refused, with how an entry looks."""
    message = refusal(written, content)
    assert "The file has no entries. Write one line per entry: topic Q0 docno rank score tag." in message


@pytest.mark.parametrize(("place", "name"), [(0, "topic"), (2, "docno"), (5, "tag")])
def test_long_ids_are_refused(place: int, name: str, written: Written) -> None:
    """Topic ids, docnos and tags have at most 255 bytes."""
    fields = ["1", "Q0", "a", "1", "1", "t"]
    fields[place] = "é" * 128
    message = refusal(written, " ".join(fields))
    assert f"A {name} has at most 255 bytes; this one has 256." in message
    fields[place] = "x" * 255
    assert read_run(written(" ".join(fields))).entries == 1


def test_up_to_25_problems_are_told(written: Written) -> None:
    """Reading goes on after a problem and stops at the 25th."""
    with pytest.raises(Invalid) as caught:
        read_run(written("1 Q0 a 1 x t\n" * 40))
    assert [problem.line for problem in caught.value.problems] == list(range(1, 26))


def test_lenient_reading_takes_what_trec_eval_takes(written: Written) -> None:
    """A seventh field, bytes that are not UTF-8 and long docnos pass where only trec_eval's rules hold."""
    run = read_run(written(b"1 Q0 M\xfcller 1 1 t more\n1 Q0 " + b"x" * 300 + b" 2 0.5 t\n"), strict=False)
    assert run.rankings["1"].docnos.tolist() == [b"M\xfcller", b"x" * 300]
    assert "at least 6 fields" in refusal(written, "1 Q0 a 1 1 x\n1 Q0 b 1\n", strict=False)


@pytest.mark.parametrize("content", ["{}", "# comment\n{}", "1\tQ0 c 1 9 t\n{}"])
def test_a_nul_behind_the_last_field_is_refused(content: str, written: Written) -> None:
    """What is ignored of a line is text too, in comments as well."""
    for line in ("1 Q0 a 1 1 t more\0\n", "1 Q0 a 1 1 t \0\n", "# \0\n1 Q0 a 1 1 t\n"):
        assert "The line contains a NUL byte." in refusal(written, content.format(line), strict=False)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "content",
    [
        "1 Q0 a 1 2 t\r1 Q0 b 2 1 t\r",
        "1 Q0 c 1 3 t\n1 Q0 a 2 2 t\r1 Q0 b 3 1 t\n",
        "# comment\r1 Q0 a 1 1 t\n1 Q0 b 2 1 t\n",
        "# comment\r1 Q0 a 1 1 t\r",
    ],
)
def test_no_line_is_lost_behind_a_bare_cr(content: str, strict: bool, written: Written) -> None:
    """The line ends of old Macs are refused with a remedy, also where a reader ignores the rest of a line."""
    assert "as on old Macs; end them in LF or CR LF." in refusal(written, content, strict=strict)


def test_cr_lf_and_blanks_at_the_end_of_a_line_are_no_bare_cr(written: Written) -> None:
    """Lines may end in CR LF, in several CRs, and in blanks around them."""
    content = "# comment \r\r\n1 Q0 a 1 1 t more \r \r\n"
    assert entries(read_run(written(content), strict=False)) == [("1", b"a", 1.0)]


def test_three_columns_are_ranks(written: Written) -> None:
    """MS MARCO's topic docno rank becomes minus the rank, with a note."""
    run = read_run(written("1\ta\t1\n1\tb\t2\n2\tc\t1\n"))
    assert entries(run) == [("1", b"a", -1.0), ("1", b"b", -2.0), ("2", b"c", -1.0)]
    assert (run.tag, run.tags) == ("", ())
    assert [note.rule for note in run.notes] == ["The file has three columns, topic docno rank."]


def test_three_columns_need_a_rank(written: Written) -> None:
    """The first line decides for three columns; a later one without a rank is refused."""
    assert "line 2: rank 'x': The third of three columns is the rank" in refusal(written, "1 a 1\n1 b x\n")


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("1 Q0 a 1 1 t\n1 Q0 b 2 2 t\n", "line 2: rank '2': The rank contradicts the score"),
        ("1 0 a 1 1 t\n", "line 1: iteration '0': The second column is not Q0. It is ignored."),
        ("1 Q0 a first 1 t\n", "line 1: rank 'first': The rank is not a whole number."),
        (
            b"\xef\xbb\xbf1 Q0 a 1 1 t\n",
            "line 1: The file starts with a byte order mark. It was ignored; trec_eval would make it part",
        ),
    ],
)
def test_oddities_are_noted_once(content: str | bytes, note: str, written: Written) -> None:
    """What is odd but harmless is noted with its first line."""
    notes = read_run(written(content)).notes
    assert len(notes) == 1
    assert note in str(notes[0])


@pytest.mark.parametrize(
    "content",
    [
        "1 Q0 a 0 2 t\n1 Q0 b 0 1 t\n",
        "1 Q0 b 2 1 t\n1 Q0 a 1 2 t\n",
        "1 Q0 a 2 1 t\n1 Q0 b 1 1 t\n",
        "1 Q0 a 2 1 t\n2 Q0 b 1 0.5 t\n",
    ],
    ids=["rank 0 everywhere", "unsorted file", "tied", "another topic"],
)
def test_rank_that_agrees_with_the_score_is_not_noted(content: str, written: Written) -> None:
    """Ranks that are all the same, unsorted lines, ties and other topics are not contradictions."""
    assert read_run(written(content)).notes == ()


def test_distinct_tags_are_kept_in_order(written: Written) -> None:
    """The last line's tag is the run's; a handful of others is kept."""
    run = read_run(written("".join(f"1 Q0 d{n} 1 {-n} tag{n}\n" for n in range(9))))
    assert run.tag == "tag8"
    assert run.tags == ("tag0", "tag1", "tag2", "tag3", "tag4")


def test_metadata_header_is_read(written: Written) -> None:
    """An ir_metadata header in comments is kept as nested values."""
    header = "# ir_metadata.start\n# schema-version: 0.1\n# actor:\n#   team: one\n# ir_metadata.end\n"
    assert read_run(written(header + GOOD)).metadata == {"schema-version": "0.1", "actor": {"team": "one"}}
