"""What people prefer of two runs: wins, ties, losses with a sign test, and how satisfied they are."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, SideBySidePair, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.services import policy, shown_names
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.side_by_side import pairs
from leaderboard.services.side_by_side.pairs import Answer, Pair, pair_of
from leaderboard.stats.assessors.side_by_side import Mean, Satisfaction, Votes, majority, satisfaction, votes
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from
from leaderboard.tables.words import counted

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
    """Answers that are still to come."""

    @property
    def tables(self) -> dict[str, Table[Any]]:
        """The tables by their names."""
        return {name: make(self) for name, make in TABLES.items()}


class Count(NamedTuple):
    """What was counted, and how to read it."""

    counted: str
    votes: Votes
    meaning: str


class Rating(NamedTuple):
    """The mean satisfaction with a run, or the difference of two."""

    name: Annotated[str, Shown(key="with")]
    mean: Mean
    is_difference: bool = False


def results(
    session: Session, viewer: Viewer, task: Task, sight: Sight, first: int, second: int
) -> Results | None:
    """The results of two runs; None without an answer, or where they are not for this viewer (yet).

    Organisers always see them. Others do where scores by topic are shown to them, once no answer is
    outstanding: an assessor who still has to answer must not know what the others said.
    """
    pair = pair_of(first, second)
    given = pairs.answers(session, task.id, pair)
    if not given or not sight.details:
        return None
    left = outstanding(pairs.pairs(session, task.id, pair), given)
    if left and not sight.organises:
        return None
    rows = session.execute(select(Run.id, Run.name).where(Run.task_id == task.id, Run.id.in_(pair)))
    known = shown_names.shown_names(session, viewer, task)
    names = {row.id: known.run(row.id, row.name) for row in rows}
    topics = _by_topic(session, task, given, first)
    means = [topic.satisfaction for topic in topics]
    return Results(
        task=task.name,
        slug=task.slug,
        run_ids=(first, second),
        names=(names[first], names[second]),
        topics=topics,
        by_topic=votes([topic.sign for topic in topics]),
        by_answer=votes([sign(answer, first) for answer in given]),
        by_side=votes([sign(answer, answer.left_run_id) for answer in given]),
        satisfaction=satisfaction([one for one, _ in means], [two for _, two in means]),
        answers=len(given),
        assessors=len({answer.assessor_id for answer in given}),
        outstanding=left,
    )


def results_of(session: Session, viewer: Viewer, slug: str, first: int, second: int) -> Results:
    """The results of two runs of a task; raises NotFound where there are none for this viewer."""
    task, sight = policy.visible_task(session, viewer, slug)
    page = results(session, viewer, task, sight, first, second) if first != second else None
    if page is None:
        raise NotFound(f"Nobody has compared these two runs of {task.name} side by side.")
    return page


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
    return {topic: majority(of_topic) for topic, of_topic in signs.items()}


def outstanding(asked: Sequence[SideBySidePair], given: Sequence[Answer]) -> int:
    """How many answers are still to come."""
    answered = {answer.place for answer in given}
    places = (
        (row.assessor_id, topic, (row.first_run_id, row.second_run_id))
        for row in asked
        for topic in row.topics
    )
    return sum(place not in answered for place in places)


def facts(page: Results) -> dict[str, Any]:
    """The results as plain values at full precision."""
    return {
        "task": page.slug,
        "a": {"run": page.names[0], "run_id": page.run_ids[0]},
        "b": {"run": page.names[1], "run_id": page.run_ids[1]},
        "answers": page.answers,
        "assessors": page.assessors,
        "outstanding": page.outstanding,
        "by_topic": page.by_topic._asdict(),
        "by_answer": page.by_answer._asdict(),
        "left_or_right": page.by_side._asdict(),
        "satisfaction": {
            name: {"mean": mean.value, "low": mean.low, "high": mean.high}
            for name, mean in zip(("a", "b", "difference"), page.satisfaction, strict=True)
        },
        "topics": {
            topic.topic_id: {
                "a": topic.first,
                "equal": topic.equal,
                "b": topic.second,
                "satisfaction": list(topic.satisfaction),
            }
            for topic in page.topics
        },
    }


def topics_table(page: Results) -> Table[TopicAnswers]:
    """The answers by topic."""
    one, two = page.names
    columns: list[Column[TopicAnswers]] = [
        Column("topic", lambda row: row.topic_id, "Topic"),
        Column("title", lambda row: row.title, "Title", shown=~Place.PRINT),
        Column(f"for {one}", lambda row: row.first, f"For {one}", digits=0),
        Column("equal", lambda row: row.equal, "Equal", digits=0),
        Column(f"for {two}", lambda row: row.second, f"For {two}", digits=0),
        Column("preferred", lambda row: preferred(page, row), "Preferred", shown=~Place.PAGE),
        Column(f"satisfaction with {one}", lambda row: row.satisfaction[0], f"Satisfaction {one}", digits=2),
        Column(f"satisfaction with {two}", lambda row: row.satisfaction[1], f"Satisfaction {two}", digits=2),
    ]
    test, means = page.by_topic, page.satisfaction
    caption = (
        f"{page.task}: {one} and {two} side by side, unlabelled; answers of {page.assessors} assessors: "
        f"{page.answers}, topics: {len(page.topics)}. {one} is preferred on {test.wins} topics, {two} on "
        f"{test.losses}, neither on {test.ties} (exact sign test over topics, p = {test.p:.4f}). "
        f"Satisfaction from 0 to 4: {means.first.value:.2f} and {means.second.value:.2f}."
    )
    return Table(_name(page), caption, columns, page.topics)


def counts_table(page: Results) -> Table[Count]:
    """Wins, ties and losses, by topic and by answer."""
    rows = [
        Count("Topics", page.by_topic, "The one to read: topics are independent of each other"),
        Count(
            "Answers",
            page.by_answer,
            "Answers on the same topic are not independent, so this p is too small where topics have several",
        ),
    ]
    one, two = page.names
    columns: list[Column[Count]] = [
        Column("counted", lambda row: row.counted, "What is counted"),
        Column("first", lambda row: row.votes.wins, one, digits=0),
        Column("equal", lambda row: row.votes.ties, "Equal", digits=0),
        Column("second", lambda row: row.votes.losses, two, digits=0),
        Column("p", lambda row: row.votes.p, digits=4),
        Column("meaning", lambda row: row.meaning, "How to read it", shown=Place.PAGE),
    ]
    caption = (
        f"{counted(page.answers, 'answer')} of {counted(page.assessors, 'assessor')} who saw the first ten "
        "documents of both, unlabelled, left or right by a coin. A topic counts for the run that more of its "
        "answers prefer. Ties are left out of the test."
    )
    return Table(f"{_name(page)}-counts", caption, columns, rows)


def satisfaction_table(page: Results) -> Table[Rating]:
    """How satisfied people are with either run, and the difference."""
    rows = [
        Rating(page.names[0], page.satisfaction.first),
        Rating(page.names[1], page.satisfaction.second),
        Rating("Difference", page.satisfaction.difference, is_difference=True),
    ]
    columns = columns_from(
        Rating,
        "name mean.value mean.low",
        Column("low", lambda row: row.mean.low, "From", digits=2, shown=~Place.PAGE),
        "mean.high",
    )
    topics = counted(len(page.topics), "topic")
    scale = "Satisfaction from 0 (not at all) to 4 (fully)"
    caption = f"{scale}: means over {topics} with 95% t intervals. Higher is better."
    return Table(f"{_name(page)}-satisfaction", caption, columns, rows)


TABLES: Mapping[str, Callable[[Results], Table[Any]]] = {
    "topics": topics_table,
    "counts": counts_table,
    "satisfaction": satisfaction_table,
}
FILES = Files(facts=facts, tables=TABLES)


def preferred(page: Results, topic: TopicAnswers) -> str:
    """The name of the run that most answers on a topic prefer, `equal` where neither has more."""
    return {1: page.names[0], -1: page.names[1]}.get(topic.sign, "equal")


def _name(page: Results) -> str:
    return f"{page.names[0]}-{page.names[1]}-side-by-side"


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
    signs = [sign(answer, first) for answer in given]
    rated = [_rated(answer, first) for answer in given]
    return TopicAnswers(
        topic_id=topic_id,
        title=title,
        first=signs.count(1),
        equal=signs.count(0),
        second=signs.count(-1),
        sign=majority(signs),
        satisfaction=(sum(one for one, _ in rated) / len(rated), sum(two for _, two in rated) / len(rated)),
    )


def _rated(answer: Answer, first: int) -> tuple[int, int]:
    """Satisfaction with the first run and with the second."""
    left, right = answer.left_satisfaction, answer.right_satisfaction
    return (left, right) if answer.left_run_id == first else (right, left)
