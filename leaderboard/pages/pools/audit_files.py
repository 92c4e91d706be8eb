"""The audit of a task's judgments as plain values and tables."""

from collections.abc import Mapping
from typing import Any

from leaderboard.pages.pools import simulation
from leaderboard.pages.pools.audits import Agreement, AuditedRun, AuditPage
from leaderboard.services.evaluations.shown import rests_on
from leaderboard.services.statistics.procedures.pool_simulations import ORDERED_AT, SHARES

TABLES: Mapping[str, str] = {
    "teams": "what each team alone brought, and its runs without it",
    "runs": "every run under all judgments and without what its team alone brought",
    "depths": "agreement of the order of runs with that under all judgments, by depth of the pool",
    "methods": "relevant documents found by the share of documents judged",
}
"""Name of a table in an address -> what it holds."""

_RUN = tuple(name for name in AuditedRun.__slots__ if name != "run_id")
_TEAM = ("team", "runs", "alone", "alone_relevant", "change", "drop")


def as_json(page: AuditPage) -> dict[str, Any]:
    """The audit as plain values; what is not computed yet is None."""
    found, done = page.audited, page.reusability
    return {
        "task": found.task,
        "said": found.said,
        "measure": found.measure.key if found.measure else None,
        "qrels_revision": found.basis.revision if found.basis else None,
        "topics": found.basis.topics if found.basis else None,
        "depth": page.depth or None,
        "pooled_runs": sum(found.pooled),
        "waiting": [
            {"procedure": each.request.procedure, "state": each.state, "progress": each.progress}
            for each in page.waiting
        ],
        "left_out": None
        if done is None
        else {
            **_agreement(done.agreement),
            "mean_relative_change": done.change,
            "largest_drop": done.drop,
        },
        **{name: _rows(page, name) for name in TABLES},
    }


def table(page: AuditPage, which: str) -> tuple[list[str], list[list[Any]]]:
    """One of TABLES as header and rows; without rows while it is not computed."""
    done = page.reusability
    if which == "methods":
        return simulation.as_rows(page.simulated)
    if which == "runs":
        rows = [[getattr(each, name) for name in _RUN] for each in done.runs] if done else []
        return list(_RUN), rows
    if which == "depths":
        return ["depth", "tau", "tau_ap"], [
            [each.depth, each.agreement.tau, each.agreement.tau_ap] for each in (done.depths if done else ())
        ]
    return [*_TEAM, "tau", "tau_ap"], [
        [*(getattr(each, name) for name in _TEAM), each.agreement.tau, each.agreement.tau_ap]
        for each in (done.teams if done else ())
    ]


def caption(page: AuditPage, which: str) -> str:
    """What a table holds and rests on, as a sentence."""
    found = page.audited
    if found.basis is None or found.measure is None:
        return f"{found.task}: {TABLES[which]}."
    under = rests_on(found.basis.revision, found.basis.topics, found.basis.dialect)
    shares = (
        f" at {len(SHARES)} shares, order by {found.measure.key} at {ORDERED_AT}"
        if which == "methods"
        else ""
    )
    return (
        f"{found.task}: {TABLES[which]}{shares}; {found.measure.key} ({found.measure.direction} is better), "
        f"pool depth {page.depth}, under {under}."
    )


def _rows(page: AuditPage, which: str) -> list[dict[str, Any]]:
    header, rows = table(page, which)
    return [dict(zip(header, row, strict=True)) for row in rows]


def _agreement(found: Agreement) -> dict[str, float | None]:
    return {"tau": found.tau, "tau_ap": found.tau_ap}
