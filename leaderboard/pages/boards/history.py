"""A board's history: its editions and who led each, runs as they came and went, snapshots."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Qrels, QrelsRevision, Run, Task
from leaderboard.measures.grammar import parse
from leaderboard.pages.tasks.landing import Leader
from leaderboard.services import policy, snapshots
from leaderboard.services.boards.rows import RANKED_KIND
from leaderboard.services.evaluations.shown import Basis, basis_of, means
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.snapshots import Listed


@dataclass(frozen=True, slots=True)
class PastEdition:
    """One edition as it was at its end, or as it is now."""

    basis: Basis
    shown_from: datetime
    shown_to: datetime | None
    """None while it is shown."""
    runs: int
    leader: Leader | None
    changes: tuple[str, ...]
    """What is otherwise than in the edition before, in sentences."""


@dataclass(frozen=True, slots=True)
class NamedRun:
    """A run that came or went."""

    run_id: int
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class Day:
    """The runs added and withdrawn on one day, UTC, and how many there were at its end."""

    day: date
    added: tuple[NamedRun, ...]
    withdrawn: tuple[NamedRun, ...]
    runs: int


@dataclass(frozen=True, slots=True)
class History:
    """What has become of a board, newest first."""

    task: str
    slug: str
    is_draft: bool
    editions: tuple[PastEdition, ...]
    days: tuple[Day, ...]
    snapshots: tuple[Listed, ...]
    sight: Sight


@dataclass(frozen=True, slots=True)
class _Run:
    """What the history of a board needs of a run."""

    id: int
    name: str
    kind: str
    created_at: datetime
    withdrawn_at: datetime | None


def history(session: Session, viewer: Viewer, slug: str) -> History:
    """The history of a task's board, as far as the viewer may see it: of a sealed one nothing.

    One statement an edition besides a few. Raises NotFound for an unknown task.
    """
    task, sight = policy.visible_task(session, viewer, slug)
    if not sight.means:
        return History(task.name, task.slug, task.published_at is None, (), (), (), sight)
    wanted = select(Run.id, Run.name, Run.kind, Run.created_at, Run.withdrawn_at)
    rows = session.execute(wanted.where(Run.task_id == task.id).order_by(Run.id))
    runs = [_Run(*row) for row in rows]
    return History(
        task=task.name,
        slug=task.slug,
        is_draft=task.published_at is None,
        editions=_editions(session, task, sight, runs),
        days=_days(runs),
        snapshots=snapshots.listed(session, task, sight),
        sight=sight,
    )


def as_json(found: History) -> dict[str, Any]:
    """The history as plain values at full precision."""
    header, rows = table(found)
    return {
        "task": found.slug,
        "editions": [dict(zip(header, row, strict=True)) for row in rows],
        "days": [
            {
                "day": each.day.isoformat(),
                "added": [run.name for run in each.added],
                "withdrawn": [run.name for run in each.withdrawn],
                "runs": each.runs,
            }
            for each in found.days
        ],
        "snapshots": [
            {"sha256": each.sha256, "edition": each.edition, "at": each.created_at.isoformat()}
            for each in found.snapshots
        ],
    }


def table(found: History) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the editions, newest first, for CSV."""
    header = ["edition", "from", "to", "revision", "topics", "dialect", "runs"]
    header += ["leader", "measure", "score", "tied", "changes"]
    return header, [
        [
            *(each.basis.edition, each.shown_from.isoformat()),
            each.shown_to.isoformat() if each.shown_to else None,
            *(each.basis.revision, each.basis.topics, each.basis.dialect, each.runs),
            *_leader_cells(each.leader),
            " ".join(each.changes),
        ]
        for each in found.editions
    ]


