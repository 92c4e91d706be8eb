"""Records of a topics file: named fields, and their roles as id, title and so on."""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from leaderboard.errors import Invalid, Problem
from leaderboard.trec.read.lines import shown

EXAMPLES = 3

_SUFFIX = re.compile(r"(?<=.)[._-][^._-]+$")
_NUMBER_AT_END = re.compile(r"(\d+)\D*$", re.ASCII)


class TopicNames:
    """The topic ids of a task, with a guess at which of them another id means."""

    def __init__(self, topics: Collection[str]) -> None:
        self._topics = dict.fromkeys(topics)
        self._alike: defaultdict[str, list[str]] = defaultdict(list)
        for topic in self._topics:
            for key in _keys(topic):
                self._alike[key].append(topic)

    def __contains__(self, topic: object) -> bool:
        return topic in self._topics

    def meant(self, topic: str) -> str:
        """The one known id that differs by padding, prefix, suffix or case alone; '' without one.

        >>> TopicNames(["MB051", "MB052"]).meant("51")
        'MB051'
        """
        for key in _keys(topic):
            if len(alike := self._alike.get(key, [])) == 1:
                return alike[0]
        return ""

    @staticmethod
    def difference(topic: str, meant: str) -> str:
        """Difference between an id and the likely one, to follow "the ids".

        >>> TopicNames.difference("51", "051"), TopicNames.difference("51", "MB051")
        ('lack leading zeros', 'lack the prefix MB0')
        """
        if topic.lstrip("0") == meant.lstrip("0"):
            return "lack leading zeros" if len(topic) < len(meant) else "have extra leading zeros"
        if topic.casefold() == meant.casefold():
            return "differ in case"
        if meant.endswith(topic):
            return f"lack the prefix {shown(meant.removesuffix(topic))}"
        if topic.endswith(meant):
            return f"have the prefix {shown(topic.removesuffix(meant))} too many"
        if topic.startswith(meant):
            return f"have the suffix {shown(topic.removeprefix(meant))} too many"
        if meant.startswith(topic):
            return f"lack the suffix {shown(meant.removeprefix(topic))}"
        return "are written differently"

    def examples(self) -> str:
        """The first few ids, for a message."""
        return ", ".join(shown(topic) for topic in list(self._topics)[:EXAMPLES])


def _keys(topic: str) -> list[str]:
    """The keys of an id: without case and signs, then its last number without zeros; most specific first."""
    letters = re.sub(r"[\W_]+", "", topic.casefold())
    number = _NUMBER_AT_END.search(topic)
    without_zeros = re.sub(r"(?<!\d)0+(?=\d)", "", letters)
    keys = ["=" + letters, "0" + without_zeros, "." + _SUFFIX.sub("", topic)]
    return [*keys, "#" + number[1].lstrip("0")] if number else keys


PARTS = ("id", "title", "description", "narrative")
ID_KEYS = ("narrative_id", "request_id", "_id", "qid", "id", "number", "topic_id", "query_id", "topic")
"""Keys of an id in JSON, most telling first."""
# fmt: off
_IDS = (
    "narrativeid", "requestid", "id", "qid", "number", "topicid", "queryid", "num", "identifier",
    "questionid", "topicnumber", "querynumber", "topicno", "queryno", "topicnum", "no", "uid", "topic", "key",
)
_TITLES = (
    "title", "query", "text", "topictitle", "querytext", "titletext", "querystring", "originalquery",
    "keywords", "question", "questiontext", "body", "rawutterance", "utterance", "content", "claim", "topic",
    "english", "en", "summary", "request", "sentence", "value",
)
_DESCRIPTIONS = (
    "description", "desc", "topicdescription", "problemstatement", "question", "manualrewrittenutterance",
    "resolvedutterance", "rewrittenutterance", "automaticrewrittenutterance",
)
_NARRATIVES = ("narrative", "narr", "topicnarrative", "background")
# fmt: on
_NAMES = {"id": _IDS, "title": _TITLES, "description": _DESCRIPTIONS, "narrative": _NARRATIVES}
_OF_A_LANGUAGE = re.compile(r"^[a-z]{2}(?=(?:title|desc|narr)$)")
"""Prefix of field names at CLEF."""
_KINDS = frozenset({"type", "template", "lang", "language", "category", "source", "task", "time", "date"})
"""Fields with the type of a topic, not its contents."""
MOST_JOINED = 12
"""Fields that form a title together where none is one alone."""


