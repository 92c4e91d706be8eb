"""Rounds of labelling: what is made, of which topics and runs, by whom; opened, closed, found again."""

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from sqlalchemy import func, insert, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import LabellingRound, LabellingShare, LabellingTopic, Phase, Run, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.services import answers as answers_services
from leaderboard.services import audit, judging, policy, prose
from leaderboard.services.labelling.labels import (
    ASSIGNMENTS,
    CLOSED,
    KINDS,
    NUGGETS,
    OPEN,
    SUPPORT,
    topics_by_chance,
)
from leaderboard.services.nuggets import scoring
from leaderboard.services.policy import Viewer
from leaderboard.services.qrels import files
from leaderboard.trec.answers.record import Answer
from leaderboard.trec.nuggets.sets import Nugget

SECRET_BYTES = 32
GUIDELINE_CHARACTERS = 20_000


@dataclass(frozen=True, slots=True)
class RoundPlan:
    """What an organiser asks for.

    topics, runs: all of them where empty, of the runs the ranked ones. twice: from 0 to 1, the share that two
    assessors have: of each topic's answers, or of the topics where nuggets are made.
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
    """A run whose answers can be labelled; ranked ones are taken where nothing is said."""

    run_id: int
    name: str
    sha256: str
    is_ranked: bool


def own_round(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[Task, LabellingRound]:
    """The round of a task whose assessors the viewer looks after; raises as `own_task` does."""
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    return task, find(session, task, number)


def seen_round(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[Task, LabellingRound]:
    """The round as whoever has a role in its task may look at it; raises as `own_round` does."""
    task = policy.own_task(session, viewer, slug, policy.knows)
    return task, find(session, task, number)


def find(session: Session, task: Task, number: int) -> LabellingRound:
    """The round of that number; raises NotFound."""
    where = LabellingRound.task_id == task.id, LabellingRound.number == number
    found = session.scalar(select(LabellingRound).where(*where))
    if found is None:
        raise NotFound(f"{task.name} has no round {number} of labelling.", round=number)
    return found


def require_answers(task: Task) -> None:
    """Raise Conflict for a task of rankings."""
    if task.kind != "answers":
        raise Conflict(f"{task.name} takes rankings, whose documents are judged in pools.")


def runs(session: Session, task_id: int) -> tuple[RunChoice, ...]:
    """The runs of a task that are not withdrawn, by name; of several with the same answers one is enough."""
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
    """Who has which topic of a round; by topic, the first assessor before the second."""
    return session.scalars(
        select(LabellingShare)
        .where(LabellingShare.round_id == round_id)
        .order_by(LabellingShare.topic_id, LabellingShare.is_second, LabellingShare.assessor_id)
    ).all()


def open_round(session: Session, viewer: Viewer, slug: str, plan: RoundPlan) -> int:
    """Have assessors make what the plan says; the number of the round.

    Raises Invalid naming the field for a plan that cannot be, Conflict where there is nothing to label.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    require_answers(task)
    offered = runs(session, task.id)
    _check(session, task, plan, offered)
    # Two rounds at once would have the same number.
    lock_row(session, Task, task.id)
    of_task = LabellingRound.task_id == task.id
    last = session.scalar(select(func.max(LabellingRound.number)).where(of_task)) or 0
    made = LabellingRound(
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
    session.add(made)
    session.flush()
    for topic in topics:
        topic.round_id = made.id
    session.add_all(topics)
    session.flush()
    _share_out(session, made, [topic.topic_id for topic in topics], plan)
    facts = {"kind": plan.kind, "topics": len(topics), "assessors": list(plan.assessors)}
    audit.record(session, viewer, "labelling.open", f"labelling:{made.id}", task=slug, **facts)
    return made.number


_WHY_NOTHING: dict[str, str] = {
    NUGGETS: "no run answers any of these topics.",
    ASSIGNMENTS: "no run answers a topic that has nuggets.",
    SUPPORT: "no run cites anything on these topics.",
}


def change(session: Session, viewer: Viewer, slug: str, number: int, state: str) -> None:
    """Close a round, or open it again; raises Conflict where it is so already, Invalid for another state."""
    _, here = own_round(session, viewer, slug, number)
    # Its state is read again behind the lock: two clicks at once change it once.
    lock_row(session, LabellingRound, here.id)
    if state not in (OPEN, CLOSED):
        raise Invalid(f"A round is {OPEN} or {CLOSED}, not {state[:20]!r}.")
    if here.state == state:
        raise Conflict(f"Round {number} is {state} already.")
    here.state = state
    audit.record(session, viewer, f"labelling.{state}", f"labelling:{here.id}", task=slug)


def _revision(session: Session, task: Task) -> int:
    newest = files.newest(session, task.id)
    if newest is None:
        raise Conflict(
            "There are no nuggets to assign yet: publish a nugget set first, or have one made here."
        )
    return newest.number


def _chosen(plan: RoundPlan, offered: Sequence[RunChoice]) -> list[RunChoice]:
    """The runs of the plan, one of those that say the same."""
    wanted = [run for run in offered if (run.run_id in plan.runs if plan.runs else run.is_ranked)]
    return list({run.sha256: run for run in reversed(wanted)}.values())


def _topics(
    session: Session, task: Task, plan: RoundPlan, chosen: Sequence[RunChoice]
) -> Iterator[LabellingTopic]:
    """The topics with something to label, each with what there is."""
    nuggets = {}
    if plan.kind == ASSIGNMENTS:
        judged = scoring.newest(session, task.id)
        nuggets = judged.judgments.nuggets.topics if judged is not None else {}
    answered = answers_services.topics_of(session, [run.run_id for run in chosen])
    known = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position))
    for topic in [topic for topic in known if topic in answered and topic in (plan.topics or answered)]:
        given = nuggets.get(topic, ())
        said = answers_services.of_topic_in(session, [run.run_id for run in chosen], topic)
        counts = {run_id: _labels(plan, answer, given) for run_id, answer in said}
        if plan.kind == NUGGETS or any(map(sum, counts.values())):
            answers = [{"run": run_id, "labels": labels} for run_id, labels in counts.items()]
            listed = [{"text": nugget.text, "importance": nugget.importance} for nugget in given]
            yield LabellingTopic(topic_id=topic, nuggets=listed, answers=answers)


