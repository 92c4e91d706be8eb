"""Topic files of any form to topics, with the fields that are read."""

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any

from leaderboard.errors import Invalid, Problem, TooLarge
from leaderboard.trec.read.entries import ID_BYTES
from leaderboard.trec.read.forms import Head
from leaderboard.trec.read.json_objects import Fault, not_json, object_of, place_value
from leaderboard.trec.read.lines import (
    BOM_NOTE,
    DEFAULT_LIMITS,
    Limits,
    Problems,
    numbered_lines,
    shown,
    starts_with_mark,
)
from leaderboard.trec.read.other_forms import problem_of
from leaderboard.trec.read.plain import plain_blocks
from leaderboard.trec.topics import forms
from leaderboard.trec.topics.markup import sgml_topics, xml_topics
from leaderboard.trec.topics.records import (
    ID_KEYS,
    PARTS,
    Content,
    Note,
    Record,
    Sources,
    all_fields,
    counted,
    is_heading,
    is_part,
    parse_fields,
    sources_of,
    squeezed,
    value_of,
    written,
)

Line = tuple[int, str]

_QUOTED = re.compile(r'"((?:[^"]|"")*)"')
_LABEL = re.compile(r"(topic|title|query|objective|description|narrative|pids)\s*:\s*(.*)", re.IGNORECASE)
_WITH_NUMBER = re.compile(r"[^\s:]+:\d+:\s*\S")
"""An id, the priority of the topic and its text, as in TREC's Million Query track of 2009."""


def columns(lines: Iterable[Line], form: str, problems: Problems, headings: bool | None = None) -> Content:
    """The rows of a table; its first line names the columns if it looks like headings, or if requested."""
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


DEEPEST = 5
MOST_FIELDS = 200
_TURNS = ("turn", "turns")
_TURN_IDS = ("number", "turn_id", "id", "turn")
_UTTERANCES = ("raw_utterance", "utterance", "query", "question", "text")
_ENGLISH = frozenset({"eng", "en", "english"})
_SUBTOPIC_TEXTS = ("text", "title", "query", "description")


def json_forms_lines(numbered: Iterable[tuple[int, str]], problems: Problems) -> Content:
    """One object a line."""
    content = Content([])
    objects: list[tuple[int, dict[str, Any]]] = []
    for number, line in numbered:
        if not line.strip():
            continue
        try:
            objects.append((number, object_of(line)))
        except Fault as fault:
            problems.add(fault.problem(number))
    _take(objects, content, problems)
    return content


def document(text: str, problems: Problems) -> Content:
    """An array, a dictionary or an object that has the topics in a list, over any number of lines."""
    content = Content([])
    try:
        values = list(_values(text))
    except Fault as fault:
        problems.add(fault.problem(None))
        return content
    items = values
    if len(values) == 1:
        ((line, whole),) = values
        # Of the topics within one value no line is known.
        items = [(line if item is whole else 0, item) for item in _items(whole)]
    objects = [(line, item) for line, item in items if isinstance(item, dict)]
    if len(objects) < len(items):
        example = next(item for _, item in items if not isinstance(item, dict))
        rule = f"{len(items) - len(objects):,} of {len(items):,} values of the array are not objects."
        remedy = 'Write each topic as {"id": "1", "title": "..."}.'
        problems.add(Problem(rule, remedy, value=shown(json.dumps(example))))
    _take(objects, content, problems)
    return content


def _values(text: str) -> Iterator[tuple[int, Any]]:
    """The values of a text, each with the line it starts on."""
    decoder, text = json.JSONDecoder(object_pairs_hook=_once), text.rstrip()
    position = len(text) - len(text.lstrip())
    line, counted_to = 1, 0
    while position < len(text):
        line, counted_to = line + text.count("\n", counted_to, position), position
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise not_json(error, text, position) from error
        yield line, value
        while text[position : position + 1].isspace():
            position += 1


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record: dict[str, Any] = {}
    for key, value in pairs:
        if key in record:
            raise Fault("The key occurs twice in one object.", "Keep one of them.", "key", shown(key))
        record[key] = value
    return record


