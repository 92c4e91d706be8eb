"""A comparison of several runs as JSON, CSV and LaTeX."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.errors import Conflict
from leaderboard.pages.comparisons.latex import MeasureOfRuns, latex_table
from leaderboard.pages.comparisons.many import Choice, Compared, Comparison, ManyComparison, Pair, compare
from leaderboard.services.boards.rows import place_facts
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics.requests import Waiting
from leaderboard.services.statistics.standings import ALPHA

NOT_YET = "The comparison is not computed yet; ask for it on its page first."
COLUMNS = (
    *("a", "b", "difference", "low", "high", "effect_size", "p", "adjusted_p", "better"),
    "rbo",
)


def as_json(found: ManyComparison) -> dict[str, Any]:
    """The comparison as plain values at full precision; there are no pairs until they are computed."""
    base = found.runs[found.baseline].run if found.baseline is not None else None
    return {
        "task": found.slug,
        "measure": found.measure.key,
        "measure_version": found.measure.version,
        "direction": found.measure.direction,
        "topics": found.topics,
        "edition": found.basis.edition,
        "revision": found.basis.revision,
        "dialect": found.basis.dialect,
        "method": found.method.key,
        "method_version": found.method.version,
        "alpha": ALPHA,
        "resamples": found.resamples,
        "reachable": found.reachable,
        "state": found.state,
        "remarks": list(found.remarks),
        "baseline": base.name if base else None,
        "runs": [_run_facts(each) for each in found.runs],
        "pairs": [_pair_facts(found, pair) for pair in found.pairs],
    }


def table(found: ManyComparison) -> tuple[Sequence[str], list[list[Any]]]:
    """Header and rows of all pairs, for CSV; raises Conflict until they are computed."""
    if found.state != "done":
        raise Conflict(NOT_YET)
    rows = []
    for pair in found.pairs:
        facts = _pair_facts(found, pair)
        facts["low"], facts["high"] = facts.pop("interval")
        rows.append([facts[name] for name in COLUMNS])
    return COLUMNS, rows


def latex(
    session: Session, viewer: Viewer, slug: str, choice: Choice, measures: Sequence[str | None] = (None,)
) -> str:
    """The runs by some measures as a LaTeX table, best first by the first of them.

    Raises Conflict while a comparison is not computed yet, and what compare raises.
    """
    found = [compare(session, viewer, slug, choice, measure) for measure in measures]
    order = [run.run_id for run in found[0].table.runs]
    basis = found[0].table.basis
    return latex_table(
        [run.name for run in found[0].table.runs],
        [_column(each).in_order(_places(each, order)) for each in found],
        topics=len(found[0].table.topics),
        judgments=f"qrels revision {basis.revision}, as trec_eval {basis.dialect} computes them",
    )


def _places(found: Comparison, order: Sequence[int]) -> list[int]:
    ids = [run.run_id for run in found.table.runs]
    return [ids.index(run_id) for run_id in order]


def _column(found: Comparison) -> MeasureOfRuns:
    if isinstance(found.standing, Waiting):
        raise Conflict(NOT_YET)
    return MeasureOfRuns(
        measure=found.table.measure.key,
        version=found.table.measure.version,
        digits=found.table.measure.digits,
        lower_is_better=found.table.sign < 0,
        means=found.table.means.tolist(),
        table=found.standing.table,
        against=found.against,
    )


def _run_facts(each: Compared) -> dict[str, Any]:
    against = each.against
    facts = {
        "run": each.run.name,
        "run_id": each.run.run_id,
        "team": each.run.team,
        "kind": each.run.kind,
        "mean": each.mean,
        "letters": each.letters or None,
        **place_facts(each.place),
    }
    if against is not None:
        facts["against_baseline"] = {
            "difference": against.pair.difference,
            "interval": [against.pair.low, against.pair.high],
            "effect_size": against.pair.effect,
            "p": against.pair.p,
            "adjusted_p": against.adjusted,
            "verdict": against.verdict,
        }
    return facts


def _pair_facts(found: ManyComparison, pair: Pair) -> dict[str, Any]:
    first, second = found.runs[pair.first].run.name, found.runs[pair.second].run.name
    return {
        "a": first,
        "b": second,
        "difference": pair.difference,
        "interval": [pair.low, pair.high],
        "effect_size": pair.effect,
        "p": pair.p,
        "adjusted_p": pair.adjusted,
        "better": {1: first, -1: second, 0: None}[pair.verdict],
        "rbo": pair.overlap,
    }
