"""Labels that assessors give: a log, each stored once, of which the last of a place is in force."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import AnswerLabel, Assessor, LabellingRound
from leaderboard.errors import Closed, Invalid, NotFound, Problem
from leaderboard.services.judging import links, log
from leaderboard.services.labelling.desks import TopicDesk
from leaderboard.services.labelling.items import KINDS, OPEN, LabelItem, name_of

LABELS_A_MINUTE = 240
"""Of one assessor: more than any person gives."""
ANOTHER = (
    "Another label was sent from this page before, perhaps in another tab. Open the page again: a label sent "
    "from there replaces the earlier one."
)


class SentItemLabel(NamedTuple):
    """A label as the form sends it: the name of what is labelled, the label, and the form's key."""

    item: str
    label: int | None
    key: str


class GivenItemLabel(NamedTuple):
    """A label in force; topic_id to citation: of which item."""

    topic_id: str
    run_id: int
    place: int
    citation: int
    assessor_id: int
    label: int
    saved_at: datetime

    @property
    def item(self) -> LabelItem:
        """What is labelled."""
        return LabelItem(*self[:4])


def save(session: Session, desk: TopicDesk, sent: SentItemLabel) -> None:
    """Store an assessor's label, once however often it is sent; a later one of the same item replaces it.

    Raises NotFound for an item that the assessor does not have, Closed where the round is closed, Invalid
    for a bad label or key, OverQuota, and Conflict where another label came under the key.
    """
    if sent.item not in desk.shared:
        raise NotFound("This is not among what you are asked to label.")
    require_open(desk.here)
    store(session, desk.here, desk.assessor_id, desk.shared[sent.item], sent)


def store(
    session: Session, here: LabellingRound, assessor_id: int, item: LabelItem, sent: SentItemLabel
) -> None:
    """Store one label of an assessor or, also in a closed round, of an adjudicator; raises as `save`."""
    _check(here, sent)
    log.spend(session, "label", assessor_id, LABELS_A_MINUTE)
    row = AnswerLabel(
        round_id=here.id,
        assessor_id=assessor_id,
        label=sent.label,
        saved_at=now(session),
        key=sent.key,
        **item._asdict(),
    )
    log.store(session, row, ("round_id", *LabelItem._fields, "label"), ANOTHER)


def require_open(here: LabellingRound) -> None:
    """Raise Closed unless the round takes labels."""
    if here.state != OPEN:
        raise Closed("Labelling is over: the organisers have closed this round.")


def undo_last(session: Session, here: LabellingRound, assessor_id: int, topic_id: str) -> str | None:
    """Take back what the assessor labelled last of a topic; the item's name, None where there is nothing."""
    require_open(here)
    last = log.undo_last(
        session,
        AnswerLabel,
        AnswerLabel.round_id == here.id,
        AnswerLabel.topic_id == topic_id,
        AnswerLabel.assessor_id == assessor_id,
    )
    if last is None:
        return None
    return name_of(here.secret, LabelItem(last.topic_id, last.run_id, last.place, last.citation))


def in_force(
    session: Session,
    round_id: int,
    *,
    topic_id: str | None = None,
    assessor_ids: Collection[int] | None = None,
) -> tuple[GivenItemLabel, ...]:
    """Of each item and assessor the label that was given last and not taken back."""
    where = [AnswerLabel.round_id == round_id]
    if topic_id is not None:
        where.append(AnswerLabel.topic_id == topic_id)
    if assessor_ids is not None:
        where.append(AnswerLabel.assessor_id.in_(assessor_ids))
    return log.in_force(session, AnswerLabel, GivenItemLabel, lambda given: given[:5], *where)


def count(session: Session, round_id: int) -> int:
    """How many labels of assessors are in force, decisions apart; one statement that reads none of them."""
    places = (
        select(
            AnswerLabel.assessor_id,
            AnswerLabel.topic_id,
            AnswerLabel.run_id,
            AnswerLabel.place,
            AnswerLabel.citation,
        )
        .join(Assessor, Assessor.id == AnswerLabel.assessor_id)
        .where(
            AnswerLabel.round_id == round_id, AnswerLabel.undone.is_(False), Assessor.role == links.ASSESSOR
        )
        .distinct()
        .subquery()
    )
    return session.scalar(select(func.count()).select_from(places)) or 0


def _check(here: LabellingRound, sent: SentItemLabel) -> None:
    problems = []
    if sent.label not in KINDS[here.kind].values:
        problems.append(Problem("must be one of the buttons.", "Press one of them.", field="label"))
    problems += log.key_problems(sent.key, "Open the page again.")
    if problems:
        raise Invalid("This label cannot be stored.", problems)
