"""Query logs: their import, and taking one back. Users are replaced by keyed hashes while a log is read."""

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import ClickLog, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound
from leaderboard.services import audit, policy
from leaderboard.services.actions import Action
from leaderboard.services.policy import Viewer
from leaderboard.trec.clicks import logs
from leaderboard.trec.clicks.sessions import SessionsRead, pack_sessions, read_sessions
from leaderboard.trec.read.lines import DEFAULT_LIMITS, Limits

KEY_BYTES = 32
_READ_BYTES = 2**20


@dataclass(frozen=True, slots=True, repr=False)
class ImportRules:
    """What is needed to read a task's logs; the key is a secret."""

    task: str
    key: bytes
    topic_of: Callable[[str], str | None]
    """A topic's id from its id or its exact title; None where there is none, or several."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PreparedLog:
    """A log, read and packed; made without a session."""

    file_name: str
    sha256: str
    packed: bytes
    read: SessionsRead
    with_users: bool


@dataclass(frozen=True, slots=True)
class ImportedLog:
    """What became of a log."""

    number: int
    sessions: int
    topics: int
    users: int
    """How many different ones; 0 where they were dropped or the log names none."""
    rows: int
    unknown_rows: int
    unknown: dict[str, int]
    ignored: tuple[str, ...]


def rules_for(session: Session, viewer: Viewer, slug: str) -> ImportRules:
    """What a log of the task is read with; the task's key is made at the first import.

    Raises NotFound or Forbidden unless the viewer organises the task.
    """
    task = policy.own_task(session, viewer, slug)
    # Two first imports at once must not make two keys.
    lock_row(session, Task, task.id)
    if task.click_key is None:
        task.click_key = secrets.token_bytes(KEY_BYTES)
        session.flush()
    rows = session.execute(select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id))
    return ImportRules(task.name, task.click_key, finder([(topic_id, title) for topic_id, title in rows]))


def finder(topics: list[tuple[str, str]]) -> Callable[[str], str | None]:
    """From a topic's id, or else its exact title, to its id; a title that several topics have says nothing.

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


def prepare(
    path: Path,
    file_name: str,
    rules: ImportRules,
    *,
    keep_users: bool = True,
    limits: Limits = DEFAULT_LIMITS,
) -> PreparedLog:
    """Read a log; keep_users False drops its users.

    Raises Invalid with the lines at fault, or where no row is about a topic of the task, and TooLarge.
    """
    log = logs.ClickLog(path, limits)
    sessions = read_sessions(log, rules.topic_of, rules.key if keep_users else None)
    if not sessions.kept.count:
        raise Invalid(
            f"None of the log's {sessions.rows:,} rows is about a topic of {rules.task}: topics are found by "
            "their id, queries by a topic's id or its exact title."
        )
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return PreparedLog(file_name, digest.hexdigest(), pack_sessions(sessions.kept), sessions, keep_users)


def add(session: Session, viewer: Viewer, slug: str, prepared: PreparedLog) -> ImportedLog:
    """Keep a log; raises Conflict where the same file was imported already: it would count twice."""
    task = policy.own_task(session, viewer, slug)
    # Logs are numbered without gaps, and the same file is imported once.
    lock_row(session, Task, task.id)
    of_task = ClickLog.task_id == task.id
    same = session.scalar(select(ClickLog.number).where(of_task, ClickLog.sha256 == prepared.sha256))
    if same is not None:
        raise Conflict(f"This file is log {same} already; its clicks would count twice.")
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


def remove(session: Session, viewer: Viewer, slug: str, number: int) -> None:
    """Delete a log for good; revisions made of it stay. Raises NotFound where there is none."""
    task = policy.own_task(session, viewer, slug)
    log = session.scalar(select(ClickLog).where(ClickLog.task_id == task.id, ClickLog.number == number))
    if log is None:
        raise NotFound(f"{task.name} has no click log {number}.")
    session.delete(log)
    audit.record(session, viewer, "clicks.remove", f"task:{task.id}", number=number)


ACTIONS = (
    Action(
        name="delete_log",
        summary="Delete a query log",
        method="DELETE",
        path="/tasks/<slug>/clicks/<id:number>",
        form="/tasks/<slug>/clicks/<id:number>/delete",
        page="clicks.show",
        act=remove,
        done=lambda *_: "log deleted",
    ),
)
