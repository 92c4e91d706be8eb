"""Tokens of the API: the viewer's own page, and an operator's page of another account's."""

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError
from leaderboard.pages import tokens as pages
from leaderboard.services.accounts import tokens
from leaderboard.services.accounts.tokens import (
    DAYS,
    LABEL_CHARACTERS,
    MEANINGS,
    MOST,
    PERSONAL,
    SCOPES_OF_KIND,
    Scope,
    TokenRequest,
)
from leaderboard.web.errors import form_again, wants_json
from leaderboard.web.rules import OPERATOR, SIGNED_IN, rule
from leaderboard.web.security import local_path
from leaderboard.web.session import reading, require_safe_sign_in, settings, viewer, writing

blueprint = Blueprint("tokens", __name__)

LIVES = (7, 30, DAYS, 365)
ENDLESS = "none"


@blueprint.get("/account/tokens")
@rule(SIGNED_IN)
def index() -> ResponseReturnValue:
    """The viewer's tokens and a form for another one."""
    return _page()


@blueprint.post("/account/tokens")
@rule(SIGNED_IN)
def make() -> ResponseReturnValue:
    """Make a token and show its secret, this once, on a page that nothing keeps."""
    require_safe_sign_in()
    asker = viewer()
    try:
        wanted = asked(request.form.get("label", ""))
        with writing() as session:
            made = tokens.make(session, asker, wanted, factor_needed=settings().require_second_factor)
    except LeaderboardError as error:
        if wants_json():
            raise
        return form_again(_page(error), error)
    return render_template("accounts/token.html", made=made, label=wanted.label), 201


def asked(label: str) -> TokenRequest:
    """The token that a form asks for: its scopes, task, team and days; raises Invalid for no number."""
    team, days = request.form.get("team", ""), request.form.get("days", str(DAYS))
    kind = request.form.get("kind", PERSONAL)
    return TokenRequest(
        label=label,
        # A runner's scopes are those of its kind.
        scopes=request.form.getlist("scope") if kind == PERSONAL else SCOPES_OF_KIND.get(kind, ()),
        kind=kind,
        slug=request.form.get("task", ""),
        team_id=_number(team, "team") if team else None,
        days=None if days == ENDLESS else _number(days, "number of days"),
    )


def _number(text: str, what: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 9):
        raise Invalid(f"{text[:40]!r} is no {what}.")
    return int(text)


@blueprint.post("/account/tokens/<id:token_id>/revoke")
@rule(SIGNED_IN)
def revoke(token_id: int) -> ResponseReturnValue:
    """End a token of the viewer's own, or, for an operator, anybody's."""
    asker = viewer()
    with writing() as session:
        tokens.revoke(session, asker, token_id)
    return redirect(local_path(request.form.get("next", ""), url_for("tokens.index")), 303)


@blueprint.get("/site/accounts/<id:account_id>/tokens")
@rule(OPERATOR)
def of_account(account_id: int) -> ResponseReturnValue:
    """The tokens of an account, for operators, who may end them."""
    page = pages.account_tokens(reading(), viewer(), account_id)
    return render_template("site/tokens.html", page=page, table=pages.table(page.rows))


def _page(error: LeaderboardError | None = None) -> str:
    page = pages.own_tokens(reading(), viewer())
    return render_template(
        "accounts/tokens.html",
        page=page,
        table=pages.table(page.rows),
        form=page.form,
        error=error,
        label=request.form.get("label", ""),
        chosen=request.form.getlist("scope") or [Scope.READ, Scope.SUBMIT],
        meanings=MEANINGS,
        lives=LIVES,
        days=DAYS,
        most=MOST,
        longest=LABEL_CHARACTERS,
    )
