"""The log of what people say: each event is stored once, in whatever order they come; none is ever deleted.

An event is changed in one way only: it is taken back, for good. Of each assessor and place the last that was
not taken back is in force.
"""

from collections.abc import Callable, Collection, Hashable
from datetime import timedelta
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import ColumnElement, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from leaderboard.db.tables import AnswerLabel, Assessment, SideBySide, WrittenNugget
from leaderboard.errors import Conflict, Problem
from leaderboard.services import throttles

KEY_CHARACTERS = 64
NOTE_CHARACTERS = 2000
Event = TypeVar("Event", Assessment, AnswerLabel, SideBySide)
Given = TypeVar("Given", bound=NamedTuple)


def store(
    session: Session,
    event: Assessment | AnswerLabel | SideBySide | WrittenNugget,
    same: Collection[str] = (),
    another: str = "",
) -> bool:
    """Store an event, or that it was taken back; whether it is new: what comes again is stored once.

    same: columns in which an event that comes again is as before. Raises Conflict, which says `another`,
    where a different one has its key.
    """
    model, said = type(event), {name: getattr(event, name) for name in same}
    of_key = select(model).where(model.assessor_id == event.assessor_id, model.key == event.key)
    stored: Any = session.scalar(of_key)
    if stored is None:
        try:
            with session.begin_nested():
                session.add(event)
            return True
        except IntegrityError:
            # The same event came by another connection at this very moment.
            stored = session.scalar(of_key)
    if stored is None or any(getattr(stored, name) != value for name, value in said.items()):
        raise Conflict(another)
    if getattr(event, "undone", False):
        stored.undone = True
    return False


def undo_last(session: Session, model: type[Event], *where: ColumnElement[bool]) -> Event | None:
    """Take back what was decided last of some events; None where there is nothing."""
    query = select(model).where(model.undone.is_(False), *where)
    last = session.scalar(query.order_by(model.saved_at.desc(), model.id.desc()).limit(1))
    if last is not None:
        last.undone = True
        session.flush()
    return last


def in_force(
    session: Session,
    model: type[Event],
    record: type[Given],
    place: Callable[[Given], Hashable],
    *where: ColumnElement[bool],
) -> tuple[Given, ...]:
    """Of each place the last of some events that was not taken back, as records of columns."""
    query = select(*(getattr(model, name) for name in record._fields)).where(model.undone.is_(False), *where)
    last: dict[Hashable, Given] = {}
    for row in session.execute(query.order_by(model.saved_at, model.id)):
        given = record._make(row)
        last[place(given)] = given
    return tuple(last.values())


def spend(session: Session, what: str, assessor_id: int, a_minute: int) -> None:
    """Count one act of an assessor; raises OverQuota where there were as many within a minute."""
    throttles.spend(session, f"{what}:{assessor_id}", a_minute, timedelta(minutes=1))


def key_problems(key: str, remedy: str = "") -> list[Problem]:
    """What is wrong with the key of an event."""
    if key.isprintable() and 1 <= len(key) <= KEY_CHARACTERS:
        return []
    return [Problem(f"must be 1 to {KEY_CHARACTERS} characters.", remedy, field="key")]


def note_problems(note: str) -> list[Problem]:
    """What is wrong with a note."""
    if len(note) <= NOTE_CHARACTERS:
        return []
    return [Problem(f"may have at most {NOTE_CHARACTERS:,} characters.", "Shorten it.", field="note")]
