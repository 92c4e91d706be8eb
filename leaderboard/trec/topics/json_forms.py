"""Topics in JSON: lines, arrays, dictionaries, lists within an object, conversations with turns."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from leaderboard.errors import Problem
from leaderboard.trec.read.json_objects import Fault, not_json, object_of, place_value
from leaderboard.trec.read.lines import Problems, shown
from leaderboard.trec.topics.records import ID_KEYS, Content, Note, Record, counted, is_part, squeezed

DEEPEST = 5
MOST_FIELDS = 200
_TURNS = ("turn", "turns")
_TURN_IDS = ("number", "turn_id", "id", "turn")
_UTTERANCES = ("raw_utterance", "utterance", "query", "question", "text")
_ENGLISH = frozenset({"eng", "en", "english"})
_SUBTOPIC_TEXTS = ("text", "title", "query", "description")


def lines(numbered: Iterable[tuple[int, str]], problems: Problems) -> Content:
    """One object a line."""
    content = Content([])
    found: list[tuple[int, dict[str, Any]]] = []
    for number, line in numbered:
        if not line.strip():
            continue
        try:
            found.append((number, object_of(line)))
        except Fault as fault:
            problems.add(fault.problem(number))
    _take(found, content, problems)
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
    found = [(line, item) for line, item in items if isinstance(item, dict)]
    if len(found) < len(items):
        other = next(item for _, item in items if not isinstance(item, dict))
        rule = f"{len(items) - len(found):,} of {len(items):,} values of the array are not objects."
        remedy = 'Write each topic as {"id": "1", "title": "..."}.'
        problems.add(Problem(rule, remedy, value=shown(json.dumps(other))))
    _take(found, content, problems)
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
            raise Fault("The key is there twice in one object.", "Keep one of them.", "key", shown(key))
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
    within = [key for key, one in value.items() if isinstance(one, list) and one and isinstance(one[0], dict)]
    if within:
        return list(value[within[0]])
    return [
        {"key": key, **one} if isinstance(one, dict) else {"key": key, "value": one}
        for key, one in value.items()
    ]


def _take(found: list[tuple[int, dict[str, Any]]], content: Content, problems: Problems) -> None:
    several: set[str] = set()
    turns, passed = 0, list[str]()
    for number, record in found:
        talk = next((record[key] for key in _TURNS if _is_objects(record.get(key))), None)
        if talk is not None:
            made = list(_turns(number, record, talk, passed))
            turns += len(made)
            content.records.extend(made)
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
        said = f"Each turn of a conversation is read as a topic, {turns:,} in all (such as {example})."
        content.notes.append(Note(said))
    if passed:
        without = "without a user's words"
        said = counted(len(passed), "turn", passed, f"{without} is no topic", f"{without} are no topics")
        content.notes.append(Note(said))


def _is_objects(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _turns(
    number: int, record: Mapping[str, Any], talk: list[dict[str, Any]], passed: list[str]
) -> Iterator[Record]:
    whole = next(
        (str(record[key]) for key in ("number", *ID_KEYS) if isinstance(record.get(key), str | int)), ""
    )
    for place, turn in enumerate(talk, 1):
        own = next((str(turn[key]) for key in _TURN_IDS if isinstance(turn.get(key), str | int)), str(place))
        topic_id = own if own.startswith(f"{whole}_") else f"{whole}_{own}"
        said = any(isinstance(turn.get(key), str) and turn[key].strip() for key in _UTTERANCES)
        if str(turn.get("participant", "")).casefold() == "system" or not said:
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
            value = next((one for one in value if _is_english(one)), value[0])
        if isinstance(value, dict):
            if name.count(".") < DEEPEST:
                _flatten(value, f"{name}.", values, unfit, several)
        elif isinstance(value, list):
            values[name] = "; ".join(str(one).strip() for one in value if not isinstance(one, list | dict))
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
