"""Labels that assessors give: a log, each stored once, of which the last of a place is in force."""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import NamedTuple

from sqlalchemy import func, select, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import AnswerLabel, Assessor, LabellingRound
from leaderboard.errors import Closed, Conflict, Invalid, NotFound, Problem
from leaderboard.services import throttles
from leaderboard.services.assessors import links
from leaderboard.services.labelling.desks import TopicDesk
from leaderboard.services.labelling.items import LabelItem, name_of
from leaderboard.services.labelling.kinds import KINDS
from leaderboard.services.labelling.rounds import OPEN

KEY_CHARACTERS = 64
LABELS_A_MINUTE = 240
"""Of one assessor: more than any person gives."""


class SentItemLabel(NamedTuple):
    """A label as the form sends it: the name of what is labelled, the label, and the form's key."""

    item: str
    label: int | None
    key: str


class GivenItemLabel(NamedTuple):
    """A label in force."""

    item: LabelItem
    assessor_id: int
    label: int
    saved_at: datetime


def save(session: Session, desk: TopicDesk, sent: SentItemLabel) -> None:
    """Store an assessor's label, once however often it is sent; a later one of the same item replaces it.

    Raises NotFound for an item that the assessor does not have, Closed where the round is closed, Invalid
    for a bad label or key, OverQuota, and Conflict where another label came under the key.
    """
    if sent.item not in desk.shared.items:
        raise NotFound("This is not among what you are asked to label.")
    require_open(desk.here)
    store(session, desk.here, desk.assessor_id, desk.shared.items[sent.item], sent)


def store(
    session: Session, here: LabellingRound, assessor_id: int, item: LabelItem, sent: SentItemLabel
) -> None:
    """Store one label of an assessor or, also in a closed round, of an adjudicator; raises as `save`."""
    _check(here, sent)
    throttles.spend(session, f"label:{assessor_id}", LABELS_A_MINUTE, timedelta(minutes=1))
    stored = _of_key(session, assessor_id, sent.key)
    if stored is None:
        row = AnswerLabel(
            round_id=here.id,
            assessor_id=assessor_id,
            label=sent.label,
            saved_at=now(session),
            key=sent.key,
            **item._asdict(),
        )
        try:
            with session.begin_nested():
                session.add(row)
            return
        except IntegrityError:
            # The same label came by another connection at this very moment.
            stored = _of_key(session, assessor_id, sent.key)
    if stored is None or stored.round_id != here.id or (_item(stored), stored.label) != (item, sent.label):
        raise Conflict(
            "Another label was sent from this page before, perhaps in another tab. Open the page again: a "
            "label sent from there replaces the earlier one."
        )


def require_open(here: LabellingRound) -> None:
    """Raise Closed unless the round takes labels."""
    if here.state != OPEN:
        raise Closed("Labelling is over: the organisers have closed this round.")


def undo_last(session: Session, here: LabellingRound, assessor_id: int, topic_id: str) -> str | None:
    """Take back what the assessor labelled last of a topic; the item's name, None where there is nothing."""
    require_open(here)
    last = session.scalar(
        select(AnswerLabel)
        .where(
            AnswerLabel.round_id == here.id,
            AnswerLabel.topic_id == topic_id,
            AnswerLabel.assessor_id == assessor_id,
            AnswerLabel.undone.is_(False),
        )
        .order_by(AnswerLabel.saved_at.desc(), AnswerLabel.id.desc())
        .limit(1)
    )
    if last is None:
        return None
    session.execute(update(AnswerLabel).where(AnswerLabel.id == last.id).values(undone=True))
    return name_of(here.secret, _item(last))


def in_force(
    session: Session,
    round_id: int,
    *,
    topic_id: str | None = None,
    assessor_ids: Collection[int] | None = None,
) -> tuple[GivenItemLabel, ...]:
    """Of each item and assessor the label that was given last and not taken back, oldest first."""
    query = select(
        AnswerLabel.topic_id,
        AnswerLabel.run_id,
        AnswerLabel.place,
        AnswerLabel.citation,
        AnswerLabel.assessor_id,
        AnswerLabel.label,
        AnswerLabel.saved_at,
    ).where(AnswerLabel.round_id == round_id, AnswerLabel.undone.is_(False))
    if topic_id is not None:
        query = query.where(AnswerLabel.topic_id == topic_id)
    if assessor_ids is not None:
        query = query.where(AnswerLabel.assessor_id.in_(assessor_ids))
    last: dict[tuple[LabelItem, int], GivenItemLabel] = {}
    for row in session.execute(query.order_by(AnswerLabel.saved_at, AnswerLabel.id)):
        given = GivenItemLabel(LabelItem(*row[:4]), *row[4:])
        last.pop((given.item, given.assessor_id), None)
        last[given.item, given.assessor_id] = given
    return tuple(last.values())


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


def _item(row: AnswerLabel) -> LabelItem:
    return LabelItem(row.topic_id, row.run_id, row.place, row.citation)


def _of_key(session: Session, assessor_id: int, key: str) -> AnswerLabel | None:
    return session.scalar(
        select(AnswerLabel).where(AnswerLabel.assessor_id == assessor_id, AnswerLabel.key == key)
    )


def _check(here: LabellingRound, sent: SentItemLabel) -> None:
    problems = []
    if sent.label not in KINDS[here.kind].values:
        problems.append(Problem("must be one of the buttons.", "Press one of them.", field="label"))
    if not sent.key.isprintable() or not 1 <= len(sent.key) <= KEY_CHARACTERS:
        rule = f"must be 1 to {KEY_CHARACTERS} characters."
        problems.append(Problem(rule, "Open the page again.", field="key"))
    if problems:
        raise Invalid("This label cannot be stored.", problems)
