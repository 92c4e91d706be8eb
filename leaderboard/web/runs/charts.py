"""The figures of a run's page, laid out from its numbers."""

from collections.abc import Mapping
from dataclasses import dataclass

from flask import url_for

from leaderboard.pages.runs.curves import CurveLines, Curves
from leaderboard.pages.runs.run import RunPage
from leaderboard.pages.runs.scores import MeasureValue
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
    decimals = page.sight.decimals
    found = {each.column.key: _spread(each) for each in page.measures}
    digits = {each.column.key: decimals or each.column.digits for each in page.measures}
    return {key: strip(spread, digits=digits[key]) for key, spread in found.items() if spread is not None}


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


def by_topic(page: RunPage) -> RangeChart | None:
    """The run's score on every topic between the field's, in the page's order; None where there are none."""
    field = page.profile.field if page.profile else None
    if field is None:
        return None
    ranges = [
        Range(
            name=each.topic_id,
            low=min(each.worst, each.best),
            median=each.median,
            high=max(each.worst, each.best),
            value=each.score,
            href=url_for("rankings.show", run_id=page.id, topic_id=each.topic_id),
        )
        for each in field.topics
    ]
    digits = field.column.digits
    return range_chart(
        ranges, direction="lower" if field.column.direction == "lower" else "higher", digits=digits
    )


def curves(page: RunPage) -> CurveFigures | None:
    """The curves of the run and the field; None where scores by topic are not shown."""
    if page.profile is None:
        return None
    found = page.profile.curves
    names = line_names(page, found)
    gain = (*names.items(), ("ideal", "ideal"))
    return CurveFigures(
        recall=line_chart(_lines(found.recall, names)),
        precision=line_chart(_lines(found.precision, names)),
        gain=line_chart(_lines(found.gain, dict(gain)), y=None),
    )


def line_names(page: RunPage, found: Curves) -> dict[str, str]:
    """What each kind of line is called, in the few letters that a legend has room for."""
    return {
        "mine": page.name,
        "leader": found.leader,
        "median": "median at each point",
        "highest": "highest at each point",
    }


def _lines(lines: CurveLines, names: Mapping[str, str]) -> list[Curve]:
    values = ((name, getattr(lines, kind)) for kind, name in names.items())
    return [
        Curve(name, list(zip(lines.points, found, strict=True)))
        for name, found in values
        if found is not None
    ]
