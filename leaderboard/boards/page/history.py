"""A board's history: editions with their leaders, runs added and withdrawn, snapshots."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.ops import snapshots
from leaderboard.boards.ops.snapshots import ListedSnapshot
from leaderboard.boards.page.leaders import LeadingRun
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer, of_phase
from leaderboard.db.tables import Edition, Qrels, QrelsRevision, Run, Task
from leaderboard.measures.naming import parse
from leaderboard.scoring.ops import scored_topics
from leaderboard.scoring.ops.evaluations.shown import Basis, basis_of, seen_means, whole_editions
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, TaskHead
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


@dataclass(frozen=True, slots=True)
class PastEdition:
    """An edition as of its end, or as of now."""

    basis: Basis
    shown_from: datetime
    shown_to: datetime | None
    """None while it is current."""
    runs: int
    leader: LeadingRun | None
    changes: tuple[str, ...]
    """Changes since the previous edition, as sentences."""


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run that was added or withdrawn."""

    run_id: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Day:
    """Runs added and withdrawn on a day (UTC), and the number of runs at its end."""

    day: date
    added: tuple[NamedRun, ...]
    withdrawn: tuple[NamedRun, ...]
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class History(TaskHead):
    """The history of a board, newest first; empty for a sealed one."""

    editions: tuple[PastEdition, ...] = ()
    days: tuple[Day, ...] = ()
    snapshots: tuple[ListedSnapshot, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """A run as needed for the history of a board."""

    id: int
    name: str
    kind: str
    created_at: datetime
    withdrawn_at: datetime | None


def history(session: Session, viewer: Viewer, slug: str) -> History:
    """The visible history of a task's board; empty for a sealed one.

    One statement per edition, plus a few. Raises NotFound for an unknown task.
    """
    task, access = policy.visible_task(session, viewer, slug)
    page = History(of=task, access=access)
    if not access.means:
        return page
    columns = select(Run.id, Run.name, Run.kind, Run.created_at, Run.withdrawn_at)
    rows = session.execute(columns.where(Run.task_id == task.id, *of_phase(access)).order_by(Run.id))
    names = shown_names.shown_names(session, viewer, task)
    runs = [_Run(row.id, names.run(row.id, row.name), *row[2:]) for row in rows]
    return replace(
        page,
        editions=_editions(session, task, access, runs),
        days=_days(runs),
        snapshots=snapshots.listed(session, viewer, task, access),
    )


def facts(page: History) -> dict[str, Any]:
    """The history as plain values at full precision."""
    return {
        "task": page.slug,
        "editions": table(page).facts(),
        "days": [
            {
                "day": day.day.isoformat(),
                "added": [run.name for run in day.added],
                "withdrawn": [run.name for run in day.withdrawn],
                "runs": day.runs,
            }
            for day in page.days
        ],
        "snapshots": [
            {"sha256": snapshot.sha256, "edition": snapshot.edition, "at": snapshot.created_at.isoformat()}
            for snapshot in page.snapshots
        ],
    }


def table(page: History) -> Table[PastEdition]:
    """Table of editions, newest first."""
    columns = columns_from(
        PastEdition,
        "basis.edition",
        Column(
            "from",
            lambda row: row.shown_from.isoformat(),
            "From",
            words=lambda row: f"{row.shown_from:%Y-%m-%d}",
        ),
        Column(
            "to", lambda row: row.shown_to.isoformat() if row.shown_to else None, "To", shown=~Place.PRINT
        ),
        "basis.revision basis.topics basis.dialect runs",
        Column("leader", lambda row: _of_leader(row, "run"), "Leader"),
        Column("measure", lambda row: _of_leader(row, "measure"), "Measure", shown=~Place.PAGE),
        Column("score", lambda row: _of_leader(row, "value"), "Score", words=_score, digits=4),
        Column("tied", lambda row: _of_leader(row, "tied"), shown=Place.DATA),
        Column("changes", lambda row: " ".join(row.changes), "Changes", shown=~Place.PRINT),
    )
    caption = f"Editions of the board of {page.task}, each with its runs and leader at its end."
    return Table(f"{page.slug}-history", caption, columns, page.editions)


def snapshot_table(page: History) -> Table[ListedSnapshot]:
    """Table of snapshots, newest first."""
    columns: list[Column[ListedSnapshot]] = [
        Column("snapshot", lambda row: row.address, "Snapshot"),
        Column(
            "at",
            lambda row: row.created_at.isoformat(),
            "Created (UTC)",
            words=lambda row: f"{row.created_at:%Y-%m-%d %H:%M}",
        ),
        Column("edition", lambda row: row.edition, "Edition", digits=0),
        Column("sha256", lambda row: row.sha256, shown=Place.DATA),
    ]
    caption = f"Frozen boards of {page.task}."
    return Table(f"{page.slug}-snapshots", caption, columns, page.snapshots)


def day_table(page: History) -> Table[Day]:
    """The days on which runs came or went, newest first."""
    columns: list[Column[Day]] = [
        Column("day", lambda row: row.day.isoformat(), "Day"),
        Column("runs", lambda row: row.runs, "Runs", digits=0),
        Column("added", lambda row: _names(row.added), "Added"),
        Column("withdrawn", lambda row: _names(row.withdrawn), "Withdrawn"),
    ]
    caption = f"Runs of {page.task} added and withdrawn by day (UTC), with runs at the end of the day."
    return Table(f"{page.slug}-days", caption, columns, page.days)


FILES = Files(facts=facts, tables={"editions": table, "snapshots": snapshot_table, "days": day_table})


def _names(runs: Sequence[NamedRun]) -> str:
    return ", ".join(run.name for run in runs)


def _of_leader(row: PastEdition, name: str) -> Any:
    return None if row.leader is None else getattr(row.leader, name)


def _score(row: PastEdition) -> str | None:
    return f"{row.leader.value:.{row.leader.digits}f}" if row.leader else None


def _editions(
    session: Session, task: Task, access: TaskAccess, runs: Sequence[_Run]
) -> tuple[PastEdition, ...]:
    rows = whole_editions(
        session,
        select(Edition, QrelsRevision, Qrels)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Edition.task_id == task.id, Edition.shown_from.is_not(None))
        .order_by(Edition.number),
    )
    editions: list[PastEdition] = []
    before: tuple[Edition, Basis] | None = None
    for edition, revision, qrels in rows:
        assert edition.shown_from is not None, "only editions that were shown are read"
        basis = basis_of(edition, revision, qrels, access)
        on_board = [run for run in runs if _is_on_board(run, edition.shown_to)]
        left_out = scored_topics.not_chosen(session, task, edition.shown_to)
        editions.append(
            PastEdition(
                basis=basis,
                shown_from=edition.shown_from,
                shown_to=edition.shown_to,
                runs=len(on_board),
                leader=_leader(
                    [run for run in on_board if run.id not in left_out],
                    seen_means(session, edition, access, keys=(edition.primary_measure,)),
                    edition,
                    access,
                ),
                changes=_changes(before, (edition, basis), access),
            )
        )
        before = edition, basis
    return tuple(reversed(editions))


