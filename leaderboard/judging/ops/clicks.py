"""Query logs: import, and preferences inferred from clicks."""

import hashlib
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, get_args

import numpy as np
from sqlalchemy import func, select
from sqlalchemy.orm import Session, undefer

from leaderboard.core import audit, policy
from leaderboard.core.actions import Action, File
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import ClickLog, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.pooling.clicks import READINGS, Counts, Reading, count_preferences
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import Revision
from leaderboard.scoring.ops.statistics.requests import kept
from leaderboard.stats.pairs.sign import two_sided
from leaderboard.tables.record import Shown
from leaderboard.trec.clicks import logs
from leaderboard.trec.clicks.sessions import (
    SessionsRead,
    TopicSessions,
    joined,
    pack_sessions,
    read_sessions,
    unpack_sessions,
)
from leaderboard.trec.qrels.preferences import MAX_PREFERENCES
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits

KEY_BYTES = 32
_READ_BYTES = 2**20


@dataclass(frozen=True, slots=True, repr=False)
class ImportRules:
    """The topics and key needed to read a task's logs; the key is a secret."""

    task: str
    key: bytes
    topic_of: Callable[[str], str | None]
    """A topic id from its id or exact title; None if absent or several."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PreparedLog:
    """A parsed and packed log, made without a session."""

    file_name: str
    sha256: str
    packed: bytes
    read: SessionsRead
    with_users: bool


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """The result of importing a log."""

    number: int
    sessions: int
    topics: int
    users: int
    """Number of distinct users; 0 if they were discarded or the log has none."""
    rows: int
    unknown_rows: int
    unknown: dict[str, int]
    ignored: tuple[str, ...]


def rules_for(session: Session, viewer: Viewer, slug: str) -> ImportRules:
    """The rules for reading a log of the task; the first import creates the task's key.

    Raises NotFound or Forbidden unless the viewer organises the task.
    """
    task = policy.own_task(session, viewer, slug)
    # Two simultaneous first imports must not make two keys.
    lock_row(session, Task, task.id)
    if task.click_key is None:
        task.click_key = secrets.token_bytes(KEY_BYTES)
        session.flush()
    rows = session.execute(select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id))
    return ImportRules(task.name, task.click_key, finder([(topic_id, title) for topic_id, title in rows]))


def finder(topics: list[tuple[str, str]]) -> Callable[[str], str | None]:
    """Build a lookup from a topic's id or exact title to its id; titles shared by several topics match none.

    >>> topic_of = finder([("1", "red cars"), ("2", "blue cars"), ("3", "blue cars"), ("red cars", "x")])
    >>> [topic_of(text) for text in ("1", "red cars", "x", "blue cars", "Red cars")]
    ['1', 'red cars', 'red cars', None, None]
    """
    ids = {topic_id for topic_id, _ in topics}
    titled: dict[str, list[str]] = {}
    for topic_id, title in topics:
        titled.setdefault(title.strip(), []).append(topic_id)
    alone = {title: same[0] for title, same in titled.items() if title and len(same) == 1}
    return lambda text: text if text in ids else alone.get(text)


def prepare_import(
    path: Path,
    file_name: str,
    rules: ImportRules,
    *,
    keep_users: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> PreparedLog:
    """Read a log; keep_users False discards its users.

    Raises Invalid with the lines at fault or if no row matches a topic of the task, and TooLarge.
    """
    log = logs.ClickLog(path, limits)
    sessions = read_sessions(log, rules.topic_of, rules.key if keep_users else None)
    if not sessions.kept.count:
        raise Invalid(
            f"None of the log's {sessions.rows:,} rows matches a topic of {rules.task}. Topics are matched "
            "by id; queries are matched by a topic's id or exact title."
        )
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return PreparedLog(file_name, digest.hexdigest(), pack_sessions(sessions.kept), sessions, keep_users)


def add_import(session: Session, viewer: Viewer, slug: str, prepared: PreparedLog) -> ImportedLog:
    """Store a log; raises Conflict if the same file was already imported, as it would count twice."""
    task = policy.own_task(session, viewer, slug)
    # Logs are numbered without gaps, and a file is imported only once.
    lock_row(session, Task, task.id)
    of_task = ClickLog.task_id == task.id
    same = session.scalar(select(ClickLog.number).where(of_task, ClickLog.sha256 == prepared.sha256))
    if same is not None:
        raise Conflict(f"This file was already imported as log {same}. Its clicks would count twice.")
    number = (session.scalar(select(func.max(ClickLog.number)).where(of_task)) or 0) + 1
    read = prepared.read
    rest = read.unknown_rows - sum(read.unknown.values())
    session.add(
        ClickLog(
            task_id=task.id,
            number=number,
            file_name=prepared.file_name,
            sha256=prepared.sha256,
            sessions=read.kept.count,
            unknown=read.unknown | ({"": rest} if rest else {}),
            body=prepared.packed,
            created_at=now(session),
            created_by=viewer.account_id,
        )
    )
    users = "hashed" if prepared.with_users else "dropped"
    audit.record(session, viewer, "clicks.import", f"task:{task.id}", number=number, users=users)
    return ImportedLog(
        number=number,
        sessions=read.kept.count,
        topics=len(read.kept.topics),
        users=len(read.kept.users),
        rows=read.rows,
        unknown_rows=read.unknown_rows,
        unknown=read.unknown,
        ignored=read.ignored,
    )


def remove_import(session: Session, viewer: Viewer, slug: str, number: int) -> None:
    """Delete a log permanently; revisions made from it are kept. Raises NotFound if absent."""
    task = policy.own_task(session, viewer, slug)
    log = session.scalar(select(ClickLog).where(ClickLog.task_id == task.id, ClickLog.number == number))
    if log is None:
        raise NotFound(f"{task.name} has no click log {number}.")
    session.delete(log)
    audit.record(session, viewer, "clicks.remove", f"task:{task.id}", number=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuery:
    """How a query log is stored."""

    keep_users: Annotated[
        bool,
        Field(
            title="Store user ids as keyed hashes",
            help="So that users can be counted; without, they are discarded.",
            option="keep-users/--no-user",
        ),
    ] = True
    file_name: Annotated[str, Field(title="File name", is_of_api=True)] = ""


ACTIONS = (
    Action(
        name="import_log",
        summary="Import a query log",
        more="The file is CSV or JSON lines with user, query or topic, document, rank, clicked, time. A "
        "query matches a topic of the task if it equals the topic's id or exact title; user and time are "
        "optional. "
        "Users are replaced by keyed hashes while the file is read, or discarded.",
        path="/tasks/<slug>/clicks",
        form="/tasks/<slug>/clicks",
        page="clicks.show",
        may=rules_for,
        record=LogQuery,
        file=File(
            field="log",
            missing="Choose a query log.",
            prepare=lambda given, log: prepare_import(
                given.files["log"].path,
                given.files["log"].name,
                given.allowed,
                keep_users=log.keep_users,
                limits=Limits(plain_bytes=given.settings.plain_bytes),
            ),
        ),
        act=lambda session, viewer, slug, prepared, _: add_import(session, viewer, slug, prepared),
        status=201,
        command="import",
    ),
    Action(
        name="delete_log",
        summary="Delete a query log",
        method="DELETE",
        path="/tasks/<slug>/clicks/<id:number>",
        form="/tasks/<slug>/clicks/<id:number>/delete",
        page="clicks.show",
        more="Revisions made from it are kept.",
        act=remove_import,
        done="log deleted",
        command="remove",
    ),
)


Counted = Literal["sessions", "users"]
Kept = Literal["majority", "both"]
LEAST = 5
LARGEST_ID = 10**9
"""Default minimum number of sessions that show a preference."""
MOST_EVIDENCE = 1_000_000


@dataclass(frozen=True, slots=True)
class Choice:
    """Settings for inferring preferences from clicks."""

    reading: Reading = READINGS["skip-above"]
    least: int = LEAST
    """Minimum number of sessions (or users) that show a preference."""
    keep: Kept = "majority"
    """For pairs preferred in both directions: keep the majority direction, or both."""
    counted: Counted = "sessions"
    """Count every session, or each user once per preference."""
    p: float | None = None
    """Maximum p of the sign test for a preference; None disables the test."""
    logs: tuple[int, ...] = ()
    """Numbers of the logs; empty means all."""


@dataclass(frozen=True, slots=True)
class Preference:
    """A preference for one document over another on a topic."""

    topic: str
    better: str
    worse: str
    count: int
    """Number of sessions or users that show it: its weight."""
    against: int
    """Number that show the opposite."""
    p: Annotated[float, Shown("p")]
    """Two-sided sign test of the two counts."""


@dataclass(frozen=True, slots=True)
class TopicCounts:
    """Click counts of one topic."""

    topic: str
    title: str
    sessions: int
    clicked: Annotated[int, Shown("With a click", key="sessions_with_clicks")]
    """Sessions with a click."""
    clicks: int
    pairs: Annotated[int, Shown("Pairs")]
    """Pairs of documents with a preference in any session."""
    both_ways: Annotated[int, Shown("Both directions", key="pairs_both_ways")]
    """Pairs with preferences in both directions."""
    kept: Annotated[int, Shown("Kept", key="preferences")]
    """Preferences kept."""


@dataclass(frozen=True, slots=True)
class FoundPreferences:
    """The preferences for a choice: topics in the task's order, the most frequent first within each."""

    choice: Choice
    topics: tuple[TopicCounts, ...]
    preferences: tuple[Preference, ...]
    users: int
    """Number of distinct users; 0 if unknown."""
    days: tuple[int, int] | None
    """First and last day of the sessions, as days since 1970; None if no time is known."""


