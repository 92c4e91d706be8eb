"""Answers of assessors to which of two rankings they prefer: a log, each stored once."""

from datetime import timedelta
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import SideBySide
from leaderboard.errors import Conflict, Invalid, Problem
from leaderboard.services import throttles
from leaderboard.services.side_by_side import questions
from leaderboard.services.side_by_side.questions import AskedQuestion
from leaderboard.stats.assessors.side_by_side import LEAST, MOST

LEFT, EQUAL, RIGHT = "left", "equal", "right"
VERDICTS = (LEFT, EQUAL, RIGHT)
KEY_CHARACTERS = 64
NOTE_CHARACTERS = 2000
ANSWERS_A_MINUTE = 120
"""Of one assessor: more than any person gives."""


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
    mine = questions.of_link(session, token)
    asked = mine.find(item)
    _check(item, sent)
    throttles.spend(session, f"side-by-side:{asked.assessor_id}", ANSWERS_A_MINUTE, timedelta(minutes=1))
    _store(session, asked, mine.task.id, sent._replace(note=sent.note.strip()))
    later = mine.following(asked)
    return later.item if later else None


def _store(session: Session, asked: AskedQuestion, task_id: int, sent: SentAnswer) -> None:
    stored = _of_key(session, asked, sent.key)
    if stored is None:
        try:
            with session.begin_nested():
                session.add(_row(session, asked, task_id, sent))
            return
        except IntegrityError:
            # The same answer came by another connection at this very moment.
            stored = _of_key(session, asked, sent.key)
    if stored is None or _content(stored) != sent:
        raise Conflict(
            "Another answer was sent from this page before, perhaps in another tab. Check your answer; "
            "sending it replaces the earlier one."
        )


def _row(session: Session, asked: AskedQuestion, task_id: int, sent: SentAnswer) -> SideBySide:
    left, right = asked.runs
    return SideBySide(
        task_id=task_id,
        topic_id=asked.topic.topic_id,
        left_run_id=left,
        right_run_id=right,
        assessor_id=asked.assessor_id,
        verdict=sent.verdict,
        left_satisfaction=sent.left,
        right_satisfaction=sent.right,
        note=sent.note,
        saved_at=now(session),
        key=sent.key,
    )


def _of_key(session: Session, asked: AskedQuestion, key: str) -> SideBySide | None:
    return session.scalar(
        select(SideBySide).where(SideBySide.assessor_id == asked.assessor_id, SideBySide.key == key)
    )


def _content(row: SideBySide) -> SentAnswer:
    return SentAnswer(row.key, row.verdict, row.left_satisfaction, row.right_satisfaction, row.note)


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
    if len(sent.note) > NOTE_CHARACTERS:
        rule = f"may have at most {NOTE_CHARACTERS:,} characters."
        problems.append(Problem(rule, "Shorten it.", field="note"))
    if not sent.key.startswith(f"{item}-") or len(sent.key) > KEY_CHARACTERS:
        problems.append(Problem("does not belong to this page.", "Open the page again.", field="key"))
    if problems:
        raise Invalid("The answer is not complete.", problems)
