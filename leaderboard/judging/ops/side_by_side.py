"""Side-by-side comparisons of two rankings by assessors: pairs, questions, answers."""

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import audit, kinds, policy
from leaderboard.core.actions import Action
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Run, SideBySide, SideBySidePair, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.judging.ops import judging
from leaderboard.stats.assessors import LEAST, SIDE_BY_SIDE_MOST

MOST_RUNS = 50
"""Maximum number of runs to compare with one run at once."""
SECRET_BYTES = 32

Pair = tuple[int, int]
"""Ids of two runs, the smaller first, as pairs are stored."""
Place = tuple[int, str, Pair]
"""An assessor's id, a topic and a pair: the key of an answer in force."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """An organiser's request: a run, the runs to compare it with, topics and assessors."""

    run: Annotated[int, Field(title="Run", help="The id of a run.")]
    others: Annotated[tuple[int, ...], Field(title="Compared with each of", help="Ids of runs.")]
    assessors: Annotated[tuple[int, ...], Field(title="Assessors", help="Their ids.")]
    topics: Annotated[
        tuple[str, ...], Field(title="Topic ids", help="Leave empty for all topics.", typed="words", rows=2)
    ] = ()
    sample: Annotated[
        int | None,
        Field(
            title="Random sample of topics",
            help="Number of topics to draw, the same for all pairs of runs; leave empty for all.",
        ),
    ] = None
    each: Annotated[int | None, Field(title="Assessors per topic", help="Leave empty for all.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoRuns:
    """Two runs."""

    first: Annotated[int, Field(title="First run")]
    second: Annotated[int, Field(title="Second run")]


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
        """The key of the question."""
        return self.assessor_id, self.topic_id, self.pair


def pair_of(first: int, second: int) -> Pair:
    """Two runs in stored order."""
    return min(first, second), max(first, second)


def secret(task: Task) -> bytes:
    """The secret key of a task's random sides; without it left and right cannot be predicted."""
    assert task.click_key is not None, "made with the first pair"
    return task.click_key


def digest(key: bytes, pair: Pair, topic_id: str, assessor_id: int) -> str:
    """The public name of a question: it reveals nothing about the runs and never changes.

    >>> digest(b"key", (1, 2), "t", 3) == digest(b"key", (1, 2), "t", 3) != digest(b"key", (1, 3), "t", 3)
    True
    """
    return judging.keyed(key, "side by side", *pair, assessor_id, topic_id).hex()


def left_first(key: bytes, pair: Pair, topic_id: str, assessor_id: int) -> bool:
    """Whether the first run of the pair is on the left; random but deterministic."""
    return judging.keyed(key, "coin", *pair, assessor_id, topic_id, size=1)[0] < 128


def ask_pair(session: Session, viewer: Viewer, slug: str, request: ComparisonRequest) -> int:
    """Request comparisons; return the number of newly requested answers.

    Raises Invalid naming the field for an invalid choice, Conflict if neither run has a ranking.
    """
    task = policy.own_task(session, viewer, slug)
    _check_pairs(session, task, request)
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


def end(session: Session, viewer: Viewer, slug: str, first: int, second: int) -> int:
    """Stop requesting answers for a pair; return the number cancelled. Existing answers are kept.

    Raises NotFound if the pair is not compared.
    """
    task, pair = policy.own_task(session, viewer, slug), pair_of(first, second)
    rows = pairs(session, task.id, pair)
    if not rows:
        raise NotFound(f"These two runs of {task.name} are not compared side by side.")
    answered = {answer.place for answer in pair_answers(session, task.id, pair)}
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
    """Requested comparisons of a task or of one pair."""
    query = select(SideBySidePair).where(SideBySidePair.task_id == task_id)
    if pair is not None:
        query = query.where(SideBySidePair.first_run_id == pair[0], SideBySidePair.second_run_id == pair[1])
    return session.scalars(query.order_by(SideBySidePair.id)).all()


def pair_answers(
    session: Session, task_id: int, pair: Pair | None = None, assessor_id: int | None = None
) -> tuple[Answer, ...]:
    """The answers in force, the last for each assessor, topic and pair; in order of submission."""
    where = [SideBySide.task_id == task_id]
    if pair is not None:
        where += [SideBySide.left_run_id.in_(pair), SideBySide.right_run_id.in_(pair)]
    if assessor_id is not None:
        where.append(SideBySide.assessor_id == assessor_id)
    return judging.in_force(session, SideBySide, Answer, lambda answer: answer.place, *where)


def comparable_runs(session: Session, task_id: int) -> dict[int, str]:
    """Id -> name of comparable runs, by name."""
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
    for assessor_id, mine in judging.shared_out(topics, request.assessors, request.each).items():
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
    """The topics on which to compare the pair: those that either run has, in random order."""
    ranked = kinds.of(task.kind).topics_of(session, pair)
    topic_ids = session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id))
    able_to = [topic for topic in dict.fromkeys(request.topics or topic_ids) if topic in ranked]
    # The same for every pair of a task, so that a sample uses the same topics.
    key = secret(task)
    drawn = sorted(able_to, key=lambda topic: judging.keyed(key, topic, size=16))
    return drawn if request.sample is None else drawn[: request.sample]


