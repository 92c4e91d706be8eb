"""Records of a bundle as they are read: each line an object whose values fit the columns they are for.

An imported picture is decoded in a separate process, like an uploaded one. Rows of a snapshot name
runs by ids, which are numbers of the bundle here: on another site a snapshot has another digest, and address.
"""

import hashlib
import json
import math
import re
import types
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, NotRequired, TypedDict, get_args, get_origin

import msgspec
from sqlalchemy import CheckConstraint, Column, insert, select
from sqlalchemy.orm import Session

from leaderboard import zones
from leaderboard.accounts.ops import names
from leaderboard.accounts.ops.teams import HOME_PAGE
from leaderboard.boards.ops import snapshots
from leaderboard.bundles.ops.opening import BundleFiles
from leaderboard.bundles.ops.records import (
    NUMBERED,
    TABLES,
    Numbers,
    Record,
    RecordTable,
    refers_to,
    renumbered,
)
from leaderboard.checksums import belonging_to
from leaderboard.core import prose
from leaderboard.core.phase_rules import KINDS
from leaderboard.core.picture_kinds import KINDS as KindsKINDS
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import QrelsRevision, Snapshot, Task, TaskPicture, TaskRole
from leaderboard.errors import Invalid, LeaderboardError, Problem
from leaderboard.judging.ops.pools import pools
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops.setting_values import written
from leaderboard.tasks.ops import announcements
from leaderboard.tasks.ops.pictures import pictures, prepare
from leaderboard.tasks.ops.pseudonyms.pseudonyms import TITLES
from leaderboard.tasks.ops.settings import ANSWER_RULES, SETTINGS
from leaderboard.trec.read.lines import Limits, shown
from leaderboard.trec.runs.check import Report
from leaderboard.trec.topics.topics import fault_of_id

LINE_BYTES = 2**26
FIRST_YEAR, LAST_YEAR = 1900, 9000
SUBTOPIC = ("number", "text", "kind")
WORD_BYTES = 500
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}(?: \(\d{1,9}\))?")
EXTRAS = {
    "task": {"collection"},
    "revisions": {"file", "distractors", "left_out"},
    "runs": {"file", "labels", "boards"},
    "editions": {"scored"},
    "pools": {"file"},
    "pictures": {"file"},
    "snapshots": {"file"},
}
"""Fields of a record that are not columns."""
GONE = {
    "task": {
        "ladder_step": "The Ladder setting no longer exists: while the task is blind, its leaderboard shows "
        "exact public means, not steps of {value}."
    }
}
"""Fields that only records of earlier versions have; skipped, and reported where they hold a value."""
NOT_READ_AS_SETTINGS = frozenset(
    {"slug", "collection", "measures", "primary_measure", "entry_code", "reproduction_thresholds"}
)
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SIXTY_FOUR_BITS = 2**63


def read(files: BundleFiles, table: RecordTable) -> Iterator[tuple[int, Record]]:
    """The records of a table with their lines; none where the bundle has no such file."""
    if table.path not in files.paths:
        return
    with files.paths[table.path].open("rb") as file:
        number = 0
        while line := file.readline(LINE_BYTES + 1):
            number += 1
            if len(line) > LINE_BYTES:
                raise broken(table.path, number, f"A line can have at most {LINE_BYTES:,} bytes.")
            yield number, _object(table, number, line)


_ABSENT = object()


def broken(path: str, line: int | None, rule: str, field: str = "", value: object = _ABSENT) -> Invalid:
    """The error for a record that breaks a rule, with the field and the value as JSON writes them."""
    given = "" if value is _ABSENT else shown(value if isinstance(value, str) and value else _as_json(value))
    if field and not given:
        rule = f"{field} {rule}"
    problem = Problem(rule, "Nothing was stored. Download the bundle again.", line, field, given)
    return Invalid(f"{path}, {problem}", [problem])


def checked_values(table: RecordTable, line: int, record: Record, ids: Numbers) -> dict[str, Any]:
    """A record as values of its table's columns, numbers put as ids; raises Invalid with the field."""
    field_names = (
        {column.name for column in table.columns}
        | EXTRAS.get(table.name, set())
        | {"id", *GONE.get(table.name, {})}
    )
    if unknown := sorted(record.keys() - field_names):
        raise broken(table.path, line, "is not a field of this file.", unknown[0], record[unknown[0]])
    values = {}
    for column in table.columns:
        if column.name in record:
            values[column.name] = _value(table, line, column, record[column.name], ids)
        elif not column.nullable and column.default is None:
            raise broken(table.path, line, "is missing.", column.name)
    return values


