"""The organiser's page of runs compared side by side: the pairs, who is how far, every answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, Run, SideBySide, SideBySidePair, Task, Topic
from leaderboard.pages.side_by_side.results import majorities, outstanding
from leaderboard.services import policy
from leaderboard.services.assessors import links as assessors
from leaderboard.services.evaluations.shown import means, shown_edition
from leaderboard.services.policy import Viewer
from leaderboard.services.side_by_side import pairs as side_by_side
from leaderboard.services.side_by_side.pairs import Answer, Pair
from leaderboard.stats.assessors.side_by_side import Votes, votes

LOG_HEADER = (
    *("saved_at", "assessor", "topic", "left_run", "right_run", "verdict", "preferred_run"),
    *("left_satisfaction", "right_satisfaction", "in_force", "note"),
)


@dataclass(frozen=True, slots=True)
class PairRow:
    """Two runs and what there is of them so far."""

    run_ids: Pair
    names: tuple[str, str]
    assessors: int
    topics: int
    answers: int
    outstanding: int
    by_topic: Votes
    comparable: bool
    """Whether both have scores, so that there is a page that compares them."""


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """Who was asked or can be; asked counts the answers that were wanted so far."""

    assessor_id: int
    name: str
    able: bool
    """Whether the personal link works."""
    asked: int
    answered: int


@dataclass(frozen=True, slots=True)
class DeskPage:
    """What an organiser sees and may choose from."""

    task: str
    slug: str
    is_open: bool
    """Whether everybody may see scores by topic now, so that finished comparisons are public."""
    pairs: tuple[PairRow, ...]
    assessors: tuple[AssessorRow, ...]
    runs: dict[int, str]
    topics: int
    answers: int


def page(session: Session, viewer: Viewer, slug: str) -> DeskPage:
    """All of a task; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug)
    asked, given = side_by_side.pairs(session, task.id), side_by_side.answers(session, task.id)
    topics = session.scalars(select(Topic.id).where(Topic.task_id == task.id)).all()
    return DeskPage(
        task=task.name,
        slug=task.slug,
        is_open=task.visibility == "open",
        pairs=_pairs(session, task, asked, given, _scored(session, viewer, task)),
        assessors=_assessors(session, task, asked, given),
        runs=side_by_side.comparable_runs(session, task.id),
        topics=len(topics),
        answers=len(given),
    )


def table(found: DeskPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the pairs, for CSV."""
    header = [
        *("first", "second", "assessors", "topics", "answers", "outstanding"),
        *("topics_first", "topics_equal", "topics_second", "p"),
    ]
    return header, [
        [*each.names, each.assessors, each.topics, each.answers, each.outstanding, *each.by_topic]
        for each in found.pairs
    ]


def facts(found: DeskPage) -> dict[str, Any]:
    """The pairs as plain values."""
    header, rows = table(found)
    return {"task": found.slug, "pairs": [dict(zip(header, row, strict=True)) for row in rows]}


def log(session: Session, viewer: Viewer, slug: str) -> tuple[list[str], list[list[Any]]]:
    """Every answer that was ever given, in order, also those that another one took the place of."""
    task = policy.own_task(session, viewer, slug)
    runs = _names(session, task)
    rows = session.execute(
        select(SideBySide, Assessor.name)
        .join(Assessor, Assessor.id == SideBySide.assessor_id)
        .where(SideBySide.task_id == task.id)
        .order_by(SideBySide.saved_at, SideBySide.id)
    ).all()
    last: dict[side_by_side.Place, int] = {}
    for each, _ in rows:
        if not each.undone:
            last[_place(each)] = each.id
    in_force = set(last.values())
    return list(LOG_HEADER), [_logged(each, name, runs, each.id in in_force) for each, name in rows]


def _logged(row: SideBySide, assessor: str, runs: dict[int, str], in_force: bool) -> list[Any]:
    left, right = runs[row.left_run_id], runs[row.right_run_id]
    preferred = {"left": left, "right": right}.get(row.verdict, "")
    return [
        *(row.saved_at.astimezone(UTC).isoformat(timespec="seconds"), assessor, row.topic_id, left, right),
        *(row.verdict, preferred, row.left_satisfaction, row.right_satisfaction, in_force, row.note),
    ]


def _place(row: SideBySide) -> side_by_side.Place:
    return row.assessor_id, row.topic_id, side_by_side.pair_of(row.left_run_id, row.right_run_id)


def _names(session: Session, task: Task) -> dict[int, str]:
    rows = session.execute(select(Run.id, Run.name).where(Run.task_id == task.id))
    return {row.id: row.name for row in rows}


def _scored(session: Session, viewer: Viewer, task: Task) -> set[int]:
    """The runs that have scores now and are not withdrawn."""
    sight = policy.sight_of(session, viewer, task)
    shown = shown_edition(session, task, sight)
    if shown.edition is None:
        return set()
    runs = side_by_side.comparable_runs(session, task.id)
    return set(means(session, shown.edition, sight.topic_set, runs, [task.primary_measure]))


def _pairs(
    session: Session,
    task: Task,
    asked: Sequence[SideBySidePair],
    given: Sequence[Answer],
    scored: set[int],
) -> tuple[PairRow, ...]:
    names = _names(session, task)
    wanted: dict[Pair, list[SideBySidePair]] = {}
    for row in asked:
        wanted.setdefault((row.first_run_id, row.second_run_id), []).append(row)
    answered: dict[Pair, list[Answer]] = {}
    for answer in given:
        answered.setdefault(answer.pair, []).append(answer)
    return tuple(
        _pair(pair, names, wanted.get(pair, []), answered.get(pair, []), scored)
        for pair in {**wanted, **answered}
    )


def _pair(
    pair: Pair,
    names: dict[int, str],
    asked: Sequence[SideBySidePair],
    given: Sequence[Answer],
    scored: set[int],
) -> PairRow:
    return PairRow(
        run_ids=pair,
        names=(names[pair[0]], names[pair[1]]),
        assessors=len({row.assessor_id for row in asked} | {each.assessor_id for each in given}),
        topics=len({topic for row in asked for topic in row.topics} | {each.topic_id for each in given}),
        answers=len(given),
        outstanding=outstanding(asked, given),
        by_topic=votes(list(majorities(given, pair[0]).values())),
        comparable=scored.issuperset(pair),
    )


def _assessors(
    session: Session, task: Task, asked: Sequence[SideBySidePair], given: Sequence[Answer]
) -> tuple[AssessorRow, ...]:
    able = {each.id for each in side_by_side.able(session, task.id)}
    rows = (
        AssessorRow(
            each.id,
            each.name,
            each.id in able,
            sum(len(row.topics) for row in asked if row.assessor_id == each.id),
            sum(answer.assessor_id == each.id for answer in given),
        )
        for each in assessors.of_task(session, task.id)
    )
    return tuple(row for row in rows if row.able or row.asked)
