"""Geometry of charts: every number stands where it belongs, at any size and for any values."""

import itertools
import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from leaderboard.web import charts
from leaderboard.web.charts import Curve, Difference, Interval, Pair, Ranked, Ranks, scales
from leaderboard.web.charts.scales import SHAPES, outline

scores = st.floats(0, 1)
differences = st.floats(-1, 1)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=60), st.integers(1, 20))
def test_labels_keep_their_distance_order_and_bounds(places: list[float], gap: int) -> None:
    """Neighbours are a gap apart, in the order of their places, within the bounds where there is room."""
    moved = scales.spread(places, gap, 0, gap * len(places))
    order = sorted(range(len(places)), key=lambda at: places[at])
    for before, after in itertools.pairwise(moved[at] for at in order):
        assert after - before >= gap - 0.02
    assert min(moved) >= 0
    assert max(moved) <= gap * len(places) + 0.02


@given(st.lists(st.integers(0, 12), min_size=2, max_size=4))
def test_labels_move_as_little_as_may_be(places: list[int]) -> None:
    """No other placement on a fine grid has a smaller sum of squared moves."""
    places.sort()
    moved = scales.spread(places, 3, -20, 40)
    cost = sum((new - old) ** 2 for new, old in zip(moved, places, strict=True))
    steps = [-0.5, 0.0, 0.5]
    for change in itertools.product(steps, repeat=len(places)):
        other = [new + by for new, by in zip(moved, change, strict=True)]
        if all(after - before >= 3 for before, after in itertools.pairwise(other)):
            assert sum((new - old) ** 2 for new, old in zip(other, places, strict=True)) >= cost - 0.1


def test_labels_without_room_run_on_below() -> None:
    """Names stay readable and in order although they leave the chart."""
    assert scales.spread([5, 5, 5], 4, 0, 6) == [0, 4, 8]


@given(st.floats(-100, 100), st.floats(1e-3, 1e6), st.integers(3, 9))
@example(1.75, 0.5, 3)
def test_ticks_are_round_few_and_cover_the_axis(low: float, width: float, most: int) -> None:
    """A widened domain holds the values, and ticks in equal steps go from end to end."""
    start, end = scales.rounded(low, low + width, most)
    assert start <= low + 1e-9 * width
    assert end >= low + width - 1e-9 * width
    ticks = scales.Scale(start, end, 0, 100).ticks(most)
    assert 2 <= len(ticks) <= most + 1
    steps = {round(after.place - before.place, 1) for before, after in itertools.pairwise(ticks)}
    assert max(steps) - min(steps) <= 0.11


def test_numbers_on_axes_have_the_decimals_of_their_step_and_one_zero() -> None:
    """No tick is called -0 or 0.30000000000000004."""
    ticks = scales.Scale(-0.3, 0.3, 0, 60).ticks(6, signed=True)
    assert [tick.label for tick in ticks] == ["−0.3", "−0.2", "−0.1", "0", "+0.1", "+0.2", "+0.3"]
    assert [tick.place for tick in ticks] == [0, 10, 20, 30, 40, 50, 60]


def test_a_name_is_cut_in_its_middle_and_kept_whole_beside() -> None:
    """Both ends survive; a short name is left alone."""
    name = scales.fitted("team-bm25-rm3-run-17", 12, 5)
    assert (name.full, name.wide, name.narrow) == ("team-bm25-rm3-run-17", "team-…run-17", "t…-17")
    assert scales.fitted("bm25", 12, 4).narrow == "bm25"


def test_marks_are_all_different() -> None:
    """Eight curves have eight outlines around the same point."""
    paths = {outline(shape, 10, 10) for shape in SHAPES}
    assert len(paths) == charts.MOST_CURVES == 8
    assert {path[0] for path in paths} == {"M"}


def test_scores_above_one_set_the_scale() -> None:
    """Counts fill the height of the largest; without topics there is an empty chart."""
    tall, half = charts.bar_chart([40.0, 20.0], ["1", "2"]).bars
    assert half.height * 2 == tall.height
    assert charts.bar_chart([], []).bars == ()


@given(st.lists(differences, max_size=30))
def test_bars_stand_on_their_side_of_zero(values: list[float]) -> None:
    """Sorted, as high as they are far from zero, none over its neighbour."""
    chart = charts.signed_bars([Difference(str(at), value) for at, value in enumerate(values)])
    for bar in chart.bars:
        base = bar.y + bar.height if bar.kind == "plus" else bar.y
        assert base == pytest.approx(chart.zero, abs=0.02)
    assert all(after.x >= before.x + before.width for before, after in itertools.pairwise(chart.bars))
    if values:
        assert chart.bars[-1].x + chart.bars[-1].width <= 100.01
    kinds = [bar.kind for bar in chart.bars]
    assert kinds == sorted(kinds, key=["plus", "none", "minus"].index)
    assert (chart.above, chart.below) == (kinds.count("plus"), kinds.count("minus"))