def _check_pairs(session: Session, task: Task, request: ComparisonRequest) -> None:
    runs = comparable_runs(session, task.id)
    problems = [
        *judging.unknown("run", [request.run], runs, "Choose a run of this task that is not withdrawn."),
        *judging.unknown("other", request.others, runs, "Choose runs of this task that are not withdrawn."),
        *judging.unknown_people(session, task.id, request.assessors),
        *judging.unknown_topics(session, task.id, request.topics),
        *_missing(request),
    ]
    if problems:
        raise Invalid("No comparisons were requested.", problems)


def _missing(request: ComparisonRequest) -> Iterable[Problem]:
    others = set(request.others)
    if not others or request.run in others or len(others) > MOST_RUNS or len(others) < len(request.others):
        yield Problem(f"must be 1 to {MOST_RUNS} other runs.", "Choose at least one.", field="other")
    yield from judging.missing_people(request.assessors)
    for name, number in (("sample", request.sample), ("each", request.each)):
        if number is not None and number < 1:
            yield Problem("must be at least 1.", "Leave it empty for all.", field=name, value=str(number))


@dataclass(frozen=True, eq=False)
class AskedQuestion:
    """A question with its runs, which the assessor must not know."""

    item: str
    assessor_id: int
    topic: Topic
    pair: Pair
    left_first: bool

    @property
    def runs(self) -> Pair:
        """Left and right."""
        return self.pair if self.left_first else (self.pair[1], self.pair[0])

    @property
    def place(self) -> Place:
        """The assessor, topic and pair of an answer."""
        return self.assessor_id, self.topic.topic_id, self.pair


@dataclass(frozen=True, eq=False)
class Questions:
    """All questions of one assessor, in order, with the answers in force."""

    assessor: Assessor
    task: Task
    asked: tuple[AskedQuestion, ...]
    answers: dict[Place, Answer]

    def answer(self, asked: AskedQuestion) -> Answer | None:
        """The answer in force; None if absent."""
        return self.answers.get(asked.place)

    @property
    def answered(self) -> int:
        """Number of answered questions."""
        return sum(question.place in self.answers for question in self.asked)

    @property
    def first(self) -> AskedQuestion | None:
        """The first unanswered question."""
        return next((question for question in self.asked if question.place not in self.answers), None)

    def find(self, item: str) -> AskedQuestion:
        """The question with a name; raises NotFound."""
        question = next((question for question in self.asked if question.item == item), None)
        if question is None:
            raise NotFound("This comparison is not assigned to you, or the organisers have ended it.")
        return question

    def following(self, asked: AskedQuestion) -> AskedQuestion | None:
        """The next unanswered question, cyclically."""
        place = self.asked.index(asked)
        later = (*self.asked[place + 1 :], *self.asked[:place])
        return next((question for question in later if question.place not in self.answers), None)


def of_link(session: Session, token: str) -> Questions:
    """The questions of the assessor with a personal link; raises NotFound."""
    return of_assessor(session, judging.by_token(session, token))


def of_assessor(session: Session, assessor: Assessor) -> Questions:
    """An assessor's questions: topic after topic, in a deterministic random order."""
    task = session.get_one(Task, assessor.task_id)
    withdrawn = select(Run.id).where(Run.task_id == task.id, Run.withdrawn_at.is_not(None))
    rows = session.scalars(
        select(SideBySidePair).where(
            SideBySidePair.assessor_id == assessor.id,
            SideBySidePair.first_run_id.not_in(withdrawn),
            SideBySidePair.second_run_id.not_in(withdrawn),
        )
    ).all()
    ids = {topic_id for row in rows for topic_id in row.topics}
    topics = session.scalars(select(Topic).where(Topic.task_id == task.id, Topic.topic_id.in_(ids)))
    by_id = {topic.topic_id: topic for topic in topics}
    given = pair_answers(session, task.id, assessor_id=assessor.id)
    asked = [
        _asked(task, assessor, by_id[topic_id], pair_of(row.first_run_id, row.second_run_id))
        for row in rows
        for topic_id in row.topics
    ]
    return Questions(assessor, task, tuple(_in_order(asked)), {answer.place: answer for answer in given})


def _asked(task: Task, assessor: Assessor, topic: Topic, pair: Pair) -> AskedQuestion:
    key = secret(task)
    return AskedQuestion(
        item=digest(key, pair, topic.topic_id, assessor.id),
        assessor_id=assessor.id,
        topic=topic,
        pair=pair,
        left_first=left_first(key, pair, topic.topic_id, assessor.id),
    )


