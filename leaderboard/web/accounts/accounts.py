"""Signing in, up and out; the account's own page."""

from dataclasses import replace

from flask import Blueprint, current_app, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from leaderboard.errors import Forbidden, Invalid, LeaderboardError, NotFound
from leaderboard.pages import accounts as pages
from leaderboard.pages import mail as mail_pages
from leaderboard.services import policy
from leaderboard.services.accounts import accounts, closing, device_logins, passwords, sessions, teams
from leaderboard.services.accounts.accounts import AccountCredentials, NewSession, PendingSession
from leaderboard.services.accounts.passwords import AccountPassword
from leaderboard.services.policy import require_account
from leaderboard.settings import BY_INVITATION, CLOSED
from leaderboard.tables.text import json_text
from leaderboard.web import responses
from leaderboard.web.accounts import providers
from leaderboard.web.accounts.newcomers import make_account
from leaderboard.web.accounts.providers import Provider
from leaderboard.web.errors import refused
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.security import local_path
from leaderboard.web.session import (
    PENDING,
    browser,
    client_ip,
    goodbye,
    reading,
    require_safe_sign_in,
    session_token,
    set_cookie,
    settings,
    viewer,
    welcome,
    writing,
)

PURPOSES = {
    "uploads.form": "send a run",
    "teams.index": "see your teams and make one",
    "teams.show": "see a team of yours",
    "organise.new": "make a task",
    "organise.show": "organise a task",
    "accounts.account": "see your account",
    "tokens.index": "see your tokens",
    "device_logins.show": "let a device in",
    "invitations.show": "accept an invitation",
}
"""Endpoint of the page that comes after signing in -> what is done there."""
OF_A_TASK = ("uploads.form",)
"""Those in which the task is named, where everybody may know of it."""


def purpose(target: str) -> str:
    """What signing in is for, such as `send a run to Robust04`; empty where nothing is known to say."""
    adapter = current_app.url_map.bind("localhost")
    try:
        endpoint, arguments = adapter.match(target.partition("?")[0], method="GET")
    except HTTPException:
        return ""
    words = PURPOSES.get(endpoint, "")
    return words + _to_task(arguments["slug"]) if endpoint in OF_A_TASK else words


def _to_task(slug: str) -> str:
    """The task's name with `to` before it; the same, nothing, for a draft and for no task."""
    try:
        task, _ = policy.visible_task(reading(), viewer(), slug)
    except NotFound:
        return ""
    return f" to {task.name}"


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
        made = _checked(name, password)
    except LeaderboardError as error:
        return refused(lambda error: _sign_in_page(error, name), error)
    return signed_in(made, after_sign_in())


def _checked(name: str, password: str) -> NewSession | PendingSession:
    asking = browser()
    with writing() as session:
        credentials = accounts.sign_in_attempt(session, name, asking)
    right = passwords.matches(credentials.password_hash, password)
    if not right or credentials.account_id is None or credentials.password_hash is None:
        with writing() as session:
            accounts.sign_in_failed(session, credentials, client_ip())
        raise Invalid(accounts.WRONG)
    rehashed = _rehashed(credentials.password_hash, password)
    with writing() as session:
        return accounts.sign_in_passed(session, credentials.account_id, name, asking, rehashed)


def signed_in(made: NewSession | PendingSession, target: str) -> Response:
    """The way on after a right password or link: to the target, or first to the page for the code."""
    if isinstance(made, NewSession):
        return welcome(redirect(target, 303), made)
    response = redirect(url_for("second_factor.ask", next=target), 303)
    set_cookie(response, made.token, PENDING)
    return response


def _rehashed(stored: str, password: str) -> AccountPassword | None:
    return passwords.rehashed(password) if passwords.is_outdated(stored) else None


def _sign_in_page(error: LeaderboardError | None = None, name: str = "") -> str:
    target = after_sign_in()
    return render_template(
        "accounts/sign_in.html",
        error=error,
        name=name,
        next=target,
        purpose=purpose(target),
        providers=offered(),
        sign_up=settings().sign_up,
    )


def after_sign_in() -> str:
    """The address of this site that was wished for before signing in, else one's own page."""
    return local_path(request.values.get("next", ""), url_for("my.show"))


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
    asking = browser()
    with writing() as session:
        made = accounts.use_link(session, token, asking)
    return signed_in(made, url_for("tasks.index"))


@blueprint.post("/sign-out")
@rule(PUBLIC)
def sign_out() -> ResponseReturnValue:
    """End this browser's session."""
    with writing() as session:
        sessions.end(session, session_token())
    return goodbye(redirect(url_for("tasks.index"), 303))


@blueprint.get("/sign-up")
@rule(PUBLIC)
def sign_up() -> ResponseReturnValue:
    """The page that makes an account."""
    require_safe_sign_in()
    _require_open()
    return _sign_up_page()


