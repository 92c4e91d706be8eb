"""A board as files: its facts, and a table of its rows with the best values marked."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from leaderboard.boards.ops.board import Board
from leaderboard.boards.ops.rows import PLACE_FACTS, Row, place_facts
from leaderboard.boards.page.view import FactColumn, View
from leaderboard.scoring.ops.evaluations.shown import computed_as, left_out_facts
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.scoring.ops.statistics.standings import Place as RankPlace
from leaderboard.scoring.ops.statistics.standings import Standing
from leaderboard.tables.record import DAGGER, DOT, Column, Files, Place, Table, columns_from

PUBLIC_FACTS = ("public_score", "public_rank", "moved_up")
BELOW_THE_FIRST, MAY_BE_BEST = DAGGER, DOT
"""Marks in print: of the value of a run that the first one is better than, and of a run's name."""


def facts(view: View) -> dict[str, Any]:
    """The rows and columns of a view as plain values, with the sentences of the board."""
    whole = board_facts(view.board, view.measures, view.all_rows)
    whole["sentences"] = list(view.all_sentences)
    whole["chosen_topics"] = list(view.board.chosen_topics) or None
    for row, of_row in zip(view.all_rows, whole["rows"], strict=True):
        of_row |= _covered(view, row)
        if view.bounds:
            of_row |= _bounds(view, row)
        if view.public:
            of_row |= _public(view, row)
        if view.facts:
            of_row["facts"] = {column.key: _stated(column, row) for column in view.facts}
        if row.run_id in view.circular:
            of_row["shares_models"] = view.circular[row.run_id]
    return whole


def table(view: View) -> Table[Row]:
    """Table of the rows and columns of a view; print has ranks, names, scores and requested bounds."""
    columns = [
        *_columns(view.board, view.measures, view.all_rows),
        *(_public_column(view, key) for key in PUBLIC_FACTS if view.public),
        *(_covered_column(view, key) for key in ("unjudged", "judged_at_10", "outside_the_pool")),
        *(_bound_column(view, key, head) for key, head in (("lowest", "Lowest"), ("highest", "Highest"))),
        *(_fact_column(column) for column in view.facts),
    ]
    return Table(
        view.board.slug,
        _caption(view),
        columns if view.bounds else [column for column in columns if column.group != "bounds"],
        view.all_rows,
        legend=_legend(view.board),
    )


FILES = Files(facts=facts, tables={"runs": table})


def board_facts(
    shown: Board, measures: Sequence[MeasureColumn] | None = None, rows: Sequence[Row] | None = None
) -> dict[str, Any]:
    """A board as plain values, complete or restricted to some measures and rows."""
    basis = shown.basis
    measures = shown.measures if measures is None else measures
    rows = shown.rows if rows is None else rows
    return {
        "task": shown.slug,
        "revision": basis.revision if basis else None,
        "topics": basis.topics if basis else None,
        "primary": shown.primary,
        "measures": [measure.key for measure in measures],
        "sorted_by": shown.sorted_by,
        "edition": basis.edition if basis else None,
        "at": shown.at.isoformat() if shown.at else None,
        "dialect": basis.dialect if basis else None,
        "origin": basis.origin if basis else None,
        "revision_sha256": (basis.revision_sha256 or None) if basis else None,
        **left_out_facts(basis),
        "measure_versions": {measure.key: measure.version for measure in measures},
        "comparison": shown.of.comparison if shown.places else None,
        "sentences": list(shown.sentences),
        **_of_answers(shown),
        "one_per_team": shown.one_per_team,
        "group": shown.group.name if shown.group else None,
        "runs": len(shown.rows),
        "listed": len(rows),
        "moved_since_edition": shown.before.number if shown.before else None,
        "rows": [
            {
                "rank": row.rank,
                "run": row.run,
                "team": row.team,
                "scores": {measure.key: row.scores[measure.key] for measure in measures},
                "state": row.state,
                "run_id": row.run_id,
                "kind": row.kind,
                "moved": _moved(shown, row),
                **place_facts(shown.places.get(row.run_id)),
                **_partial(row),
            }
            for row in rows
        ],
    }


def _of_answers(shown: Board) -> dict[str, Any]:
    """Origin and quality of the judgments of answers; empty for rankings."""
    if (answers := shown.answers) is None:
        return {}
    return {
        "made_by": dict(answers.made_by),
        "median_vital": answers.median_vital,
        "failed_assignments": answers.failed,
    }


def _partial(row: Row) -> dict[str, Any]:
    """Partial means of a run judged on some topics only; otherwise empty."""
    return {"partial": {key: asdict(mean) for key, mean in row.partial.items()}} if row.partial else {}


def board_table(shown: Board) -> Table[Row]:
    """All rows and measures of a board, without additions of a view."""
    columns = _columns(shown, shown.measures, shown.rows)
    return Table(shown.slug, f"Runs of {shown.task}.", columns, shown.rows)


def _columns(shown: Board, measures: Sequence[MeasureColumn], rows: Sequence[Row]) -> list[Column[Row]]:
    below = _below_the_first(shown)
    marked = shown.places if below else {}
    return columns_from(
        Row,
        "rank",
        Column("run", lambda row: row.run, "Run", mark=lambda row: _best_mark(row, marked)),
        "run_id team kind",
        *(_measure_column(shown, measure, _best(rows, measure), below) for measure in measures),
        "state",
        Column("moved", lambda row: _moved(shown, row), shown=Place.DATA),
        *(_place_column(shown, name) for name in PLACE_FACTS),
    )