def left_behind(files: BundleFiles) -> list[str]:
    """Sentences on features that a bundle of an earlier version uses and that no longer exist."""
    return [
        sentence.replace("{value}", str(record[name]))
        for table in TABLES
        for _, record in (read(files, table) if table.name in GONE else ())
        for name, sentence in GONE.get(table.name, {}).items()
        if record.get(name) is not None
    ]


def _object(table: RecordTable, number: int, line: bytes) -> Record:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or not _is_whole(record.get("id")):
        raise broken(table.path, number, "Every line is one JSON object with an id.")
    return record


def _value(table: RecordTable, line: int, column: Column[Any], value: Any, ids: Numbers) -> Any:
    def fault(rule: str) -> Invalid:
        return broken(table.path, line, rule, column.name, value)

    if value is None:
        if column.nullable:
            return None
        raise fault("must not be null.")
    if (to := refers_to(column)) is not None:
        if not _is_whole(value) or value not in ids.get(to, {}):
            raise fault(f"must be the id of one of the {to.replace('_', ' ')} rows of the bundle.")
        return ids[to][value]
    kind = _kind(table, column.name)
    if kind is datetime:
        value = _moment(value)
    if not _fits(kind, value):
        raise fault(f"must be {_words(kind)}.")
    allowed = _choices(table).get(column.name)
    if allowed is not None and value not in allowed:
        raise fault(f"must be one of {', '.join(map(str, allowed))}.")
    if rule := _broken_rule(table, column.name, value):
        raise fault(rule)
    try:
        return renumbered(f"{column.table.name}.{column.name}", value, ids)
    except (KeyError, TypeError, AttributeError):
        raise fault("is not valid for this field.") from None


def _moment(value: Any) -> Any:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    # Beyond these years some arithmetic of dates fails; no task is from there.
    is_of_our_time = moment.tzinfo is not None and FIRST_YEAR <= moment.year <= LAST_YEAR
    return moment.astimezone(UTC) if is_of_our_time else None


@cache
def _kind(table: RecordTable, name: str) -> Any:
    """The Python type of a column, as its model says."""
    (kind,) = get_args(
        next(cls.__annotations__[name] for cls in table.model.__mro__ if name in cls.__annotations__)
    )
    if isinstance(kind, types.UnionType):
        kind = next(each for each in get_args(kind) if each is not types.NoneType)
    return kind


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < _SIXTY_FOUR_BITS


def _is_number(value: Any) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and math.isfinite(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and not _UNSTORABLE.search(value)


_PLAIN: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    int: ("a whole number", _is_whole),
    float: ("a number", _is_number),
    str: ("text without NUL", _is_text),
    bool: ("true or false", lambda value: isinstance(value, bool)),
    datetime: ("a date and time with time zone", lambda value: isinstance(value, datetime)),
    Any: ("any value", lambda value: _holds_text(value)),
}


def _holds_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_holds_text, value))
    if isinstance(value, dict):
        return all(_is_text(key) and _holds_text(each) for key, each in value.items())
    return (
        _is_text(value) if isinstance(value, str) else value is None or isinstance(value, bool | int | float)
    )


def _fits(kind: Any, value: Any) -> bool:
    if kind in _PLAIN:
        return _PLAIN[kind][1](value)
    if get_origin(kind) is list:
        return isinstance(value, list) and all(_fits(get_args(kind)[0], each) for each in value)
    return isinstance(value, dict) and all(_is_text(key) and _holds_text(each) for key, each in value.items())


def _words(kind: Any) -> str:
    if kind in _PLAIN:
        return _PLAIN[kind][0]
    return "a list" if get_origin(kind) is list else "an object"


@cache
def _choices(table: RecordTable) -> Mapping[str, list[str | int]]:
    """Column -> the values that the database accepts, by its constraints."""
    choices: dict[str, list[str | int]] = {}
    for rule in table.model.metadata.tables[table.model.__tablename__].constraints:
        parts = (
            re.fullmatch(r"(\w+) IN \((.*)\)", str(rule.sqltext))
            if isinstance(rule, CheckConstraint)
            else None
        )
        if parts is not None:
            each = [word.strip() for word in parts[2].split(",")]
            choices[parts[1]] = [word.strip("'") if word.startswith("'") else int(word) for word in each]
    return choices