@blueprint.post("/sign-up")
@rule(PUBLIC)
def sign_up_now() -> ResponseReturnValue:
    """Make an account, and a team where one is named, and sign in."""
    require_safe_sign_in()
    _require_open()
    name, password = request.form.get("name", ""), request.form.get("password", "")
    team, asker = request.form.get("team", "").strip(), viewer()

    def found(session: Session, account_id: int) -> None:
        captain = replace(asker, account_id=account_id, name=name)
        if team:
            teams.count_creation(session, captain, team)
            teams.create(session, captain, team)

    try:
        made = make_account(name, password, found)
    except LeaderboardError as error:
        return refused(lambda error: _sign_up_page(error, name), error)
    return signed_in(made, after_sign_in())


def _require_open() -> None:
    """Raise Forbidden where visitors may not make accounts by themselves."""
    if settings().sign_up == BY_INVITATION:
        raise Forbidden("Accounts are made by invitation here: open the link you were sent, or ask for one.")
    if settings().sign_up == CLOSED:
        raise Forbidden("This site takes no new accounts; ask its operator.")


def _sign_up_page(error: LeaderboardError | None = None, name: str = "") -> str:
    return render_template(
        "accounts/sign_up.html",
        error=error,
        name=name,
        next=after_sign_in(),
        purpose=purpose(after_sign_in()),
        team=request.form.get("team", ""),
        shortest=passwords.MIN_CHARACTERS,
    )


@blueprint.get("/account")
@rule(SIGNED_IN)
def account() -> ResponseReturnValue:
    """The viewer's own account: password, mail and signed-in browsers."""
    return account_page()


def account_page(error: LeaderboardError | None = None) -> str:
    """The viewer's own account, with what was wrong with a form of it."""
    page = pages.account_page(reading(), viewer(), session_token())
    return render_template(
        "accounts/account.html",
        page=page,
        browsers=pages.browsers(page),
        mail=mail_pages.own_mail(reading(), viewer()) if settings().smtp_url else None,
        letters=mail_pages.letters,
        providers=offered(),
        error=error,
        changed=request.args.get("changed") == "password",
        shortest=passwords.MIN_CHARACTERS,
    )


@blueprint.post("/account/password")
@rule(SIGNED_IN)
def change_password() -> ResponseReturnValue:
    """Change the password, end every session and begin a new one here."""
    require_safe_sign_in()
    asker, asking = viewer(), browser()
    try:
        credentials = require_password()
        secret = passwords.hashed(request.form.get("password", ""), asker.name)
        with writing() as session:
            token = accounts.change_password(session, asker, credentials, secret, asking.agent)
            device = device_logins.remember_device(session, require_account(asker), "")
    except LeaderboardError as error:
        return refused(account_page, error)
    return welcome(redirect(url_for("accounts.account", changed="password"), 303), NewSession(token, device))


@blueprint.get("/account/export.json")
@rule(SIGNED_IN)
def export() -> ResponseReturnValue:
    """All that the site holds on the viewer's account, as JSON."""
    return responses.as_file(
        json_text(closing.export_of(reading(), viewer())), "application/json", "account.json"
    )


@blueprint.post("/account/delete")
@rule(SIGNED_IN)
def delete() -> ResponseReturnValue:
    """Delete the viewer's account, with its password."""
    require_safe_sign_in()
    asker = viewer()
    try:
        credentials = require_password()
        if request.form.get("sure") != "yes":
            raise Invalid("Tick that you want the account deleted.")
        with writing() as session:
            closing.delete_account(session, asker, credentials)
    except LeaderboardError as error:
        return refused(account_page, error)
    return goodbye(redirect(url_for("tasks.index"), 303))


def offered() -> tuple[Provider, ...]:
    """The providers that one may sign in by."""
    return tuple(providers.read(settings().openid_file).values())


def require_password() -> AccountCredentials:
    """What the viewer's current password matched, as the form says it; an account may have none.

    Counts as a try, and takes tens of milliseconds. Raises Invalid where the password is another one.
    """
    asker = viewer()
    with writing() as session:
        credentials = accounts.own_credentials(session, asker)
    stored = credentials.password_hash
    if stored is not None and not passwords.matches(stored, request.form.get("current", "")):
        raise Invalid("The current password is wrong.")
    return credentials


@blueprint.post("/account/sessions/<id:session_id>")
@rule(SIGNED_IN)
def revoke(session_id: int) -> ResponseReturnValue:
    """End one of the viewer's sessions."""
    asker = viewer()
    with writing() as session:
        sessions.revoke(session, asker, session_id)
    return redirect(url_for("accounts.account"), 303)


@blueprint.post("/account/sessions/end")
@rule(SIGNED_IN)
def end_everywhere() -> ResponseReturnValue:
    """End every session of the viewer, this one too, and forget its devices."""
    asker = viewer()
    with writing() as session:
        accounts.leave_everywhere(session, asker)
    return goodbye(redirect(url_for("accounts.sign_in"), 303))