@dataclass(slots=True)
class Record:
    """One topic as its file has it: text by the name of the field; line is where it starts.

    unfit: fields whose value is neither text nor a whole number, so not an id.
    """

    line: int
    values: dict[str, str]
    subtopics: tuple[tuple[str, str, str], ...] = ()
    limit: int | None = None
    unfit: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence on how a file was read; asks: whether its sender should look before anything is stored."""

    text: str
    asks: bool = True


@dataclass
class Content:
    """The records of a file and notes on how they were read."""

    records: list[Record]
    notes: list[Note] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    """The fields of id, title, description and narrative where the file is a table without headings."""
    several: frozenset[str] = frozenset()
    """Fields that are lists of objects in the file; only one of each is among the values."""


Sources = Mapping[str, tuple[tuple[str, ...], ...]]
"""Part -> alternatives, the first that says something counts; each is one or several fields joined."""


def squeezed(name: str) -> str:
    """A field's name without case and signs.

    >>> squeezed("Query-ID"), squeezed("_id")
    ('queryid', 'id')
    """
    return re.sub(r"[\W_]+", "", name.casefold())


def is_part(name: str) -> bool:
    """Whether a field is called like a part of a topic."""
    return any(squeezed(name) in names for names in _NAMES.values())


def is_heading(cells: Sequence[str]) -> bool:
    """Whether a row names the columns of a table of topics.

    >>> is_heading(["query-id", "text"]), is_heading(["1", "text"])
    (True, False)
    """
    names = [squeezed(cell) for cell in cells]
    texts = {name for part in PARTS[1:] for name in _NAMES[part]}
    return len(set(names)) == len(names) > 1 and any(
        name in _IDS and any(heading in texts for heading in names[:place] + names[place + 1 :])
        for place, name in enumerate(names)
    )


@dataclass(frozen=True, slots=True)
class Wanted:
    """The sender's mapping of fields; headings None: detected from the file."""

    sources: Sources = field(default_factory=dict, hash=False)
    headings: bool | None = None


def parse_fields(text: str) -> Wanted:
    """A mapping as people write it; empty text says nothing.

    >>> parse_fields("id=qid, title=query|text").sources
    {'id': (('qid',),), 'title': (('query',), ('text',))}
    """
    given: dict[str, tuple[tuple[str, ...], ...]] = {}
    headings = None
    for pair in filter(None, (each.strip() for each in text.split(","))):
        part, equals, names = (each.strip() for each in pair.partition("="))
        if part == "headings" and names in ("yes", "no"):
            headings = names == "yes"
            continue
        if not equals or part not in PARTS or part in given:
            rule = f"{pair[:60]!r} is not a valid mapping of topic fields."
            remedy = (
                f"Write pairs such as id=qid, title=query; the parts are {', '.join(PARTS)}; headings=no "
                "reads the first line of a table as a topic."
            )
            raise Invalid(f"{rule} {remedy}", [Problem(rule, remedy, field="fields")])
        alternatives = (
            tuple(filter(None, map(str.strip, alternative.split("+")))) for alternative in names.split("|")
        )
        given[part] = tuple(filter(None, alternatives))
    return Wanted(given, headings)


def written(sources: Sources) -> str:
    """A mapping as `parse_fields` reads it."""
    by_part = {part: "|".join("+".join(names) for names in sources.get(part, ())) for part in PARTS}
    return ", ".join(f"{part}={names}" for part, names in by_part.items() if names)


def all_fields(sources: Sources) -> list[str]:
    """Every field that a mapping names."""
    return [name for alternatives in sources.values() for names in alternatives for name in names]