def _best_mark(row: Row, places: Mapping[int, RankPlace]) -> str:
    place = places.get(row.run_id)
    return MAY_BE_BEST if place is not None and place.best_set else ""


def _moved(shown: Board, row: Row) -> int | None:
    """Ranks gained since the previous edition; None unless ranked in both."""
    return shown.before.moved.get(row.run_id) if shown.before else None


def _measure_column(
    shown: Board, measure: MeasureColumn, best: float | None, below: frozenset[int]
) -> Column[Row]:
    key = measure.key
    return Column(
        key,
        lambda row: row.scores[key],
        digits=shown.access.decimals or measure.digits,
        lower_is_better=measure.lower_is_better,
        bold=lambda row: best is not None and row.scores[key] == best,
        mark=(lambda row: BELOW_THE_FIRST if row.run_id in below else "") if key == shown.sorted_by else None,
    )


def _place_column(shown: Board, name: str) -> Column[Row]:
    places = shown.places
    return Column(name, lambda row: place_facts(places.get(row.run_id))[name], shown=Place.DATA)


def _covered_column(view: View, key: str) -> Column[Row]:
    return Column(key, lambda row: _covered(view, row)[key], shown=Place.DATA)


def _bound_column(view: View, key: str, head: str) -> Column[Row]:
    digits = view.board.by.digits
    return Column(key, lambda row: _bounds(view, row)[key], head, digits=digits, group="bounds")


def _fact_column(column: FactColumn) -> Column[Row]:
    return Column(column.key, lambda row: _stated(column, row), shown=Place.DATA)


def _covered(view: View, row: Row) -> dict[str, Any]:
    """Judged shares of a run, each None if unknown or hidden."""
    covered = view.coverage.get(row.run_id)
    return {
        "unjudged": covered.unjudged if covered else None,
        "judged_at_10": covered.judged_top if covered else None,
        "outside_the_pool": row.run_id in view.outside if covered else None,
    }


def _public(view: View, row: Row) -> dict[str, Any]:
    """Rank of a run on the public topics and its move, each None if unranked."""
    place = view.public.get(row.run_id)
    return dict(
        zip(PUBLIC_FACTS, (place.score, place.rank, place.moved) if place else [None] * 3, strict=True)
    )


def _public_column(view: View, key: str) -> Column[Row]:
    return Column(key, lambda row: _public(view, row)[key], shown=Place.DATA)


def _bounds(view: View, row: Row) -> dict[str, float | None]:
    bounds = view.bounds.get(row.run_id)
    return {"lowest": bounds.low if bounds else None, "highest": bounds.high if bounds else None}


def _stated(column: FactColumn, row: Row) -> Any:
    fact = column.values.get(row.run_id)
    return fact.value if fact else None


def _best(rows: Sequence[Row], measure: MeasureColumn) -> float | None:
    """The best value among the rows, None for a measure without direction."""
    values = [value for row in rows if (value := row.scores[measure.key]) is not None]
    if measure.direction == "none" or not values:
        return None
    return min(values) if measure.lower_is_better else max(values)


def _below_the_first(shown: Board) -> frozenset[int]:
    """Ids of the ranked runs that are significantly worse than the first one."""
    standing = shown.standing
    first = next((row.run_id for row in shown.rows if row.rank == 1), None)
    if not isinstance(standing, Standing) or standing.topics < 2 or first is None:
        return frozenset()
    others = (run_id for run_id in standing.run_ids if run_id != first)
    return frozenset(run_id for run_id in others if standing.pair(first, run_id).told_apart)


def _caption(view: View) -> str:
    shown, basis = view.board, view.board.basis
    if basis is None:
        return f"Runs of {shown.task}, not scored yet."
    measures = ", ".join(f"{measure.key} (version {measure.version})" for measure in view.measures)
    some = "" if view.listed == view.total else f" ({view.listed} listed)"
    digest = f" (SHA-256 {basis.revision_sha256[:16]}...)" if basis.revision_sha256 else ""
    topics = f"{basis.topics} {'topic' if basis.topics == 1 else 'topics'}"
    sentences = [
        f"The {view.total} {'run' if view.total == 1 else 'runs'}{some} of {shown.task}, ranked by "
        f"{shown.ranked_by}, over {topics}, by {measures}; edition {basis.edition}, "
        f"{basis.qrels}{digest}{computed_as(basis.dialect)}.",
        "The best value of each measure is bold.",
    ]
    if any(row.rank is None for row in view.all_rows):
        sentences.append("Baselines and other non-competing runs have no rank.")
    if view.bounds:
        sentences.append(
            f"Lowest and highest possible {shown.sorted_by}, depending on the unjudged documents."
        )
    return " ".join(sentences)


def _legend(shown: Board) -> str:
    standing = shown.standing
    if shown.basis is None or not isinstance(standing, Standing) or not _below_the_first(shown):
        return ""
    test = f"{standing.method.title}, over {standing.pairs} pairs"
    best = f"{MAY_BE_BEST} may be the best; " if shown.may_be_best else ""
    return f"{best}{BELOW_THE_FIRST} significantly worse than the first ({test})."
