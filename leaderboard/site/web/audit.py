"""An operator's search through the audit log."""

from datetime import datetime

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid, LeaderboardError, NotFound
from leaderboard.site import page as pages
from leaderboard.site.page import AuditPage, AuditSearch
from leaderboard.web import http
from leaderboard.web.addresses import MAX_ID, kept, whole
from leaderboard.web.errors import form_again
from leaderboard.web.filters import moment
from leaderboard.web.rules import OPERATOR, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("site_audit", __name__)

FIELDS = ("account", "action", "subject", "from", "to")


@blueprint.get("/site/audit")
@rule(OPERATOR)
def show() -> ResponseReturnValue:
    """The acts that the address requests, a page at a time."""
    try:
        before = whole(request.args.get("before"), digits=len(str(MAX_ID)) - 1)
        return _page(pages.audit_page(reading(), viewer(), _search(), before))
    except (Invalid, NotFound) as error:
        return form_again(_page(AuditPage((), None), error), error)


def _page(page: AuditPage, error: LeaderboardError | None = None) -> str:
    return render_template(
        "site/audit.html",
        page=page,
        table=pages.audit_table(page),
        sent=request.args,
        args=kept(FIELDS),
        is_first="before" not in request.args,
        error=error,
    )


@blueprint.get("/site/audit.<form:form>")
@rule(OPERATOR)
def export(form: str) -> ResponseReturnValue:
    """All acts that the address requests, as a file."""
    return http.export(form, pages.AUDIT_FILES, pages.whole_audit(reading(), viewer(), _search()))


def _search() -> AuditSearch:
    given = request.args
    return AuditSearch(
        account=given.get("account", "").strip(),
        action=given.get("action", "").strip(),
        subject=given.get("subject", "").strip(),
        first=_day("from"),
        last=_day("to"),
    )


def _day(field: str) -> datetime | None:
    text = request.args.get(field, "").strip()
    return moment(text) if text else None