def sources_of(content: Content, given: Sources, notes: list[Note]) -> dict[str, tuple[tuple[str, ...], ...]]:
    """Position of each part: as given, else by the names of the fields; guesses are added to notes.

    Raises Invalid where a field is given that no topic has.
    """
    names = list(dict.fromkeys(name for record in content.records for name in record.values))
    unknown = [field for field in all_fields(given) if field not in names]
    if unknown:
        rule = f"No topic has the field {unknown[0][:60]!r}."
        remedy = f"The fields of this file are {', '.join(names[:40])}."
        raise Invalid(f"{rule} {remedy}", [Problem(rule, remedy, field="fields", value=unknown[0][:60])])
    chosen: dict[str, tuple[tuple[str, ...], ...]] = {}
    for place, part in enumerate(PARTS):
        taken = {*all_fields(chosen), *all_fields(given)}
        if part in given:
            chosen[part] = given[part]
        elif content.columns:
            column = content.columns[place : place + 1]
            chosen[part] = (column,) if column and column[0] not in taken else ()
        else:
            chosen[part] = _by_name(content.records, [name for name in names if name not in taken], part)
    if not chosen["title"] and "title" not in given:
        chosen["title"] = _in_place_of_a_title(content, names, chosen, notes)
    return chosen


def _by_name(records: list[Record], names: list[str], part: str) -> tuple[tuple[str, ...], ...]:
    """The fewest fields, in order of preference, that have the part in the most records."""
    ranks: list[tuple[int, int, str]] = []
    for name in names:
        steps = [_OF_A_LANGUAGE.sub("", squeezed(step)) for step in name.split(".")]
        keys = [(0 if len(steps) == 1 else 1, steps[-1]), *((2, step) for step in steps[:-1])]
        matches = [(depth, _NAMES[part].index(key)) for depth, key in keys if key in _NAMES[part]]
        if matches:
            ranks.append((*min(matches), name))
    ranks.sort(key=lambda rank: rank[:2])
    if ranks and ranks[0][0] == 0:
        # Nested elements belong to their outer fields.
        ranks = [rank for rank in ranks if rank[0] == 0]
    chosen: list[tuple[str, ...]] = []
    lacking = records
    for _, _, name in ranks:
        still = [record for record in lacking if not record.values.get(name)]
        if len(still) < len(lacking):
            chosen.append((name,))
            lacking = still
    if part == "id" and ranks and not chosen:
        # It is present but empty: the problem names this field.
        return ((ranks[0][2],),)
    return tuple(chosen)


def _in_place_of_a_title(
    content: Content, names: list[str], chosen: dict[str, tuple[tuple[str, ...], ...]], notes: list[Note]
) -> tuple[tuple[str, ...], ...]:
    """The fields shown as title if none has that name; the description first."""
    for part in ("description", "narrative"):
        if chosen.get(part):
            notes.append(Note(f"No field is called a title: {_names(chosen[part])} is taken as title."))
            taken, chosen[part] = chosen[part], ()
            return taken
    ids = {name for each in chosen["id"] for name in each}
    others = tuple(
        name
        for name in names
        if name not in ids
        and squeezed(name) not in _KINDS
        and any(record.values.get(name) for record in content.records)
    )[:MOST_JOINED]
    if not others:
        return ()
    made_of = f"{', '.join(others)} {'are joined' if len(others) > 1 else 'is taken'} as title"
    notes.append(Note(f"No field is called a title: {made_of}."))
    return (others,)


def _names(alternatives: tuple[tuple[str, ...], ...]) -> str:
    return " or ".join(" + ".join(names) for names in alternatives)


def value_of(record: Record, alternatives: tuple[tuple[str, ...], ...]) -> tuple[str, str]:
    """A record's value for a part, and its source fields; empty if none."""
    for names in alternatives:
        values = [record.values[name] for name in names if record.values.get(name)]
        if values:
            return ("; " if len(names) > 1 else "").join(values), "+".join(names)
    return "", ""


def counted(number: int, what: str, examples: Iterable[str], predicate: str, many: str = "") -> str:
    """A number of things with an example, as a sentence; many is the predicate for more than one.

    >>> counted(2, "topic", ["7", "8"], "has no title", "have no title")
    '2 topics have no title (for example 7).'
    """
    example = next(iter(examples), "")
    subject = f"1 {what} {predicate}" if number == 1 else f"{number:,} {what}s {many or predicate}"
    return f"{subject}{f' (for example {example})' if example else ''}."
