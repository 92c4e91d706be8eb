"""Choosing the reference of a task of judges: the board of another task as it is shown, or a file."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Task, Topic
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.measures.naming import parse
from leaderboard.services import policy
from leaderboard.services.boards.rows import Row, rank, read_rows
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.over_topics import narrowed
from leaderboard.services.evaluations.shown import ShownEdition, scores_of, shown_edition
from leaderboard.services.judges.references import KIND, PreparedReference, of_reference
from leaderboard.services.policy import ANONYMOUS, Sight, Viewer
from leaderboard.services.runs import facts
from leaderboard.trec.boards.align import FEWEST_RUNS, Reference, reference_from, reference_of
from leaderboard.trec.boards.board_files import Known, read_board
from leaderboard.trec.boards.declared import Declared, read_declared
from leaderboard.trec.boards.packing import KeptReference, Origin
from leaderboard.trec.read.bundles import base_name, kind_of, unbundled
from leaderboard.trec.read.lines import DEFAULT_LIMITS

DECLARED = "declared.csv"


def from_task(
    session: Session, viewer: Viewer, slug: str, source: str, measure: str = ""
) -> PreparedReference:
    """The board of another task as it is shown now, by a measure of it (its primary one unless said).

    Its ranked runs under the names that everybody reads, with what they declare. Raises NotFound for a task
    that the viewer may not know of, Conflict where its scores by topic are held back from the viewer, and
    Invalid for a measure that is better when lower, or has no scores by topic to take a mean over.
    """
    task = _judges_task(session, viewer, slug)
    other, sight = policy.visible_task(session, viewer, source)
    if not sight.details:
        raise Conflict(f"Scores of {other.name} by topic are held back from you: {sight.why}")
    shown = shown_edition(session, other, sight)
    if shown.edition is None or shown.source is None:
        raise Conflict(f"{other.name} has no board yet; choose it once runs are scored.")
    by = _column(shown.edition, measure)
    rows = [row for row in _rows(session, other, sight, shown, by) if row.rank is not None]
    reference, run_ids = _of_rows(session, shown, by, rows)
    made_by = shown.basis.origin if shown.basis is not None else "human"
    kept = KeptReference(
        reference=reference,
        source=f"{other.name} ({other.slug}), edition {shown.edition.number}",
        facts={row.run: _declared(row) for row in rows},
        is_machine=made_by == "machine",
        origin=Origin(other.id, other.kind, shown.edition.id, run_ids),
    )
    require_topics(session, task, kept.reference)
    return of_reference(kept, f"{other.slug}-{shown.edition.number}")


def from_file(
    session: Session,
    viewer: Viewer,
    slug: str,
    board: Path,
    file_name: str,
    measure: str = "",
    declared: Path | None = None,
    *,
    is_machine: bool = False,
) -> PreparedReference:
    """A board file by one of its measures; declared: a file of what its runs declare.

    Raises Invalid where either cannot be read, the measure is not said, a run lacks a topic, or there are
    no values by topic.
    """
    task = _judges_task(session, viewer, slug)
    topics = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)).all()
    read = read_board(board, Known((), frozenset(topics)))
    reference = reference_of(read, measure)
    if not reference.topics:
        raise Invalid(f"{file_name} has values over all topics only; a reference has one on every topic.")
    known = read_declared(declared, "run") if declared is not None else {}
    if strangers := [run for run in known if run not in reference.runs]:
        raise Invalid(f"The reference has no run {strangers[0]!r}, of which facts are declared.")
    kept = KeptReference(reference, file_name, known, is_machine)
    require_topics(session, task, reference)
    return of_reference(kept, file_name)


def _judges_task(session: Session, viewer: Viewer, slug: str) -> Task:
    task = policy.own_task(session, viewer, slug)
    if task.kind != KIND:
        raise Conflict(f"{task.name} takes {task.kind}; a reference is for tasks of judges.")
    return task


def _column(edition: Edition, measure: str) -> MeasureColumn:
    keys = [one["key"] for one in edition.measures]
    by = column(parse(measure or edition.primary_measure))
    if by.key not in keys:
        raise Invalid(f"The board has no measure {by.key}; it has {', '.join(keys)}.")
    if by.direction != "higher" or by.aggregate != "mean":
        raise Invalid(f"{by.key} is no mean that is better when higher; choose another measure of the board.")
    return by


def _rows(
    session: Session, task: Task, sight: Sight, shown: ShownEdition, by: MeasureColumn
) -> tuple[Row, ...]:
    # Not the viewer's: an organiser reads names that others do not.
    return rank(read_rows(session, ANONYMOUS, task, sight, shown.edition, (by,)), by)


def _of_rows(
    session: Session, shown: ShownEdition, by: MeasureColumn, rows: list[Row]
) -> tuple[Reference, tuple[int, ...]]:
    """The reference that ranked runs are, and their ids in its order."""
    assert shown.source is not None, "an edition has scores"
    assert shown.edition is not None, "there is an edition"
    source = narrowed(shown.source, shown.edition, by.key)
    scores = scores_of(session, source, by.key, by.version, [row.run_id for row in rows])
    rows = [row for row in rows if row.run_id in scores]
    names = [row.run for row in rows]
    if len(names) < FEWEST_RUNS or len(set(names)) < len(names):
        raise Conflict(
            f"A reference has {FEWEST_RUNS} ranked runs of different names or more, not {len(set(names))}."
        )
    table = np.array([scores[row.run_id] for row in rows])
    return reference_from(names, source.topics, by.key, table), tuple(row.run_id for row in rows)


def _declared(row: Row) -> Declared:
    told = {fact.key: fact.text for fact in facts.facts(json.loads(row.details or "{}"))}
    return Declared(row.team, told.get("llm", ""), told.get("reranker", ""))


def require_topics(session: Session, task: Task, reference: Reference) -> None:
    """Raise Conflict for a reference of too few runs, Invalid for topics that the task does not have."""
    if len(reference.runs) < FEWEST_RUNS:
        raise Conflict(f"A reference has at least {FEWEST_RUNS} runs; this one has {len(reference.runs)}.")
    known = set(session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)))
    strangers = [topic for topic in reference.topics if topic not in known]
    if strangers:
        problem = Problem(
            "The task has no such topic.",
            "Give the task the topics of its reference.",
            field="topic",
            value=strangers[0][:40],
            count=len(strangers),
        )
        raise Invalid("This board is of other topics than the task's.", [problem])


@dataclass(frozen=True, slots=True)
class ReferenceFiles:
    """The board, the name of its file, and what its runs declare; None where nothing came with it."""

    board: Path
    name: str
    declared: Path | None


@contextmanager
def files_of(path: Path, name: str) -> Iterator[ReferenceFiles]:
    """The board in a file, or in a zip or tar of it and `declared.csv`; gone afterwards.

    Raises Invalid for an archive with another number of boards than one, TooLarge beyond limits.
    """
    kind = kind_of(path, DEFAULT_LIMITS)
    if not kind:
        yield ReferenceFiles(path, name or "board", None)
        return
    boards, declared = [], None
    with TemporaryDirectory(prefix="reference-") as folder:
        for member in unbundled(path, kind, Path(folder), DEFAULT_LIMITS, 2):
            called = base_name(member.name)
            if member.path is None:
                raise Invalid(f"The archive holds {called}. {member.problem}")
            if called == DECLARED:
                declared = member.path
            else:
                boards.append((member.path, called))
        if len(boards) != 1:
            raise Invalid(f"An archive has one board file and, if runs declare anything, {DECLARED}.")
        yield ReferenceFiles(*boards[0], declared)