def preference_choice(
    reading: str | None = None,
    least: str | None = None,
    keep: str | None = None,
    count: str | None = None,
    p: str | None = None,
    logs: Sequence[str] = (),
) -> Choice:
    """Parse a choice from the texts of an address or command; empty texts take the defaults.

    Raises Invalid for unknown values.

    >>> preference_choice("last-click", least="3").least
    3
    """
    fallback = Choice()
    if reading and reading not in READINGS:
        raise _no_choice("rule", reading, READINGS)
    if keep and keep not in get_args(Kept):
        raise _no_choice("keep", keep, get_args(Kept))
    if count and count not in get_args(Counted):
        raise _no_choice("count", count, get_args(Counted))
    return Choice(
        reading=READINGS[reading] if reading else fallback.reading,
        least=_whole("least", least, MOST_EVIDENCE) if least else fallback.least,
        keep="both" if keep == "both" else "majority",
        counted="users" if count == "users" else "sessions",
        p=_share(p) if p else None,
        logs=tuple(sorted({_whole("log", number, LARGEST_ID) for number in logs if number})),
    )


def find_preference(session: Session, viewer: Viewer, slug: str, choice: Choice) -> FoundPreferences:
    """The preferences shown by a task's logs.

    Raises NotFound or Forbidden unless the viewer organises the task, NotFound for an unknown
    log, and Invalid if there are more preferences than a file may have.
    """
    task = policy.own_task(session, viewer, slug, policy.reads)
    query = select(ClickLog).where(ClickLog.task_id == task.id).options(undefer(ClickLog.body))
    if choice.logs:
        query = query.where(ClickLog.number.in_(choice.logs))
    rows = list(session.scalars(query.order_by(ClickLog.number)))
    missing = set(choice.logs) - {row.number for row in rows}
    if missing:
        raise NotFound(f"{task.name} has no click log {min(missing)}.")
    logs = [unpack_sessions(row.body) for row in rows]
    digest = hashlib.sha256(b"".join(hashlib.sha256(row.body).digest() for row in rows)).hexdigest()
    titles = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    counts: list[TopicCounts] = []
    preferences: list[Preference] = []
    days: list[int] = []
    for topic, title in titles:
        if any(topic in log.topics for log in logs):
            whole = joined(topic, logs)
            counted = _counts(f"{digest}:{topic}", whole, choice)
            count, topic_preferences = _of_topic(topic, title, whole, counted, choice)
            counts.append(count)
            preferences += topic_preferences
            dated = whole.days[whole.days >= 0]
            days += [int(dated.min()), int(dated.max())] if dated.size else []
        if len(preferences) > MAX_PREFERENCES:
            rule = f"These rules give more than {MAX_PREFERENCES:,} preferences."
            raise Invalid(f"{rule} Raise the minimum count or choose another rule.")
    users = len({user for log in logs for user in log.users})
    between = (min(days), max(days)) if days else None
    return FoundPreferences(
        choice=choice, topics=tuple(counts), preferences=tuple(preferences), users=users, days=between
    )


