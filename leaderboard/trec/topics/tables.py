"""Topics in lines of text: columns with and without headings, an id before a text, ids alone."""

import csv
import re
from collections.abc import Iterable, Iterator

from leaderboard.errors import Problem
from leaderboard.trec.read.lines import Problems, shown
from leaderboard.trec.topics import forms
from leaderboard.trec.topics.records import Content, Note, Record, counted, is_heading

Line = tuple[int, str]
_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_LABEL = re.compile(r"(topic|title|query|objective|description|narrative|pids)\s*:\s*(.*)", re.IGNORECASE)
_WITH_NUMBER = re.compile(r"[^\s:]+:\d+:\s*\S")
"""An id, the priority of the topic and its text, as in TREC's Million Query track of 2009."""


def columns(lines: Iterable[Line], form: str, problems: Problems, headings: bool | None = None) -> Content:
    """The rows of a table; its first line names the columns where it looks so, or where that is said."""
    content, quoted = Content([]), list[str]()
    rows = _tabbed(lines, quoted) if form == forms.TABS else _quoted(lines, forms.DELIMITERS[form], problems)
    names: list[str] = []
    for number, cells in rows:
        if not names:
            has_headings = is_heading(cells) if headings is None else headings
            names = [
                cell if has_headings and cell else f"column{place}" for place, cell in enumerate(cells, 1)
            ]
            if has_headings:
                words = ", ".join(cells)
                content.notes.append(Note(f"The first line is read as headings ({words}).", asks=False))
                continue
            content.columns = tuple(names[:4])
        while len(cells) > len(names) and not cells[-1]:
            cells.pop()
        if not 1 < len(cells) <= len(names):
            problems.add(_other_width(number, cells, len(names)))
            continue
        content.records.append(Record(number, dict(zip(names, cells, strict=False))))
    if quoted:
        words = counted(len(quoted), "cell", quoted, "were in quotes, which are removed")
        content.notes.append(Note(words))
    return content


def _tabbed(lines: Iterable[Line], quoted: list[str]) -> Iterator[tuple[int, list[str]]]:
    for number, line in lines:
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        for place, cell in enumerate(cells):
            if len(cell) > 2 and (match := _QUOTED.fullmatch(cell)):
                cells[place] = match[1].replace('""', '"').strip()
                quoted.append(shown(cell))
        yield number, cells


def _quoted(lines: Iterable[Line], delimiter: str, problems: Problems) -> Iterator[tuple[int, list[str]]]:
    numbers: list[int] = []

    def text() -> Iterator[str]:
        for number, line in lines:
            numbers.append(number)
            yield line + "\n"

    reader = csv.reader(text(), delimiter=delimiter, strict=True, skipinitialspace=True)
    start = 0
    try:
        for cells in reader:
            if any(map(str.strip, cells)):
                yield numbers[start], [" ".join(cell.split()) for cell in cells]
            start = len(numbers)
    except csv.Error as error:
        rule = f"The quotes of this row do not match: {error}."
        problems.add(Problem(rule, "Write a quote within quotes twice.", numbers[start]))


def _other_width(number: int, cells: list[str], width: int) -> Problem:
    if width == 2:
        rule = f"A topic has 2 columns, id and title, separated by a tab; this line has {len(cells)}."
    else:
        rule = f"The first line has {width} columns; this line has {len(cells)}."
    remedy = "Put a tab after the id." if len(cells) == 1 else "Remove the tabs from the title."
    return Problem(rule, remedy, number, "", shown(" ".join(cells)))


def id_and_text(lines: Iterable[Line], form: str, problems: Problems) -> Content:
    """An id and a title a line, separated by a blank or a colon."""
    split = re.compile(r"(\S+)\s+(\S.*)" if form == forms.BLANK else r"([^\s:]+):\s*(.*)")
    numbered = [(number, line.strip()) for number, line in lines if line.strip()]
    has_number = form == forms.COLON and all(_WITH_NUMBER.match(line) for _, line in numbered)
    content = Content([], columns=("column1", "column3" if has_number else "column2"))
    for number, line in numbered:
        match = split.fullmatch(line)
        if match is None:
            remedy = "Write an id, a tab and the title on each line."
            problems.add(Problem("The other lines have an id and a title.", remedy, number, "", shown(line)))
            continue
        first, _, rest = match[2].partition(":") if has_number else ("", "", match[2])
        values = {"column2": first, "column3": rest.strip()} if has_number else {"column2": rest}
        content.records.append(Record(number, {"column1": match[1], **values}))
    separator = "colon" if form == forms.COLON else "blank"
    content.notes.append(Note(f"The text before the first {separator} of a line is read as the id."))
    return content


def ids(lines: Iterable[Line]) -> Content:
    """An id a line."""
    records = [Record(number, {"column1": line.strip()}) for number, line in lines if line.strip()]
    return Content(records, columns=("column1",))


def labelled(lines: Iterable[Line]) -> Content:
    """Topics whose parts follow labels such as `Topic:` and `Title:`, as in CLEF's reviews."""
    content, name = Content([]), ""
    parts: dict[str, list[str]] = {}
    for number, line in lines:
        match = _LABEL.match(line)
        if match and match[1].lower() == "topic":
            parts = {}
            content.records.append(Record(number, {}))
        if match:
            name = match[1].lower()
        parts.setdefault(name, []).append(match[2] if match else line)
        if content.records:
            content.records[-1].values[name] = " ".join(" ".join(parts[name]).split())
    return content