def test_bars_lead_where_their_topic_does() -> None:
    """The address travels with the difference through the sorting."""
    chart = charts.signed_bars([Difference("1", -0.5, "/one"), Difference("2", 0.5, "/two")])
    assert [(bar.label, bar.href) for bar in chart.bars] == [("2: +0.5000", "/two"), ("1: −0.5000", "/one")]


def test_thousands_of_topics_are_means_of_neighbours() -> None:
    """6,980 differences become at most 400 bars that say which places they cover; the counts stay exact."""
    chart = charts.signed_bars([Difference(str(at), (at - 3000) / 6980) for at in range(6980)], digits=2)
    assert (chart.merged, len(chart.bars)) == (18, 388)
    assert chart.bars[0].label == "positions 1 to 18: +0.57 to +0.57"
    assert (chart.above, chart.below) == (3979, 3000)


@given(st.lists(st.tuples(differences, st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=40))
def test_intervals_hold_their_value_and_keep_zero_in_sight(found: list[tuple[float, float, float]]) -> None:
    """Low, value, high and zero stand in order between the edges of the plot."""
    chart = charts.interval_chart([Interval("r", mid, mid - less, mid + more) for mid, less, more in found])
    assert chart.zero is not None
    assert chart.left <= chart.zero <= chart.right
    for row, (value, _, _) in zip(chart.rows, found, strict=True):
        assert chart.left <= row.low <= row.x <= row.high <= chart.right
        assert (row.x - chart.zero) * value >= -0.02


def test_rows_grow_denser_and_repeat_the_axis_on_a_long_board() -> None:
    """129 runs stand 15 pixels apart with an axis at both ends, three 18 apart with one."""
    many, few = (charts.interval_chart([Interval(str(at), 0, -1, 1) for at in range(n)]) for n in (129, 3))
    assert many.rows[1].y - many.rows[0].y == 15
    assert few.rows[1].y - few.rows[0].y == 18
    assert few.foot is None
    assert many.foot is not None
    assert many.rows[-1].y < many.foot < many.height


def test_an_interval_without_ends_runs_to_the_edges() -> None:
    """One topic says nothing of the spread: open at both sides, and said so."""
    chart = charts.interval_chart([Interval("a", 0.2, -math.inf, math.inf), Interval("b", 0.1, 0.0, 0.3)])
    row = chart.rows[0]
    assert (row.low, row.high, row.open_low, row.open_high) == (chart.left, chart.right, True, True)
    assert row.label == "a: +0.2000 (95% interval −∞ to +∞)"
    assert not chart.rows[1].open_low


def test_intervals_of_values_have_neither_zero_line_nor_signs() -> None:
    """A run's own interval around its mean."""
    chart = charts.interval_chart([Interval("a", 0.4, 0.3, 0.5)], differences=False, digits=2)
    assert chart.zero is None
    assert chart.rows[0].label == "a: 0.40 (95% interval 0.30 to 0.50)"
    assert chart.ticks[0].label == "0.30"


def test_marks_are_explained_where_some_are_highlighted() -> None:
    """The legend has a line of its own under the rows; the reference needs none."""
    plain = charts.interval_chart([Interval("a", 0, 0, 0, "reference"), Interval("b", 0, -1, 1)])
    marked = charts.interval_chart(
        [Interval("a", 0, 0, 0, "reference"), Interval("b", 0, -1, 1, "highlight")]
    )
    assert plain.key is None
    assert plain.rows[0].label == "a: the reference"
    assert marked.key is not None
    assert marked.end < marked.key < marked.height


def test_no_interval_is_drawn_around_nothing() -> None:
    """A value that is no number has no place; no runs make an empty plot."""
    with pytest.raises(ValueError, match="finite"):
        charts.interval_chart([Interval("a", math.nan, 0, 1)])
    assert charts.interval_chart([]).rows == ()


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=40))
def test_points_stand_on_their_side_of_the_diagonal(found: list[tuple[float, float]]) -> None:
    """On equal axes a point under the diagonal belongs to the first run, one above to the second."""
    chart = charts.scatter_chart([Pair(str(at), *pair) for at, pair in enumerate(found)])
    for point, (first, second) in zip(chart.points, found, strict=True):
        over = (chart.bottom - point.y) / (chart.bottom - chart.top)
        along = (point.x - chart.left) / (chart.right - chart.left)
        assert (over - along) * (second - first) >= -1e-4
        assert point.kind == (
            "first" if first - second >= 1e-9 else "second" if second - first >= 1e-9 else "none"
        )
    kinds = [point.kind for point in chart.points]
    assert (chart.first_higher, chart.second_higher) == (kinds.count("first"), kinds.count("second"))


