"""Operations on who asks: the account and the token; and of a device that gets a token by a short code.

That is for devices without a browser, in the manner of RFC 8628.
"""

from dataclasses import asdict, dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard.errors import SignInNeeded
from leaderboard.pages import tokens as token_pages
from leaderboard.services.accounts import device_logins, tokens
from leaderboard.services.accounts.tokens import LABEL_CHARACTERS, TokenViewer
from leaderboard.services.policy import Scope
from leaderboard.web.addresses import absolute
from leaderboard.web.api.answers import AccountAnswer, DeviceCodesAnswer, DeviceTokenAnswer, TeamAnswer
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Rule
from leaderboard.web.session import client_ip, reading, token, viewer, writing


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


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBegin:
    """What the device is called, and what its token is to be for."""

    label: Annotated[str, Meta(min_length=1, max_length=LABEL_CHARACTERS)]
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1)] = (Scope.READ, Scope.SUBMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePoll:
    """The long code that the device got."""

    device_code: str


@operation("POST", "/device/codes", DeviceCodesAnswer, body=DeviceBegin, rule=Rule(PUBLIC), scopes=())
def begin_login(body: DeviceBegin) -> DeviceCodesAnswer:
    """Begin the login of a device

    Show the short code and the address to its owner, who answers there with a browser; then ask for
    the token.
    """
    with writing() as session:
        label = "".join(filter(str.isprintable, body.label)).strip() or "a device"
        codes = device_logins.begin(session, label, body.scopes, client_ip())
    return DeviceCodesAnswer(address=absolute("device_logins.show"), **asdict(codes))


@operation("POST", "/device/token", DeviceTokenAnswer, body=DevicePoll, rule=Rule(PUBLIC), scopes=())
def fetch_token(body: DevicePoll) -> DeviceTokenAnswer:
    """Ask for the token of a device

    Every `interval_s` seconds until the state is no longer authorization_pending. The token comes once.
    """
    with writing() as session:
        answer = device_logins.poll(session, body.device_code)
    made = answer.token
    return DeviceTokenAnswer(
        state=answer.state, token=made.secret if made else None, expires_at=made.expires_at if made else None
    )


OPERATIONS = (account, revoke_token, begin_login, fetch_token)


def _asking() -> TokenViewer:
    asking = token()
    if asking is None:
        raise SignInNeeded("Send a token: `Authorization: Bearer lb_...`.")
    return asking


def _account(asking: TokenViewer) -> AccountAnswer:
    head = token_pages.token_head(reading(), asking.viewer)
    return AccountAnswer(
        account=asking.viewer.name,
        teams=tuple(TeamAnswer(team=team_id, team_id=team_id, name=name) for team_id, name in head.teams),
        kind=asking.kind,
        scopes=tuple(sorted(asking.scopes)),
        task=head.slug,
        team=asking.team_id,
        team_id=asking.team_id,
    )
