"""All rounds of labelling of a task, and what an organiser may choose from to open another."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, LabellingRound, Topic
from leaderboard.errors import NotFound
from leaderboard.services import policy
from leaderboard.services.judging import links
from leaderboard.services.labelling import labels, rounds
from leaderboard.services.labelling.items import KINDS, NUGGETS, size
from leaderboard.services.labelling.rounds import RunChoice
from leaderboard.services.nuggets import stored
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Files, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class RoundRow:
    """A round in the list."""

    number: Annotated[int, Shown(key="round")]
    kind: Annotated[str, Shown("What is made")]
    state: str
    topics: int
    assessors: int
    asked: Annotated[int, Shown("Of")]
    done: int
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundList:
    """The rounds of a task, newest first; has_nuggets: whether there is a nugget set to assign."""

    task: str
    slug: str
    rounds: tuple[RoundRow, ...]
    assessors: dict[int, str]
    """Those whose links work."""
    runs: tuple[RunChoice, ...]
    topics: int
    has_nuggets: bool
    may_change: bool


def round_list(session: Session, viewer: Viewer, slug: str) -> RoundList:
    """All rounds of a task of answers; raises as `own_task`, and NotFound for a task of rankings."""
    task = policy.own_task(session, viewer, slug, policy.knows)
    if task.kind != "answers":
        raise NotFound(f"{task.name} takes rankings, whose documents are judged in pools.")
    found = session.scalars(
        select(LabellingRound).where(LabellingRound.task_id == task.id).order_by(LabellingRound.number.desc())
    ).all()
    judged = stored.newest(session, task.id)
    topics = session.scalar(select(func.count()).select_from(Topic).where(Topic.task_id == task.id))
    return RoundList(
        task=task.name,
        slug=task.slug,
        rounds=tuple(_row(session, here) for here in found),
        assessors=links.able(session, task.id),
        runs=rounds.runs(session, task.id),
        topics=topics or 0,
        has_nuggets=judged is not None and bool(judged.judgments.nuggets.topics),
        may_change=policy.coordinates(viewer, task.id),
    )


def rounds_table(page: RoundList) -> Table[RoundRow]:
    """The rounds of a task."""
    columns = columns_from(RoundRow, "number kind state topics assessors done asked")
    caption = f"Rounds of labelling of {page.task}, newest first"
    return Table(f"{page.slug}-labelling", caption, columns, page.rounds)


def facts(page: RoundList) -> dict[str, Any]:
    """The rounds as plain values."""
    return {"task": page.slug, "rounds": rounds_table(page).facts()}


FILES = Files(facts=facts, tables={"rounds": rounds_table})


def _row(session: Session, here: LabellingRound) -> RoundRow:
    topics = {topic.topic_id: topic for topic in rounds.topics_of(session, here.id)}
    deciding = session.scalars(
        select(Assessor.id).where(Assessor.task_id == here.task_id, Assessor.role == links.ADJUDICATOR)
    ).all()
    shares = [share for share in rounds.shares_of(session, here.id) if share.assessor_id not in deciding]
    if here.kind == NUGGETS:
        asked, done = len(shares), sum(share.done_at is not None for share in shares)
    else:
        asked = sum(size(here, topics[share.topic_id], share) for share in shares)
        done = labels.count(session, here.id)
    return RoundRow(
        number=here.number,
        kind=KINDS[here.kind].title,
        state=here.state,
        topics=len(topics),
        assessors=len({share.assessor_id for share in shares}),
        asked=asked,
        done=done,
        created_at=here.created_at,
    )
