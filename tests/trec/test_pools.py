"""Pool files: three forms read, the same ones written, and what a wrong line is answered with."""

from pathlib import Path

import pytest

from leaderboard.errors import Invalid
from leaderboard.trec.pools import FORMS, Pooled, as_text, read_pool

POOL = {"10": [Pooled("d9", 2.5, "depth", 1.0), Pooled("d,1", 0.5, "rrf", 0.25)], "9": [Pooled("x", 1.0)]}


def _read(folder: Path, text: str) -> dict[str, list[Pooled]]:
    path = folder / "pool"
    path.write_text(text, encoding="utf-8", newline="")
    return read_pool(path)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_reads_back(tmp_path: Path, form: str) -> None:
    """CSV and JSON lines keep everything, NIST's form topics and docnos alone."""
    pool = _read(tmp_path, "".join(as_text(POOL, form)))
    if form == "nist":
        assert pool == {"10": [Pooled("d,1"), Pooled("d9")], "9": [Pooled("x")]}
    else:
        assert pool == POOL


def test_what_a_spreadsheet_would_run_is_quoted_in_csv_and_read_back(tmp_path: Path) -> None:
    """Topics, docnos and strata that start like formulas, or like quoted ones, come back as they were."""
    documents = [Pooled("=d1", 5.0), Pooled("-x", 4.0, "+s"), Pooled("'=d1", 3.0), Pooled("'x", -2.0)]
    documents.append(Pooled("＝d1", -3.0))
    text = "".join(as_text({"@1": documents}, "csv"))
    assert text.splitlines()[1:3] == ["'@1,'=d1,5.0,,1.0", "'@1,'-x,4.0,'+s,1.0"]
    assert text.splitlines()[-1] == "'@1,'＝d1,-3.0,,1.0"
    assert _read(tmp_path, text) == {"@1": documents}
    for form in ("nist", "jsonl"):
        assert "'@1" not in "".join(as_text({"@1": documents}, form))


def test_nist_lines_are_sorted_as_bytes() -> None:
    """Topics and docnos come in byte order, so that they tell neither rank nor run."""
    assert "".join(as_text(POOL, "nist")) == "10 d,1\n10 d9\n9 x\n"


def test_higher_priorities_come_first_and_equal_ones_keep_their_order(tmp_path: Path) -> None:
    """Columns may come in any order and others are passed over, as are blank lines and comments."""
    text = "# made by hand\nwho,docno,topic,priority\nme,a,1,1\n\nme,b,1,3\nme,c,1,\nme,d,1,3\n"
    assert [pooled.docno for pooled in _read(tmp_path, text)["1"]] == ["b", "d", "a", "c"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 a\n1 b c\n", "line 2: '1 b c': A line of a pool has two fields"),
        ("1,a\n", "CSV needs a header with topic and docno"),
        ("topic,docno\n1,a,b\n", "The header has 2 columns; this line has 3"),
        ("1 a\n2 b\n1 a\n", "line 3: docno 'a': Topic 1 has this document already"),
        ('{"topic": "1", "docno": "a"}\nnot json\n', "line 2: 'not json': Every line is one JSON object"),
        ('{"topic": "1"}\n', "A docno is one word of at most 255 bytes"),
        ("topic,docno,probability\n1,a,1.5\n", "A probability is over 0 and at most 1"),
        ("topic,docno,probability\n1,a,0\n", "A probability is over 0 and at most 1"),
        ("topic,docno,priority\n1,a,nan\n", "A priority is a number"),
        ("# nothing\n", "The file has no documents"),
    ],
)
def test_a_wrong_line_is_named_with_what_to_do(tmp_path: Path, text: str, says: str) -> None:
    """Every rule is broken once."""
    with pytest.raises(Invalid) as caught:
        _read(tmp_path, text)
    assert says in caught.value.message


@pytest.mark.parametrize(
    "content",
    [
        "1 a\r1 b\r",
        "topic,docno\r1,a\r",
        "topic,docno\n1,a\r1,b\n",
        "# c\r1 a\n1 b\n",
        '{"topic": "1", "docno": "a"}\r{"topic": "1", "docno": "b"}\r',
    ],
)
def test_the_line_ends_of_old_macs_are_refused(content: str, tmp_path: Path) -> None:
    """In any form, and in comments: what follows the CR would be lost."""
    with pytest.raises(Invalid, match="as on old Macs; end them in LF or CR LF"):
        _read(tmp_path, content)


@pytest.mark.parametrize(
    "line",
    [
        '{"topic": "1", "docno": "\\ud800"}',
        '{"topic": "1", "docno": "a\\u0000b"}',
        '{"topic": "\\u001b[31m", "docno": "a"}',
        '{"topic": "1", "docno": "a", "priority": ' + "9" * 400 + "}",
        '{"topic": "1", "docno": "a", "x": ' + "[" * 100_000,
    ],
    ids=["half a surrogate pair", "NUL", "control character", "a number too large", "nested too deeply"],
)
def test_what_json_can_write_and_a_database_cannot_hold_is_refused(line: str, tmp_path: Path) -> None:
    """With the line, not with an error of the program."""
    with pytest.raises(Invalid, match="line 2: "):
        _read(tmp_path, '{"topic": "1", "docno": "b"}\n' + line + "\n")


def test_a_stratum_keeps_what_can_be_stored(tmp_path: Path) -> None:
    """It is a name for people; what no database holds is left out."""
    pool = _read(tmp_path, '{"topic": "1", "docno": "b", "stratum": "to\\u0000p\\udfff"}\n')
    assert pool["1"][0].stratum == "top"


def test_a_cell_too_long_for_the_reader_is_refused(tmp_path: Path) -> None:
    """Python's CSV reader raises an error of its own beyond 131,072 characters."""
    with pytest.raises(Invalid, match=r"line 2: .* The row cannot be read\."):
        _read(tmp_path, f"topic,docno\n1,{'x' * 140_000}\n")
