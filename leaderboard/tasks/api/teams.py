"""Operations on the caller's teams: create, describe, invite, leave, enter a task."""

from dataclasses import dataclass

from leaderboard.accounts.ops import invitations, teams
from leaderboard.tasks.ops import entries
from leaderboard.tasks.ops.entries import EntryState
from leaderboard.tasks.ops.pseudonyms import pseudonyms, reviews
from leaderboard.web.addresses import absolute
from leaderboard.web.api import actions
from leaderboard.web.api.answers import TeamAnswer
from leaderboard.web.api.operations import LinkAnswer
from leaderboard.web.session import reading, token


@dataclass(frozen=True, slots=True, kw_only=True)
class Entered:
    """state: entered, waiting or refused; missing: what is still to be done, empty where nothing is."""

    state: str
    missing: str
    why: str


def _require_free() -> None:
    asking = token()
    if asking is not None:
        asking.require_free()


def _team(created_id: int | None, team_id: int | None = None) -> TeamAnswer:
    number = team_id or created_id or 0
    return TeamAnswer(team=number, team_id=number, name=teams.name_of(reading(), number))


def link_to(endpoint: str) -> actions.Answer:
    """The answer of an action that returned the secret of a link to that page."""
    return LinkAnswer, lambda secret, **_: LinkAnswer(link=absolute(endpoint, token=secret))


def _entered(state: EntryState, **_: object) -> Entered:
    return Entered(state=state.state, missing=state.missing, why=state.why)


OPERATIONS = actions.operations(
    (
        *(*teams.ACTIONS, invitations.TO_TEAM, invitations.REVOKE, entries.AGREE),
        *(entries.ENTER, pseudonyms.SHOW_NAME, *reviews.ACTIONS),
    ),
    answers={
        "make_team": (TeamAnswer, _team),
        "describe_team": (TeamAnswer, _team),
        "invite_to_team": link_to("invitations.show"),
        "make_review_link": link_to("naming.review"),
        "enter_task": (Entered, _entered),
    },
    before={"make_team": _require_free},
)
