"""The mail address of an account: given, confirmed, removed, and written to where a password is lost."""

import logging

from flask import Blueprint, Response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy.exc import SQLAlchemyError

from leaderboard.accounts.web.accounts import account_page
from leaderboard.core.slots import Part
from leaderboard.errors import LeaderboardError
from leaderboard.notify.ops import mail
from leaderboard.notify.page import mail as pages
from leaderboard.web.addresses import absolute
from leaderboard.web.errors import refused
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import (
    client_ip,
    database,
    reading,
    require_mail,
    require_safe_sign_in,
    settings,
    site,
    viewer,
    wake,
    writing,
)

log = logging.getLogger(__name__)
blueprint = Blueprint("mail", __name__)

WRITE_WAIT_S = 5.0
"""Maximum wait of a mail for other writers, since it occupies a server thread."""


def of_account() -> tuple[Part, ...]:
    """The viewer's address and letters, where the site has a mail server."""
    if not settings().smtp_url:
        return ()
    page = pages.own_mail(reading(), viewer())
    return (Part("notify/mail.html", (page, pages.letters(page))),)


@blueprint.post("/account/address")
@rule(SIGNED_IN)
def give() -> ResponseReturnValue:
    """Give the account an address and send the link that confirms it; all addresses are answered alike."""
    require_mail()
    asker = viewer()
    try:
        with writing() as session:
            token = mail.give_address(session, asker, request.form.get("address", ""))
            mail.ask_address(session, asker, absolute("mail.link", token=token))
    except LeaderboardError as error:
        return refused(account_page, error)
    wake()
    return redirect(url_for("accounts.account", _anchor="mail"), 303)


@blueprint.post("/account/address/remove")
@rule(SIGNED_IN)
def remove() -> ResponseReturnValue:
    """Remove the account's address."""
    require_mail()
    asker = viewer()
    with writing() as session:
        mail.remove_address(session, asker)
    return redirect(url_for("accounts.account", _anchor="mail"), 303)


@blueprint.get("/confirm-mail/<token>")
@rule(PUBLIC)
def link(token: str) -> ResponseReturnValue:
    """The page of a confirmation link; only its button confirms, because mail scanners open links."""
    return render_template("notify/confirm_mail.html", found=mail.to_confirm(reading(), token), token=token)


@blueprint.post("/confirm-mail/<token>")
@rule(PUBLIC)
def confirm(token: str) -> ResponseReturnValue:
    """Confirm the address, without signing in."""
    with writing() as session:
        mail.confirm_address(session, client_ip(), token)
    return render_template("notify/confirm_mail.html", found=None, token=token)


@blueprint.get("/lost-password")
@rule(PUBLIC)
def ask_for_link() -> ResponseReturnValue:
    """The form that requests a link by mail."""
    require_mail()
    require_safe_sign_in()
    return render_template("notify/lost_password.html", asked=False, error=None)


@blueprint.post("/lost-password")
@rule(PUBLIC)
def lost_password() -> ResponseReturnValue:
    """Send a link where the account has a confirmed address; the answer is alike, and as quick, for all."""
    require_mail()
    require_safe_sign_in()
    asker, name = viewer(), request.form.get("name", "")
    try:
        with writing() as session:
            mail.count_lost(session, asker, name)
    except LeaderboardError as error:
        return refused(
            lambda error: render_template("notify/lost_password.html", asked=False, error=error), error
        )
    response = Response(render_template("notify/lost_password.html", asked=True, error=None))
    here, awake = database(), site().wake
    address = absolute("accounts.link", token="0").removesuffix("0") + mail.PLACE

    def write() -> None:
        try:
            with here.write(WRITE_WAIT_S) as session:
                mail.send_link(session, asker, name, address)
        except SQLAlchemyError:
            log.exception("a link for a lost password could not be written")
        awake()

    response.call_on_close(write)
    return response
