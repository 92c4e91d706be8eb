"""Geometry of charts: numbers in, places out, no markup.

The macros in templates/macros draw what these functions lay out. Charts of rows and columns are placed in
percent across and pixels down, so that their text keeps its size on a screen of any width; charts with
two scales of numbers are placed in units of a view box.
"""

from leaderboard.web.charts.bars import (
    BarChart,
    Difference,
    Spread,
    StripCell,
    StripChart,
    bar_chart,
    signed_bars,
    strip,
    strip_chart,
)
from leaderboard.web.charts.lines import (
    MOST_CURVES,
    Curve,
    LineChart,
    Ranks,
    SlopeChart,
    line_chart,
    slope_chart,
)
from leaderboard.web.charts.matrix import (
    Matrix,
    heat_bounds,
    heat_difference,
    heat_difference_bounds,
    heat_step,
    matrix,
)
from leaderboard.web.charts.planes import (
    Pair,
    ParetoChart,
    PlaneChart,
    ScatterChart,
    pareto_chart,
    pareto_front,
    plane_chart,
    scatter_chart,
)
from leaderboard.web.charts.ranges import (
    Interval,
    IntervalChart,
    Range,
    RangeChart,
    interval_chart,
    range_chart,
)
from leaderboard.web.charts.rankings import Ranked, RankingsChart, rankings_chart
from leaderboard.web.charts.strips import RankStrip, Scored, ScoreStrip, rank_strip, score_strip

__all__ = [
    "MOST_CURVES",
    "BarChart",
    "Curve",
    "Difference",
    "Interval",
    "IntervalChart",
    "LineChart",
    "Matrix",
    "Pair",
    "ParetoChart",
    "PlaneChart",
    "Range",
    "RangeChart",
    "RankStrip",
    "Ranked",
    "RankingsChart",
    "Ranks",
    "ScatterChart",
    "ScoreStrip",
    "Scored",
    "SlopeChart",
    "Spread",
    "StripCell",
    "StripChart",
    "bar_chart",
    "heat_bounds",
    "heat_difference",
    "heat_difference_bounds",
    "heat_step",
    "interval_chart",
    "line_chart",
    "matrix",
    "pareto_chart",
    "pareto_front",
    "plane_chart",
    "range_chart",
    "rank_strip",
    "rankings_chart",
    "scatter_chart",
    "score_strip",
    "signed_bars",
    "slope_chart",
    "strip",
    "strip_chart",
]