def publish_preferences(
    session: Session, viewer: Viewer, slug: str, from_clicks: FoundPreferences, note: str
) -> Revision:
    """Publish a preference revision, marked as derived from clicks; weights are the counts.

    Raises Invalid without a note or without preferences, and the errors of publishing a revision.
    """
    if not note.strip():
        problem = Problem("describes what changes in this revision.", "Write a sentence.", field="note")
        raise Invalid("A revision needs a note: it is shown in the board's history.", [problem])
    if not from_clicks.preferences:
        raise Invalid("No preference has that much evidence, so nothing was published.")
    pairs: dict[str, dict[tuple[bytes, bytes], float]] = {}
    for preference in from_clicks.preferences:
        pair = preference.better.encode(), preference.worse.encode()
        pairs.setdefault(preference.topic, {})[pair] = float(preference.count)
    return revisions.publish_preferences(session, viewer, slug, pairs, note.strip(), origin="click")


def as_file(from_clicks: FoundPreferences) -> str:
    """The preferences as lines of a file: topic, better, worse, weight."""
    return "".join(f"{row.topic} {row.better} {row.worse} {row.count}\n" for row in from_clicks.preferences)


def _counts(digest: str, whole: TopicSessions, choice: Choice) -> Counts:
    """The counts of a topic, cached in memory.

    They depend only on the sessions, the rule and the unit counted, all part of the key, so
    cached counts are never stale. Raise the number in the key when the counting changes.
    """
    key = f"clicks 1:{digest}:{choice.reading.key}:{choice.counted}"
    arrays = kept.get(key)
    if arrays is None:
        counts = count_preferences(whole.sessions, choice.reading.rules, by_user=choice.counted == "users")
        arrays = kept.put(key, counts._asdict())
    return Counts(*(arrays[name].astype(np.int64, copy=False) for name in Counts._fields))