def _is_on_board(run: _Run, ended: datetime | None) -> bool:
    """Whether a run was on the board at a time, or is on it now."""
    if ended is None:
        return run.withdrawn_at is None
    return run.created_at <= ended and (run.withdrawn_at is None or run.withdrawn_at > ended)


def _leader(
    runs: Iterable[_Run], scores: Mapping[int, Mapping[str, float]], edition: Edition, access: TaskAccess
) -> LeadingRun | None:
    """The best ranked run by the edition's primary measure, with scores as printed."""
    key = edition.primary_measure
    measure = parse(key).measure
    sign = -1 if measure.direction == "lower" else 1
    ranked = [
        (scores[run.id][key], run)
        for run in runs
        if run.kind == RANKED_KIND and key in scores.get(run.id, {})
    ]
    if not ranked or access.hides(key):
        return None
    best = max(sign * value for value, _ in ranked)
    first = sorted((run.name, run.id) for value, run in ranked if sign * value == best)
    name, run_id = first[0]
    return LeadingRun(run_id, name, key, sign * best, access.decimals or measure.digits, len(first))


def _changes(
    before: tuple[Edition, Basis] | None, after: tuple[Edition, Basis], access: TaskAccess
) -> tuple[str, ...]:
    """The changes in an edition, as sentences."""
    edition, basis = after
    # A change note could reveal hidden judgments.
    note = f": {basis.revision_note.rstrip('.')}" if basis.revision_note and access.details else ""
    if before is None:
        return (f"The first edition, under {basis.qrels}{note}.",)
    old, old_basis = before
    sentences = []
    if basis.revision_id != old_basis.revision_id:
        sentences.append(f"Q{basis.qrels[1:]}{note}.")
    if basis.topics != old_basis.topics:
        counted = "1 topic" if basis.topics == 1 else f"{basis.topics:,} topics"
        sentences.append(f"{counted} instead of {old_basis.topics:,}.")
    had, has = ({key["key"]: key["version"] for key in which.measures} for which in (old, edition))
    for word, keys in (
        ("New measures", [key for key in has if key not in had]),
        ("Removed measures", [key for key in had if key not in has]),
        ("Redefined measures", [key for key in has if key in had and has[key] != had[key]]),
    ):
        if seen := [key for key in keys if not access.hides(key)]:
            sentences.append(f"{word}: {', '.join(seen)}.")
    if edition.primary_measure != old.primary_measure:
        sentences.append(f"Ranked by {edition.primary_measure} instead of {old.primary_measure}.")
    if basis.dialect != old_basis.dialect:
        sentences.append(f"Computed as in trec_eval {basis.dialect} instead of {old_basis.dialect}.")
    return tuple(sentences) or ("All runs were scored again.",)


def _days(runs: Sequence[_Run]) -> tuple[Day, ...]:
    """The days on which runs came or went, newest first."""
    added: dict[date, list[NamedRun]] = {}
    withdrawn: dict[date, list[NamedRun]] = {}
    for run in runs:
        named = NamedRun(run.id, run.name, run.kind)
        added.setdefault(run.created_at.date(), []).append(named)
        if run.withdrawn_at is not None:
            withdrawn.setdefault(run.withdrawn_at.date(), []).append(named)
    days, runs_then = [], 0
    for day in sorted({*added, *withdrawn}):
        came, went = added.get(day, []), withdrawn.get(day, [])
        runs_then += len(came) - len(went)
        days.append(Day(day, tuple(came), tuple(went), runs_then))
    return tuple(reversed(days))