def _labels(plan: RoundPlan, answer: Answer, nuggets: Sequence[Nugget]) -> list[int]:
    """How many labels each place of an answer gets."""
    if plan.kind == NUGGETS:
        return []
    if plan.kind == ASSIGNMENTS:
        return [1] * len(nuggets)
    most = None if plan.every_citation else 1
    return [len(segment.citations[:most]) for segment in answer.segments]


def _share_out(session: Session, made: LabellingRound, topics: Sequence[str], plan: RoundPlan) -> None:
    """Every topic to one assessor, and to the next one as the second where something is made twice."""
    drawn = topics_by_chance(made.secret, topics)
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
    session.execute(insert(LabellingShare), [{"round_id": made.id, "done_at": None, **row} for row in rows])


def _check(session: Session, task: Task, plan: RoundPlan, offered: Sequence[RunChoice]) -> None:
    problems = [
        *judging.unknown("kind", [plan.kind], KINDS, "Choose what is made."),
        *judging.unknown(
            "run", plan.runs, {run.run_id for run in offered}, "Choose runs that are not withdrawn."
        ),
        *judging.unknown_topics(session, task.id, plan.topics),
        *judging.unknown_people(session, task.id, plan.assessors),
        *_wrong(plan),
    ]
    if problems:
        raise Invalid("The round cannot be opened like this.", problems)


def _wrong(plan: RoundPlan) -> Iterator[Problem]:
    yield from judging.missing_people(plan.assessors)
    if not 0 <= plan.twice <= 1:
        yield Problem("must be from 0 to 100 percent.", "Write 20 for a fifth.", field="twice")
    elif plan.twice > 0 and len(plan.assessors) == 1:
        yield Problem("takes two assessors.", "Choose two, or write 0.", field="twice")
    if len(plan.guidelines) > GUIDELINE_CHARACTERS:
        rule = f"may have at most {GUIDELINE_CHARACTERS:,} characters."
        yield Problem(rule, "Shorten them.", field="guidelines")
    elif rule := prose.broken_rule(plan.guidelines):
        yield Problem(rule, "Write them more simply.", field="guidelines")