def _of_topic(
    topic: str, title: str, whole: TopicSessions, counts: Counts, choice: Choice
) -> tuple[TopicCounts, list[Preference]]:
    sessions = whole.sessions
    first, second = counts.for_first, counts.for_second
    p = two_sided(np.minimum(first, second), first + second)
    enough = np.ones(p.size, dtype=np.bool_) if choice.p is None else p <= choice.p
    rows: list[Preference] = []
    for better, worse, count, against in (
        (counts.first, counts.second, first, second),
        (counts.second, counts.first, second, first),
    ):
        chosen = enough & (count >= choice.least)
        if choice.keep == "majority":
            chosen &= count > against
        columns = (column[chosen].tolist() for column in (better, worse, count, against, p))
        rows += [
            Preference(topic, whole.docnos[better], whole.docnos[worse], *rest)
            for better, worse, *rest in zip(*columns, strict=True)
        ]
    rows.sort(key=lambda row: (-row.count, row.against, row.better, row.worse))
    counted = TopicCounts(
        topic=topic,
        title=title,
        sessions=whole.days.size,
        clicked=int(np.count_nonzero(sessions.last)),
        clicks=int(np.count_nonzero(sessions.clicked)),
        pairs=int(p.size),
        both_ways=int(np.count_nonzero((first > 0) & (second > 0))),
        kept=len(rows),
    )
    return counted, rows


def _no_choice(field: str, value: str, choices: Sequence[str] | dict[str, Reading]) -> Invalid:
    problem = Problem(
        "is not one of the options.", f"Choose one of {', '.join(choices)}.", field=field, value=value[:40]
    )
    return Invalid(f"Unknown {field} {value[:40]!r}. Choose one of {', '.join(choices)}.", [problem])


def _whole(field: str, text: str, most: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and 1 <= int(text) <= most):
        problem = Problem(f"must be a whole number from 1 to {most:,}.", field=field, value=text[:40])
        raise Invalid(f"The {field} must be a whole number from 1 to {most:,}.", [problem])
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 < value <= 1:
        problem = Problem(
            "must be above 0 and at most 1.", "Enter a number such as 0.05.", field="p", value=text[:40]
        )
        raise Invalid("The maximum p must be a number above 0 and at most 1.", [problem])
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class ClickChoice:
    """A choice of preferences, as in the address of the page; empty fields take the defaults."""

    reading: Annotated[str, Field(title="Rule for reading clicks")] = ""
    least: Annotated[str, Field(title="Minimum count")] = ""
    keep: Annotated[str, Field(title="Direction", help="Which direction is kept: majority or both.")] = ""
    count: Annotated[str, Field(title="Count", help="sessions or users.")] = ""
    p: Annotated[str, Field(title="Maximum p of the sign test")] = ""
    logs: Annotated[tuple[int, ...], Field(title="Logs", help="Empty for all.", most=LARGEST_ID)] = ()
    note: Annotated[str, Field(title="Change note")]


def _chosen(session: Session, viewer: Viewer, slug: str, asked: ClickChoice) -> FoundPreferences:
    logs = list(map(str, asked.logs))
    choice = preference_choice(asked.reading, asked.least, asked.keep, asked.count, asked.p, logs)
    return find_preference(session, viewer, slug, choice)


PUBLISH = Action(
    name="publish_clicks",
    summary="Publish the preferences from clicks as a revision",
    path="/tasks/<slug>/clicks/publish",
    form="/tasks/<slug>/clicks/publish",
    page="clicks.show",
    record=ClickChoice,
    plan=_chosen,
    act=lambda session, viewer, slug, shown, asked: publish_preferences(
        session, viewer, slug, shown, asked.note
    ),
    status=201,
)
