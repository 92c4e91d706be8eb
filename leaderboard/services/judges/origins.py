"""The board that a reference was, told to other sites by digests, and found there where its task is."""

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Collection, Edition, QrelsRevision, Run, Task
from leaderboard.errors import Forbidden, NotFound, SignInNeeded
from leaderboard.services import policy, shown_names
from leaderboard.services.policy import ANONYMOUS, Viewer
from leaderboard.trec.boards.packing import ForeignOrigin, KeptReference, Origin

Found = tuple[int, str, str]
"""Id, name and digest of a run."""


def told(session: Session, viewer: Viewer, kept: KeptReference) -> ForeignOrigin | None:
    """Where a reference is from, for who may see that board; None for others, and where it is gone.

    Visitors are told it while all of its runs are on the board. What a reference was brought with, of another
    site, is its organisers' to know.
    """
    origin = kept.origin
    if origin is None:
        return kept.elsewhere if viewer != ANONYMOUS else None
    task, edition = session.get(Task, origin.task_id), session.get(Edition, origin.edition_id)
    if task is None or edition is None or not _sees(session, viewer, task):
        return None
    wanted = select(Run.id, Run.team_id, Run.ranking_sha256, Run.withdrawn_at).where(
        Run.id.in_(origin.run_ids)
    )
    runs = {row.id: row for row in session.execute(wanted)}
    is_changed = viewer == ANONYMOUS and any(row.withdrawn_at for row in runs.values())
    names = shown_names.shown_names(session, viewer, task)
    # A digest tells whose a run is, by other tasks that have the same one.
    is_masked = any(names.is_masked(row.team_id) for row in runs.values())
    if len(runs) < len(origin.run_ids) or is_changed or is_masked:
        return None
    return ForeignOrigin(
        slug=task.slug,
        kind=origin.kind,
        judgments=session.get_one(QrelsRevision, edition.revision_id).sha256,
        dialect=edition.dialect,
        size=session.get_one(Collection, task.collection_id).size,
        runs=tuple(runs[run_id].ranking_sha256 for run_id in origin.run_ids),
    )


def found(session: Session, viewer: Viewer, elsewhere: ForeignOrigin, names: Sequence[str]) -> Origin | None:
    """The same board on this site, by the digests of its runs and judgments; None where there is none.

    names: of the runs, which tell runs of one digest apart. The task is one whose scores by topic the viewer
    may see, as who chooses it for a reference; of several the one with that slug goes first, then the oldest.
    """
    rows = session.execute(
        select(Run.task_id, Run.id, Run.name, Run.ranking_sha256)
        .where(Run.ranking_sha256.in_(set(elsewhere.runs)))
        .order_by(Run.id)
    )
    by_task: dict[int, list[Found]] = {}
    for row in rows:
        by_task.setdefault(row.task_id, []).append((row.id, row.name, row.ranking_sha256))
    tasks = session.scalars(select(Task).where(Task.id.in_(by_task), Task.kind == elsewhere.kind))
    for task in sorted(tasks, key=lambda task: (task.slug != elsewhere.slug, task.id)):
        run_ids = _matched(by_task[task.id], elsewhere.runs, names)
        edition_id = _edition(session, task, elsewhere)
        if run_ids is not None and edition_id is not None and _sees(session, viewer, task):
            return Origin(task.id, task.kind, edition_id, run_ids)
    return None


def _matched(rows: Sequence[Found], digests: Sequence[str], names: Sequence[str]) -> tuple[int, ...] | None:
    """A run for each digest, those of the names first; None where there are too few."""
    left, chosen = list(rows), []
    for digest, name in zip(digests, names, strict=True):
        alike = [row for row in left if row[2] == digest]
        if not alike:
            return None
        one = next((row for row in alike if row[1] == name), alike[0])
        left.remove(one)
        chosen.append(one[0])
    return tuple(chosen)


def _edition(session: Session, task: Task, elsewhere: ForeignOrigin) -> int | None:
    """The newest edition that was shown under the same judgments, on a collection of that size."""
    if session.get_one(Collection, task.collection_id).size != elsewhere.size:
        return None
    return session.scalar(
        select(Edition.id)
        .join(QrelsRevision, QrelsRevision.id == Edition.revision_id)
        .where(
            Edition.task_id == task.id,
            Edition.dialect == elsewhere.dialect,
            Edition.state.in_(("current", "past")),
            QrelsRevision.sha256 == elsewhere.judgments,
        )
        .order_by(Edition.number.desc())
        .limit(1)
    )


def _sees(session: Session, viewer: Viewer, task: Task) -> bool:
    """Whether the viewer reads the scores of a task by topic."""
    try:
        # What was asked for of the task of judges, an edition or a phase, is not of this one.
        known, sight = policy.visible_task(session, replace(viewer, edition=None, phase=""), task.slug)
    except (NotFound, Forbidden, SignInNeeded):
        return False
    return known.id == task.id and sight.details
