"""Operations on how an organiser's task calls and groups its teams and runs."""

from dataclasses import asdict, dataclass
from typing import Annotated

from leaderboard import zones
from leaderboard.services.boards import groups
from leaderboard.services.pseudonyms import pseudonyms
from leaderboard.services.pseudonyms.pseudonyms import UNTIL, NamingRequest
from leaderboard.services.pseudonyms.words import TITLES
from leaderboard.web.api import limits
from leaderboard.web.api.limits import Filled
from leaderboard.web.api.operations import operation
from leaderboard.web.api.organise.answers import Done
from leaderboard.web.api.organise.tasks import ORGANISE
from leaderboard.web.session import viewer, writing


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """Which pseudonyms, and until when teams go by them: date (`names_at`, in UTC where it names no
    zone; a day alone is its beginning), close, or team.

    is_sure: needed where names were public already.
    """

    kind: Annotated[str, limits.one_of(TITLES)] = "animals"
    until: Annotated[str, limits.one_of(UNTIL)] = "close"
    names_at: str | None = None
    is_sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Redraw:
    """Which pseudonyms; is_sure: needed where the old ones were shown already."""

    kind: Annotated[str, limits.one_of(TITLES)] = "animals"
    is_sure: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBody:
    """A group's name, and the teams or the runs in it."""

    name: Filled
    teams: tuple[int, ...] = ()
    runs: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAnswer:
    """A group of a task: its number, name and how many members it has."""

    group: int
    name: str
    kind: str
    members: int


@operation("PUT", "/tasks/<slug>/pseudonyms", Done, body=Naming, scopes=ORGANISE)
def give_pseudonyms(slug: str, body: Naming) -> Done:
    """Give all teams a pseudonym, or change until when they go by it"""
    wanted = NamingRequest(**{**asdict(body), "names_at": zones.read(body.names_at or "", "UTC", "names_at")})
    with writing() as session:
        given = pseudonyms.give(session, viewer(), slug, wanted)
    return Done(done=f"{given} teams have pseudonyms")


@operation("POST", "/tasks/<slug>/pseudonyms/draw", Done, body=Redraw, scopes=ORGANISE)
def draw_pseudonyms(slug: str, body: Redraw) -> Done:
    """Draw all pseudonyms anew"""
    with writing() as session:
        pseudonyms.draw_again(session, viewer(), slug, body.kind, is_sure=body.is_sure)
    return Done(done="drawn")


@operation("DELETE", "/tasks/<slug>/pseudonyms", Done, scopes=ORGANISE)
def take_back_pseudonyms(slug: str) -> Done:
    """Show the names of all teams again"""
    with writing() as session:
        pseudonyms.take_back(session, viewer(), slug)
    return Done(done="names shown")


@operation("PUT", "/tasks/<slug>/groups", GroupAnswer, body=GroupBody, scopes=ORGANISE)
def declare_group(slug: str, body: GroupBody) -> GroupAnswer:
    """Declare a group of teams or runs, or give one other members

    Each has a board of its own.
    """
    with writing() as session:
        made = groups.declare(session, viewer(), slug, body.name, teams=body.teams, runs=body.runs)
    return GroupAnswer(group=made.id, name=made.name, kind=made.kind, members=len(made.members))


@operation("DELETE", "/tasks/<slug>/groups/<id:group_id>", Done, scopes=ORGANISE)
def remove_group(slug: str, group_id: int) -> Done:
    """Take a group away"""
    with writing() as session:
        groups.remove(session, viewer(), slug, group_id)
    return Done(done="group removed")


OPERATIONS = (give_pseudonyms, draw_pseudonyms, take_back_pseudonyms, declare_group, remove_group)
