"""A revision's nuggets and labels as files, with runs by the names that their reader knows."""

from collections import Counter
from collections.abc import Iterator

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.errors import NotFound
from leaderboard.services import shown_names
from leaderboard.services.boards.rows import of_phase
from leaderboard.services.policy import Sight, Viewer
from leaderboard.trec.nuggets.packing import PARTS, PackedAnswers
from leaderboard.trec.nuggets.writing import lines_of

ALL = "qrels"
"""The word that stands for all judgments of any revision."""


def text_of(
    session: Session, viewer: Viewer, task: Task, sight: Sight, judged: PackedAnswers, part: str
) -> str:
    """A part of the judgments as JSON lines, or all parts one after the other; raises NotFound for others.

    Labels are of runs that are not withdrawn, in the phase that is seen; organisers have all phases'.
    """
    there = [each for each in PARTS if each in judged.made_by]
    asked = there if part == ALL else [each for each in there if each == part]
    if not asked:
        raise NotFound(f"This revision has no {part}. It has {' and '.join(there)}: ask for one of these.")
    names = dict(_names(session, viewer, task, sight))
    return "".join(line for each in asked for line in lines_of(judged.judgments, each, names))


def _names(session: Session, viewer: Viewer, task: Task, sight: Sight) -> Iterator[tuple[str, str]]:
    """Digest of answers -> the first run that has them, with its team where the name is of several runs."""
    names = shown_names.shown_names(session, viewer, task)
    phases = () if sight.organises else of_phase(sight)
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
