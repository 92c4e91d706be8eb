"""Labelling rounds: create, close, reopen and look up."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from leaderboard.answers.ops import answers as answers_services
from leaderboard.answers.ops.nuggets import scoring
from leaderboard.core import audit, policy, prose
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import LabellingRound, LabellingShare, LabellingTopic, Phase, Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.labelling.labels import (
    ASSIGNMENTS,
    CLOSED,
    KINDS,
    NUGGETS,
    OPEN,
    SUPPORT,
    topics_by_chance,
)
from leaderboard.scoring.ops.qrels import files
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.sets import Nugget

SECRET_BYTES = 32
GUIDELINE_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """An organiser's plan of a round.

    topics, runs: empty for all topics and all ranked runs. twice: from 0 to 1, the share that two
    assessors label: of each topic's answers, or of the topics for nuggets.
    """

    kind: str
    assessors: tuple[int, ...]
    topics: tuple[str, ...] = ()
    runs: tuple[int, ...] = ()
    twice: float = 0.0
    every_citation: bool = False
    guidelines: str = ""


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A run with answers to label; by default the ranked ones are used."""

    run_id: int
    name: str
    sha256: str
    is_ranked: bool


def own_round(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[Task, LabellingRound]:
    """A round of a task whose assessors the viewer manages; raises as `own_task`."""
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    return task, find(session, task, number)


def seen_round(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[Task, LabellingRound]:
    """A round, readable by every role in its task; raises as `own_round`."""
    task = policy.own_task(session, viewer, slug, policy.knows)
    return task, find(session, task, number)


def find(session: Session, task: Task, number: int) -> LabellingRound:
    """The round with a number; raises NotFound."""
    where = LabellingRound.task_id == task.id, LabellingRound.number == number
    labelling_round = session.scalar(select(LabellingRound).where(*where))
    if labelling_round is None:
        raise NotFound(f"{task.name} has no labelling round {number}.", round=number)
    return labelling_round


def require_answers(task: Task) -> None:
    """Raise Conflict for a ranking task."""
    if task.kind != "answers":
        raise Conflict(f"{task.name} takes rankings. Judge their documents in pools.")


def runs(session: Session, task_id: int) -> tuple[RunChoice, ...]:
    """The runs of a task that are not withdrawn, by name; only one of several runs with the same answers."""
    rows = session.execute(
        select(Run.id, Run.name, Run.ranking_sha256, Run.kind, Phase.ranked)
        .join(Phase, Phase.id == Run.phase_id)
        .where(Run.task_id == task_id, Run.withdrawn_at.is_(None))
        .order_by(Run.name, Run.id)
    )
    return tuple(
        RunChoice(row.id, row.name, row.ranking_sha256, row.kind == "official" and row.ranked) for row in rows
    )


def topics_of(session: Session, round_id: int) -> Sequence[LabellingTopic]:
    """The topics of a round in byte order."""
    return session.scalars(
        select(LabellingTopic).where(LabellingTopic.round_id == round_id).order_by(LabellingTopic.topic_id)
    ).all()


def shares_of(session: Session, round_id: int) -> Sequence[LabellingShare]:
    """Assignments of a round, by topic, the first assessor before the second."""
    return session.scalars(
        select(LabellingShare)
        .where(LabellingShare.round_id == round_id)
        .order_by(LabellingShare.topic_id, LabellingShare.is_second, LabellingShare.assessor_id)
    ).all()


def open_round(session: Session, viewer: Viewer, slug: str, plan: RoundPlan) -> int:
    """Open a round as planned; return its number.

    Raises Invalid naming the field for an invalid plan, Conflict if there is nothing to label.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    require_answers(task)
    offered = runs(session, task.id)
    _check(session, task, plan, offered)
    # Two simultaneous rounds would have the same number.
    lock_row(session, Task, task.id)
    of_task = LabellingRound.task_id == task.id
    last = session.scalar(select(func.max(LabellingRound.number)).where(of_task)) or 0
    labelling_round = LabellingRound(
        task_id=task.id,
        number=last + 1,
        kind=plan.kind,
        revision=_revision(session, task) if plan.kind == ASSIGNMENTS else None,
        every_citation=plan.every_citation and plan.kind == SUPPORT,
        twice=plan.twice,
        secret=secrets.token_bytes(SECRET_BYTES),
        guidelines=plan.guidelines.strip(),
        created_at=now(session),
    )
    topics = list(_topics(session, task, plan, _chosen(plan, offered)))
    if not topics:
        raise Conflict(f"There is nothing to label: {_WHY_NOTHING[plan.kind]}")
    session.add(labelling_round)
    session.flush()
    for topic in topics:
        topic.round_id = labelling_round.id
    session.add_all(topics)
    session.flush()
    _share_out(session, labelling_round, [topic.topic_id for topic in topics], plan)
    facts = {"kind": plan.kind, "topics": len(topics), "assessors": list(plan.assessors)}
    audit.record(session, viewer, "labelling.open", f"labelling:{labelling_round.id}", task=slug, **facts)
    return labelling_round.number


_WHY_NOTHING: dict[str, str] = {
    NUGGETS: "no run answers any of these topics.",
    ASSIGNMENTS: "no run answers a topic that has nuggets.",
    SUPPORT: "no run cites anything on these topics.",
}


def change(session: Session, viewer: Viewer, slug: str, number: int, state: str) -> None:
    """Close or reopen a round; raises Conflict if it already has that state, Invalid for an unknown state."""
    _, labelling_round = own_round(session, viewer, slug, number)
    # The state is read again under the lock: two simultaneous clicks change it once.
    lock_row(session, LabellingRound, labelling_round.id)
    if state not in (OPEN, CLOSED):
        raise Invalid(f"A round must be {OPEN} or {CLOSED}, not {state[:20]!r}.")
    if labelling_round.state == state:
        raise Conflict(f"Round {number} is already {state}.")
    labelling_round.state = state
    audit.record(session, viewer, f"labelling.{state}", f"labelling:{labelling_round.id}", task=slug)


def _revision(session: Session, task: Task) -> int:
    newest = files.newest(session, task.id)
    if newest is None:
        raise Conflict(
            "There are no nuggets to assign yet. Publish a nugget set, or open a round of nuggets first."
        )
    return newest.number


def _chosen(plan: RoundPlan, offered: Sequence[RunChoice]) -> list[RunChoice]:
    """The runs of the plan, without duplicates of the same answers."""
    chosen = [run for run in offered if (run.run_id in plan.runs if plan.runs else run.is_ranked)]
    return list({run.sha256: run for run in reversed(chosen)}.values())


def _topics(
    session: Session, task: Task, plan: RoundPlan, chosen: Sequence[RunChoice]
) -> Iterator[LabellingTopic]:
    """The topics with items, each with its answers."""
    nuggets = {}
    if plan.kind == ASSIGNMENTS:
        judged = scoring.newest(session, task.id)
        nuggets = judged.judgments.nuggets.topics if judged is not None else {}
    answered = answers_services.topics_of(session, [run.run_id for run in chosen])
    topic_ids = session.scalars(
        select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position)
    )
    for topic in [topic for topic in topic_ids if topic in answered and topic in (plan.topics or answered)]:
        given = nuggets.get(topic, ())
        by_run = answers_services.of_topic_in(session, [run.run_id for run in chosen], topic)
        counts = {run_id: _labels(plan, answer, given) for run_id, answer in by_run}
        if plan.kind == NUGGETS or any(map(sum, counts.values())):
            answers = [{"run": run_id, "labels": labels} for run_id, labels in counts.items()]
            listed = [{"text": nugget.text, "importance": nugget.importance} for nugget in given]
            yield LabellingTopic(topic_id=topic, nuggets=listed, answers=answers)


def _labels(plan: RoundPlan, answer: Answer, nuggets: Sequence[Nugget]) -> list[int]:
    """Number of labels for each place of an answer."""
    if plan.kind == NUGGETS:
        return []
    if plan.kind == ASSIGNMENTS:
        return [1] * len(nuggets)
    most = None if plan.every_citation else 1
    return [len(segment.citations[:most]) for segment in answer.segments]


def _share_out(session: Session, here: LabellingRound, topics: Sequence[str], plan: RoundPlan) -> None:
    """Assign every topic to one assessor, and overlapping ones to the next as second assessor."""
    drawn = topics_by_chance(here.secret, topics)
    twice = drawn if plan.kind != NUGGETS else drawn[: ceil(round(plan.twice * len(drawn), 9))]
    rows = [
        {"topic_id": topic, "assessor_id": person, "is_second": False}
        for person, mine in judging.shared_out(drawn, plan.assessors, 1).items()
        for topic in mine
    ]
    if plan.twice > 0:
        turned = (*plan.assessors[1:], plan.assessors[0])
        rows += [
            {"topic_id": topic, "assessor_id": person, "is_second": True}
            for person, mine in judging.shared_out(drawn, turned, 1).items()
            for topic in mine
            if topic in twice
        ]
    session.execute(insert(LabellingShare), [{"round_id": here.id, "done_at": None, **row} for row in rows])


def _check(session: Session, task: Task, plan: RoundPlan, offered: Sequence[RunChoice]) -> None:
    problems = [
        *judging.unknown("kind", [plan.kind], KINDS, "Choose a round type."),
        *judging.unknown(
            "run", plan.runs, {run.run_id for run in offered}, "Choose runs that are not withdrawn."
        ),
        *judging.unknown_topics(session, task.id, plan.topics),
        *judging.unknown_people(session, task.id, plan.assessors),
        *_wrong(plan),
    ]
    if problems:
        raise Invalid("The round cannot be opened.", problems)


def _wrong(plan: RoundPlan) -> Iterator[Problem]:
    yield from judging.missing_people(plan.assessors)
    if not 0 <= plan.twice <= 1:
        yield Problem("must be from 0 to 100 percent.", "Write 20 for a fifth.", field="twice")
    elif plan.twice > 0 and len(plan.assessors) == 1:
        yield Problem("needs two assessors.", "Choose two assessors, or enter 0.", field="twice")
    if len(plan.guidelines) > GUIDELINE_CHARACTERS:
        rule = f"may have at most {GUIDELINE_CHARACTERS:,} characters."
        yield Problem(rule, "Shorten the guidelines.", field="guidelines")
    elif rule := prose.broken_rule(plan.guidelines):
        yield Problem(rule, "Write them more simply.", field="guidelines")


def _of_answers(session: Session, viewer: Viewer, slug: str) -> None:
    require_answers(policy.own_task(session, viewer, slug, policy.coordinates))


ADD_ASSESSORS = judging.adding(
    "add_labelling_assessors",
    form="/tasks/<slug>/labelling/assessors",
    page="labelling.index",
    may=_of_answers,
)
