"""Work of the whole site: what waits, what failed, and who does it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.pages.jobs import queue_table
from leaderboard.services import policy
from leaderboard.services.jobs import counts, failed, workers
from leaderboard.services.jobs.counts import JobCount
from leaderboard.services.jobs.failed import FailedJob
from leaderboard.services.jobs.health import health
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Column, Files, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePage:
    """The queue of the site; problem says why work is not being done, empty where it is."""

    problem: str
    at_work: int
    jobs: tuple[JobCount, ...]
    failed: tuple[FailedJob, ...]
    evaluators: tuple[tuple[str, datetime], ...]


def queue_page(session: Session, viewer: Viewer) -> QueuePage:
    """The queue, for operators."""
    policy.require_operator(viewer)
    state = health(session)
    return QueuePage(
        problem=state.problem(),
        at_work=state.workers,
        jobs=counts.unfinished(session),
        failed=failed.of_site(session),
        evaluators=workers.known(session),
    )


def job_table(page: QueuePage) -> Table[JobCount]:
    """Unfinished jobs by kind and state."""
    return queue_table(page.jobs, "Work that is not done")


def failed_table(page: QueuePage) -> Table[FailedJob]:
    """The newest failed jobs."""
    columns: list[Column[FailedJob]] = [
        Column("job", lambda row: row.id, "Job", digits=0),
        Column("kind", lambda row: counts.WORDS.get(row.kind, row.kind), "Work"),
        Column("on", lambda row: row.subject, "On number"),
        Column("attempts", lambda row: row.attempts, "Attempts", digits=0),
        Column("message", lambda row: row.message, "Message"),
    ]
    caption = f"Work that failed, newest first, at most {failed.MOST}"
    return Table("failed", caption, columns, page.failed)


def evaluator_table(page: QueuePage) -> Table[tuple[str, datetime]]:
    """Evaluators of the last hour."""
    columns: list[Column[tuple[str, datetime]]] = [
        Column("evaluator", lambda row: row[0], "Evaluator"),
        Column("seen", lambda row: row[1].isoformat(timespec="seconds"), "Last seen"),
    ]
    caption = "Evaluators, by host and process, that looked for work within the hour"
    return Table("evaluators", caption, columns, page.evaluators)


def facts(page: QueuePage) -> dict[str, Any]:
    """The queue as plain values."""
    jobs, lost, seen = job_table(page).facts(), failed_table(page).facts(), evaluator_table(page).facts()
    return {"problem": page.problem, "queue": jobs, "failed": lost, "evaluators": seen}


FILES = Files(facts=facts, tables={"queue": job_table, "failed": failed_table, "evaluators": evaluator_table})
