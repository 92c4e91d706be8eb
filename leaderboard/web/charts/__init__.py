"""Geometry of charts: numbers in, places out, no markup.

The macros in templates/macros draw what these functions lay out. Charts of rows and columns are placed in
percent across and pixels down, so that their text keeps its size on a screen of any width; charts with
two scales of numbers are placed in units of a view box.
"""

from leaderboard.web.charts.bars import BarChart, Difference, bar_chart, signed_bars
from leaderboard.web.charts.heat_colours import (
    heat_bounds,
    heat_difference,
    heat_difference_bounds,
    heat_step,
)
from leaderboard.web.charts.intervals import Interval, IntervalChart, interval_chart
from leaderboard.web.charts.lines import MOST_CURVES, Curve, LineChart, line_chart
from leaderboard.web.charts.matrix import Matrix, matrix
from leaderboard.web.charts.pareto import ParetoChart, pareto_chart, pareto_front
from leaderboard.web.charts.planes import PlaneChart, plane_chart
from leaderboard.web.charts.ranges import Range, RangeChart, range_chart
from leaderboard.web.charts.rank_strips import RankStrip, rank_strip
from leaderboard.web.charts.rankings import Ranked, RankingsChart, rankings_chart
from leaderboard.web.charts.scatter import Pair, ScatterChart, scatter_chart
from leaderboard.web.charts.score_strips import Scored, ScoreStrip, score_strip
from leaderboard.web.charts.slopes import Ranks, SlopeChart, slope_chart
from leaderboard.web.charts.spreads import Spread, StripCell, StripChart, strip, strip_chart

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
