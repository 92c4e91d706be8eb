"""Geometry of charts: numbers in, places out, no markup.

The macros in templates/macros draw what these functions lay out. Charts of rows and columns are placed in
percent across and pixels down, so that their text keeps its size on a screen of any width; charts with
two scales of numbers are placed in units of a view box.
"""

from leaderboard.web.charts.bars import BarChart, Difference, bar_chart, signed_bars
from leaderboard.web.charts.intervals import Interval, IntervalChart, interval_chart
from leaderboard.web.charts.lines import MOST_CURVES, Curve, LineChart, line_chart
from leaderboard.web.charts.matrix import Matrix, matrix
from leaderboard.web.charts.rankings import Ranked, RankingsChart, rankings_chart
from leaderboard.web.charts.scatter import Pair, ScatterChart, scatter_chart
from leaderboard.web.charts.slopes import Ranks, SlopeChart, slope_chart

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
    "Ranked",
    "RankingsChart",
    "Ranks",
    "ScatterChart",
    "SlopeChart",
    "bar_chart",
    "interval_chart",
    "line_chart",
    "matrix",
    "rankings_chart",
    "scatter_chart",
    "signed_bars",
    "slope_chart",
]