def _broken_rule(table: RecordTable, name: str, value: Any) -> str:
    """The rule that a value breaks which has the right type: that of the form where it is written else."""
    check = _RULES.get((table.name, name))
    if table.name == "task" and name in SETTINGS and name not in NOT_READ_AS_SETTINGS | {"names_at"}:
        check = _as_setting(SETTINGS[name].about.read)
    shape = _SHAPES.get((table.name, name))
    try:
        if shape is not None:
            msgspec.convert(value, shape)
        return "" if check is None else check(value) or ""
    except msgspec.ValidationError as error:
        return f"is not valid for this field: {error}."
    except LeaderboardError as error:
        return error.message
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        return f"is not valid for this field: {error}."


def _as_setting(read: Callable[[str], Any]) -> Callable[[Any], str]:
    """A rule that accepts the values of a setting's form."""

    def rule(value: Any) -> str:
        # A task keeps settings as JSON, where every key is a text.
        canonical = json.loads(_as_json(read(written(value))))
        # Texts and dates have several spellings; lists and objects have one.
        is_other = isinstance(value, list | dict) and canonical != value
        return f"must be written as {_as_json(canonical)}." if is_other else ""

    return rule


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _measures(keys: list[str]) -> str:
    return next(
        (f"{key} is not the canonical name of a measure." for key in keys if parse(key).key != key), ""
    )


def _is_team(name: str) -> str:
    return "" if names.displayed(name, "a team") == name else "is not a valid team name."


def _are_subtopics(subtopics: list[dict[str, Any]]) -> str:
    is_each = all(set(each) == set(SUBTOPIC) and all(map(_is_text, each.values())) for each in subtopics)
    return "" if is_each else f"must be objects with {', '.join(SUBTOPIC)}."


def _are_kinds(kinds: list[str]) -> str:
    return "" if set(kinds) <= set(KINDS) else f"must be of {', '.join(KINDS)}."


def _are_answer_rules(rules: dict[str, Any]) -> str:
    names = {name: key for key, name in ANSWER_RULES.items()}
    if unknown := rules.keys() - names.keys():
        return f"has no rule {min(unknown)}."
    for name, value in rules.items():
        if SETTINGS[names[name]].about.read(written(value)) != value:
            return f"has a value of {name} that differs from the setting."
    return ""


def _are_thresholds(thresholds: dict[str, Any]) -> str:
    same = SETTINGS["reproduction_thresholds"].about.read(written(thresholds)) == thresholds
    return "" if same else "has values that differ from the setting."


def _is_report(stored: dict[str, Any]) -> str:
    Report.from_json(stored)
    return ""


def _is_pool_method(spec: dict[str, Any]) -> str:
    pools.title(spec)
    return ""


class _Measure(TypedDict):
    key: str
    version: int
    left_out: NotRequired[list[str]]


class _Topics(TypedDict):
    id: int
    topics: list[str]


class _Example(TypedDict):
    grade: int


class _Recipients(TypedDict):
    kind: str
    teams: NotRequired[list[int]]


class _Fix(TypedDict):
    fix: str
    lines: int


class _LeftOutFacts(TypedDict):
    rounds: NotRequired[list[int]]
    repeated: NotRequired[int]
    residual: NotRequired[bool]


class _Report(TypedDict):
    problems: list[Problem]
    warnings: list[Problem]
    facts: dict[str, Any]


