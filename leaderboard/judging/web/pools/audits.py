"""The audit of a task's judgments, as page, JSON, CSV and LaTeX."""

import math
from typing import Any

from flask import Blueprint, request

from leaderboard.errors import Invalid
from leaderboard.judging.page.pools import audit_tables, audits
from leaderboard.judging.page.pools.audits import AuditPage, Choice
from leaderboard.scoring.ops.statistics.procedures.pool_simulations import SHARES
from leaderboard.scoring.ops.statistics.requests import computing
from leaderboard.web import actions, http
from leaderboard.web.addresses import kept, whole
from leaderboard.web.charts import Curve, LineChart, line_chart
from leaderboard.web.rules import PUBLIC, rule
from leaderboard.web.session import reading, viewer

blueprint = Blueprint("pool_audits", __name__)

STATE = ("measure", "depth")
ROWS_AT_FIRST = 30


@http.with_files(
    blueprint,
    "/tasks/<slug>/pools/audit",
    "judging/pools/audit.html",
    audit_tables.FILES,
    tables=lambda page: {name: table(page) for name, table in audit_tables.FILES.tables.items()},
    args=lambda _: _state(),
    whole=lambda _: "all" in request.args,
    depths=lambda page: _depths(page),
    found_chart=lambda page: _found(page),
    shares=lambda _: range(0, len(SHARES), 2),
    titles=lambda _: audits.method_titles(),
    chosen=lambda _: audits.chosen_methods(request.args.getlist("method")),
    rows_at_first=lambda _: ROWS_AT_FIRST,
)
@rule(PUBLIC, is_computed=True)
def show(slug: str) -> AuditPage:
    """Unique documents, leave one team out, depth, disadvantaged runs, and other methods."""
    text = request.args.get("depth", "").strip()
    depth = whole(text, digits=6)
    if text and depth is None:
        raise Invalid(f"The pool depth must be a whole number from 1 to {audits.DEEPEST}.")
    choice = Choice(
        measure=request.args.get("measure") or None,
        depth=depth,
        methods=tuple(request.args.getlist("method")),
    )
    return audits.page(reading(), viewer(), slug, choice)


actions.add_to(
    blueprint,
    [
        computing(
            "ask", lambda _, __, slug: show(slug).waiting, "/tasks/<slug>/pools/audit", "pool_audits.show"
        )
    ],
)


def _state() -> dict[str, Any]:
    """The query parameters to keep in links."""
    return kept(STATE, flags=["all"], lists=["method"])


def _depths(page: AuditPage) -> LineChart | None:
    """The chart of agreement with the full ranking by depth."""
    if page.reusability is None or len(page.reusability.depths) < 2:
        return None
    curves = []
    for name in ("tau", "tau_ap"):
        pairs = ((row.depth, getattr(row.agreement, name)) for row in page.reusability.depths)
        points = [(float(depth), value) for depth, value in pairs if value is not None]
        if points:
            curves.append(Curve({"tau": "τ", "tau_ap": "τ_AP"}[name], points))
    lowest = min((value for curve in curves for _, value in curve.points), default=0.0) - 1e-9
    return line_chart(curves, y=(math.floor(10 * lowest) / 10, 1.0)) if curves else None


def _found(page: AuditPage) -> LineChart | None:
    """The chart of relevant documents found by share judged, one curve per method."""
    if not page.simulated or not page.relevant:
        return None
    return line_chart(
        [
            Curve(method.title, list(zip(SHARES.tolist(), method.recall, strict=True)))
            for method in page.simulated
        ]
    )
