"""Operations on your own account and token, and on devices that get a token by a short code.

That is for devices without a browser, in the manner of RFC 8628.
"""

from dataclasses import asdict, dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard.accounts.ops import device_logins, tokens
from leaderboard.accounts.ops.tokens import LABEL_CHARACTERS, TokenViewer
from leaderboard.accounts.page import tokens as token_pages
from leaderboard.core.policy import Scope
from leaderboard.errors import SignInNeeded
from leaderboard.web.addresses import absolute
from leaderboard.web.api.answers import AccountAnswer, DeviceCodesAnswer, DeviceTokenAnswer, TeamAnswer
from leaderboard.web.api.limits import one_of
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import PUBLIC, SIGNED_IN, Rule
from leaderboard.web.session import client_ip, reading, token, viewer, writing


@operation("GET", "/account", AccountAnswer, rule=Rule(SIGNED_IN), scopes=())
def account() -> AccountAnswer:
    """Get the token's account

    The owner of the token, the teams it can submit runs for, and the scopes of the token.
    """
    return _account(_asking())


@operation("DELETE", "/account/token", AccountAnswer, rule=Rule(SIGNED_IN), scopes=())
def revoke_token() -> AccountAnswer:
    """Revoke the token of this request

    For a machine that changes hands, or a pipeline that ends.
    """
    asking = _asking()
    answer = _account(asking)
    with writing() as session:
        tokens.revoke(session, viewer(), asking.token_id)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceBegin:
    """A device login request: label of the device, scopes and kind of its token."""

    label: Annotated[str, Meta(min_length=1, max_length=LABEL_CHARACTERS)]
    scopes: Annotated[tuple[Scope, ...], Meta(min_length=1)] = (Scope.READ, Scope.SUBMIT)
    kind: Annotated[str, one_of(device_logins.KINDS)] = device_logins.KINDS[0]
    """personal, or agent for a program that itself decides what to submit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicePoll:
    """The long code that the device got."""

    device_code: str


@operation("POST", "/device/codes", DeviceCodesAnswer, body=DeviceBegin, rule=Rule(PUBLIC), scopes=())
def begin_login(body: DeviceBegin) -> DeviceCodesAnswer:
    """Begin a device login

    Show the user the short code and the address, where they approve the login in a browser. Then fetch
    the token.
    """
    with writing() as session:
        label = "".join(filter(str.isprintable, body.label)).strip() or "a device"
        codes = device_logins.begin(session, label, body.scopes, client_ip(), body.kind)
    return DeviceCodesAnswer(address=absolute("device_logins.show"), **asdict(codes))


@operation("POST", "/device/token", DeviceTokenAnswer, body=DevicePoll, rule=Rule(PUBLIC), scopes=())
def fetch_token(body: DevicePoll) -> DeviceTokenAnswer:
    """Fetch the token of a device

    Poll every `interval_s` seconds until the state is no longer authorization_pending. The token is returned
    once.
    """
    with writing() as session:
        answer = device_logins.poll(session, body.device_code)
    token = answer.token
    return DeviceTokenAnswer(
        state=answer.state,
        token=token.secret if token else None,
        expires_at=token.expires_at if token else None,
    )


OPERATIONS = (account, revoke_token, begin_login, fetch_token)


def _asking() -> TokenViewer:
    asking = token()
    if asking is None:
        raise SignInNeeded(
            "This request needs a token. Send it in the header `Authorization: Bearer lb_...`."
        )
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
