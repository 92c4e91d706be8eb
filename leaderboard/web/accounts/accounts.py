"""Signing in, up and out; the account's own page."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from werkzeug.wrappers import Response

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.pages import accounts as pages
from leaderboard.services.accounts import accounts, passwords, sessions
from leaderboard.services.accounts.passwords import AccountPassword
from leaderboard.web.errors import status_of, wants_json
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.security import local_path
from leaderboard.web.session import (
    client_ip,
    drop_cookie,
    reading,
    require_safe_sign_in,
    session_token,
    set_cookie,
    viewer,
    writing,
)

blueprint = Blueprint("accounts", __name__)


@blueprint.get("/sign-in")
@rule(PUBLIC)
def sign_in() -> ResponseReturnValue:
    """The page that asks for name and password."""
    require_safe_sign_in()
    return _sign_in_page()


@blueprint.post("/sign-in")
@rule(PUBLIC)
def sign_in_now() -> ResponseReturnValue:
    """Check name and password; the answer and the work are the same for a name nobody has."""
    require_safe_sign_in()
    name, password = request.form.get("name", ""), request.form.get("password", "")
    try:
        token = _token_for(name, password)
    except LeaderboardError as error:
        if wants_json():
            raise
        return _sign_in_page(error, name), status_of(error)
    return _welcome(token)


def _token_for(name: str, password: str) -> str:
    with writing() as session:
        credentials = accounts.attempt(session, name, client_ip())
    right = passwords.matches(credentials.password_hash, password)
    if not right or credentials.account_id is None or credentials.password_hash is None:
        raise Invalid(accounts.WRONG)
    rehashed = _rehashed(credentials.password_hash, password)
    with writing() as session:
        return accounts.signed_in(
            session, credentials.account_id, name, client_ip(), _browser(), session_token(), rehashed
        )


def _rehashed(stored: str, password: str) -> AccountPassword | None:
    return passwords.rehashed(password) if passwords.is_outdated(stored) else None


def _sign_in_page(error: LeaderboardError | None = None, name: str = "") -> str:
    return render_template("accounts/sign_in.html", error=error, name=name, next=_next())


def _next() -> str:
    return local_path(request.values.get("next", ""))


def _browser() -> str:
    return request.headers.get("User-Agent", "")


def _welcome(token: str, target: str | None = None) -> Response:
    response = redirect(target or _next(), 303)
    set_cookie(response, token)
    return response


@blueprint.get("/sign-in/<token>")
@rule(PUBLIC)
def link(token: str) -> ResponseReturnValue:
    """The page a one-time link opens; only its button uses the link up."""
    require_safe_sign_in()
    return render_template("accounts/link.html", name=accounts.link_owner(reading(), token), token=token)


@blueprint.post("/sign-in/<token>")
@rule(PUBLIC)
def use_link(token: str) -> ResponseReturnValue:
    """Use a one-time link up and sign in."""
    require_safe_sign_in()
    asker = viewer()
    with writing() as session:
        made = accounts.use_link(session, asker, token, _browser(), session_token())
    return _welcome(made, url_for("tasks.index"))


@blueprint.post("/sign-out")
@rule(PUBLIC)
def sign_out() -> ResponseReturnValue:
    """End this browser's session."""
    with writing() as session:
        sessions.end(session, session_token())
    response = redirect(url_for("tasks.index"), 303)
    drop_cookie(response)
    return response


@blueprint.get("/sign-up")
@rule(PUBLIC)
def sign_up() -> ResponseReturnValue:
    """The page that makes an account."""
    require_safe_sign_in()
    return _sign_up_page()


@blueprint.post("/sign-up")
@rule(PUBLIC)
def sign_up_now() -> ResponseReturnValue:
    """Make an account and sign in."""
    require_safe_sign_in()
    name, password, asker = request.form.get("name", ""), request.form.get("password", ""), viewer()
    try:
        secret = passwords.hashed(password, name)
        with writing() as session:
            account_id = accounts.sign_up(session, asker, name, secret)
            token = sessions.start(session, account_id, client_ip(), _browser(), session_token())
    except LeaderboardError as error:
        if wants_json():
            raise
        return _sign_up_page(error, name), status_of(error)
    return _welcome(token)


def _sign_up_page(error: LeaderboardError | None = None, name: str = "") -> str:
    return render_template(
        "accounts/sign_up.html", error=error, name=name, next=_next(), shortest=passwords.MIN_CHARACTERS
    )


@blueprint.get("/account")
@rule(SIGNED_IN)
def account() -> ResponseReturnValue:
    """The viewer's own account: password and signed-in browsers."""
    return _account_page()


def _account_page(error: LeaderboardError | None = None) -> str:
    page = pages.account_page(reading(), viewer(), session_token())
    return render_template(
        "accounts/account.html",
        page=page,
        browsers=pages.browsers(page),
        error=error,
        changed=request.args.get("changed") == "password",
        shortest=passwords.MIN_CHARACTERS,
    )


@blueprint.post("/account/password")
@rule(SIGNED_IN)
def change_password() -> ResponseReturnValue:
    """Change the password, end every session and begin a new one here."""
    require_safe_sign_in()
    asker, current = viewer(), request.form.get("current", "")
    try:
        with writing() as session:
            credentials = accounts.own_credentials(session, asker)
        if credentials.password_hash is not None and not passwords.matches(
            credentials.password_hash, current
        ):
            raise Invalid("The current password is wrong.")
        secret = passwords.hashed(request.form.get("password", ""), asker.name)
        with writing() as session:
            token = accounts.change_password(session, asker, credentials, secret, _browser())
    except LeaderboardError as error:
        if wants_json():
            raise
        return _account_page(error), status_of(error)
    return _welcome(token, url_for("accounts.account", changed="password"))


@blueprint.post("/account/sessions/<id:session_id>")
@rule(SIGNED_IN)
def revoke(session_id: int) -> ResponseReturnValue:
    """End one of the viewer's sessions."""
    asker = viewer()
    with writing() as session:
        sessions.revoke(session, asker, session_id)
    return redirect(url_for("accounts.account"), 303)