def _items(value: Any) -> list[Any]:
    """The topics of a whole document."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return [value]
    if any(key in value for key in ID_KEYS) and not isinstance(value.get("topic"), list):
        return [value]
    if all(map(is_part, value)):
        return [value]
    within = [
        key
        for key, entry in value.items()
        if isinstance(entry, list) and entry and isinstance(entry[0], dict)
    ]
    if within:
        return list(value[within[0]])
    return [
        {"key": key, **entry} if isinstance(entry, dict) else {"key": key, "value": entry}
        for key, entry in value.items()
    ]


def _take(objects: list[tuple[int, dict[str, Any]]], content: Content, problems: Problems) -> None:
    several: set[str] = set()
    turns, passed = 0, list[str]()
    for number, record in objects:
        talk = next((record[key] for key in _TURNS if _is_objects(record.get(key))), None)
        if talk is not None:
            of_record = list(_turns(number, record, talk, passed))
            turns += len(of_record)
            content.records.extend(of_record)
            continue
        try:
            limit = None if record.get("limit") is None else place_value(record["limit"], "limit")
        except Fault as fault:
            problems.add(fault.problem(number or None))
            continue
        values: dict[str, str] = {}
        unfit: set[str] = set()
        _flatten(
            {k: v for k, v in record.items() if k not in ("subtopics", "limit")}, "", values, unfit, several
        )
        subtopics = tuple(_subtopics(record.get("subtopics")))
        content.records.append(Record(number, values, subtopics, limit, frozenset(unfit)))
    content.several = frozenset(several)
    if turns:
        example = next(record.values["id"] for record in content.records if "id" in record.values)
        sentence = f"Each turn of a conversation is read as a topic, {turns:,} in total (such as {example})."
        content.notes.append(Note(sentence))
    if passed:
        without = "without a user's words"
        sentence = counted(len(passed), "turn", passed, f"{without} is no topic", f"{without} are no topics")
        content.notes.append(Note(sentence))


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _turns(
    number: int, record: Mapping[str, Any], talk: list[dict[str, Any]], passed: list[str]
) -> Iterator[Record]:
    whole = next(
        (str(record[key]) for key in ("number", *ID_KEYS) if isinstance(record.get(key), str | int)), ""
    )
    for place, turn in enumerate(talk, 1):
        own = next((str(turn[key]) for key in _TURN_IDS if isinstance(turn.get(key), str | int)), str(place))
        topic_id = own if own.startswith(f"{whole}_") else f"{whole}_{own}"
        has_text = any(isinstance(turn.get(key), str) and turn[key].strip() for key in _UTTERANCES)
        if str(turn.get("participant", "")).casefold() == "system" or not has_text:
            passed.append(topic_id)
            continue
        values: dict[str, str] = {}
        _flatten(turn, "turn.", values, set(), set())
        yield Record(number, {"id": topic_id, **values})


def _flatten(
    record: Mapping[str, Any], prefix: str, values: dict[str, str], unfit: set[str], several: set[str]
) -> None:
    """Put the text of every field into values, those of objects within it with a point between the names."""
    for key, value in record.items():
        name = f"{prefix}{key}"
        if len(values) >= MOST_FIELDS or value is None:
            continue
        if isinstance(value, list) and value and isinstance(value[0], dict):
            several.add(name)
            value = next((item for item in value if _is_english(item)), value[0])
        if isinstance(value, dict):
            if name.count(".") < DEEPEST:
                _flatten(value, f"{name}.", values, unfit, several)
        elif isinstance(value, list):
            values[name] = "; ".join(str(item).strip() for item in value if not isinstance(item, list | dict))
        else:
            values[name] = str(value).strip()
            if isinstance(value, bool | float):
                unfit.add(name)


def _is_english(value: Any) -> bool:
    return isinstance(value, dict) and any(
        squeezed(str(value.get(key, ""))) in _ENGLISH for key in ("lang", "language")
    )


def _subtopics(subtopics: Any) -> Iterator[tuple[str, str, str]]:
    for place, item in enumerate(subtopics if isinstance(subtopics, list) else [], 1):
        if isinstance(item, dict):
            text = next((_string(item[key]) for key in _SUBTOPIC_TEXTS if item.get(key)), "")
            kind = _string(item.get("kind") or item.get("type"))
            yield _string(item.get("number") or item.get("id") or place), text, kind
        else:
            yield str(place), _string(item), ""


def _string(value: Any) -> str:
    return "" if value is None or isinstance(value, list | dict) else str(value).strip()


EXAMPLES = 3
SHOWN_FIELDS = 12
WHOLE_BYTES = 128 * 2**20
"""Maximum bytes of a file that is read as a whole."""
WIDE = (forms.JSON, forms.JSON_LINES, forms.XML)
"""Forms whose lines may be long."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")


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


