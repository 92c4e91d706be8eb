"""Operations of a device that has no browser: it gets a token by a short code (in the manner of RFC 8628)."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from leaderboard.services.accounts import device_logins
from leaderboard.services.accounts.tokens import LABEL_CHARACTERS, Scope
from leaderboard.web.addresses import absolute
from leaderboard.web.api.answers import DeviceCodesAnswer, DeviceTokenAnswer
from leaderboard.web.api.operations import operation
from leaderboard.web.rules import PUBLIC, Rule
from leaderboard.web.session import client_ip, writing


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
        codes = device_logins.begin(session, body.label, body.scopes, client_ip())
    return DeviceCodesAnswer(
        device_code=codes.device_code,
        user_code=codes.user_code,
        address=absolute("device_logins.show"),
        interval_s=codes.interval_s,
        expires_in_s=codes.expires_in_s,
    )


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


OPERATIONS = (begin_login, fetch_token)
