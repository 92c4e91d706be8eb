"""Scores of runs of answers against how long their answers are."""

from dataclasses import dataclass
from typing import Literal

from flask import url_for

from leaderboard.measures.naming import parse
from leaderboard.pages.boards.view import View
from leaderboard.web.charts import Pair, ParetoChart, pareto_chart

LENGTH = "AnswerLength"
UNITS = {"nfkc-words": "words after NFKC", "words": "words", "characters": "characters"}
LEAST_DRAWN = 2


@dataclass(frozen=True, slots=True)
class LengthChart:
    """The chart, how many runs it draws, and what length is counted in."""

    chart: ParetoChart
    runs: int
    unit: str


def against_length(view: View) -> LengthChart | None:
    """Each listed run's score against its length; None without lengths or two runs."""
    by = view.board.by
    length = next(
        (column.key for column in view.board.measures if parse(column.key).measure.name == LENGTH), None
    )
    if length is None or view.board.answers is None:
        return None
    runs = [
        Pair(row.run, words, value, url_for("runs.show", run_id=row.run_id))
        for row in view.all_rows
        if (value := row.scores.get(by.key)) is not None and (words := row.scores.get(length)) is not None
    ]
    if len(runs) < LEAST_DRAWN:
        return None
    direction: Literal["higher", "lower"] = "lower" if by.lower_is_better else "higher"
    chart = pareto_chart(runs, direction=direction, digits=by.digits)
    return LengthChart(chart, len(runs), UNITS[str(parse(length).params["unit"])])