def short_table(found: History) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the editions as they are printed, oldest first."""
    return ["Edition", "From", "Revision", "Topics", "Runs", "Leader", "Measure", "Score"], [
        [
            *(each.basis.edition, f"{each.shown_from:%Y-%m-%d}", each.basis.revision, each.basis.topics),
            each.runs,
            *_leader_cells(each.leader)[:2],
            f"{each.leader.value:.{each.leader.digits}f}" if each.leader else None,
        ]
        for each in reversed(found.editions)
    ]


def _leader_cells(leader: Leader | None) -> list[Any]:
    return [None] * 4 if leader is None else [leader.run, leader.measure, leader.value, leader.tied]


def _editions(session: Session, task: Task, sight: Sight, runs: Sequence[_Run]) -> tuple[PastEdition, ...]:
    rows = session.execute(
        select(Edition, QrelsRevision, Qrels)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .where(Edition.task_id == task.id, Edition.shown_from.is_not(None))
        .order_by(Edition.number)
    ).all()
    found: list[PastEdition] = []
    before: tuple[Edition, Basis] | None = None
    for edition, revision, qrels in rows:
        assert edition.shown_from is not None, "only editions that were shown are read"
        basis = basis_of(edition, revision, qrels, sight)
        there = [run for run in runs if _is_there(run, edition.shown_to)]
        found.append(
            PastEdition(
                basis=basis,
                shown_from=edition.shown_from,
                shown_to=edition.shown_to,
                runs=len(there),
                leader=_leader(
                    there,
                    means(session, edition, sight.topic_set, keys=(edition.primary_measure,)),
                    edition,
                    sight,
                ),
                changes=_changes(before, (edition, basis), sight),
            )
        )
        before = edition, basis
    return tuple(reversed(found))


def _is_there(run: _Run, ended: datetime | None) -> bool:
    """Whether a run was on the board at a moment, or is on it now."""
    if ended is None:
        return run.withdrawn_at is None
    return run.created_at <= ended and (run.withdrawn_at is None or run.withdrawn_at > ended)


def _leader(
    runs: Iterable[_Run], scores: Mapping[int, Mapping[str, float]], edition: Edition, sight: Sight
) -> Leader | None:
    """The best of the ranked runs by the edition's primary measure, as its board printed the scores."""
    key = edition.primary_measure
    measure = parse(key).measure
    sign = -1 if measure.direction == "lower" else 1
    ranked = [
        (_rounded(scores[run.id][key], sight.decimals), run)
        for run in runs
        if run.kind == RANKED_KIND and key in scores.get(run.id, {})
    ]
    if not ranked or sight.hides(key):
        return None
    best = max(sign * value for value, _ in ranked)
    first = sorted((run.name, run.id) for value, run in ranked if sign * value == best)
    name, run_id = first[0]
    return Leader(run_id, name, key, sign * best, sight.decimals or measure.digits, len(first))


def _rounded(value: float, decimals: int | None) -> float:
    return value if decimals is None else round(value, decimals)


def _changes(
    before: tuple[Edition, Basis] | None, after: tuple[Edition, Basis], sight: Sight
) -> tuple[str, ...]:
    """What is new in an edition, in sentences."""
    edition, basis = after
    # What an organiser noted of judgments that are held back may tell of them.
    note = f": {basis.revision_note.rstrip('.')}" if basis.revision_note and sight.details else ""
    if before is None:
        return (f"The first edition, under qrels revision {basis.revision}{note}.",)
    old, old_basis = before
    said = []
    if basis.revision_id != old_basis.revision_id:
        said.append(f"Qrels revision {basis.revision}{note}.")
    if basis.topics != old_basis.topics:
        counted = "1 topic" if basis.topics == 1 else f"{basis.topics:,} topics"
        said.append(f"{counted} instead of {old_basis.topics:,}.")
    had, has = ({each["key"]: each["version"] for each in one.measures} for one in (old, edition))
    for word, keys in (
        ("New measures", [key for key in has if key not in had]),
        ("Measures left out", [key for key in had if key not in has]),
        ("Measures defined anew", [key for key in has if key in had and has[key] != had[key]]),
    ):
        if shown := [key for key in keys if not sight.hides(key)]:
            said.append(f"{word}: {', '.join(shown)}.")
    if edition.primary_measure != old.primary_measure:
        said.append(f"Ranked by {edition.primary_measure} instead of {old.primary_measure}.")
    if basis.dialect != old_basis.dialect:
        said.append(f"As trec_eval {basis.dialect} computes them, no longer {old_basis.dialect}.")
    return tuple(said) or ("Every run was scored again.",)


def _days(runs: Sequence[_Run]) -> tuple[Day, ...]:
    """The days on which runs came or went, newest first."""
    added: dict[date, list[NamedRun]] = {}
    withdrawn: dict[date, list[NamedRun]] = {}
    for run in runs:
        named = NamedRun(run.id, run.name, run.kind)
        added.setdefault(run.created_at.date(), []).append(named)
        if run.withdrawn_at is not None:
            withdrawn.setdefault(run.withdrawn_at.date(), []).append(named)
    found, there = [], 0
    for day in sorted({*added, *withdrawn}):
        came, went = added.get(day, []), withdrawn.get(day, [])
        there += len(came) - len(went)
        found.append(Day(day, tuple(came), tuple(went), there))
    return tuple(reversed(found))
