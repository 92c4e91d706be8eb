"""The audit of a task's judgments as plain values and as tables."""

from dataclasses import replace
from operator import attrgetter
from typing import Any

from leaderboard.judging.page.pools.audits import (
    Agreement,
    AuditedRun,
    AuditedTeam,
    AuditPage,
    DepthOrder,
    SimulatedPool,
    losers,
)
from leaderboard.scoring.ops.evaluations.shown import rests_on
from leaderboard.scoring.ops.statistics.procedures.pool_simulations import ORDERED_AT, SHARES
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


def facts(page: AuditPage) -> dict[str, Any]:
    """The audit as plain values; parts not computed yet are None."""
    audited, done = page.audited, page.reusability
    return {
        "task": audited.task,
        "said": audited.why,
        "measure": audited.measure.key if audited.measure else None,
        "qrels_revision": audited.basis.revision if audited.basis else None,
        "topics": audited.basis.topics if audited.basis else None,
        "depth": page.depth or None,
        "pooled_runs": sum(audited.pooled),
        "waiting": [
            {"procedure": job.request.procedure, "state": job.state, "progress": job.progress}
            for job in page.waiting
        ],
        "left_out": None
        if done is None
        else {**_agreement(done.agreement), "mean_relative_change": done.change, "largest_drop": done.drop},
        "teams": teams(page).facts(),
        "runs": runs(page).facts(),
        "depths": depths(page).facts(),
        "methods": methods(page).facts(),
    }


def teams(page: AuditPage) -> Table[AuditedTeam]:
    """Contributions of the pooled teams; without rows until computed."""
    return Table(
        _name(page, "teams"),
        _caption(page, "documents that each team alone contributed, and its runs without them"),
        columns_from(
            AuditedTeam,
            "team runs alone alone_relevant change drop",
            _coefficient("tau", "τ", "agreement.tau"),
            _coefficient("tau_ap", "τ_AP", "agreement.tau_ap"),
        ),
        page.reusability.teams if page.reusability else (),
    )


def runs(page: AuditPage) -> Table[AuditedRun]:
    """Every run under all judgments and without its team's unique documents, best first."""
    measure = page.audited.measure
    key, digits = (measure.key, measure.digits) if measure else ("Score", 4)
    rank: Column[AuditedRun] = Column("rank", attrgetter("rank"), "Rank", digits=0)
    return Table(
        _name(page, "runs"),
        _caption(page, "every run under all judgments and without its team's unique documents"),
        columns_from(
            AuditedRun,
            replace(rank, shown=Place.PAGE),
            Column("name", attrgetter("name"), "Run"),
            "team",
            Column("kind", attrgetter("kind"), "Kind", shown=~Place.PAGE),
            "pooled",
            Column("score", attrgetter("score"), key, digits=digits),
            replace(rank, shown=~Place.PAGE),
            *_alone(~Place.PAGE),
            Column("left_out", attrgetter("left_out"), "Without", digits=digits),
            "left_out_rank",
            *_alone(Place.PAGE),
            "judged_top",
            Column("judged_depth", attrgetter("judged_depth"), f"Judged@{page.depth}", shown=~Place.PAGE),
            Column(
                "unjudged_top",
                attrgetter("judged_top"),
                "Unjudged@10",
                digits=2,
                shown=Place.PAGE,
                group="unjudged",
            ),
            Column(
                "unjudged_depth",
                attrgetter("judged_depth"),
                f"Unjudged@{page.depth}",
                digits=2,
                shown=Place.PAGE,
                group="unjudged",
            ),
            "unfair",
            Column("most", attrgetter("most"), "At most", digits=digits, shown=~Place.PAGE),
            "best_rank",
        ),
        page.reusability.runs if page.reusability else (),
    )


def unfair(page: AuditPage) -> Table[AuditedRun]:
    """Runs disadvantaged by the pool, least judged first, with upper bounds of their scores."""
    measure = page.audited.measure
    key, digits = (measure.key, measure.digits) if measure else ("Score", 4)
    return Table(
        _name(page, "unfair"),
        _caption(page, "runs disadvantaged by the pool, least judged first"),
        [
            Column("name", attrgetter("name"), "Run"),
            Column("team", attrgetter("team"), "Team"),
            Column("judged_top", attrgetter("judged_top"), "Judged@10", digits=2),
            Column("score", attrgetter("score"), key, digits=digits),
            Column("rank", attrgetter("rank"), "Rank", digits=0),
            Column("most", attrgetter("most"), f"Highest {key}", digits=digits),
            Column("best_rank", attrgetter("best_rank"), "Best rank", digits=0),
        ],
        losers(page.reusability.runs) if page.reusability else (),
    )


