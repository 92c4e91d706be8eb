"""What one assessor is asked to compare, under names that tell nothing of the runs, and what is answered."""

from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Assessor, Run, SideBySide, SideBySidePair, Task, Topic
from leaderboard.errors import Invalid, NotFound, Problem
from leaderboard.services.judging import links, log
from leaderboard.services.side_by_side import pairs
from leaderboard.services.side_by_side.pairs import Answer, Pair, Place, digest, left_first, pair_of
from leaderboard.stats.assessors.side_by_side import LEAST, MOST


@dataclass(frozen=True, eq=False)
class AskedQuestion:
    """A question with what no assessor is told: the runs."""

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
        """The assessor, topic and pair that an answer belongs to."""
        return self.assessor_id, self.topic.topic_id, self.pair


@dataclass(frozen=True, eq=False)
class Questions:
    """All questions of one assessor, in the order they are asked in, with the answers in force."""

    assessor: Assessor
    task: Task
    asked: tuple[AskedQuestion, ...]
    answers: dict[Place, Answer]

    def answer(self, asked: AskedQuestion) -> Answer | None:
        """The answer in force; None where there is none."""
        return self.answers.get(asked.place)

    @property
    def answered(self) -> int:
        """How many have an answer."""
        return sum(question.place in self.answers for question in self.asked)

    @property
    def first(self) -> AskedQuestion | None:
        """The first without an answer."""
        return next((question for question in self.asked if question.place not in self.answers), None)

    def find(self, item: str) -> AskedQuestion:
        """The question of that name; raises NotFound."""
        question = next((question for question in self.asked if question.item == item), None)
        if question is None:
            raise NotFound("There is no such comparison for you; it may have been ended.")
        return question

    def following(self, asked: AskedQuestion) -> AskedQuestion | None:
        """The next one without an answer, in a circle."""
        place = self.asked.index(asked)
        later = (*self.asked[place + 1 :], *self.asked[:place])
        return next((question for question in later if question.place not in self.answers), None)


def of_link(session: Session, token: str) -> Questions:
    """The questions of the assessor whose personal link it is; raises NotFound."""
    return of_assessor(session, links.by_token(session, token))


def of_assessor(session: Session, assessor: Assessor) -> Questions:
    """An assessor's questions: topic after topic, in a random order that stays the same."""
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
    given = pairs.answers(session, task.id, assessor_id=assessor.id)
    asked = [
        _asked(task, assessor, by_id[topic_id], pair_of(row.first_run_id, row.second_run_id))
        for row in rows
        for topic_id in row.topics
    ]
    return Questions(assessor, task, tuple(_in_order(asked)), {answer.place: answer for answer in given})


def _asked(task: Task, assessor: Assessor, topic: Topic, pair: Pair) -> AskedQuestion:
    key = pairs.secret(task)
    return AskedQuestion(
        item=digest(key, pair, topic.topic_id, assessor.id),
        assessor_id=assessor.id,
        topic=topic,
        pair=pair,
        left_first=left_first(key, pair, topic.topic_id, assessor.id),
    )


def _in_order(asked: list[AskedQuestion]) -> list[AskedQuestion]:
    """All pairs of one topic one after another, so that it is read once."""
    first: dict[str, str] = {}
    for question in asked:
        topic_id = question.topic.topic_id
        first[topic_id] = min(question.item, first.get(topic_id, question.item))
    return sorted(asked, key=lambda question: (first[question.topic.topic_id], question.item))


LEFT, EQUAL, RIGHT = "left", "equal", "right"
VERDICTS = (LEFT, EQUAL, RIGHT)
ANSWERS_A_MINUTE = 120
"""Of one assessor: more than any person gives."""
ANOTHER = (
    "Another answer was sent from this page before, perhaps in another tab. Check your answer; sending it "
    "replaces the earlier one."
)


class SentAnswer(NamedTuple):
    """An answer as the form sends it."""

    key: str
    verdict: str
    left: int | None
    right: int | None
    note: str = ""


def save(session: Session, token: str, item: str, sent: SentAnswer) -> str | None:
    """Store an answer, once however often it is sent; the next question, None where none is left.

    A later answer to the same question replaces the earlier one; both are kept. Raises NotFound for a dead
    link or what the assessor is not asked, Invalid for an incomplete answer, OverQuota, and Conflict where
    another answer came under the same key.
    """
    mine = of_link(session, token)
    asked = mine.find(item)
    _check(item, sent)
    log.spend(session, "side-by-side", asked.assessor_id, ANSWERS_A_MINUTE)
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
        note=sent.note.strip(),
        saved_at=now(session),
        key=sent.key,
    )
    log.store(session, row, ("verdict", "left_satisfaction", "right_satisfaction", "note"), ANOTHER)
    later = mine.following(asked)
    return later.item if later else None


def _check(item: str, sent: SentAnswer) -> None:
    problems = []
    if sent.verdict not in VERDICTS:
        problems.append(
            Problem("must be left, equal or right.", "Say which of the two you prefer.", field="verdict")
        )
    for side, value in ((LEFT, sent.left), (RIGHT, sent.right)):
        if value is None or not LEAST <= value <= MOST:
            rule = f"must be a number from {LEAST} to {MOST}."
            problems.append(Problem(rule, f"Say how satisfied you are with the {side} one.", field=side))
    problems += log.note_problems(sent.note)
    if not sent.key.startswith(f"{item}-") or len(sent.key) > log.KEY_CHARACTERS:
        problems.append(Problem("does not belong to this page.", "Open the page again.", field="key"))
    if problems:
        raise Invalid("The answer is not complete.", problems)
