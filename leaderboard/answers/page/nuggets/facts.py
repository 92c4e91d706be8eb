"""Facts on a revision of answer judgments, for pages; also loaded for rankings."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.answers.ops.nuggets.reading import WORDS
from leaderboard.core import shown_names
from leaderboard.core.policy import TaskAccess, Viewer, of_phase
from leaderboard.db.tables import Run, Task
from leaderboard.errors import NotFound
from leaderboard.trec.nuggets.packing import PARTS, Note, PackedAnswers
from leaderboard.trec.nuggets.writing import lines_of


def require_rankings(task: Task) -> None:
    """Raise NotFound for an answer or judge task, on pages about document rankings."""
    if task.kind != "rankings":
        raise NotFound(
            f"{task.name} takes {task.kind}, which do not rank documents, so there is nothing to show here."
        )


@dataclass(frozen=True, slots=True)
class AnswersNote:
    """A note from reading files; links: (topic, run number) of the affected answers."""

    rule: str
    remedy: str
    links: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersFacts:
    """Counts of nuggets and labels in a revision.

    parts: existing parts; made_by: (part, maker) as text; median_vital: median number of vital nuggets per
    topic with nuggets; without_vital, without_nuggets: topics of the task that lack them; leaves_out: whether
    the former are excluded from measures of vital nuggets; failed: share of failed assignments, None without
    assignments.
    """

    parts: tuple[str, ...]
    made_by: tuple[tuple[str, str], ...]
    nuggets: int
    topics: int
    runs: int
    median_vital: float | None
    without_vital: tuple[str, ...]
    without_nuggets: tuple[str, ...]
    leaves_out: bool
    failed: float | None
    notes: tuple[AnswersNote, ...] = field(default=())


def facts(of: AnswersFacts) -> dict[str, Any]:
    """The facts as plain values."""
    return {
        "made_by": dict(of.made_by),
        "nuggets": of.nuggets,
        "topics_with_nuggets": of.topics,
        "runs": of.runs,
        "median_vital": of.median_vital,
        "without_vital": list(of.without_vital),
        "without_nuggets": list(of.without_nuggets),
        "leaves_out_without_vital": of.leaves_out,
        "failed": of.failed,
        "notes": [{"rule": note.rule, "remedy": note.remedy} for note in of.notes],
    }


MOST_LINKS = 50


def of_judgments(session: Session, task: Task, judged: PackedAnswers, topics: Iterable[str]) -> AnswersFacts:
    """Counts of the judgments; topics: those of the task. One statement if notes concern runs."""
    nuggets = judged.judgments.nuggets.topics
    there = {topic: given for topic, given in nuggets.items() if given}
    vital = [sum(nugget.importance == "vital" for nugget in given) for given in there.values()]
    assigned = judged.judgments.assignments
    return AnswersFacts(
        parts=tuple(part for part in PARTS if part in judged.made_by),
        made_by=tuple((WORDS[part], str(judged.made_by[part])) for part in PARTS if part in judged.made_by),
        nuggets=sum(map(len, there.values())),
        topics=len(there),
        runs=len({run for run, _ in _cells(judged)}),
        median_vital=float(median(vital)) if vital else None,
        without_vital=judged.without_vital,
        without_nuggets=tuple(topic for topic in topics if topic not in there),
        leaves_out=judged.leaves_out,
        failed=None if assigned is None else assigned.failed_share,
        notes=tuple(_notes(session, task, judged.notes)),
    )


def _cells(judged: PackedAnswers) -> Iterator[tuple[str, str]]:
    if judged.judgments.assignments is not None:
        yield from judged.judgments.assignments.cells
    yield from judged.judgments.support.cells
    yield from judged.judgments.argued.cells


def _notes(session: Session, task: Task, notes: Iterable[Note]) -> Iterator[AnswersNote]:
    digests = {note.run for note in notes if note.run}
    run_ids: dict[str, int] = {}
    if digests:
        rows = session.execute(
            select(Run.ranking_sha256, Run.id).where(
                Run.task_id == task.id, Run.withdrawn_at.is_(None), Run.ranking_sha256.in_(digests)
            )
        )
        run_ids = {sha256: run_id for sha256, run_id in rows}
    for note in notes:
        topics = note.topics[:MOST_LINKS] if note.run in run_ids else ()
        yield AnswersNote(note.rule, note.remedy, tuple((topic, run_ids[note.run]) for topic in topics))


ALL = "qrels"
"""The part name for all judgments of a revision."""


def text_of(
    session: Session, viewer: Viewer, task: Task, access: TaskAccess, judged: PackedAnswers, part: str
) -> str:
    """A part of the judgments, or all parts in sequence, as JSON Lines; raises NotFound for others.

    Labels cover non-withdrawn runs of the visible phase; for organisers, of all phases.
    """
    there = [each for each in PARTS if each in judged.made_by]
    asked = there if part == ALL else [each for each in there if each == part]
    if not asked:
        raise NotFound(f"This revision has no {part}. It has {' and '.join(there)}; choose one of these.")
    names = dict(_names(session, viewer, task, access))
    return "".join(line for each in asked for line in lines_of(judged.judgments, each, names))


def _names(session: Session, viewer: Viewer, task: Task, access: TaskAccess) -> Iterator[tuple[str, str]]:
    """Digest of answers -> first run with them, with its team if the name is ambiguous."""
    names = shown_names.shown_names(session, viewer, task)
    phases = () if access.organises else of_phase(access)
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.ranking_sha256)
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None), *phases)
        .order_by(Run.id)
    ).all()
    counts = Counter(names.run(row.id, row.name) for row in rows)
    seen: set[str] = set()
    for row in rows:
        if row.ranking_sha256 in seen:
            continue
        seen.add(row.ranking_sha256)
        name = names.run(row.id, row.name)
        yield row.ranking_sha256, f"{names.team(row.team_id)}/{name}" if counts[name] > 1 else name