@dataclass(frozen=True)
class TopicsFile:
    """The topics of a file and how they were read.

    fields: which field is the id, the title and the rest, as `parse_fields` reads it; names: the fields that
    the file has; notes: what there is to say of it, with numbers and examples.
    """

    topics: tuple[Topic, ...]
    form: str
    fields: str
    names: tuple[str, ...]
    notes: tuple[Note, ...] = ()

    def __str__(self) -> str:
        """Sentences on how the file was read."""
        sentences = [
            f"{self.form[0].upper()}{self.form[1:]}: {self.fields}.",
            *(note.text for note in self.notes),
        ]
        return " ".join(sentences)

    @property
    def stamp(self) -> str:
        """A digest of how the file was read."""
        return sha256(str(self).encode()).hexdigest()[:16]

    @property
    def asks(self) -> bool:
        """Whether something was guessed, so that its sender should look before anything is stored."""
        return any(note.asks for note in self.notes)

    def require_seen(self, stamp: str) -> None:
        """Raise Invalid, with how the file was read, where something was guessed and not shown before."""
        if not self.asks or stamp == self.stamp:
            return
        first = "; ".join(
            f"{topic.topic_id}: {shown(topic.title) or 'no title'}" for topic in self.topics[:EXAMPLES]
        )
        noun = "topic" if len(self.topics) == 1 else "topics"
        raise Invalid(
            f"Nothing is stored yet: check how the {len(self.topics):,} {noun} would be read. {self} "
            f"The first: {first}. Correct the fields if this is wrong, and submit the file again.",
            fields=self.fields,
            topics_seen=self.stamp,
        )