def depths(page: AuditPage) -> Table[DepthOrder]:
    """Agreement of the ranking of runs with that under all judgments, by pool depth."""
    return Table(
        _name(page, "depths"),
        _caption(page, "agreement of the ranking of runs with that under all judgments, by pool depth"),
        [
            Column("depth", attrgetter("depth"), "Depth", digits=0),
            _coefficient("tau", "τ", "agreement.tau"),
            _coefficient("tau_ap", "τ_AP", "agreement.tau_ap"),
        ],
        page.reusability.depths if page.reusability else (),
    )


def methods(page: AuditPage) -> Table[SimulatedPool]:
    """Every simulated method: relevant documents found by share judged, and its ranking of the runs."""
    key = page.audited.measure.key if page.audited.measure else "score"
    shares = f"at {len(SHARES)} shares, ranking by {key} at {ORDERED_AT}"
    on_page = [column for at in range(len(ORDERED_AT)) for column in _ordered_on_page(at)]
    return Table(
        _name(page, "methods"),
        _caption(page, f"relevant documents found by the share of documents judged {shares}"),
        [
            Column("method", attrgetter("title"), "Method"),
            _coefficient("area", "Area", "area"),
            *on_page,
            *(_found(f"found@{share:.0%}", at, ~Place.PAGE) for at, share in enumerate(SHARES)),
            *(_tau(at, side, ~Place.PAGE) for at in range(len(ORDERED_AT)) for side in (0, 1)),
        ],
        page.simulated,
    )


def found(page: AuditPage) -> Table[int]:
    """Share of relevant documents found by every method, by share judged."""
    return Table(
        _name(page, "found"),
        _caption(page, "share of relevant documents found by share of documents judged"),
        [
            Column("judged", lambda at: float(SHARES[at]), "Judged", digits=2),
            *(_curve(method) for method in page.simulated),
        ],
        range(len(SHARES)),
    )


FILES = Files(
    facts=facts,
    tables={
        "teams": teams,
        "runs": runs,
        "depths": depths,
        "methods": methods,
        "unfair": unfair,
        "found": found,
    },
)


def _coefficient(key: str, head: str, path: str) -> Column[Any]:
    return Column(key, attrgetter(path), head, digits=4, group="coefficient")


def _alone(shown: Place) -> list[Column[AuditedRun]]:
    return [
        Column("alone", attrgetter("alone"), "Unique", digits=0, shown=shown),
        Column("alone_relevant", attrgetter("alone_relevant"), "Relevant", digits=0, shown=shown),
    ]


def _ordered_on_page(at: int) -> list[Column[SimulatedPool]]:
    """The share found by a method at a share judged, and its ranking of the runs."""
    share = ORDERED_AT[at]
    place = round(share * (len(SHARES) - 1))
    return [
        _found(f"Found at {share:.0%}", place, Place.PAGE),
        _tau(at, 0, Place.PAGE),
        _tau(at, 1, Place.PAGE),
    ]


def _found(key: str, place: int, shown: Place) -> Column[SimulatedPool]:
    return Column(
        key,
        lambda method: method.recall[place],
        title="Share of relevant documents found",
        digits=4,
        shown=shown,
        group="found",
    )


def _tau(at: int, side: int, shown: Place) -> Column[SimulatedPool]:
    share = f"{ORDERED_AT[at]:.0%}"
    return Column(
        f"{('tau', 'tau_ap')[side]}@{share}",
        lambda method: method.taus[at][side],
        f"{('τ', 'τ_AP')[side]} at {share}",
        digits=4,
        shown=shown,
        group="coefficient",
    )


def _curve(method: SimulatedPool) -> Column[int]:
    return Column(method.title, lambda at: method.recall[at], digits=3)


def _name(page: AuditPage, which: str) -> str:
    return f"{page.audited.slug}-audit-{which}"


def _caption(page: AuditPage, what: str) -> str:
    """A table's contents and basis, as a sentence."""
    audited = page.audited
    if audited.basis is None or audited.measure is None:
        return f"{audited.task}: {what}."
    basis = audited.basis
    under = rests_on(basis.revision, basis.topics, basis.dialect, basis.left_out)
    return (
        f"{audited.task}: {what}; {audited.measure.key} ({audited.measure.direction} is better), "
        f"pool depth {page.depth}, under {under}."
    )


def _agreement(agreement: Agreement) -> dict[str, float | None]:
    return {"tau": agreement.tau, "tau_ap": agreement.tau_ap}
