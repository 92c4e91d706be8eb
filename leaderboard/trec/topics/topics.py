"""Topic files to topics: TREC SGML, XML, two columns, or one JSON object a line."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from leaderboard.errors import Problem
from leaderboard.trec.read.entries import ID_BYTES
from leaderboard.trec.read.json_objects import Fault, object_of, place_value
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits, Problems, numbered_lines, shown
from leaderboard.trec.topics.markup import Draft, sgml_topics, xml_topics

ID_KEYS = ("narrative_id", "request_id", "_id", "qid", "id", "number", "topic_id", "query_id", "topic")
TITLE_KEYS = ("title", "query", "text")
TSV_HEADERS = frozenset(
    {("_id", "text"), ("qid", "query"), ("id", "query"), ("id", "text"), ("topic", "title"), ("id", "title")}
)

QRELS_HEADER = ("query-id", "corpus-id", "score")
_QRELS_LINE = re.compile(
    r"\S+\s+(?:[\d.]+|Q0)\s+\S+\s+(?:[+-]?\d+|L\d)|[^\s]+\t[^\s]+\t(?:[+-]?\d+|L\d)", re.IGNORECASE
)
"""Topic, iteration, docno and grade; or without the iteration, separated by tabs."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")

Line = tuple[int, str]


@dataclass(frozen=True)
class Subtopic:
    """One aspect of a topic; kind is what the file says of it, such as nav or inf."""

    number: str
    text: str
    kind: str = ""


@dataclass(frozen=True)
class Topic:
    """One information need; topic_id is text, so that its zeros count.

    limit: how long an answer to it may be, in the unit of its task; None for the task's own.
    """

    topic_id: str
    title: str
    description: str = ""
    narrative: str = ""
    subtopics: tuple[Subtopic, ...] = ()
    limit: int | None = None


def read_topics(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Topic, ...]:
    """The topics in a file, in its order; the first line that says something decides the format.

    Raises Invalid with up to 25 problems: ids that are doubled or cannot be part of an address,
    lines that are not as the first one, XML that declares a document type or entities.
    """
    lines = ((number, line) for number, line in numbered_lines(path, limits))
    first = next((line for line in lines if line[1].strip()), None)
    problems = Problems("topics file")
    drafts = list(_drafts(first, lines, problems)) if first else []
    topics = _checked(drafts, problems)
    if not topics and not problems.found:
        remedy = "Write TREC SGML, XML, JSON lines, or an id, a tab and the title a line."
        problems.add(Problem("The file has no topics.", remedy))
    problems.stop()
    return topics


def _drafts(first: Line, rest: Iterator[Line], problems: Problems) -> Iterable[Draft]:
    start = first[1].lstrip()
    lines = chain([first], rest)
    if start.startswith("{"):
        return _json_topics(lines, problems)
    if start.startswith("["):
        remedy = "Write one JSON object a line, without the brackets around them."
        problems.add(Problem("This is a JSON array.", remedy, first[0]))
        return []
    if not start.startswith("<"):
        return _tsv_topics(lines, problems)
    numbered = list(lines)
    if any(re.search(r"<top>", line, re.IGNORECASE) for _, line in numbered):
        return sgml_topics(numbered, problems)
    return xml_topics(numbered, problems)


def _tsv_topics(lines: Iterable[Line], problems: Problems) -> Iterator[Draft]:
    for place, (number, line) in enumerate(lines):
        fields = [field.strip() for field in line.split("\t")]
        if not line.strip() or (place == 0 and tuple(map(str.lower, fields)) in TSV_HEADERS):
            continue
        if len(fields) == 2:
            yield Draft(number, fields[0], fields[1])
            continue
        if place == 0:
            _require_topics(number, line, problems)
        rule = f"A topic has 2 columns, id and title, separated by a tab; this line has {len(fields)}."
        remedy = "Put a tab after the id." if len(fields) == 1 else "Take the tabs out of the title."
        problems.add(Problem(rule, remedy, number, "", shown(line)))


def _require_topics(number: int, line: str, problems: Problems) -> None:
    """Raise Invalid where the first line shows that the file is a run or holds judgments."""
    words = line.split()
    if _QRELS_LINE.fullmatch(line.strip()) or tuple(map(str.lower, words)) == QRELS_HEADER:
        rule, remedy = "This is a qrels file, not topics.", "Put it under Judgments."
    elif len(words) == 6 and words[1].upper() == "Q0":
        rule, remedy = "This is a run, not topics.", "Send it as a run once the task is published."
    else:
        return
    problems.add(Problem(rule, remedy, number, "", shown(line)))
    problems.stop()


