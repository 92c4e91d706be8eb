"""The mail address of the viewer's account: giving it, confirming it, taking it away."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import LeaderboardError, NotFound
from leaderboard.services.mail import addresses
from leaderboard.web.accounts.accounts import account_page
from leaderboard.web.addresses import absolute
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import client_ip, reading, settings, viewer, wake, writing

blueprint = Blueprint("mail", __name__)


def _require_mail() -> None:
    if not settings().smtp_url:
        raise NotFound("This site sends no mail.")


@blueprint.post("/account/address")
@rule(SIGNED_IN)
def give() -> ResponseReturnValue:
    """Give the account an address and send the link that confirms it; all addresses are answered alike."""
    _require_mail()
    asker = viewer()
    try:
        with writing() as session:
            token = addresses.give(session, asker, request.form.get("address", ""))
            addresses.ask(session, asker, absolute("mail.link", token=token))
    except LeaderboardError as error:
        if wants_json():
            raise
        return form_again(account_page(error), error)
    wake()
    return redirect(url_for("accounts.account", _anchor="mail"), 303)


@blueprint.post("/account/address/remove")
@rule(SIGNED_IN)
def remove() -> ResponseReturnValue:
    """Take the account's address away."""
    _require_mail()
    asker = viewer()
    with writing() as session:
        addresses.remove(session, asker)
    return redirect(url_for("accounts.account", _anchor="mail"), 303)


@blueprint.get("/confirm-mail/<token>")
@rule(PUBLIC)
def link(token: str) -> ResponseReturnValue:
    """What the link in a letter opens; only its button confirms, as programs open links to look at them."""
    return render_template(
        "accounts/confirm_mail.html", found=addresses.to_confirm(reading(), token), token=token
    )


@blueprint.post("/confirm-mail/<token>")
@rule(PUBLIC)
def confirm(token: str) -> ResponseReturnValue:
    """Confirm the address; it signs nobody in."""
    with writing() as session:
        addresses.confirm(session, client_ip(), token)
    return render_template("accounts/confirm_mail.html", found=None, token=token)
