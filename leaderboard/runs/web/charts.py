"""The figures of a run's page, laid out from its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from flask import url_for

from leaderboard.runs.page.curves import CurveLines, CurvesPage, Kind
from leaderboard.runs.page.run import MeasureValue, RunPage
from leaderboard.runs.page.topics import TopicsPage
from leaderboard.web.charts import (
    Curve,
    LineChart,
    Range,
    RangeChart,
    Spread,
    StripCell,
    line_chart,
    range_chart,
    strip,
)


@dataclass(frozen=True, slots=True)
class CurveFigures:
    """Precision by recall, precision by rank, gain by rank."""

    recall: LineChart
    precision: LineChart
    gain: LineChart


def strips(page: RunPage) -> dict[str, StripCell]:
    """Measure key -> the field's spread with the run's own value, where both are known."""
    spreads = ((row, _spread(row)) for row in page.measures)
    return {row.column.key: strip(spread, digits=row.digits) for row, spread in spreads if spread is not None}


def _spread(value: MeasureValue) -> Spread | None:
    field = value.spread
    if field is None or value.value is None:
        return None
    return Spread(
        name=value.column.key,
        low=field.low,
        lower=field.lower,
        median=field.median,
        upper=field.upper,
        high=field.high,
        best=value.best,
        mine=value.value,
    )


def by_topic(page: TopicsPage) -> RangeChart | None:
    """The run's score on every topic within the field's range, in page order; None if absent."""
    field = page.field
    if field is None:
        return None
    ranges = [
        Range(
            name=topic.topic_id,
            low=min(topic.worst, topic.best),
            median=topic.median,
            high=max(topic.worst, topic.best),
            value=topic.score,
            href=url_for("rankings.show", run_id=page.id, topic_id=topic.topic_id),
        )
        for topic in field.topics
    ]
    direction: Literal["higher", "lower"] = "lower" if field.column.lower_is_better else "higher"
    return range_chart(ranges, direction=direction, digits=field.column.digits)


def curves(page: CurvesPage) -> CurveFigures:
    """The curves of the run and of the ranked runs."""
    curves = page.curves
    names: dict[Kind, str] = {
        "mine": page.name,
        "leader": curves.leader,
        "median": "median at each point",
        "highest": "maximum at each point",
    }
    return CurveFigures(
        recall=line_chart(_lines(curves.recall, names)),
        precision=line_chart(_lines(curves.precision, names)),
        gain=line_chart(_lines(curves.gain, {**names, "ideal": "ideal"}), y=None),
    )


def _lines(lines: CurveLines, names: Mapping[Kind, str]) -> list[Curve]:
    values = ((name, lines.line(kind)) for kind, name in names.items())
    return [
        Curve(name, list(zip(lines.points, line, strict=True))) for name, line in values if line is not None
    ]
