"""Operations on how an organiser's task calls and groups its teams and runs."""

from dataclasses import dataclass

from leaderboard.services.boards import board
from leaderboard.services.boards.board import Group
from leaderboard.services.pseudonyms import pseudonyms
from leaderboard.web.api import actions


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupAnswer:
    """A group of a task: its number, name and how many members it has."""

    group: int
    name: str
    kind: str
    members: int


def _group(made: Group, **_: object) -> GroupAnswer:
    return GroupAnswer(group=made.id, name=made.name, kind=made.kind, members=len(made.members))


OPERATIONS = actions.operations(
    (*pseudonyms.ACTIONS, *board.ACTIONS), answers={"declare_group": (GroupAnswer, _group)}
)
