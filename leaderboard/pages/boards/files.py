"""A board as JSON and as a table for CSV, at full precision."""

from typing import Any

from leaderboard.pages.boards.view import View
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import PLACE_FACTS, Row, place_facts

COVERAGE_FACTS = ("unjudged", "judged_at_10", "outside_the_pool")
BOUND_FACTS = ("lowest", "highest")


def as_json(shown: Board, view: View | None = None) -> dict[str, Any]:
    """The board as plain values: all of it, or the rows and columns of a view and what it says of them."""
    basis = shown.basis
    measures = shown.measures if view is None else view.measures
    rows = shown.rows if view is None else view.all_rows
    return {
        "task": shown.slug,
        "revision": basis.revision if basis else None,
        "topics": basis.topics if basis else None,
        "primary": shown.primary,
        "measures": [each.key for each in measures],
        "sorted_by": shown.sorted_by,
        "edition": basis.edition if basis else None,
        "at": shown.at.isoformat() if shown.at else None,
        "dialect": basis.dialect if basis else None,
        "origin": basis.origin if basis else None,
        "revision_sha256": (basis.revision_sha256 or None) if basis else None,
        "measure_versions": {each.key: each.version for each in measures},
        "comparison": shown.comparison if shown.places else None,
        "sentences": list(shown.sentences),
        "one_per_team": shown.one_per_team,
        "runs": len(shown.rows),
        "listed": len(rows),
        "rows": [
            {
                "rank": row.rank,
                "run": row.run,
                "team": row.team,
                "scores": {each.key: row.scores[each.key] for each in measures},
                "state": row.state,
                "run_id": row.run_id,
                "kind": row.kind,
                **place_facts(shown.places.get(row.run_id)),
                **(_seen(view, row) if view is not None else {}),
            }
            for row in rows
        ],
    }


def table(shown: Board, view: View | None = None) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the board or of a view of it, for CSV."""
    keys = [each.key for each in (shown.measures if view is None else view.measures)]
    rows = shown.rows if view is None else view.all_rows
    header = ["rank", "run", "team", "kind", *keys, "state", *PLACE_FACTS]
    lines = [
        [
            *(row.rank, row.run, row.team, row.kind, *(row.scores[key] for key in keys), row.state),
            *place_facts(shown.places.get(row.run_id)).values(),
        ]
        for row in rows
    ]
    if view is None:
        return header, lines
    header += [*COVERAGE_FACTS, *(BOUND_FACTS if view.bounds else ()), *(each.key for each in view.facts)]
    for line, row in zip(lines, rows, strict=True):
        seen = _seen(view, row)
        stated = seen.pop("facts", {})
        line += [*seen.values(), *(stated[each.key] for each in view.facts)]
    return header, lines


def _seen(view: View, row: Row) -> dict[str, Any]:
    """What a view says of a run besides its scores, each None where it is not known or not shown."""
    covered, bounds = view.coverage.get(row.run_id), view.bounds.get(row.run_id)
    found: dict[str, Any] = {
        "unjudged": covered.unjudged if covered else None,
        "judged_at_10": covered.judged_top if covered else None,
        "outside_the_pool": row.run_id in view.outside if covered else None,
    }
    if view.bounds:
        found |= {"lowest": bounds.low if bounds else None, "highest": bounds.high if bounds else None}
    if view.facts:
        found["facts"] = {
            each.key: each.values[row.run_id].value if row.run_id in each.values else None
            for each in view.facts
        }
    return found
