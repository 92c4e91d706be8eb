"""Query logs: both forms, names of columns, and every way a row can be wrong without being repeated."""

import gzip
import json
from pathlib import Path

import pytest

from leaderboard.errors import Invalid, TooLarge
from leaderboard.trec.clicks import logs
from leaderboard.trec.clicks.logs import ClickLog, ClickRow
from leaderboard.trec.read.lines import Limits

HEADING = "user,query,document,rank,clicked,time"


def log(folder: Path, *lines: str, heading: str = HEADING) -> ClickLog:
    """A log in a file."""
    path = folder / "log.csv"
    path.write_text("\n".join([heading, *lines] if heading else lines), encoding="utf-8")
    return ClickLog(path)


def problems(click_log: ClickLog) -> list[tuple[int | None, str, str]]:
    """Line, field and rule of every problem."""
    with pytest.raises(Invalid) as caught:
        list(click_log)
    assert all(problem.value == "" for problem in caught.value.problems)
    return [(problem.line, problem.field, problem.rule) for problem in caught.value.problems]


def test_rows_of_a_csv_log(tmp_path: Path) -> None:
    """All columns, with a quoted query; line numbers count the heading."""
    rows = list(
        log(tmp_path, 'ann,"cars, red",d1,1,0,1970-01-01T00:01:00Z', "", "ann,x,d2,2,yes,", "bob,x,d1,1,1,90")
    )
    assert rows == [
        ClickRow(2, "ann", "", "", "cars, red", "d1", 1, False, 60.0),
        ClickRow(4, "ann", "", "", "x", "d2", 2, True, None),
        ClickRow(5, "bob", "", "", "x", "d1", 1, True, 90.0),
    ]


@pytest.mark.parametrize("mark", [",", "\t", ";"])
def test_columns_may_have_other_names_and_separators(tmp_path: Path, mark: str) -> None:
    """Names as other logs have them, in any order and case; unknown ones are passed over and named."""
    heading = mark.join(["Country", "DocID", "position", "is_click", "qid", "impression"])
    click_log = log(tmp_path, mark.join(["XX", "d1", "3", "T", "7", "s1"]), heading=heading)
    assert list(click_log) == [ClickRow(2, "", "s1", "7", "", "d1", 3, True, None)]
    assert (click_log.ignored, click_log.rows) == (("Country",), 1)


def test_rows_of_json_lines(tmp_path: Path) -> None:
    """Numbers, truth values and null as JSON has them."""
    lines = [
        {"user": 17, "topic": 1, "docno": "d1", "rank": 1, "clicked": True, "time": 1767225600},
        {"user": None, "topic": "1", "docno": "d2", "rank": "2", "clicked": 0, "other": [1]},
    ]
    click_log = log(tmp_path, *map(json.dumps, lines), "", heading="")
    assert list(click_log) == [
        ClickRow(1, "17", "", "1", "", "d1", 1, True, 1767225600.0),
        ClickRow(2, "", "", "1", "", "d2", 2, False, None),
    ]
    assert click_log.ignored == ("other",)


def test_a_log_may_be_compressed_and_begin_with_a_mark(tmp_path: Path) -> None:
    """gzip, with a byte order mark and line ends of another system."""
    path = tmp_path / "log.csv.gz"
    path.write_bytes(gzip.compress("﻿topic,document,rank,clicked\r\n1,d1,1,1\r\n".encode()))
    assert [(row.topic, row.clicked) for row in ClickLog(path)] == [("1", True)]


@pytest.mark.parametrize(
    ("row", "line", "field"),
    [
        ("u,q,d1,0,1,", 2, "rank"),
        ("u,q,d1,10001,1,", 2, "rank"),
        ("u,q,d1,1.0,1,", 2, "rank"),
        ("u,q,d1,-1,1,", 2, "rank"),
        ("u,q,d1,²,1,", 2, "rank"),
        ("u,q,d1,1,2,", 2, "clicked"),
        ("u,q,d1,1,,", 2, "clicked"),
        ("u,q,d1,1,1,yesterday", 2, "time"),
        ("u,q,d1,1,1,9999-12-31T00:00:00", 2, "time"),
        ("u,q,,1,1,", 2, "document"),
        ("u,q,a b,1,1,", 2, "document"),
        ("u,q,a\x07b,1,1,", 2, "document"),
        (f"u,q,{'x' * 256},1,1,", 2, "document"),
        ("u,,d1,1,1,", 2, "topic"),
    ],
)
def test_a_wrong_cell_is_named_by_line_and_field(tmp_path: Path, row: str, line: int, field: str) -> None:
    """What it holds is not said."""
    faults = problems(log(tmp_path, row))
    assert [fault[:2] for fault in faults] == [(line, field)]


