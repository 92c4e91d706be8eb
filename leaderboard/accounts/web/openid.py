"""Signing in by a provider of OpenID Connect: begun here, answered here, linked on the account's page."""

from hmac import compare_digest
from typing import Any
from urllib.parse import quote, unquote

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.orm import Session
from werkzeug.wrappers import Response

from leaderboard.accounts.ops import accounts, invitations, sessions
from leaderboard.accounts.web import providers
from leaderboard.accounts.web.accounts import account_page, make_account, require_password, signed_in
from leaderboard.accounts.web.providers import Provider
from leaderboard.core.policy import Viewer, require_account
from leaderboard.errors import Forbidden, Invalid, LeaderboardError, NotFound
from leaderboard.settings import CLOSED, OPEN
from leaderboard.web.errors import refused
from leaderboard.web.http import local_path
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import (
    OPENID,
    browser,
    client_ip,
    cookie,
    drop_cookie,
    reading,
    require_safe_sign_in,
    set_cookie,
    settings,
    viewer,
    welcome,
    writing,
)

blueprint = Blueprint("openid", __name__)

SIGN_IN, NEW = "in", "new"
JOIN = "/join/"
APART = "~"


@blueprint.get("/sign-in/with/<key>")
@rule(PUBLIC)
def begin(key: str) -> ResponseReturnValue:
    """Send the browser to the provider."""
    require_safe_sign_in()
    provider, secret = _provider(key), sessions.new_token()
    target = _client().address(provider, secret, SIGN_IN, _back(provider))
    return _keeping(redirect(target, 303), secret, SIGN_IN, local_path(request.args.get("next", "")))


@blueprint.get("/sign-in/with/<key>/back")
@rule(PUBLIC)
def back(key: str) -> ResponseReturnValue:
    """The provider's answer: sign in, link the identity, or ask for the name of a new account."""
    require_safe_sign_in()
    provider, (secret, purpose, target) = _provider(key), _kept()
    if not secret or not _is_ours(secret, purpose):
        raise Invalid("This sign-in was started in another browser or too long ago. Start over.")
    asker = viewer()
    with writing() as session:
        sessions.count_answer(session, asker)
    subject = _client().subject(provider, secret, _back(provider), request.args.to_dict())
    if purpose == SIGN_IN:
        return _sign_in(provider, subject, target)
    if purpose != _linking(asker):
        raise Forbidden("You are now signed in with a different account than at the start. Start over.")
    with writing() as session:
        sessions.identity_link(session, asker, provider.issuer, subject)
    return _forgetting(redirect(url_for("accounts.account"), 303))


def _sign_in(provider: Provider, subject: str, target: str) -> Response:
    asking = browser()
    with writing() as session:
        account_id = sessions.account_of(session, provider.issuer, subject)
        if account_id is not None:
            return _forgetting(
                signed_in(accounts.sign_in_proved(session, account_id, "openid", asking), target)
            )
        token = sessions.keep_identity(session, provider.issuer, subject)
    return _keeping(redirect(url_for("openid.new"), 303), token, NEW, target)


@blueprint.get("/sign-in/new")
@rule(PUBLIC)
def new() -> ResponseReturnValue:
    """The page that asks for the name of an account that a provider's identity is to sign in to."""
    token, _, target = _kept()
    sessions.require_kept(reading(), token)
    _require_allowed(target)
    return _new_page()


@blueprint.post("/sign-in/new")
@rule(PUBLIC)
def create() -> ResponseReturnValue:
    """Make the account, without a password, and sign in."""
    require_safe_sign_in()
    token, _, target = _kept()
    sessions.require_kept(reading(), token)
    _require_allowed(target)
    name, ip = request.form.get("name", ""), client_ip()

    def admit(session: Session, account_id: int) -> None:
        sessions.adopt_identity(session, Viewer(account_id, ip=ip), token)
        if target.startswith(JOIN):
            invitations.redeem_as_new(session, account_id, name, ip, target.removeprefix(JOIN))

    try:
        new_session = make_account(name, None, admit)
    except LeaderboardError as error:
        return refused(lambda error: _new_page(error, name), error)
    after = url_for("teams.index") if target.startswith(JOIN) else target
    return _forgetting(welcome(redirect(after, 303), new_session))


def _require_allowed(target: str) -> None:
    """Raise Forbidden where visitors may not create accounts and have no valid invitation."""
    if settings().sign_up == OPEN:
        return
    if settings().sign_up == CLOSED or not target.startswith(JOIN):
        raise Forbidden(
            "This identity is not linked to an account, and registration is not open on this site."
        )
    invitations.look_at(reading(), target.removeprefix(JOIN))


def _new_page(error: LeaderboardError | None = None, name: str = "") -> str:
    return render_template("accounts/identity.html", error=error, name=name)


@blueprint.post("/account/identities/<key>")
@rule(SIGNED_IN)
def link(key: str) -> ResponseReturnValue:
    """After the password, show a link to the provider, whose response is then linked to the account.

    A page with a link: the policy of this site's pages forbids forms to another site.
    """
    provider, asker, secret = _provider(key), viewer(), sessions.new_token()
    if error := _wrong_password():
        return error
    target = _client().address(provider, secret, _linking(asker), _back(provider))
    page = Response(
        render_template("accounts/to_provider.html", provider=provider, target=target), mimetype="text/html"
    )
    return _keeping(page, secret, _linking(asker), url_for("accounts.account"))


@blueprint.post("/account/identities/<key>/remove")
@rule(SIGNED_IN)
def unlink(key: str) -> ResponseReturnValue:
    """Remove the provider as a sign-in, with the password."""
    provider, asker = _provider(key), viewer()
    if error := _wrong_password():
        return error
    with writing() as session:
        sessions.unlink_identity(session, asker, provider.issuer)
    return redirect(url_for("accounts.account"), 303)


def _wrong_password() -> Response | None:
    """The account's page with the error where the password is wrong."""
    require_safe_sign_in()
    asker = viewer()
    try:
        require_password()
        with writing() as session:
            accounts.proved(session, asker)
    except LeaderboardError as error:
        return refused(account_page, error)
    return None


def _provider(key: str) -> Provider:
    provider = providers.read(settings().openid_file).get(key)
    if provider is None:
        raise NotFound(f"There is no sign-in provider {key!r}.")
    return provider


def _client() -> Any:
    # Authlib is optional: sites without providers start without it.
    from leaderboard.accounts.web import openid_client

    return openid_client


def _back(provider: Provider) -> str:
    return url_for("openid.back", key=provider.key, _external=True)


def _linking(asker: Viewer) -> str:
    return f"link-{require_account(asker)}"


def _is_ours(secret: str, purpose: str) -> bool:
    given = request.args.get("state", "")
    return compare_digest(_client().state_of(secret, purpose).encode(), given.encode())


def _kept() -> tuple[str, str, str]:
    """Secret or token, purpose and target from the cookie; empty without a cookie."""
    parts = cookie(OPENID).split(APART)
    if len(parts) != 3:
        return "", "", "/"
    return parts[0], parts[1], local_path(unquote(parts[2]))


def _keeping(response: Response, secret: str, purpose: str, target: str) -> Response:
    set_cookie(response, APART.join((secret, purpose, quote(target, safe=""))), OPENID)
    return response


def _forgetting(response: Response) -> Response:
    drop_cookie(response, OPENID)
    return response
