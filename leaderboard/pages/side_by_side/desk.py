"""The organisers' page of runs compared side by side: the pairs, the assessors, every answer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, Run, SideBySide, SideBySidePair, Task, Topic
from leaderboard.pages.side_by_side.results import majorities, outstanding
from leaderboard.services import policy
from leaderboard.services.evaluations.shown import means, shown_edition
from leaderboard.services.judging import links
from leaderboard.services.policy import Viewer
from leaderboard.services.side_by_side import pairs as side_by_side
from leaderboard.services.side_by_side.pairs import Answer, Pair
from leaderboard.stats.assessors.side_by_side import Votes, votes
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from


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
    comparable: Annotated[bool, Shown(key="results", shown=Place.PAGE)]
    """Whether both have scores, so that there is a page that compares them."""


@dataclass(frozen=True, slots=True)
class AssessorRow:
    """An assessor who was asked or can be; asked counts the answers that were asked for so far."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedAnswer:
    """An answer with the names of assessor and runs; in_force unless a later one replaced it."""

    answer: SideBySide
    assessor: str
    left_run: str
    right_run: str
    in_force: bool

    @property
    def preferred_run(self) -> str:
        """The run that is better; empty where neither is."""
        return {"left": self.left_run, "right": self.right_run}.get(self.answer.verdict, "")


@dataclass(frozen=True, slots=True)
class AnswersPage:
    """All answers that a task ever got."""

    task: str
    slug: str
    answers: tuple[LoggedAnswer, ...]


def page(session: Session, viewer: Viewer, slug: str) -> DeskPage:
    """All of a task; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug, policy.reads)
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


def facts(page: DeskPage) -> dict[str, Any]:
    """The pairs as plain values."""
    return {"task": page.slug, "pairs": pairs_table(page).facts()}


def pairs_table(page: DeskPage) -> Table[PairRow]:
    """The pairs of runs that are compared."""
    columns = columns_from(
        PairRow,
        Column("first", lambda row: row.names[0], "First"),
        Column("second", lambda row: row.names[1], "Second"),
        "assessors topics answers outstanding by_topic.wins by_topic.ties by_topic.losses",
        Column(
            "p",
            lambda row: row.by_topic.p,
            words=lambda row: f"{row.by_topic.p:.4f}" if row.answers else None,
            digits=4,
        ),
        "comparable",
        Column("end", lambda row: row.outstanding, "End", shown=Place.PAGE),
    )
    caption = (
        f"{page.task}: runs compared side by side, unlabelled. Wins, ties and losses of the first run count "
        "topics, by the majority of their answers; p is that of the exact sign test over topics."
    )
    return Table(f"{page.slug}-side-by-side", caption, columns, page.pairs)


def assessors_table(page: DeskPage) -> Table[AssessorRow]:
    """The assessors who are asked or can be."""
    columns = columns_from(
        AssessorRow,
        "name asked answered",
        Column("link", lambda row: "works" if row.able else "revoked", "Link"),
    )
    caption = "Assessors of this task, and how many comparisons each was asked for"
    return Table(f"{page.slug}-side-by-side-assessors", caption, columns, page.assessors)


FILES = Files(facts=facts, tables={"pairs": pairs_table, "assessors": assessors_table})


def answers_page(session: Session, viewer: Viewer, slug: str) -> AnswersPage:
    """Every answer that was ever given, in order, also those that a later one replaced."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    runs = _names(session, task)
    rows = session.execute(
        select(SideBySide, Assessor.name)
        .join(Assessor, Assessor.id == SideBySide.assessor_id)
        .where(SideBySide.task_id == task.id)
        .order_by(SideBySide.saved_at, SideBySide.id)
    ).all()
    last = {_place(answer): answer.id for answer, _ in rows if not answer.undone}
    in_force = set(last.values())
    answers = tuple(
        LoggedAnswer(
            answer=answer,
            assessor=name,
            left_run=runs[answer.left_run_id],
            right_run=runs[answer.right_run_id],
            in_force=answer.id in in_force,
        )
        for answer, name in rows
    )
    return AnswersPage(task=task.name, slug=task.slug, answers=answers)


def answers_table(page: AnswersPage) -> Table[LoggedAnswer]:
    """Every answer, in order."""
    columns: list[Column[LoggedAnswer]] = [
        Column("saved_at", _saved_at, "Saved"),
        Column("assessor", lambda row: row.assessor, "Assessor"),
        Column("topic", lambda row: row.answer.topic_id, "Topic"),
        Column("left_run", lambda row: row.left_run, "Left"),
        Column("right_run", lambda row: row.right_run, "Right"),
        Column("verdict", lambda row: row.answer.verdict, "Better"),
        Column("preferred_run", lambda row: row.preferred_run, "Preferred"),
        Column("left_satisfaction", lambda row: row.answer.left_satisfaction, "Satisfaction left", digits=0),
        Column(
            "right_satisfaction", lambda row: row.answer.right_satisfaction, "Satisfaction right", digits=0
        ),
        Column("in_force", lambda row: row.in_force, "In force"),
        Column("note", lambda row: row.answer.note, "Note"),
    ]
    caption = f"{page.task}: every answer to which of two rankings is better, in the order they were given."
    return Table(f"{page.slug}-side-by-side-answers", caption, columns, page.answers)


def answers_facts(page: AnswersPage) -> dict[str, Any]:
    """Every answer as plain values."""
    return {"task": page.slug, "answers": answers_table(page).facts()}


ANSWERS = Files(facts=answers_facts, tables={"answers": answers_table})


def _saved_at(row: LoggedAnswer) -> str:
    return row.answer.saved_at.astimezone(UTC).isoformat(timespec="seconds")


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
    session: Session, task: Task, asked: Sequence[SideBySidePair], given: Sequence[Answer], scored: set[int]
) -> tuple[PairRow, ...]:
    names = _names(session, task)
    of_pair: dict[Pair, list[SideBySidePair]] = {}
    for row in asked:
        of_pair.setdefault((row.first_run_id, row.second_run_id), []).append(row)
    answered: dict[Pair, list[Answer]] = {}
    for answer in given:
        answered.setdefault(answer.pair, []).append(answer)
    return tuple(
        _pair(pair, names, of_pair.get(pair, []), answered.get(pair, []), scored)
        for pair in of_pair | answered
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
        assessors=len({row.assessor_id for row in asked} | {answer.assessor_id for answer in given}),
        topics=len({topic for row in asked for topic in row.topics} | {answer.topic_id for answer in given}),
        answers=len(given),
        outstanding=outstanding(asked, given),
        by_topic=votes(list(majorities(given, pair[0]).values())),
        comparable=scored.issuperset(pair),
    )


def _assessors(
    session: Session, task: Task, asked: Sequence[SideBySidePair], given: Sequence[Answer]
) -> tuple[AssessorRow, ...]:
    able = links.able(session, task.id)
    rows = (
        AssessorRow(
            assessor_id=assessor.id,
            name=assessor.name,
            able=assessor.id in able,
            asked=sum(len(row.topics) for row in asked if row.assessor_id == assessor.id),
            answered=sum(answer.assessor_id == assessor.id for answer in given),
        )
        for assessor in links.of_task(session, task.id)
    )
    return tuple(row for row in rows if row.able or row.asked)
