"""What a revision of judgments of answers holds, for its pages and for the board under it."""

from collections.abc import Iterable, Iterator
from statistics import median

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.pages.nuggets.facts import AnswersFacts, AnswersNote
from leaderboard.services.nuggets.reading import WORDS
from leaderboard.trec.nuggets.packing import PARTS, Note, PackedAnswers

MOST_LINKS = 50


def of_judgments(session: Session, task: Task, judged: PackedAnswers, topics: Iterable[str]) -> AnswersFacts:
    """What the judgments hold; topics are those of the task. One statement where notes are about runs."""
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
    found: dict[str, int] = {}
    if digests:
        rows = session.execute(
            select(Run.ranking_sha256, Run.id).where(
                Run.task_id == task.id, Run.withdrawn_at.is_(None), Run.ranking_sha256.in_(digests)
            )
        )
        found = {sha256: run_id for sha256, run_id in rows}
    for note in notes:
        topics = note.topics[:MOST_LINKS] if note.run in found else ()
        yield AnswersNote(note.rule, note.remedy, tuple((topic, found[note.run]) for topic in topics))