def test_the_widest_gaps_are_named_and_no_name_covers_another() -> None:
    """Of two topics at the same place one is named; equal scores never are."""
    pairs = [Pair("wide", 0.9, 0.1), Pair("same", 0.9, 0.1), Pair("next", 0.2, 0.6), Pair("tie", 0.5, 0.5)]
    assert [note.text for note in charts.scatter_chart(pairs).notes] == ["wide", "next"]
    assert [note.text for note in charts.scatter_chart(pairs, named=1).notes] == ["wide"]


def test_a_name_at_the_edge_turns_inwards() -> None:
    """No name leaves the square."""
    notes = charts.scatter_chart([Pair("topic-417", 1.0, 0.0), Pair("topic-418", 0.0, 1.0)]).notes
    assert [(note.text, note.anchor) for note in notes] == [("topic-417", "end"), ("topic-418", "start")]


def test_a_cloud_draws_every_place_once() -> None:
    """Thousands of topics are dots by kind, without names; the counts stay exact."""
    pairs = [Pair(str(at), (at % 7) / 7, (at % 5) / 5) for at in range(7000)]
    chart = charts.scatter_chart(pairs)
    assert (chart.points, chart.notes) == ((), ())
    assert sum(path.count("M") for _, path in chart.cloud) == 35
    assert chart.first_higher + chart.second_higher == 7000 - 200


def test_curves_share_axes_and_have_a_legend_in_two_columns() -> None:
    """Every curve has its own series and mark, and its place in the legend under the plot."""
    chart = charts.line_chart([Curve(f"run{at}", [(0, 1), (1, at / 8)]) for at in range(8)])
    assert [line.series for line in chart.lines] == list(range(8))
    assert len({(line.key_x, line.key_y) for line in chart.lines}) == 8
    assert all(chart.bottom < line.key_y < chart.height for line in chart.lines)
    assert chart.lines[0].path == f"M{chart.left:g} {chart.top:g}L{chart.right:g} {chart.bottom:g}"
    with pytest.raises(ValueError, match="at most 8"):
        charts.line_chart([Curve("x", [])] * 9)


def test_a_long_curve_has_few_marks_beside_those_of_others() -> None:
    """Depth 1 to 100: a mark every ninth, shifted by curve, so that equal curves both show theirs."""
    points = [(float(depth), 0.5) for depth in range(1, 101)]
    one, two = charts.line_chart([Curve("a", points), Curve("b", points)]).lines
    assert (one.marks.count("Z"), two.marks.count("Z")) == (12, 11)
    starts = [float(re.findall(r"M([\d.]+)", line.path + line.marks)[1]) for line in (one, two)]
    assert starts == [46.5, 50.87]


def test_ranges_can_come_from_the_points() -> None:
    """Depths run from the first to the last; scores get round ends; one point is drawn too."""
    chart = charts.line_chart([Curve("a", [(1, 3.0), (100, 9.5)])], y=None)
    assert chart.lines[0].path.startswith(f"M{chart.left:g} ")
    assert [chart.down[0].label, chart.down[-1].label] == ["2", "10"]
    assert charts.line_chart([Curve("a", [(1, 0.5)])]).lines[0].path.count("L") == 0
    assert charts.line_chart([Curve("a", [])]).lines[0].path == ""


@given(st.permutations(list(range(1, 60))))
def test_only_the_largest_moves_are_named_on_a_crowded_chart(second: list[int]) -> None:
    """Ten runs at most, none of which moved less than one that is not named, and their names are apart."""
    ranks = [Ranks(f"run{at}", at, rank) for at, rank in enumerate(second, start=1)]
    chart = charts.slope_chart(ranks)
    named = [slope for slope in chart.slopes if slope.right_label is not None]
    others = [slope for slope in chart.slopes if slope.right_label is None]
    assert len(chart.slopes) == 59
    assert len(named) <= 10
    least = min((abs(slope.first - slope.second) for slope in named), default=0)
    assert all(abs(slope.first - slope.second) <= least for slope in others)
    heights = sorted(slope.right_label or 0.0 for slope in named)
    assert all(after - before >= 13.9 for before, after in itertools.pairwise(heights))