def _in_order(asked: list[AskedQuestion]) -> list[AskedQuestion]:
    """All pairs of one topic in sequence, so that assessors read it once."""
    first: dict[str, str] = {}
    for question in asked:
        topic_id = question.topic.topic_id
        first[topic_id] = min(question.item, first.get(topic_id, question.item))
    return sorted(asked, key=lambda question: (first[question.topic.topic_id], question.item))


LEFT, EQUAL, RIGHT = "left", "equal", "right"
VERDICTS = (LEFT, EQUAL, RIGHT)
ANSWERS_A_MINUTE = 120
"""Limit per assessor, far above human pace."""
ANOTHER = (
    "A different answer was already submitted from this page, perhaps in another tab. Check your answer; "
    "submitting it replaces the earlier one."
)


@dataclass(frozen=True, slots=True)
class SentAnswer:
    """A preference (left, equal or right), and satisfaction with each from 0 to 4."""

    key: Annotated[
        str,
        Field(
            title="Key",
            help="That of the question, so that a repeated request is stored once.",
            longest=judging.KEY_CHARACTERS,
        ),
    ]
    verdict: Annotated[str, Field(title="Preference", help="left, equal or right.", least=0)]
    left: Annotated[int, Field(title="Satisfaction with the left one", least=LEAST, most=SIDE_BY_SIDE_MOST)]
    right: Annotated[int, Field(title="Satisfaction with the right one", least=LEAST, most=SIDE_BY_SIDE_MOST)]
    note: Annotated[
        str, Field(title="Note", help="A note on the answer.", rows=2, longest=judging.NOTE_CHARACTERS)
    ] = ""


def save_question(session: Session, token: str, item: str, sent: SentAnswer) -> str | None:
    """Store an answer, repeated requests once; return the next question, None if none is left.

    A later answer to the same question replaces the earlier one; both are kept. Raises NotFound
    for an invalid link or a question of another assessor, Invalid for an incomplete answer, OverQuota, and
    Conflict if another answer has the same key.
    """
    mine = of_link(session, token)
    asked = mine.find(item)
    _check_questions(item, sent)
    judging.spend(session, "side-by-side", asked.assessor_id, ANSWERS_A_MINUTE)
    left, right = asked.runs
    row = SideBySide(
        task_id=mine.task.id,
        topic_id=asked.topic.topic_id,
        left_run_id=left,
        right_run_id=right,
        assessor_id=asked.assessor_id,
        verdict=sent.verdict,
        left_satisfaction=sent.left,
        right_satisfaction=sent.right,
        note=sent.note.replace("\r\n", "\n").strip(),
        saved_at=now(session),
        key=sent.key,
    )
    judging.store_lines(session, row, ("verdict", "left_satisfaction", "right_satisfaction", "note"), ANOTHER)
    later = mine.following(asked)
    return later.item if later else None


ANSWER = Action(
    name="answer_comparison",
    summary="Submit a preference between two rankings",
    path="/judge/<token>/comparisons/<item>",
    form="/judge/<token>/side-by-side/<item>",
    is_public=True,
    scopes=(),
    may=lambda session, _, token: judging.by_token(session, token),
    record=SentAnswer,
    act=lambda session, _, token, item, sent: save_question(session, token, item, sent),
    done="stored",
    status=201,
)


def _check_questions(item: str, sent: SentAnswer) -> None:
    problems = []
    if sent.verdict not in VERDICTS:
        problems.append(
            Problem("must be left, equal or right.", "Choose the one you prefer.", field="verdict")
        )
    for side, value in ((LEFT, sent.left), (RIGHT, sent.right)):
        if not LEAST <= value <= SIDE_BY_SIDE_MOST:
            rule = f"must be a number from {LEAST} to {SIDE_BY_SIDE_MOST}."
            problems.append(Problem(rule, f"Rate how satisfied you are with the {side} one.", field=side))
    problems += judging.note_problems(sent.note)
    if not sent.key.startswith(f"{item}-") or len(sent.key) > judging.KEY_CHARACTERS:
        problems.append(Problem("does not belong to this page.", "Reload the page.", field="key"))
    if problems:
        raise Invalid("The answer is not complete.", problems)


_PAIRS = "/tasks/<slug>/side-by-side"
_ON_PAGE: dict[str, Any] = {"page": "side_by_side.show"}
ACTIONS = (
    Action(
        name="ask_people",
        summary="Request comparisons of a run with others",
        path=_PAIRS,
        form=_PAIRS,
        record=ComparisonRequest,
        act=ask_pair,
        done=lambda _, count: f"{count} comparisons requested",
        status=201,
        **_ON_PAGE,
    ),
    judging.adding(
        "add_comparing_assessors", path=f"{_PAIRS}/assessors", form=f"{_PAIRS}/assessors", **_ON_PAGE
    ),
    Action(
        name="end_comparison",
        summary="Stop requesting answers for two runs",
        path=f"{_PAIRS}/end",
        form=f"{_PAIRS}/end",
        record=TwoRuns,
        act=lambda session, viewer, slug, runs: end(session, viewer, slug, runs.first, runs.second),
        done="ended",
        **_ON_PAGE,
    ),
)