_SHAPES: dict[tuple[str, str], Any] = {
    ("revisions", "left_out_facts"): _LeftOutFacts,
    ("uploads", "wishes"): dict[str, Any],
    ("uploads", "fixes"): list[_Fix],
    ("uploads", "report"): _Report,
    ("editions", "measures"): list[_Measure],
    ("editions", "companions"): dict[str, int],
    ("editions", "topic_sets"): dict[str, _Topics],
    ("pools", "examples"): list[_Example],
    ("announcements", "recipients"): _Recipients,
}
"""Table and column -> the type of a value that is JSON."""
_RULES: dict[tuple[str, str], Callable[[Any], str | None]] = {
    ("task", "measures"): _measures,
    ("task", "primary_measure"): lambda key: _measures([key]),
    ("task", "pseudonym_list"): lambda kind: "" if not kind or kind in TITLES else "is not a list of names.",
    ("task", "answer_rules"): _are_answer_rules,
    ("task", "reproduction_thresholds"): _are_thresholds,
    ("topics", "subtopics"): _are_subtopics,
    ("topics", "answer_limit"): lambda limit: "" if limit >= 0 else "must not be below 0.",
    ("phases", "kinds"): _are_kinds,
    ("topics", "topic_id"): lambda topic: (fault_of_id(topic) or ("",))[0],
    ("phases", "zone"): zones.require_zone,
    ("teams", "name"): _is_team,
    ("teams", "home_page"): lambda page: (
        "" if not page or HOME_PAGE.fullmatch(page) else "must start with https://."
    ),
    ("runs", "name"): lambda name: "" if RUN_NAME.fullmatch(name) else "is not a valid run name.",
    ("uploads", "report"): _is_report,
    ("pools", "method"): _is_pool_method,
    ("pools", "guidelines"): prose.broken_rule,
    ("announcements", "body"): prose.broken_rule,
    ("announcements", "recipients"): lambda to: (
        ""
        if to["kind"] in announcements.KINDS
        else f"must have one of the kinds {', '.join(announcements.KINDS)}."
    ),
    ("runs", "tag"): lambda tag: "" if len(tag.encode()) <= WORD_BYTES else "is too long.",
}
"""Table and column -> what says the rule that a value breaks, '' where it breaks none."""


ROWS_AT_ONCE = 500

Progress = Callable[[str], object]

NOT_BELIEVED: dict[str, dict[str, Any]] = {
    "task": {"published_at": None, "archived_at": None},
    "entries": {"agreement_version": None, "agreed_at": None},
    "uploads": {"state": "accepted", "wishes": {}, "fixes": []},
}
"""Table -> values for statements accepted only from the operator: a team's agreement, a run's origin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """Options of an import: the task's slug ('' keeps the bundle's), and names that replace pseudonyms."""

    slug: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """Pseudonym of a team or run -> its name."""
    limits: Limits = Limits()


@dataclass(slots=True, eq=False, kw_only=True)
class TaskImport:
    """A task on its way in: ids has, for each table, the id of each number of the bundle."""

    session: Session
    viewer: Viewer
    files: BundleFiles
    request: ImportRequest
    progress: Progress
    ids: Numbers = field(default_factory=lambda: {name: {} for name in NUMBERED})
    task: Task | None = None
    known: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    parents: dict[int, QrelsRevision] = field(default_factory=dict)
    """Line -> its newest revision so far."""
    sent: dict[int, tuple[int, Record]] = field(default_factory=dict)
    """Number of an upload -> its line and record, until its run is stored."""
    topics: tuple[str, ...] = ()
    jobs: int = 0
    place: str = ""
    """File and line of the record that is being stored."""
    unscored: list[int] = field(default_factory=list)
    """Runs of judges whose labels cannot be scored here, as the runs of their reference are elsewhere."""
    was_published: bool = False
    is_trusted: bool = True
    """Whether the operator vouches for the bundle; else only values that forms can produce are kept."""

    def read(self, table: RecordTable) -> Iterator[tuple[int, Record]]:
        """The records of a table with their lines, noting which one is being stored."""
        for line, record in read(self.files, table):
            self.place = f"{table.path}, line {line}"
            yield line, record

    @property
    def owner(self) -> Task:
        """The task that all belongs to."""
        if self.task is None:
            raise Invalid("The bundle has no record of the task. Download the bundle again.")
        return self.task


def make_own(making: TaskImport) -> None:
    """Make the importer an organiser of the task, as for a task created by a form."""
    task, account_id = making.owner, making.viewer.account_id
    making.viewer = replace(making.viewer, organises=making.viewer.organises | {task.id})
    if account_id is not None:
        making.session.add(TaskRole(task_id=task.id, account_id=account_id, role="organiser"))


def add_all(making: TaskImport, table: RecordTable) -> None:
    """Store the records of a table unchanged."""
    waiting: list[tuple[int, dict[str, Any]]] = []
    for line, record in making.read(table):
        waiting.append((record.get("id", line), values_of(making, table, line, record)))
        if len(waiting) == ROWS_AT_ONCE:
            _store(making, table, waiting)
            waiting = []
    _store(making, table, waiting)


def _store(making: TaskImport, table: RecordTable, rows: list[tuple[int, dict[str, Any]]]) -> None:
    if not rows:
        return
    name = table.model.__tablename__
    if name not in NUMBERED:
        making.session.execute(insert(table.model), [values for _, values in rows])
        return
    stored: list[Any] = [table.model(**values) for _, values in rows]
    making.session.add_all(stored)
    making.session.flush()
    for (number, _), row in zip(rows, stored, strict=True):
        making.ids[name][number] = row.id


def values_of(making: TaskImport, table: RecordTable, line: int, record: Record) -> dict[str, Any]:
    """A record as a row's values, with its task; raises Invalid with the field at fault."""
    values = checked_values(table, line, record, making.ids)
    if not making.is_trusted:
        values |= NOT_BELIEVED.get(table.name, {})
    if "task_id" in table.model.metadata.tables[table.model.__tablename__].columns:
        values["task_id"] = making.owner.id
    return values


