"""What people prefer of two runs: wins, ties, losses with a sign test, and how satisfied they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, SideBySidePair, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import policy
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.side_by_side import pairs
from leaderboard.services.side_by_side.pairs import Answer, Pair, pair_of
from leaderboard.stats.assessors.side_by_side import Mean, Satisfaction, Votes, majority, satisfaction, votes

LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, slots=True)
class TopicAnswers:
    """What was answered on one topic."""

    topic_id: str
    title: str
    first: int
    equal: int
    second: int
    sign: int
    """1 where more answers are for the first run, -1 for the second, 0 for neither."""
    satisfaction: tuple[float, float]
    """Means over the answers."""


@dataclass(frozen=True, eq=False)
class Results:
    """Two runs as people prefer them."""

    task: str
    slug: str
    run_ids: Pair
    names: tuple[str, str]
    topics: tuple[TopicAnswers, ...]
    """In the task's order."""
    by_topic: Votes
    by_answer: Votes
    by_side: Votes
    """The left one against the right one, whichever run it was."""
    satisfaction: Satisfaction
    answers: int
    assessors: int
    outstanding: int
    """Answers that are still wanted."""


def results(session: Session, task: Task, sight: Sight, first: int, second: int) -> Results | None:
    """The results of two runs; None without an answer, or where they are not for this viewer (yet).

    Organisers always see them. Others do where scores by topic are shown to them, once no answer is
    outstanding: who still has to answer must not know what the others said.
    """
    pair = pair_of(first, second)
    given = pairs.answers(session, task.id, pair)
    if not given or not sight.details:
        return None
    left = outstanding(pairs.pairs(session, task.id, pair), given)
    if left and not sight.organises:
        return None
    rows = session.execute(select(Run.id, Run.name).where(Run.task_id == task.id, Run.id.in_(pair)))
    names = {row.id: row.name for row in rows}
    topics = _by_topic(session, task, given, first)
    means = [each.satisfaction for each in topics]
    return Results(
        task=task.name,
        slug=task.slug,
        run_ids=(first, second),
        names=(names[first], names[second]),
        topics=topics,
        by_topic=votes([each.sign for each in topics]),
        by_answer=votes([sign(each, first) for each in given]),
        by_side=votes([sign(each, each.left_run_id) for each in given]),
        satisfaction=satisfaction([one for one, _ in means], [two for _, two in means]),
        answers=len(given),
        assessors=len({each.assessor_id for each in given}),
        outstanding=left,
    )


def results_of(session: Session, viewer: Viewer, slug: str, first: int, second: int) -> Results:
    """The results of two runs of a task; raises NotFound where there are none for this viewer."""
    task, sight = policy.visible_task(session, viewer, slug)
    found = results(session, task, sight, first, second) if first != second else None
    if found is None:
        raise NotFound(f"Nobody has compared these two runs of {task.name} side by side.")
    return found


def sign(answer: Answer, run_id: int) -> int:
    """1 where the answer prefers that run, -1 where it prefers the other, 0 where neither."""
    if answer.verdict not in (LEFT, RIGHT):
        return 0
    preferred = answer.left_run_id if answer.verdict == LEFT else answer.right_run_id
    return 1 if preferred == run_id else -1


def majorities(given: Sequence[Answer], run_id: int) -> dict[str, int]:
    """Topic -> 1 where most of its answers prefer that run, -1 the other one, 0 neither."""
    signs: dict[str, list[int]] = {}
    for answer in given:
        signs.setdefault(answer.topic_id, []).append(sign(answer, run_id))
    return {topic: majority(each) for topic, each in signs.items()}


def outstanding(asked: Sequence[SideBySidePair], given: Sequence[Answer]) -> int:
    """How many of the answers that are wanted are not there."""
    there = {each.place for each in given}
    wanted = (
        (row.assessor_id, topic, (row.first_run_id, row.second_run_id))
        for row in asked
        for topic in row.topics
    )
    return sum(place not in there for place in wanted)


def facts(found: Results) -> dict[str, Any]:
    """The results as plain values at full precision."""
    return {
        "task": found.slug,
        "a": {"run": found.names[0], "run_id": found.run_ids[0]},
        "b": {"run": found.names[1], "run_id": found.run_ids[1]},
        "answers": found.answers,
        "assessors": found.assessors,
        "outstanding": found.outstanding,
        "by_topic": found.by_topic._asdict(),
        "by_answer": found.by_answer._asdict(),
        "left_or_right": found.by_side._asdict(),
        "satisfaction": {
            name: _interval(mean)
            for name, mean in zip(("a", "b", "difference"), found.satisfaction, strict=True)
        },
        "topics": {
            each.topic_id: {
                "a": each.first,
                "equal": each.equal,
                "b": each.second,
                "satisfaction": list(each.satisfaction),
            }
            for each in found.topics
        },
    }


def table(found: Results) -> tuple[list[str], list[list[Any]]]:
    """Header and rows by topic, for CSV."""
    one, two = found.names
    header = [
        *("topic", "title", f"for {one}", "equal", f"for {two}", "preferred"),
        *(f"satisfaction with {name}" for name in found.names),
    ]
    return header, [
        [
            *(each.topic_id, each.title, each.first, each.equal, each.second, preferred(found, each)),
            *each.satisfaction,
        ]
        for each in found.topics
    ]


def preferred(found: Results, topic: TopicAnswers) -> str:
    """The name of the run that most answers on a topic prefer, `equal` where neither has more."""
    return {1: found.names[0], -1: found.names[1]}.get(topic.sign, "equal")


def _interval(mean: Mean) -> dict[str, float | None]:
    return {"mean": mean.value, "low": mean.low, "high": mean.high}


def _by_topic(session: Session, task: Task, given: Sequence[Answer], first: int) -> tuple[TopicAnswers, ...]:
    by_topic: dict[str, list[Answer]] = {}
    for answer in given:
        by_topic.setdefault(answer.topic_id, []).append(answer)
    rows = session.execute(
        select(Topic.topic_id, Topic.title)
        .where(Topic.task_id == task.id, Topic.topic_id.in_(by_topic))
        .order_by(Topic.position)
    )
    return tuple(_topic(row.topic_id, row.title, by_topic[row.topic_id], first) for row in rows)


def _topic(topic_id: str, title: str, given: Sequence[Answer], first: int) -> TopicAnswers:
    signs = [sign(each, first) for each in given]
    rated = [_rated(each, first) for each in given]
    return TopicAnswers(
        topic_id,
        title,
        signs.count(1),
        signs.count(0),
        signs.count(-1),
        majority(signs),
        (sum(one for one, _ in rated) / len(rated), sum(two for _, two in rated) / len(rated)),
    )


def _rated(answer: Answer, first: int) -> tuple[int, int]:
    """Satisfaction with the first run and with the second."""
    left, right = answer.left_satisfaction, answer.right_satisfaction
    return (left, right) if answer.left_run_id == first else (right, left)