def test_ties_share_a_place_and_their_names_stand_apart() -> None:
    """Runs of equal rank start at the same height; a run that did not move is never highlighted."""
    chart = charts.slope_chart([Ranks("a", 1, 1), Ranks("b", 1, 2), Ranks("c", 1, 3)])
    assert len({slope.start for slope in chart.slopes}) == 1
    assert len({slope.left_label for slope in chart.slopes}) == 3
    assert {slope.name.full: slope.kind for slope in chart.slopes} == {"a": "plain", "b": "down", "c": "down"}
    assert [slope.label for slope in chart.slopes if slope.name.full == "c"] == ["c: 1 to 3, down 2"]
    assert charts.slope_chart([]).slopes == ()


@given(st.permutations([f"d{at}" for at in range(12)]), st.permutations([f"d{at}" for at in range(12)]))
def test_lines_join_the_places_of_the_same_document(first: list[str], second: list[str]) -> None:
    """A line for each document in both top tens, from its one place to its other; the rest is alone."""
    chart = charts.rankings_chart(*([Ranked(docno, 1) for docno in side[:10]] for side in (first, second)))
    shared = set(first[:10]) & set(second[:10])
    left = {entry.name.full: entry.y for entry in chart.first}
    right = {entry.name.full: entry.y for entry in chart.second}
    assert {(join.start, join.end) for join in chart.joins} == {(left[d], right[d]) for d in shared}
    for entry in (*chart.first, *chart.second):
        assert entry.alone == (entry.name.full not in shared)


def test_grades_are_told_apart_from_no_judgment() -> None:
    """Relevant from the level on; not judged is not grade 0; relevant lines are drawn last."""
    side = [Ranked("a", 2), Ranked("b", 1), Ranked("c", 0), Ranked("d", None), Ranked("e", -2)]
    chart = charts.rankings_chart(side, side, level=2)
    assert [entry.kind for entry in chart.first] == [
        "relevant",
        *["irrelevant"] * 2,
        "unjudged",
        "irrelevant",
    ]
    assert [entry.grade for entry in chart.first] == ["2", "1", "0", "–", "−2"]
    assert [join.kind for join in chart.joins][-1] == "relevant"
    assert chart.first[3].label == "4. d: unjudged, rank 4 in the other"


def test_a_document_shown_on_one_side_says_where_the_other_has_it() -> None:
    """Its deeper rank, or that the other ranking lacks it; one ranking may be empty or shorter."""
    chart = charts.rankings_chart([Ranked("a", 1, deeper=40), Ranked("b", 0)], [])
    assert [(entry.elsewhere, entry.label) for entry in chart.first] == [
        ("40", "1. a: grade 1, rank 40 in the other"),
        ("–", "2. b: grade 0, not in the other ranking"),
    ]
    assert (chart.second, chart.joins) == ((), ())


def test_a_matrix_says_each_verdict_from_its_rows_side() -> None:
    """The row's run is better, worse or not told apart; the diagonal says nothing."""
    found = charts.matrix(
        ["a", "b", "c"],
        [[9, 1, 0], [-1, 9, 0], [0, 0, 9]],
        notes=[["", "p = .01", "p = .4"], ["p = .01", "", "p = .9"], ["p = .4", "p = .9", ""]],
    )
    signs = [[cell.sign for cell in row.cells] for row in found.rows]
    assert signs == [["", "▲", "·"], ["▼", "", "·"], ["·", "·", ""]]
    assert found.rows[1].cells[0].label == "b is significantly worse than a: p = .01"
    assert found.rows[2].cells[0].label == "c is not significantly different from a: p = .4"
    with pytest.raises(ValueError, match="2 runs need 2 rows"):
        charts.matrix(["a", "b"], [[0, 1]])


def test_differences_of_rounding_are_ties() -> None:
    """What addition in another order leaves over is neither a win nor an axis of its own."""
    bars = charts.signed_bars([Difference("1", 1e-17), Difference("2", -1e-17)])
    points = charts.scatter_chart([Pair("1", 0.1 + 0.2, 0.3)])
    assert (bars.above, bars.below, points.first_higher) == (0, 0, 0)
    assert {bar.kind for bar in bars.bars} | {point.kind for point in points.points} == {"none"}
    assert bars.ticks[-1].label == "0.5"
