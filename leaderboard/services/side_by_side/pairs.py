"""Two unlabelled rankings of one topic beside each other: who is asked what, and which of them is left."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Run, SideBySide, SideBySidePair, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.services import audit, kinds, policy
from leaderboard.services.judging import log, shares
from leaderboard.services.policy import Viewer

MOST_RUNS = 50
"""Runs that one run is compared with at once."""
SECRET_BYTES = 32

Pair = tuple[int, int]
"""Ids of two runs, the smaller first: the order in which pairs are stored."""
Place = tuple[int, str, Pair]
"""An assessor's id, a topic and a pair: what has one answer in force."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """What an organiser asks for: a run against others, on topics, by assessors.

    topics: all where empty. sample: how many of them, drawn at random; all where None. each: how many of the
    assessors are asked about each topic; all where None.
    """

    run: int
    others: tuple[int, ...]
    assessors: tuple[int, ...]
    topics: tuple[str, ...] = ()
    sample: int | None = None
    each: int | None = None


class Answer(NamedTuple):
    """An answer in force."""

    assessor_id: int
    topic_id: str
    left_run_id: int
    right_run_id: int
    verdict: str
    left_satisfaction: int
    right_satisfaction: int
    note: str

    @property
    def pair(self) -> Pair:
        """The two runs."""
        return pair_of(self.left_run_id, self.right_run_id)

    @property
    def place(self) -> Place:
        """What was answered, by whom."""
        return self.assessor_id, self.topic_id, self.pair


def pair_of(one: int, other: int) -> Pair:
    """Two runs in the order in which pairs are stored."""
    return min(one, other), max(one, other)


def secret(task: Task) -> bytes:
    """What the coins of a task are tossed with; nobody without it can tell left from right."""
    assert task.click_key is not None, "made with the first pair"
    return task.click_key


def digest(key: bytes, pair: Pair, topic_id: str, assessor_id: int) -> str:
    """The name by which an assessor's page is known: it tells nothing of the runs, and stays the same.

    >>> digest(b"key", (1, 2), "t", 3) == digest(b"key", (1, 2), "t", 3) != digest(b"key", (1, 3), "t", 3)
    True
    """
    return shares.keyed(key, "side by side", *pair, assessor_id, topic_id).hex()


def left_first(key: bytes, pair: Pair, topic_id: str, assessor_id: int) -> bool:
    """The coin: whether the first run of the pair is on the left; the same whenever it is tossed."""
    return shares.keyed(key, "coin", *pair, assessor_id, topic_id, size=1)[0] < 128


def ask(session: Session, viewer: Viewer, slug: str, request: ComparisonRequest) -> int:
    """Have assessors compare runs; how many answers are asked for now that were not before.

    Raises Invalid naming the field for a choice that cannot be, Conflict where neither run has a ranking.
    """
    task = policy.own_task(session, viewer, slug)
    _check(session, task, request)
    if task.click_key is None:
        task.click_key = secrets.token_bytes(SECRET_BYTES)
    asked = 0
    for other in request.others:
        pair = pair_of(request.run, other)
        asked += _ask_pair(session, task, pair, request)
    audit.record(
        session,
        viewer,
        "side_by_side.ask",
        f"run:{request.run}",
        task=slug,
        others=list(request.others),
        assessors=list(request.assessors),
        answers=asked,
    )
    return asked


def end(session: Session, viewer: Viewer, slug: str, one: int, other: int) -> int:
    """Ask for nothing more of a pair; how many answers are no longer asked for. What was answered stays.

    Raises NotFound where the pair is not compared.
    """
    task, pair = policy.own_task(session, viewer, slug), pair_of(one, other)
    rows = pairs(session, task.id, pair)
    if not rows:
        raise NotFound(f"These two runs of {task.name} are not compared side by side.")
    answered = {answer.place for answer in answers(session, task.id, pair)}
    ended = 0
    for row in rows:
        kept = [topic for topic in row.topics if (row.assessor_id, topic, pair) in answered]
        ended += len(row.topics) - len(kept)
        if kept:
            row.topics = kept
        else:
            session.delete(row)
    audit.record(session, viewer, "side_by_side.end", f"run:{pair[0]}", task=slug, other=pair[1], ended=ended)
    return ended


def pairs(session: Session, task_id: int, pair: Pair | None = None) -> Sequence[SideBySidePair]:
    """Who is asked to compare what in a task, or one pair of it."""
    query = select(SideBySidePair).where(SideBySidePair.task_id == task_id)
    if pair is not None:
        query = query.where(SideBySidePair.first_run_id == pair[0], SideBySidePair.second_run_id == pair[1])
    return session.scalars(query.order_by(SideBySidePair.id)).all()


def answers(
    session: Session, task_id: int, pair: Pair | None = None, assessor_id: int | None = None
) -> tuple[Answer, ...]:
    """The answers in force, of each assessor, topic and pair the last; in the order they were given."""
    where = [SideBySide.task_id == task_id]
    if pair is not None:
        where += [SideBySide.left_run_id.in_(pair), SideBySide.right_run_id.in_(pair)]
    if assessor_id is not None:
        where.append(SideBySide.assessor_id == assessor_id)
    return log.in_force(session, SideBySide, Answer, lambda answer: answer.place, *where)


def comparable_runs(session: Session, task_id: int) -> dict[int, str]:
    """Id -> name of the runs that can be compared, by name."""
    rows = session.execute(
        select(Run.id, Run.name).where(Run.task_id == task_id, Run.withdrawn_at.is_(None)).order_by(Run.name)
    )
    return {row.id: row.name for row in rows}


def _ask_pair(session: Session, task: Task, pair: Pair, request: ComparisonRequest) -> int:
    topics = _topics(session, task, pair, request)
    if not topics:
        names = comparable_runs(session, task.id)
        raise Conflict(
            f"Neither {names[pair[0]]} nor {names[pair[1]]} has a ranking for any of these topics."
        )
    rows = {row.assessor_id: row for row in pairs(session, task.id, pair)}
    asked = 0
    for assessor_id, mine in shares.shared_out(topics, request.assessors, request.each).items():
        row = rows.get(assessor_id)
        if row is None:
            row = SideBySidePair(
                task_id=task.id,
                first_run_id=pair[0],
                second_run_id=pair[1],
                assessor_id=assessor_id,
                topics=[],
                created_at=now(session),
            )
            session.add(row)
        fresh = [topic for topic in mine if topic not in row.topics]
        row.topics = [*row.topics, *fresh]
        asked += len(fresh)
    session.flush()
    return asked


def _topics(session: Session, task: Task, pair: Pair, request: ComparisonRequest) -> list[str]:
    """The topics to compare the pair on: of those that either run has, in random order."""
    ranked = kinds.of(task.kind).topics_of(session, pair)
    known = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id))
    able_to = [topic for topic in dict.fromkeys(request.topics or known) if topic in ranked]
    # The same for every pair of a task, so that a sample is of the same topics.
    key = secret(task)
    drawn = sorted(able_to, key=lambda topic: shares.keyed(key, topic, size=16))
    return drawn if request.sample is None else drawn[: request.sample]


def _check(session: Session, task: Task, request: ComparisonRequest) -> None:
    runs = comparable_runs(session, task.id)
    problems = [
        *shares.unknown("run", [request.run], runs, "Choose a run of this task that is not withdrawn."),
        *shares.unknown("other", request.others, runs, "Choose runs of this task that are not withdrawn."),
        *shares.unknown_people(session, task.id, request.assessors),
        *shares.unknown_topics(session, task.id, request.topics),
        *_missing(request),
    ]
    if problems:
        raise Invalid("Nothing was asked.", problems)


def _missing(request: ComparisonRequest) -> Iterable[Problem]:
    others = set(request.others)
    if not others or request.run in others or len(others) > MOST_RUNS or len(others) < len(request.others):
        yield Problem(f"must be 1 to {MOST_RUNS} other runs.", "Choose at least one.", field="other")
    yield from shares.missing_people(request.assessors)
    for name, number in (("sample", request.sample), ("each", request.each)):
        if number is not None and number < 1:
            yield Problem("must be at least 1.", "Leave it empty for all.", field=name, value=str(number))
