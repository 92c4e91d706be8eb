"""Tokens of the API: the viewer's own page, and an operator's page of another account's."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.accounts.ops import tokens
from leaderboard.accounts.ops.tokens import MOST, NewToken, TokenRequest
from leaderboard.accounts.page import tokens as pages
from leaderboard.errors import LeaderboardError
from leaderboard.web import actions
from leaderboard.web.rules import OPERATOR, SIGNED_IN, rule
from leaderboard.web.session import reading, require_safe_sign_in, viewer

blueprint = Blueprint("tokens", __name__)


@blueprint.get("/account/tokens")
@rule(SIGNED_IN)
def index() -> ResponseReturnValue:
    """The viewer's tokens and a form for another one."""
    return _page()


@blueprint.get("/site/accounts/<id:account_id>/tokens")
@rule(OPERATOR)
def of_account(account_id: int) -> ResponseReturnValue:
    """The tokens of an account, for operators, who may end them."""
    page = pages.account_tokens(reading(), viewer(), account_id)
    return render_template("site/tokens.html", page=page, table=pages.table(page.rows))


def _page(error: LeaderboardError | None = None, **_: object) -> str:
    page = pages.own_tokens(reading(), viewer())
    return render_template(
        "accounts/tokens.html",
        page=page,
        table=pages.table(page.rows),
        error=error,
        most=MOST,
        **actions.form(TokenRequest, error),
    )


def _made(token: NewToken) -> ResponseReturnValue:
    """The secret, this once, on a page that nothing keeps."""
    return render_template("accounts/token.html", made=token, label=request.form["label"]), 201


actions.add_to(
    blueprint,
    tokens.ACTIONS,
    _page,
    then={"make": _made},
    before={"make": require_safe_sign_in},
    refusals=(LeaderboardError,),
)
