"""Signing in, up and out; the account's own page."""

from collections.abc import Callable

from flask import Blueprint, current_app, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session
from werkzeug.exceptions import HTTPException
from werkzeug.wrappers import Response

from leaderboard import fields
from leaderboard.accounts import slots
from leaderboard.accounts.ops import accounts, closing, device_logins, passwords, sessions, teams
from leaderboard.accounts.ops.accounts import (
    AccountCredentials,
    NewAccount,
    NewSession,
    PendingSession,
    SignIn,
)
from leaderboard.accounts.ops.passwords import AccountPassword
from leaderboard.accounts.page import accounts as pages
from leaderboard.accounts.web import providers
from leaderboard.accounts.web.providers import Provider
from leaderboard.core import policy
from leaderboard.core.policy import Viewer, require_account, viewer_of
from leaderboard.errors import Conflict, Forbidden, Invalid, LeaderboardError, NotFound, Problem
from leaderboard.settings import BY_INVITATION, CLOSED
from leaderboard.tables.record import json_text
from leaderboard.web import actions, http
from leaderboard.web.errors import refused
from leaderboard.web.http import local_path
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
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


def new_account() -> NewAccount:
    """The form of a new account; raises Invalid with every problem, of a missing field too."""
    return fields.read(NewAccount, {"name": "", "password": "", **actions.sent(NewAccount)})


def found_team(session: Session, captain: Viewer, team: str) -> None:
    """Create a team that was counted; raises Conflict, for the field of the team, if the name is taken."""
    try:
        teams.create(session, captain, team)
    except Conflict as error:
        raise Conflict(error.message, field="team") from None


def found_first_team(session: Session, account_id: int, name: str, team: str) -> None:
    """The same for an account that was just made, whose making was counted."""
    captain = viewer_of(session, account_id, name, False, client_ip())
    teams.count_creation(session, captain, team)
    found_team(session, captain, team)


def make_account(
    name: str, password: str | None, admit: Callable[[Session, int], None] = lambda session, account_id: None
) -> NewSession:
    """The first session of a new account; `admit` lets it in somewhere in the same transaction.

    Without a password it is one that signs in by a provider.
    """
    asker, asking = viewer(), browser()
    if password is not None:
        passwords.require_strong(password, name)
    with writing() as session:
        accounts.count_sign_up(session, asker, name)
    secret = passwords.hashed(password, name) if password is not None else None
    with writing() as session:
        account_id = accounts.create(session, name, secret, viewer=asker)
        admit(session, account_id)
        return accounts.begin_session(session, account_id, "sign-up", asking)


PURPOSES = {
    "uploads.form": "submit a run",
    "teams.index": "see and create teams",
    "teams.show": "see your team",
    "organise.new": "create a task",
    "organise.show": "organise a task",
    "accounts.account": "see your account",
    "tokens.index": "see your tokens",
    "device_logins.show": "authorise a device",
    "invitations.show": "accept an invitation",
}
"""Endpoint of the page after signing in -> the action there."""
OF_A_TASK = ("uploads.form",)
"""Endpoints whose purpose names the task, if the task is public."""


def purpose(target: str) -> str:
    """The purpose of signing in, such as `submit a run to Robust04`; empty if unknown."""
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
    """The sign-in page."""
    require_safe_sign_in()
    return _sign_in_page()


@blueprint.post("/sign-in")
@rule(PUBLIC)
@actions.takes(SignIn)
def sign_in_now() -> ResponseReturnValue:
    """Check name and password; response and timing are the same for unknown names."""
    require_safe_sign_in()
    name, password = request.form.get("name", ""), request.form.get("password", "")
    try:
        new_session = _checked(name, password)
    except LeaderboardError as error:
        return refused(_sign_in_page, error)
    return signed_in(new_session, after_sign_in())


def _checked(name: str, password: str) -> NewSession | PendingSession:
    asking = browser()
    with writing() as session:
        credentials = accounts.sign_in_attempt(session, name, asking)
    right = passwords.matches(credentials.password_hash, password)
    if not right or credentials.account_id is None or credentials.password_hash is None:
        with writing() as session:
            accounts.sign_in_failed(session, credentials, client_ip())
        raise Invalid(accounts.WRONG, [Problem(accounts.WRONG, field="password")])
    rehashed = _rehashed(credentials.password_hash, password)
    with writing() as session:
        return accounts.sign_in_passed(session, credentials.account_id, name, asking, rehashed)