ENDINGS = {"PNG": "png", "JPEG": "jpg"}
MAGIC = {"PNG": b"\x89PNG", "JPEG": b"\xff\xd8\xff"}
"""First bytes of the files of each format."""
LARGEST_BYTES = 2**26
"""Of a snapshot: a board of 10,000 runs and 20 measures has about ten million."""


def picture_path(record: Record) -> str:
    """The file of a picture."""
    return f"pictures/{record['kind']}.{ENDINGS[KindsKINDS[record['kind']].format]}"


def picture(session: Session, picture_id: int) -> Iterator[bytes]:
    """A picture's bytes; raises Damaged, naming the task."""
    query = select(TaskPicture.task_id, TaskPicture.sha256, TaskPicture.body)
    row = session.execute(query.where(TaskPicture.id == picture_id)).one()
    with belonging_to(f"task {row.task_id}"):
        yield pictures.whole_body(row.sha256, row.body)


def snapshot(session: Session, snapshot_id: int, numbers: Numbers) -> Iterator[bytes]:
    """Content of a snapshot, with the bundle's run numbers; raises Damaged."""
    row = session.execute(select(Snapshot.sha256, Snapshot.body).where(Snapshot.id == snapshot_id)).one()
    facts = json.loads(snapshots.whole_body(row.sha256, row.body))
    yield snapshots.canonical(_renumbered(facts, numbers["run"]))


def add_pictures(making: TaskImport, table: RecordTable) -> None:
    """Store the pictures: of the operator's bundle the bytes themselves, else encoded again.

    Raises Invalid for an invalid picture.
    """
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        path, kind = making.files.file(record.get("file")), KindsKINDS[values["kind"]]
        prepared_picture = prepare.prepare(path, kind)
        body = path.read_bytes()
        if hashlib.sha256(body).hexdigest() != values["sha256"] or not body.startswith(MAGIC[kind.format]):
            raise broken(table.path, line, "does not match the digest of the picture in its file.", "sha256")
        if (prepared_picture.width, prepared_picture.height) != (values["width"], values["height"]):
            raise broken(table.path, line, "The size of the picture differs from its record.", "width")
        if not making.is_trusted:
            body = prepared_picture.body
        digest = hashlib.sha256(body).hexdigest()
        making.session.add(TaskPicture(**{**values, "body": body, "sha256": digest}))


def add_snapshots(making: TaskImport, table: RecordTable) -> None:
    """Store the snapshots under the addresses that they have here; raises Invalid with the line at fault."""
    for line, record in making.read(table):
        values = values_of(making, table, line, record)
        path = making.files.file(record.get("file"))
        if path.stat().st_size > LARGEST_BYTES:
            raise broken(table.path, line, f"A snapshot can have at most {LARGEST_BYTES:,} bytes.")
        try:
            facts = _renumbered(json.loads(path.read_bytes()), making.ids["run"])
        except (ValueError, KeyError, TypeError, RecursionError):
            raise broken(table.path, line, "Its file is not a snapshot of a leaderboard.") from None
        snapshots.restore(making.session, making.owner, {**facts, "task": making.owner.slug}, values)


def _renumbered(facts: dict[str, Any], runs: dict[int, int]) -> dict[str, Any]:
    return {**facts, "rows": [{**row, "run_id": runs[row["run_id"]]} for row in facts["rows"]]}
