"""What the page of a draft and that of a revision have in common: changed judgments, and ranks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task, Topic
from leaderboard.pages.nuggets import facts as answers_facts
from leaderboard.pages.nuggets import revision
from leaderboard.pages.nuggets.facts import AnswersFacts
from leaderboard.pages.revisions import judgment_changes, rank_changes
from leaderboard.pages.revisions.judgment_changes import Changes, GradeChange, TopicChange, TopicMeans
from leaderboard.pages.revisions.rank_changes import RankChange, RankChanges
from leaderboard.services.nuggets import stored
from leaderboard.services.qrels.files import PreparedQrels
from leaderboard.services.tasks.head import OfTask
from leaderboard.tables.record import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedJudgments(OfTask):
    """A set of judgments against the one before it, and what becomes of the runs."""

    """Whether the task is not published yet."""
    number: int
    """Of the revision, or of the one that a draft would be."""
    kind: str
    origin: str
    origin_name: str
    changes: Changes
    ranks: RankChanges | None
    why_no_ranks: str
    topics: Mapping[str, TopicMeans] = field(default_factory=dict)
    of_answers: AnswersFacts | None = None
    """What judgments of answers hold; None for others."""

    @property
    def stem(self) -> str:
        """How the names of its files begin."""
        return f"{self.slug}-revision-{self.number}"


def of_answers(
    session: Session, task: Task, prepared: PreparedQrels, titles: Mapping[str, str]
) -> AnswersFacts | None:
    """What judgments of answers hold, as the task's organisers sent them; None for others."""
    if prepared.kind != "answers":
        return None
    return revision.of_judgments(session, task, stored.opened(prepared.packed), titles)


def titles(session: Session, task: Task) -> dict[str, str]:
    """Topic -> title, in the task's order."""
    rows = session.execute(
        select(Topic.topic_id, Topic.title).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    return {row.topic_id: row.title for row in rows}


def facts(page: ChangedJudgments) -> dict[str, Any]:
    """What both pages say, as plain values at full precision."""
    return {
        "task": page.slug,
        "kind": page.kind,
        "changes": judgment_changes.facts(page.changes),
        **({"answers": answers_facts.facts(page.of_answers)} if page.of_answers is not None else {}),
        "ranks": None if page.ranks is None else rank_changes.facts(page.ranks),
    }


def runs(page: ChangedJudgments) -> Table[RankChange]:
    """The runs before and after, in the new order."""
    by = f" by {page.ranks.measure.key}" if page.ranks else ""
    caption = f"Ranks of the runs of {page.task}{by} before and under qrels revision {page.number}."
    return rank_changes.table(page.ranks, page.stem, caption)


def topics(page: ChangedJudgments) -> Table[TopicChange]:
    """All topics before and after."""
    caption = f"Judgments of {page.task} by topic before and in qrels revision {page.number}."
    by = page.ranks.measure if page.ranks else None
    return judgment_changes.topic_table(page.changes, f"{page.stem}-topics", caption, page.topics, by)


def grades(page: ChangedJudgments) -> Table[GradeChange]:
    """How many judgments have each grade, before and after."""
    caption = f"Judgments of {page.task} by grade before and in qrels revision {page.number}."
    return judgment_changes.grade_table(page.changes, f"{page.stem}-grades", caption)


TABLES: Mapping[str, Callable[[ChangedJudgments], Table[Any]]] = {
    "runs": runs,
    "topics": topics,
    "grades": grades,
}