def signed_in(new_session: NewSession | PendingSession, target: str) -> Response:
    """The redirect after a correct password or link: to the target, or to the second-factor page."""
    if isinstance(new_session, NewSession):
        return welcome(redirect(target, 303), new_session)
    response = redirect(url_for("second_factor.ask", next=target), 303)
    set_cookie(response, new_session.token, PENDING)
    return response


def _rehashed(stored: str, password: str) -> AccountPassword | None:
    return passwords.rehashed(password) if passwords.is_outdated(stored) else None


def _sign_in_page(error: LeaderboardError | None = None) -> str:
    target = after_sign_in()
    return render_template(
        "accounts/sign_in.html",
        error=error,
        form=actions.form(SignIn, error),
        next=target,
        purpose=purpose(target),
        providers=offered(),
        sign_up=settings().sign_up,
    )


def after_sign_in() -> str:
    """The address of this site that was requested before signing in, else one's own page."""
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
        new_session = accounts.use_link(session, token, asking)
    return signed_in(new_session, url_for("tasks.index"))


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
@actions.takes(NewAccount)
def sign_up_now() -> ResponseReturnValue:
    """Make an account, and a team where one is named, and sign in."""
    require_safe_sign_in()
    _require_open()
    try:
        asked = new_account()

        def found(session: Session, account_id: int) -> None:
            if asked.team:
                found_first_team(session, account_id, asked.name, asked.team)

        new_session = make_account(asked.name, asked.password, found)
    except LeaderboardError as error:
        return refused(_sign_up_page, error)
    return signed_in(new_session, after_sign_in())


def _require_open() -> None:
    """Raise Forbidden where visitors may not create accounts."""
    if settings().sign_up == BY_INVITATION:
        raise Forbidden(
            "Registration on this site is by invitation. Open the link in your invitation, or ask for one."
        )
    if settings().sign_up == CLOSED:
        raise Forbidden("Registration is closed on this site. Ask its operator for an account.")


def _sign_up_page(error: LeaderboardError | None = None) -> str:
    return render_template(
        "accounts/sign_up.html",
        error=error,
        form=actions.form(NewAccount, error),
        next=after_sign_in(),
        purpose=purpose(after_sign_in()),
    )


@blueprint.get("/account")
@rule(SIGNED_IN)
def account() -> ResponseReturnValue:
    """The viewer's own account: password, mail and signed-in browsers."""
    return account_page()


def account_page(error: LeaderboardError | None = None) -> str:
    """The viewer's own account, with the errors of a form."""
    page = pages.account_page(reading(), viewer(), session_token())
    return render_template(
        "accounts/account.html",
        page=page,
        browsers=pages.browsers(page),
        parts=[part for parts_of in slots.ACCOUNT for part in parts_of()],
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
    return http.as_file(json_text(closing.export_of(reading(), viewer())), "application/json", "account.json")


@blueprint.post("/account/delete")
@rule(SIGNED_IN)
def delete() -> ResponseReturnValue:
    """Delete the viewer's account, with its password."""
    require_safe_sign_in()
    asker = viewer()
    try:
        credentials = require_password()
        if request.form.get("sure") != "yes":
            raise Invalid("Tick the box to confirm that the account is deleted.", field="sure")
        with writing() as session:
            closing.delete_account(session, asker, credentials)
    except LeaderboardError as error:
        return refused(account_page, error)
    return goodbye(redirect(url_for("tasks.index"), 303))


def offered() -> tuple[Provider, ...]:
    """The providers that one may sign in by."""
    return tuple(providers.read(settings().openid_file).values())


def require_password() -> AccountCredentials:
    """The password hash that the form's current password matched; an account may have none.

    Counts as an attempt, and takes tens of milliseconds. Raises Invalid where the password is another one.
    """
    asker = viewer()
    with writing() as session:
        credentials = accounts.own_credentials(session, asker)
    stored = credentials.password_hash
    if stored is not None and not passwords.matches(stored, request.form.get("current", "")):
        raise Invalid("The current password is wrong.", field="current")
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
