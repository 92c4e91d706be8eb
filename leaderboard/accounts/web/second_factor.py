"""The second factor: asking for its code at sign-in, setting it up, turning it off."""

from collections.abc import Callable
from urllib.parse import urlsplit

import segno
from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from leaderboard.accounts.ops import accounts, second_factors, sessions
from leaderboard.accounts.page import accounts as pages
from leaderboard.accounts.web.accounts import after_sign_in, require_password
from leaderboard.core.policy import require_account
from leaderboard.errors import Invalid, LeaderboardError, SignInNeeded
from leaderboard.web.errors import refused, wants_json
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import (
    PENDING,
    browser,
    client_ip,
    cookie,
    reading,
    require_safe_sign_in,
    session_token,
    settings,
    viewer,
    welcome,
    writing,
)

blueprint = Blueprint("second_factor", __name__)

ISSUER = "Leaderboard"


@blueprint.get("/second-factor")
@rule(PUBLIC)
def ask() -> ResponseReturnValue:
    """The page that asks for a code, after the password or link of an account with a second factor."""
    require_safe_sign_in()
    try:
        accounts.pending_account(reading(), cookie(PENDING))
    except SignInNeeded:
        if wants_json():
            raise
        return redirect(url_for("accounts.sign_in", next=after_sign_in()), 303)
    return _code_page()


@blueprint.post("/second-factor")
@rule(PUBLIC)
def answer() -> ResponseReturnValue:
    """Check the code and sign in."""
    require_safe_sign_in()
    token, asking, code = cookie(PENDING), browser(), request.form.get("code", "")
    try:
        with writing() as session:
            account_id = accounts.attempt_code(session, token, asking)
        try:
            with writing() as session:
                new_session = accounts.use_code(session, token, code, asking)
        except Invalid:
            with writing() as session:
                accounts.code_failed(session, account_id, client_ip())
            raise
    except LeaderboardError as error:
        return refused(_code_page, error)
    return welcome(redirect(after_sign_in(), 303), new_session)


@blueprint.get("/account/second-factor")
@rule(SIGNED_IN)
def show() -> ResponseReturnValue:
    """The viewer's second factor: how to set it up, or that it is on."""
    return _page()


@blueprint.post("/account/second-factor")
@rule(SIGNED_IN)
def begin() -> ResponseReturnValue:
    """Make a secret to be read into an authenticator."""
    require_safe_sign_in()
    asker = viewer()
    with writing() as session:
        second_factors.begin(session, asker)
    return redirect(url_for("second_factor.show"), 303)


@blueprint.post("/account/second-factor/confirm")
@rule(SIGNED_IN)
def confirm() -> ResponseReturnValue:
    """Turn the second factor on by a first code, sign out other browsers, show the recovery codes once."""
    asker, token = viewer(), session_token()

    def act() -> ResponseReturnValue:
        require_password()
        with writing() as session:
            codes = second_factors.confirm(session, asker, request.form.get("code", ""))
            accounts.proved(session, asker)
            sessions.end_others(session, require_account(asker), token)
        return _codes_page(codes)

    return _or_page(act)


@blueprint.post("/account/second-factor/recovery-codes")
@rule(SIGNED_IN)
def renew() -> ResponseReturnValue:
    """New recovery codes, shown once; the ones before end."""
    asker = viewer()

    def act() -> ResponseReturnValue:
        require_password()
        with writing() as session:
            second_factors.use(session, require_account(asker), request.form.get("code", ""))
            codes = second_factors.renew_recovery_codes(session, asker)
            accounts.proved(session, asker)
        return _codes_page(codes)

    return _or_page(act)


@blueprint.post("/account/second-factor/remove")
@rule(SIGNED_IN)
def remove() -> ResponseReturnValue:
    """Turn the second factor off, with password and a code."""
    asker = viewer()

    def act() -> ResponseReturnValue:
        require_password()
        with writing() as session:
            account_id = require_account(asker)
            second_factors.use(session, account_id, request.form.get("code", ""))
            second_factors.remove(session, asker, account_id)
            accounts.proved(session, asker)
        return redirect(url_for("second_factor.show"), 303)

    return _or_page(act)


def _or_page(act: Callable[[], ResponseReturnValue]) -> ResponseReturnValue:
    """The response of the action, or the page with the error."""
    require_safe_sign_in()
    try:
        return act()
    except LeaderboardError as error:
        return refused(_page, error)


def _code_page(error: LeaderboardError | None = None) -> str:
    return render_template("accounts/code.html", error=error, next=after_sign_in())


def _codes_page(codes: tuple[str, ...]) -> ResponseReturnValue:
    return render_template("accounts/recovery_codes.html", codes=codes), 201


def _page(error: LeaderboardError | None = None) -> str:
    page = pages.second_factor_page(reading(), viewer(), _issuer())
    drawn = Markup(_drawing(page.link)) if page.link else ""
    return render_template("accounts/second_factor.html", page=page, drawn=drawn, error=error)


def _issuer() -> str:
    """The site name shown in the authenticator app next to the account name."""
    host = urlsplit(settings().public_url).hostname if settings().public_url else ""
    return f"{ISSUER} {host}" if host else ISSUER


def _drawing(link: str) -> str:
    """The link as a QR code in SVG: dark on light in either scheme, as cameras want it."""
    drawn: str = segno.make(link, micro=False).svg_inline(
        light="white", omitsize=True, svgclass=None, lineclass=None
    )
    return drawn
