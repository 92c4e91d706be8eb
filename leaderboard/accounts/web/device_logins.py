"""The page where a person grants a token to a program on another machine, by its short code."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard import fields
from leaderboard.accounts.ops import device_logins
from leaderboard.accounts.ops.tokens import MEANINGS, TokenRequest
from leaderboard.accounts.page import tokens as pages
from leaderboard.core.policy import Scope
from leaderboard.db.tables import DeviceRequest
from leaderboard.errors import LeaderboardError
from leaderboard.web import actions
from leaderboard.web.errors import refused
from leaderboard.web.rules import SIGNED_IN, rule
from leaderboard.web.session import reading, require_safe_sign_in, settings, viewer, writing

blueprint = Blueprint("device_logins", __name__)

CODE_CHARACTERS = 20


@blueprint.get("/device")
@rule(SIGNED_IN)
def show() -> ResponseReturnValue:
    """The form that takes the short code; ?code= fills it in."""
    return _page()


@blueprint.post("/device")
@rule(SIGNED_IN)
def look_up() -> ResponseReturnValue:
    """Show which machine asks for what under the code."""
    require_safe_sign_in()
    try:
        return _page(login=_login())
    except LeaderboardError as error:
        return refused(_page, error)


@blueprint.post("/device/answer")
@rule(SIGNED_IN)
def answer() -> ResponseReturnValue:
    """Grant or deny the machine a token: by the field `answer`."""
    require_safe_sign_in()
    asker, is_approved = viewer(), request.form.get("answer") == "approve"
    login = None
    try:
        login = _login()
        with writing() as session:
            if is_approved:
                token_request = fields.read(
                    TokenRequest, {**actions.sent(TokenRequest), "label": login.label}
                )
                factor = settings().require_second_factor
                device_logins.approve(session, asker, _code(), token_request, factor_needed=factor)
            else:
                device_logins.deny(session, asker, _code())
    except LeaderboardError as error:
        return refused(lambda error: _page(error, login), error)
    return render_template("accounts/device_answered.html", login=login, is_approved=is_approved)


def _code() -> str:
    return request.values.get("code", "")[:CODE_CHARACTERS]


def _login() -> DeviceRequest:
    """The device waiting with this code; counts an attempt even for unknown codes."""
    asker = viewer()
    with writing() as session:
        device_logins.count_guess(session, asker)
    return device_logins.waiting(reading(), asker, _code())


def _page(error: LeaderboardError | None = None, login: DeviceRequest | None = None) -> str:
    offered = pages.choices(reading(), viewer())
    if login is not None:
        offered["scopes"] = {scope: f"{scope}: {MEANINGS[Scope(scope)]}" for scope in login.scopes}
    return render_template(
        "accounts/device.html",
        error=error,
        login=login,
        code=_code(),
        asked=fields.of(TokenRequest),
        offered=offered,
        written=device_logins.written,
    )
