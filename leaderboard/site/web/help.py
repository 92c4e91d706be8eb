"""Help: how to take part and how to read a board; and the parts that pages are made from."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from leaderboard.web.rules import PUBLIC, rule

blueprint = Blueprint("help", __name__)


@blueprint.get("/help")
@rule(PUBLIC)
def show() -> ResponseReturnValue:
    """Return the help page."""
    return render_template("site/help.html")


@blueprint.get("/help/parts")
@rule(PUBLIC)
def parts() -> ResponseReturnValue:
    """Return a page with every part of the design, for those who change pages."""
    return render_template("site/parts.html")
