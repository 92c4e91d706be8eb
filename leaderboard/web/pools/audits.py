"""What a task's judgments owe to whom, as page, JSON, CSV and LaTeX."""

import math
from typing import Any

from flask import Blueprint, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from leaderboard.errors import Invalid
from leaderboard.pages.pools import audits, simulation
from leaderboard.pages.pools.audit_files import TABLES, as_json, caption, table
from leaderboard.pages.pools.audits import AuditPage, Choice
from leaderboard.services.statistics.procedures.pool_simulations import ORDERED_AT, SHARES
from leaderboard.web import responses
from leaderboard.web.charts import Curve, LineChart, line_chart
from leaderboard.web.rules import PUBLIC, SIGNED_IN, rule
from leaderboard.web.session import reading, viewer, wake, writing

blueprint = Blueprint("pool_audits", __name__)

STATE = ("measure", "depth", "all")
ROWS_AT_FIRST = 30


@blueprint.get("/tasks/<slug>/pools/audit")
@rule(PUBLIC)
def show(slug: str) -> ResponseReturnValue:
    """Unique documents, leaving one team out, depth, runs that lose by the pool, and other methods."""
    page = _page(slug)
    html = render_template(
        "pools/audit.html",
        page=page,
        args=_state(),
        whole="all" in request.args,
        losers=audits.losers(page.reusability.runs) if page.reusability else (),
        depths=_depths(page),
        found_chart=_found(page),
        shares=[(place, float(share)) for place, share in enumerate(SHARES) if place % 2 == 0],
        ordered_at=ORDERED_AT,
        titles=simulation.titles(),
        chosen=simulation.chosen(request.args.getlist("method")),
        rows_at_first=ROWS_AT_FIRST,
    )
    return responses.page(html)


@blueprint.get("/tasks/<slug>/pools/audit.json")
@rule(PUBLIC)
def show_json(slug: str) -> ResponseReturnValue:
    """The audit as JSON."""
    return responses.as_json(as_json(_page(slug)))


@blueprint.get("/tasks/<slug>/pools/audit.csv")
@rule(PUBLIC)
def show_csv(slug: str) -> ResponseReturnValue:
    """One of the audit's tables as CSV."""
    which = _table()
    return responses.as_csv(table(_page(slug), which), f"{slug}-audit-{which}")


@blueprint.get("/tasks/<slug>/pools/audit.tex")
@rule(PUBLIC)
def show_tex(slug: str) -> ResponseReturnValue:
    """One of the audit's tables as LaTeX."""
    which, page = _table(), _page(slug)
    return responses.as_latex_table(table(page, which), f"{slug}-audit-{which}", caption=caption(page, which))


@blueprint.post("/tasks/<slug>/pools/audit")
@rule(SIGNED_IN)
def ask(slug: str) -> ResponseReturnValue:
    """Have everything computed that the page at this address waits for."""
    page = _page(slug)
    if page.waiting:
        with writing() as session:
            audits.ask(session, page)
        wake()
    return redirect(url_for("pool_audits.show", slug=slug, **_state()), 303)


def _page(slug: str) -> AuditPage:
    text = request.args.get("depth", "").strip()
    if text and not (text.isascii() and text.isdigit() and len(text) <= 6):
        raise Invalid(f"The depth of a pool is a whole number from 1 to {audits.DEEPEST}.")
    choice = Choice(
        request.args.get("measure") or None,
        int(text) if text else None,
        tuple(request.args.getlist("method")),
    )
    return audits.page(reading(), viewer(), slug, choice)


def _table() -> str:
    which = request.args.get("table", next(iter(TABLES)))
    if which not in TABLES:
        raise Invalid(f"There is no table {which[:40]!r}; choose {', '.join(TABLES)}.")
    return which


def _state() -> dict[str, Any]:
    """The parts of the address that choose what is shown, to be kept in links."""
    kept: dict[str, Any] = {key: request.args[key] for key in STATE if key in request.args}
    if "method" in request.args:
        kept["method"] = request.args.getlist("method")
    return kept


def _depths(page: AuditPage) -> LineChart | None:
    """How the order of runs comes closer to the full one, by depth."""
    if page.reusability is None or len(page.reusability.depths) < 2:
        return None
    curves = []
    for name in ("tau", "tau_ap"):
        pairs = ((each.depth, getattr(each.agreement, name)) for each in page.reusability.depths)
        points = [(float(depth), value) for depth, value in pairs if value is not None]
        if points:
            curves.append(Curve({"tau": "τ", "tau_ap": "τ_AP"}[name], points))
    lowest = min((value for curve in curves for _, value in curve.points), default=0.0) - 1e-9
    return line_chart(curves, y=(math.floor(10 * lowest) / 10, 1.0)) if curves else None


def _found(page: AuditPage) -> LineChart | None:
    """The share of relevant documents found by the share judged, a curve for each method."""
    if not page.simulated or not page.relevant:
        return None
    return line_chart(
        [Curve(each.title, list(zip(SHARES.tolist(), each.recall, strict=True))) for each in page.simulated]
    )