def read_topics(path: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[Topic, ...]:
    """The topics in a file, in its order; raises as `read` does."""
    return read(path, limits=limits).topics


def read(path: Path, fields: str = "", limits: Limits = DEFAULT_LIMITS) -> TopicsFile:
    """The topics of a file in any form of `forms`, with the fields as given or as their names say.

    Raises Invalid with up to 25 problems: what the file is where it holds no topics, ids that are doubled or
    missing, lines that are not as the others.
    """
    requested = parse_fields(fields)
    head, problems = Head.of_file(path, limits), Problems("topics file")
    if problem := problem_of(head, "topics"):
        problems.add(problem)
        problems.stop()
    # An archive that cannot be unpacked is refused with its own sentence.
    next(plain_blocks(path, limits), b"")
    form = forms.form(head.block)
    if form in forms.REFUSED:
        problems.add(Problem(*forms.REFUSED[form]))
        problems.stop()
    content = _content(path, form, requested.headings, limits, problems)
    notes = list(content.notes)
    if starts_with_mark(path, limits) and form != forms.XML:
        notes.append(Note(f"{BOM_NOTE.rule} It was ignored.", asks=False))
    sources = sources_of(content, requested.sources, notes) if content.records else {}
    notes.extend(_field_notes(content, form, sources, requested.sources))
    topics = _checked(content, sources, problems)
    if not topics and not problems.found:
        problems.add(Problem(*forms.REFUSED[forms.EMPTY]))
    problems.stop()
    names = tuple(dict.fromkeys(name for record in content.records for name in record.values))
    without = [topic.topic_id for topic in topics if not topic.title]
    if without:
        notes.append(Note(counted(len(without), "topic", without, "has no title", "have no title")))
    return TopicsFile(topics, form, written(sources), names, tuple(notes))


def _content(path: Path, form: str, headings: bool | None, limits: Limits, problems: Problems) -> Content:
    is_whole = form in (forms.JSON, forms.XML)
    within = replace(limits, line_bytes=max(limits.line_bytes, WHOLE_BYTES)) if form in WIDE else limits
    lines = numbered_lines(path, within)
    if is_whole:
        text = "\n".join(line for _, line in _bounded(lines, form))
        return document(text, problems) if form == forms.JSON else xml_topics(text, problems)
    if form == forms.SGML:
        return sgml_topics(lines, problems)
    if form == forms.JSON_LINES:
        return json_forms_lines(lines, problems)
    if form in forms.DELIMITERS:
        return columns(lines, form, problems, headings)
    if form == forms.LABELLED:
        return labelled(lines)
    return ids(lines) if form == forms.IDS else id_and_text(lines, form, problems)


def _bounded(lines: Iterator[Line], form: str) -> Iterator[Line]:
    """The same lines of a file read as a whole, up to this number of bytes."""
    size = 0
    for number, line in lines:
        size += len(line) + 1
        if size > WHOLE_BYTES:
            raise TooLarge(
                f"Topics in {form} are read up to {WHOLE_BYTES:,} bytes. Write one JSON object per line."
            )
        yield number, line


def _field_notes(content: Content, form: str, sources: Sources, given: Sources) -> Iterator[Note]:
    """Notes on the chosen fields and on the unused ones."""
    used = set(all_fields(sources))
    if len(content.columns) > 2 and not given:
        yield Note("The columns have no headings, so they are identified by their order.")
    one_of = sorted(name for name in content.several if any(each.startswith(f"{name}.") for each in used))
    if one_of:
        yield Note(f"Where a topic has several {one_of[0]}, the English one is read, or else the first.")
    names = dict.fromkeys(
        name for record in content.records for name, value in record.values.items() if value
    )
    left = [name for name in names if name not in used]
    if left:
        shown_names = ", ".join(left[:SHOWN_FIELDS])
        more = f" and {len(left) - SHOWN_FIELDS} more" if len(left) > SHOWN_FIELDS else ""
        yield Note(f"Not read: {shown_names}{more}.", asks=False)


def _checked(content: Content, sources: Sources, problems: Problems) -> tuple[Topic, ...]:
    """The records as topics, with checked ids."""
    lines: dict[str, int] = {}
    topics = []
    for record in content.records:
        topic_id, place = value_of(record, sources.get("id", ()))
        line, value = record.line or None, shown(topic_id)
        if not topic_id or place in record.unfit:
            problems.add(_without_id(record, sources))
            continue
        if fault := fault_of_id(topic_id):
            problems.add(Problem(*fault, line, "topic id", value))
        elif topic_id in lines:
            first = lines[topic_id]
            rule = f"The topic is already on line {first}." if first else "The topic is listed twice."
            problems.add(Problem(rule, "Give each topic its own id.", line, "topic id", value))
        lines.setdefault(topic_id, record.line)
        title, description, narrative = (value_of(record, sources[part])[0] for part in PARTS[1:])
        if any(
            map(_UNSTORABLE.search, (title, description, narrative, *chain.from_iterable(record.subtopics)))
        ):
            rule = "The topic's text contains NUL or half a surrogate pair."
            problems.add(Problem(rule, "Remove it.", line, "topic id", value))
        subtopics = tuple(Subtopic(*subtopic) for subtopic in record.subtopics)
        topics.append(Topic(topic_id, title, description, narrative, subtopics, record.limit))
    return tuple(topics)


def _without_id(record: Record, sources: Sources) -> Problem:
    where = [name for names in sources.get("id", ()) for name in names]
    if where:
        rule = f"The topic has no id: {' or '.join(where)} must be text or a whole number."
        value = shown(next((record.values[name] for name in where if record.values.get(name)), ""))
        return Problem(rule, "Number it.", record.line or None, where[0] if value else "", value)
    names = ", ".join(list(record.values)[:SHOWN_FIELDS])
    rule = f"A topic needs an id, as text, under one of {', '.join(ID_KEYS)}."
    remedy = f"Name the field, as in id=NAME; this topic has {names or 'no fields'}."
    return Problem(rule, remedy, record.line or None)


def fault_of_id(topic_id: str) -> tuple[str, str] | None:
    """Rule and remedy where an id could not be part of a run's line."""
    if not topic_id:
        return "The topic has no id.", "Number it."
    if _CONTROL.search(topic_id) or _UNSTORABLE.search(topic_id):
        return "A topic id may not contain control characters.", "Remove them."
    if len(topic_id.split()) > 1:
        return ("A topic id may not contain blanks: they separate the columns of runs.", "Use an underscore.")
    if len(topic_id.encode()) > ID_BYTES:
        return f"A topic id has at most {ID_BYTES} bytes.", "Shorten it."
    return None