def _json_topics(lines: Iterable[Line], problems: Problems) -> Iterator[Draft]:
    for number, line in lines:
        if not line.strip():
            continue
        record = json_object(number, line, problems)
        if record is None:
            continue
        topic_id = next((record[key] for key in ID_KEYS if key in record), None)
        if isinstance(topic_id, bool) or not isinstance(topic_id, str | int):
            rule = f"A topic needs an id, as text, under one of {', '.join(ID_KEYS)}."
            problems.add(
                Problem(rule, 'Write for example {"id": "1", "title": "..."}.', number, "", shown(line))
            )
            continue
        try:
            limit = None if record.get("limit") is None else place_value(record["limit"], "limit")
        except Fault as fault:
            problems.add(fault.problem(number))
            continue
        yield Draft(
            number,
            str(topic_id),
            next((_string(record[key]) for key in TITLE_KEYS if record.get(key)), ""),
            _string(record.get("description")),
            _string(record.get("narrative")),
            tuple(_json_subtopics(record.get("subtopics"))),
            limit,
        )


def json_object(number: int, line: str, problems: Problems) -> dict[str, Any] | None:
    """The JSON object on a line, or None and a problem."""
    try:
        return object_of(line)
    except Fault as fault:
        problems.add(fault.problem(number))
        return None


def _json_subtopics(subtopics: Any) -> Iterator[tuple[str, str, str]]:
    for place, item in enumerate(subtopics if isinstance(subtopics, list) else [], 1):
        if isinstance(item, dict):
            text = next(
                (_string(item[key]) for key in ("text", "title", "query", "description") if item.get(key)), ""
            )
            kind = _string(item.get("kind") or item.get("type"))
            yield _string(item.get("number") or item.get("id") or place), text, kind
        else:
            yield str(place), _string(item), ""


def _string(value: Any) -> str:
    return "" if value is None or isinstance(value, list | dict) else str(value).strip()


def _checked(drafts: Iterable[Draft], problems: Problems) -> tuple[Topic, ...]:
    """The drafts as topics, after each id was looked at."""
    lines: dict[str, int] = {}
    topics = []
    for draft in drafts:
        first = lines.get(draft.topic_id)
        if fault := fault_of_id(draft.topic_id):
            problems.add(Problem(*fault, draft.line, "topic id", shown(draft.topic_id)))
        elif first is not None:
            rule = f"The topic is already on line {first}."
            problems.add(
                Problem(rule, "Give each topic its own id.", draft.line, "topic id", shown(draft.topic_id))
            )
        lines.setdefault(draft.topic_id, draft.line)
        texts = (draft.title, draft.description, draft.narrative, *chain.from_iterable(draft.subtopics))
        if any(map(_UNSTORABLE.search, texts)):
            rule = "The topic's text holds NUL or half a surrogate pair."
            problems.add(Problem(rule, "Remove it.", draft.line, "topic id", shown(draft.topic_id)))
        subtopics = tuple(Subtopic(*subtopic) for subtopic in draft.subtopics)
        said = (draft.title, draft.description, draft.narrative)
        topics.append(Topic(draft.topic_id, *said, subtopics, draft.limit))
    return tuple(topics)


def fault_of_id(topic_id: str) -> tuple[str, str] | None:
    """Rule and remedy where an id could not be part of a run's line or of an address."""
    if not topic_id:
        return "The topic has no id.", "Number it."
    if topic_id.lower().endswith((".json", ".csv", ".tex")):
        return (
            "A topic id may not end in .json, .csv or .tex, which are addresses of tables.",
            "Leave the ending out.",
        )
    if "/" in topic_id or topic_id in (".", ".."):
        return "A topic id may not hold a slash, nor be . or ..", "Replace it, for example by a hyphen."
    if _CONTROL.search(topic_id) or _UNSTORABLE.search(topic_id):
        return "A topic id may not hold control characters.", "Remove them."
    if len(topic_id.split()) > 1:
        return "A topic id may not hold blanks: runs separate their columns by them.", "Use an underscore."
    if len(topic_id.encode()) > ID_BYTES:
        return f"A topic id has at most {ID_BYTES} bytes.", "Shorten it."
    return None
