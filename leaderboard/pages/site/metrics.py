"""Metrics of the site's work for a program that watches it: read from the database when they are asked for.

They are of the whole site; no name, number or address of anything in it is ever a label.
"""

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import inf
from pathlib import Path

from sqlalchemy import SQLColumnExpression, case, func, or_, select
from sqlalchemy.orm import Session

from leaderboard import __version__
from leaderboard.db.engine import now
from leaderboard.db.tables import Job, Mail, WebhookDelivery
from leaderboard.pages.site.storage import database_bytes
from leaderboard.services.backups.backups import backup_age_s
from leaderboard.services.jobs import counts, queue, workers
from leaderboard.services.jobs.due import WAITING
from leaderboard.settings import Settings

RETRYING = "retrying"
DELIVERIES = (WAITING, RETRYING, "failed")
LETTERS = (*DELIVERIES, "bounced")
"""What is sent is done: its rows are most of the table, and who watches wants to know of the others."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One number, with its labels; suffix is what it adds to the name of its metric."""

    value: float
    labels: Mapping[str, str] = field(default_factory=dict)
    suffix: str = ""


@dataclass(frozen=True, slots=True)
class Metric:
    """A number about the site's work, by labels; kind is counter, gauge or histogram."""

    name: str
    kind: str
    meaning: str
    samples: tuple[Sample, ...]


def about(settings: Settings) -> Iterable[Metric]:
    """What is told of a site whatever the state of its database: its version, and the room on its disk."""
    disk = shutil.disk_usage(settings.data)
    yield _gauge("info", "The version that runs.", Sample(1, {"version": __version__}))
    yield _gauge("disk_free_bytes", "Room left where the data folder is.", Sample(disk.free))
    yield _gauge("disk_bytes", "All room where the data folder is.", Sample(disk.total))
    yield _gauge(
        "disk_needed_bytes", "Room below which files are refused, as set.", Sample(settings.free_bytes)
    )


def database_state(*, answers: bool) -> Metric:
    """Whether the database answers."""
    return _gauge("database_up", "1 where the database answers, else 0.", Sample(int(answers)))


def site_metrics(session: Session) -> Iterable[Metric]:
    """What the database tells of the site's work; in ten statements at most that pass over what is done."""
    yield from _jobs(session)
    yield _gauge("evaluators", "Evaluators seen within a minute.", Sample(workers.at_work(session)))
    meaning = "Letters that were not delivered; retrying: those that wait after a failure."
    yield _by_state(session, "letters", meaning, Mail, LETTERS)
    meaning = "Deliveries to webhooks that were not made; retrying: those that wait after a failure."
    yield _by_state(session, "webhook_deliveries", meaning, WebhookDelivery, DELIVERIES)
    age = backup_age_s(session)
    meaning = "Age of the newest backup; +Inf: there is none."
    yield _gauge("backup_age_seconds", meaning, Sample(inf if age is None else age))
    yield _gauge("database_bytes", "What the database takes on its disk.", Sample(database_bytes(session)))
    yield from _wal(session)


def _gauge(name: str, meaning: str, *samples: Sample) -> Metric:
    return Metric(f"leaderboard_{name}", "gauge", meaning, samples)


def _jobs(session: Session) -> Iterable[Metric]:
    """Unfinished jobs by kind and state, 0 too: what is missing raises no alarm."""
    at = now(session)
    since = case(
        (Job.state == "queued", Job.run_after),
        (Job.state == "leased", Job.started_at),
        else_=func.coalesce(Job.finished_at, Job.created_at),
    )
    is_due = or_(Job.state != "queued", queue.is_due(at))
    rows = session.execute(
        select(Job.kind, Job.state, func.count(), func.min(since).filter(is_due))
        .where(Job.state.in_(queue.UNFINISHED))
        .group_by(Job.kind, Job.state)
    ).all()
    found = {(kind, state): (jobs, oldest) for kind, state, jobs, oldest in rows}
    numbers, ages = [], []
    for kind in counts.WORDS:
        for state, word in counts.STATES.items():
            jobs, oldest = found.get((kind, state), (0, None))
            age = max(0.0, (at - oldest).total_seconds()) if oldest is not None else 0.0
            numbers.append(Sample(jobs, {"kind": kind, "state": word}))
            ages.append(Sample(age, {"kind": kind, "state": word}))
    yield _gauge("jobs", "Jobs that are not done, by kind and state.", *numbers)
    meaning = "How long the first of them has been due, has run or has failed; 0: none."
    yield _gauge("jobs_oldest_seconds", meaning, *ages)


def _by_state(
    session: Session, name: str, meaning: str, table: type[Mail | WebhookDelivery], states: tuple[str, ...]
) -> Metric:
    """How many rows of a table are in each of these states, by the index of states."""
    state = _or_retrying(table)
    counted = select(state, func.count()).where(table.state.in_(states)).group_by(state)
    found = {word: count for word, count in session.execute(counted)}
    return _gauge(name, meaning, *(Sample(found.get(each, 0), {"state": each}) for each in states))


def _or_retrying(table: type[Mail | WebhookDelivery]) -> SQLColumnExpression[str]:
    """The state of a row that is sent, where those that wait after a failure are told apart."""
    return case(((table.state == WAITING) & (table.attempts > 0), RETRYING), else_=table.state)


def _wal(session: Session) -> Iterable[Metric]:
    """The log beside a SQLite file: 0 where it is not there."""
    bind = session.get_bind()
    if bind.dialect.name == "sqlite":
        log = Path(f"{bind.engine.url.database}-wal")
        taken = log.stat().st_size if log.exists() else 0
        yield _gauge("wal_bytes", "What SQLite's write-ahead log takes.", Sample(taken))
