"""Pseudonyms of a task's teams: draw them for current and later teams, and remove them.

Names for pseudonyms: plain, inoffensive words, no two of which look alike.

Left out are animals and plants that serve as insults, represent a nation or a firm, or name a language model.
"""

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Annotated

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops.names import skeleton
from leaderboard.core import audit, policy, shown_names
from leaderboard.core.actions import Action, by_account
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import lock_key, now
from leaderboard.db.tables import Entry, Run, Task, Team
from leaderboard.errors import Conflict, Forbidden, Invalid, Problem
from leaderboard.fields import Field

TITLES = {
    "animals": "animals, such as Otter",
    "plants": "plants, such as Rowan",
    "numbers": "numbers, such as T042",
}
"""Choices for the pseudonyms of teams, as text."""


@cache
def words(kind: str) -> tuple[str, ...]:
    """All names of one of TITLES."""
    if kind == "numbers":
        return tuple(f"T{number:03}" for number in range(1, 1000))
    return tuple(Path(__file__).with_name(f"{kind}.txt").read_text(encoding="ascii").split())


UNTIL = {"date": "a date", "close": "the close of the task", "team": "each team shows its own name"}
"""Task.naming -> end of the pseudonyms, as text."""
SEED_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PseudonymRedraw:
    """Choice of pseudonyms; is_sure: required where the old ones were already shown."""

    kind: Annotated[str, Field(title="Named after", choices=TITLES, option="like")] = "animals"
    is_sure: Annotated[
        bool, Field(title="Readers may have seen runs under these names. I understand.", option="sure")
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming(PseudonymRedraw):
    """Choice of pseudonyms, and until when teams go by them: date (`names_at`, in UTC where it names no
    zone; a day alone is its beginning), close, or team.

    is_sure: needed where names were public already.
    """

    until: Annotated[str, Field(title="Valid until", choices=UNTIL)] = "close"
    names_at: Annotated[datetime | None, Field(title="End date (UTC), if by date", option="date")] = None


def give(session: Session, viewer: Viewer, slug: str, request: Naming) -> int:
    """Assign pseudonyms to the teams of a task, including later ones; return the number assigned.

    Teams keep an existing pseudonym, for any requested kind. Raises Invalid for unreadable input,
    Conflict if runs were shown under names and the organiser has not confirmed.
    """
    task = policy.own_task(session, viewer, slug)
    _check(session, request)
    _lock(session, task)
    if task.naming == "names":
        _require_sure(session, task, request.is_sure, "names")
    if not task.pseudonym_list:
        task.pseudonym_list, task.pseudonym_seed = request.kind, secrets.token_hex(SEED_BYTES)
    task.naming = request.until
    task.names_at = request.names_at if request.until == "date" else None
    given = _fill(session, task)
    audit.record(
        session,
        viewer,
        "task.pseudonyms",
        f"task:{task.id}",
        kind=task.pseudonym_list,
        until=task.naming,
        at=task.names_at.isoformat() if task.names_at else "",
        teams=given,
    )
    return given


def draw_again(session: Session, viewer: Viewer, slug: str, kind: str, *, is_sure: bool = False) -> None:
    """Redraw the pseudonyms of all teams of a task with a new seed.

    Raises Conflict if absent, and if runs were shown under them and the organiser has not
    confirmed.
    """
    task = policy.own_task(session, viewer, slug)
    _lock(session, task)
    _require_pseudonyms(task)
    _require_sure(session, task, is_sure, "these pseudonyms")
    for entry in _entries(session, task):
        entry.pseudonym = None
    task.pseudonym_list, task.pseudonym_seed = kind, secrets.token_hex(SEED_BYTES)
    _fill(session, task)
    audit.record(session, viewer, "task.draw_pseudonyms", f"task:{task.id}", kind=kind)


def take_back(session: Session, viewer: Viewer, slug: str) -> None:
    """Show the names of all teams again and forget the pseudonyms; Conflict where names are shown by now."""
    task = policy.own_task(session, viewer, slug)
    _lock(session, task)
    _require_pseudonyms(task)
    if shown_names.shows_names(session, task):
        raise Conflict(f"{task.name} already shows names; its pseudonyms stay on record.")
    for entry in _entries(session, task):
        entry.pseudonym = entry.reveal_at = None
    task.naming, task.names_at = "names", None
    task.pseudonym_list = task.pseudonym_seed = ""
    audit.record(session, viewer, "task.take_back_pseudonyms", f"task:{task.id}")


def show_name(session: Session, viewer: Viewer, slug: str, team_id: int) -> None:
    """Show a team's name in a task where that is the team's own choice; for its members, and for good.

    Raises Forbidden for others, Conflict where the task decides when names show.
    """
    task, _ = policy.visible_task(session, viewer, slug)
    policy.require_member(viewer, team_id)
    entry = session.scalar(select(Entry).where(Entry.task_id == task.id, Entry.team_id == team_id))
    if entry is None:
        raise Forbidden("Your team has not entered this task.")
    if task.naming != "team":
        raise Conflict(f"In {task.name} the organisers decide when names are shown.")
    if entry.reveal_at is None:
        entry.reveal_at = now(session)
        audit.record(session, viewer, "team.show_name", f"team:{team_id}", task=task.id)


def enter(session: Session, task_id: int) -> None:
    """Give a team that has just entered a task its pseudonym, where teams of the task go by one."""
    task = session.get_one(Task, task_id)
    if task.pseudonym_list:
        _lock(session, task)
        _fill(session, task)


def order(names: tuple[str, ...], seed: str) -> list[str]:
    """The names in the order of a seed: reproducible, and not predictable from another seed.

    >>> order(("Auk", "Bee", "Elk", "Emu"), "1") == order(("Emu", "Elk", "Bee", "Auk"), "1")
    True
    """
    key = seed.encode()
    return sorted(names, key=lambda name: hashlib.blake2b(name.encode(), key=key).digest())


def _fill(session: Session, task: Task) -> int:
    """Give every team of the task that has none the next pseudonym; how many teams have one now."""
    session.flush()
    entries = _entries(session, task)
    # No pseudonym is the name of a team of the site: readers would confuse them.
    taken = {skeleton(entry.pseudonym) for entry in entries if entry.pseudonym}
    taken |= set(session.scalars(select(Team.skeleton).where(Team.skeleton.is_not(None))))
    drawn = order(words(task.pseudonym_list), task.pseudonym_seed)
    rounds = len(entries) // len(drawn) + 2
    free = (
        name
        for number in range(1, rounds + 1)
        for word in drawn
        if skeleton(name := word if number == 1 else f"{word} {number}") not in taken
    )
    for entry in entries:
        if not entry.pseudonym:
            entry.pseudonym = next(free)
    session.flush()
    return len(entries)


def _entries(session: Session, task: Task) -> list[Entry]:
    return list(session.scalars(select(Entry).where(Entry.task_id == task.id).order_by(Entry.id)))


def _lock(session: Session, task: Task) -> None:
    # Two teams that enter at once would be given one name.
    lock_key(session, f"pseudonyms {task.id}")


def _require_pseudonyms(task: Task) -> None:
    if not task.pseudonym_list:
        raise Conflict(f"The teams of {task.name} have no pseudonyms.")


def _require_sure(session: Session, task: Task, is_sure: bool, what: str) -> None:
    """Raise Conflict where readers may have seen runs by what they are called now."""
    has_runs = session.scalar(select(Run.id).where(Run.task_id == task.id).limit(1)) is not None
    if has_runs and task.published_at is not None and not is_sure:
        raise Conflict(
            f"Readers may have seen and may remember runs of {task.name} under {what}. Confirm this to "
            "continue."
        )


def _check(session: Session, request: Naming) -> None:
    if request.until == "date" and request.names_at is None:
        _refuse("names_at", "", "must be a date and time.", "Enter it as 2026-05-31T23:59, in UTC.")
    if request.until == "date" and request.names_at is not None and request.names_at <= now(session):
        _refuse("names_at", request.names_at.isoformat(), "has passed.", "Give a later date.")


def _refuse(field: str, value: str, rule: str, remedy: str) -> None:
    raise Invalid("No names were changed.", [Problem(rule, remedy, field=field, value=value[:40])])


_here = partial(Action, page="naming.show")
GIVE = _here(
    name="give_pseudonyms",
    summary="Assign pseudonyms to all teams, or change their end",
    method="PUT",
    path="/tasks/<slug>/pseudonyms",
    form="/tasks/<slug>/pseudonyms",
    record=Naming,
    act=give,
    done=lambda _, given: f"{given} teams have pseudonyms",
)
TAKE_BACK = _here(
    name="take_back_pseudonyms",
    summary="Show the names of all teams again",
    method="DELETE",
    path="/tasks/<slug>/pseudonyms",
    form="/tasks/<slug>/pseudonyms/take-back",
    act=take_back,
    done="names shown",
)
ACTIONS = (
    GIVE,
    _here(
        name="draw_pseudonyms",
        summary="Redraw all pseudonyms",
        path="/tasks/<slug>/pseudonyms/draw",
        form="/tasks/<slug>/pseudonyms/draw",
        record=PseudonymRedraw,
        act=lambda session, viewer, slug, asked: draw_again(
            session, viewer, slug, asked.kind, is_sure=asked.is_sure
        ),
        done="drawn",
    ),
    TAKE_BACK,
)
SHOW_NAME = Action(
    name="show_team_name",
    summary="Show your team's name while others have pseudonyms",
    more="This cannot be undone.",
    path="/tasks/<slug>/teams/<id:team_id>/show-name",
    form="/tasks/<slug>/own-names/<id:team_id>/show",
    page="naming.own",
    scopes=(Scope.SUBMIT,),
    may=by_account,
    act=show_name,
    done="name shown",
)