@pytest.mark.parametrize(
    ("row", "rule"),
    [
        ("secret,q,d1,1,1", "The row has 5 fields; the heading has 6."),
        ('secret,"q,d1,1,1,', "The row cannot be read."),
        ('"secret"x,q,d1,1,1,', "The row cannot be read."),
        ('secret,"q,d1\n",d1,1,1,', "A quote is not closed on its line."),
    ],
)
def test_a_row_that_is_no_row(tmp_path: Path, row: str, rule: str) -> None:
    """Too few fields, quotes that do not close: each with its line, and the rows after it are looked at."""
    last = row.count("\n") + 3
    faults = problems(log(tmp_path, row, "u,q,d1,0,1,"))
    assert rule in [fault[2] for fault in faults]
    if "cannot be read" not in rule:
        assert faults[-1][:2] == (last, "rank")


@pytest.mark.parametrize(
    ("heading", "rule"),
    [
        ("user,document,rank", "The heading lacks: topic (or query), clicked."),
        ("docno,doc,topic,rank,clicked", "Two columns give document."),
        ("just text", "The heading lacks: topic (or query), document, rank, clicked."),
    ],
)
def test_a_heading_must_have_its_columns(tmp_path: Path, heading: str, rule: str) -> None:
    """Missing ones and those said twice."""
    assert rule in [fault[2] for fault in problems(log(tmp_path, "a,b,c", heading=heading))]


@pytest.mark.parametrize(
    "line",
    [
        "[1]",
        '{"a":',
        "{" + '"a":{' * 100_000,
        '{"topic": "1", "document": ["d"], "rank": 1, "clicked": 1}',
        '{"topic": "1", "doc": "d", "document": "d", "rank": 1, "clicked": 1}',
        '{"topic": "1", "document": "\\ud800", "rank": 1, "clicked": 1}',
        '{"topic": "1", "document": "d", "rank": true, "clicked": 1}',
        '{"topic": "1", "document": "d", "rank": ' + "9" * 5000 + ', "clicked": 1}',
    ],
)
def test_json_that_is_no_row(tmp_path: Path, line: str) -> None:
    """No object, nested without end, lists, half a character, numbers without end."""
    good = '{"topic": "1", "document": "d", "rank": 1, "clicked": 1}'
    assert {fault[0] for fault in problems(log(tmp_path, good, line, heading=""))} == {2}


@pytest.mark.parametrize("lines", [[], ["", " "], [HEADING]])
def test_a_log_without_rows_is_refused(tmp_path: Path, lines: list[str]) -> None:
    """Empty, blank, or a heading alone."""
    assert [fault[2] for fault in problems(log(tmp_path, *lines, heading=""))] == ["The log has no rows."]


def test_bytes_that_are_no_text_are_not_repeated(tmp_path: Path) -> None:
    """A line in another encoding is named by its number."""
    path = tmp_path / "log.csv"
    path.write_bytes(HEADING.encode() + b"\nsecret\xff,q,d1,1,1,\n")
    assert problems(ClickLog(path)) == [(2, "", "The text is not valid UTF-8.")]


def test_there_are_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes in all, and rows; problems end at the 25th."""
    rows = ["u,q,d1,1,1,"] * 30
    with pytest.raises(TooLarge):
        list(ClickLog(log(tmp_path, *rows).path, Limits(plain_bytes=100)))
    assert len(problems(log(tmp_path, *(row.replace("q", "") for row in rows)))) == 25
    monkeypatch.setattr(logs, "MAX_ROWS", 29)
    with pytest.raises(TooLarge, match="in parts"):
        list(log(tmp_path, *rows))
