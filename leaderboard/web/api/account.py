"""Operations on who asks: the account and the token."""

from leaderboard.errors import SignInNeeded
from leaderboard.pages import tokens as token_pages
from leaderboard.services.accounts import tokens
from leaderboard.services.accounts.tokens import TokenViewer
from leaderboard.web.api.answers import AccountAnswer, TeamAnswer
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import SIGNED_IN, Rule
from leaderboard.web.session import reading, token, viewer, writing


@operation("GET", "/account", AccountAnswer, rule=Rule(SIGNED_IN), scopes=())
def account() -> AccountAnswer:
    """Who you are here

    The owner of the token, the teams it may send runs for, and what the token is for.
    """
    return _account(_asking())


@operation("DELETE", "/account/token", AccountAnswer, rule=Rule(SIGNED_IN), scopes=())
def revoke_token() -> AccountAnswer:
    """End the token that you ask with

    For a machine that is given away, or a pipeline that ends.
    """
    asking = _asking()
    answer = _account(asking)
    with writing() as session:
        tokens.revoke(session, viewer(), asking.token_id)
    return answer


OPERATIONS = (account, revoke_token)


def _asking() -> TokenViewer:
    asking = token()
    if asking is None:
        raise SignInNeeded("Send a token: `Authorization: Bearer lb_...`.")
    return asking


def _account(asking: TokenViewer) -> AccountAnswer:
    head = token_pages.token_head(reading(), asking.viewer)
    return AccountAnswer(
        account=asking.viewer.name,
        teams=tuple(TeamAnswer(team=team_id, name=name) for team_id, name in head.teams),
        kind=asking.kind,
        scopes=tuple(sorted(asking.scopes)),
        task=head.slug,
        team=asking.team_id,
    )
