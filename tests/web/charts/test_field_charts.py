"""Geometry of the charts that show where a run stands among all: by topic, by cost, by rank, by score."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.web import charts
from leaderboard.web.charts import Pair, Range, Scored, Spread

scores = st.floats(0, 1)
costs = st.floats(0.01, 10_000)
five = st.lists(scores, min_size=5, max_size=5).map(sorted)


@given(st.lists(five, min_size=1, max_size=70))
def test_the_parts_of_a_strip_keep_their_order_and_stay_inside(found: list[list[float]]) -> None:
    """Lowest, quartiles, median and highest from left to right, the best where the highest is."""
    chart = charts.strip_chart([Spread(str(at), *values) for at, values in enumerate(found)])
    for row in chart.rows:
        strip = row.strip
        assert chart.left <= strip.low <= strip.lower <= strip.median <= strip.upper <= strip.high <= 97
        assert strip.best == strip.high
    assert chart.rows[-1].y < chart.end < chart.height
    assert (chart.foot is None) == (len(found) <= 30)


def test_the_best_is_lowest_where_low_is_better() -> None:
    """The mark goes where it is told; one's own run and a note are said after the field."""
    spread = Spread("401", 1, 2, 3, 4, 5, best=1, mine=2, note="12 relevant")
    row = charts.strip_chart([spread], digits=0).rows[0]
    assert row.strip.best == row.strip.low
    assert row.strip.mine == row.strip.lower
    assert row.strip.label == "401: median 3, middle half 2 to 4, all 1 to 5, this run 2; 12 relevant"


def test_names_of_rows_have_the_room_they_need() -> None:
    """Short topic numbers leave the room to the scores, long names are cut."""
    short, long = (charts.strip_chart([Spread(name, 0, 0, 0, 0, 1)]) for name in ("1", "x" * 40))
    assert (short.left, long.left) == (5.9, 24.9)
    assert long.rows[0].name.full == "x" * 40
    assert len(long.rows[0].name.wide) == 24


def test_a_strip_of_one_value_stands_in_the_middle() -> None:
    """All runs equal: no width to divide by; a run outside its field widens the cell."""
    level = charts.strip(Spread("AP", 0.3, 0.3, 0.3, 0.3, 0.3)).strip
    assert {level.low, level.median, level.best} == {70.0}
    outside = charts.strip(Spread("AP", 0.2, 0.2, 0.3, 0.4, 0.4, mine=0.6)).strip
    assert (outside.low, outside.high, outside.mine) == (6.0, 70.0, 134.0)


def test_no_strip_is_drawn_of_what_is_no_number() -> None:
    """NaN has no place; an empty field makes an empty chart."""
    with pytest.raises(ValueError, match="finite"):
        charts.strip_chart([Spread("1", 0, 0, math.nan, 0, 0)])
    with pytest.raises(ValueError, match="finite"):
        charts.strip(Spread("1", 0, 0, 0, 0, 0, mine=math.inf))
    assert charts.strip_chart([]).rows == ()


@given(st.lists(st.lists(scores, min_size=4, max_size=4), min_size=1, max_size=120))
def test_a_column_spans_its_field_and_says_where_the_run_is(found: list[list[float]]) -> None:
    """Highest above median above lowest, columns side by side, every topic counted once."""
    ranges = [Range(str(at), *sorted(values[:3]), values[3]) for at, values in enumerate(found)]
    chart = charts.range_chart(ranges)
    for column, each in zip(chart.columns, ranges, strict=True):
        assert chart.top <= column.high <= column.median <= column.low <= chart.bottom
        assert (column.kind == "plus") == (each.value - each.median >= 1e-9)
        assert (column.y <= column.median) or column.kind != "plus"
    assert chart.better + chart.worse + chart.level == len(found)
    assert chart.columns[-1].x <= 100
    assert (chart.foot is None) == (len(found) > 75)


def test_a_low_score_is_better_where_low_is_better() -> None:
    """Filled and hollow follow the measure's direction, not the height."""
    chart = charts.range_chart([Range("1", 0, 2, 4, 1), Range("2", 0, 2, 4, 3)], direction="lower", digits=0)
    assert [column.kind for column in chart.columns] == ["plus", "minus"]
    assert chart.columns[0].label == "1: 1, better than the median 2 (all 0 to 4)"
    assert (chart.better, chart.worse, chart.level) == (1, 1, 0)


def test_thousands_of_topics_are_means_of_neighbours() -> None:
    """6,980 topics are 388 columns; the counts stay those of topics."""
    chart = charts.range_chart([Range(str(at), 0, 0.5, 1, at / 6980) for at in range(6980)])
    assert (chart.merged, len(chart.columns), chart.foot) == (18, 388, None)
    assert (chart.better, chart.worse, chart.level) == (3489, 3490, 1)
    assert chart.columns[0].label.startswith("means of 0 to 17: 0.0012, worse than the median 0.5000")
    assert charts.range_chart([]).columns == ()
    with pytest.raises(ValueError, match="finite"):
        charts.range_chart([Range("1", 0, 0, math.inf, 0)])


@given(st.lists(st.tuples(costs, scores), min_size=1, max_size=40))
def test_nobody_beats_the_front_and_the_front_beats_the_rest(found: list[tuple[float, float]]) -> None:
    """By the definition: no other is as cheap and as good, and different."""

    def beats(one: tuple[float, float], other: tuple[float, float]) -> bool:
        return one != other and one[0] <= other[0] and one[1] >= other[1]

    front = charts.pareto_front(found)
    unbeaten = {at for at, each in enumerate(found) if not any(beats(other, each) for other in found)}
    assert set(front) == unbeaten
    assert [found[at][0] for at in front] == sorted(found[at][0] for at in front)


def test_a_front_of_losses_goes_down() -> None:
    """Where low is better the front is below; its steps start at the top."""
    chart = charts.pareto_chart([Pair("a", 1, 0.5), Pair("b", 2, 0.1)], direction="lower")
    assert chart.front == (0, 1)
    assert chart.path == f"M{chart.points[0].x:g} 18H{chart.points[0].x:g}V{chart.points[0].y:g}" + (
        f"H{chart.points[1].x:g}V{chart.points[1].y:g}H448"
    )
    assert charts.pareto_front([(1.0, 0.5), (2.0, 0.9)], "lower") == (0,)


def test_costs_of_many_sizes_stand_on_a_logarithmic_scale() -> None:
    """Chosen above a factor of 20 between costs above zero, or asked for; zero has no logarithm."""
    near, far = ([Pair("a", 1, 0.1), Pair("b", cost, 0.2)] for cost in (20, 21))
    assert not charts.pareto_chart(near).logarithmic
    assert charts.pareto_chart(far).logarithmic
    assert charts.pareto_chart(near, log=True).logarithmic
    assert not charts.pareto_chart([*far, Pair("c", 0, 0.1)]).logarithmic
    wide = charts.pareto_chart([Pair("a", 0.002, 0.1), Pair("b", 3e7, 0.2)])
    assert [tick.label for tick in wide.across] == ["0.01", "1", "100", "10000", "1M"]
    with pytest.raises(ValueError, match="zero or less"):
        charts.pareto_chart([Pair("c", 0, 0.1)], log=True)
    with pytest.raises(ValueError, match="finite"):
        charts.pareto_chart([Pair("c", math.nan, 0.1)])


def test_equal_costs_and_no_runs_have_a_scale_too() -> None:
    """One price for all, and nothing at all."""
    alone = charts.pareto_chart([Pair("a", 5, 0.5)], log=True)
    assert alone.left <= alone.points[0].x <= alone.right
    assert [note.text for note in alone.notes] == ["a"]
    assert (charts.pareto_chart([]).path, charts.pareto_chart([]).front) == ("", ())


@given(st.lists(st.sampled_from([None, -2, 0, 1, 2, 3]), max_size=230))
def test_every_rank_has_one_cell_in_its_place(grades: list[int | None]) -> None:
    """Relevant ranks are cells that lead to them, the other judged ones bars of the line's path."""
    strip = charts.rank_strip(grades)
    cells = [cell for line in strip.lines for cell in line.cells]
    assert [cell.href for cell in cells] == [
        f"#rank-{rank}" for rank, grade in enumerate(grades, start=1) if grade is not None and grade >= 1
    ]
    assert strip.relevant == len(cells)
    assert strip.judged == sum(line.path.count("M") for line in strip.lines) + len(cells)
    for line in strip.lines:
        assert line.last - line.first < strip.per_line
        for cell in line.cells:
            assert strip.left <= cell.x < cell.x + cell.width <= strip.left + strip.width
            assert cell.y + cell.height == pytest.approx(line.y + strip.bar, abs=0.011)
    heights = {cell.label.split()[-1]: cell.height for cell in cells}
    assert list(dict(sorted(heights.items())).values()) == sorted(heights.values())


def test_relevance_starts_at_the_tasks_level() -> None:
    """A grade below the level is judged and not relevant, however high; the scale's top may lie higher."""
    strip = charts.rank_strip([1, 2, 3], level=2, highest=5, anchors="r")
    assert [(cell.label, cell.href) for cell in strip.lines[0].cells] == [
        ("rank 2: grade 2", "#r2"),
        ("rank 3: grade 3", "#r3"),
    ]
    assert [cell.height for cell in strip.lines[0].cells] == [13.0, 16.0]
    assert (strip.relevant, strip.judged, strip.per_line) == (2, 3, 50)
    assert charts.rank_strip([]).lines == ()


@given(st.lists(scores, min_size=1, max_size=150))
def test_dots_of_a_pile_do_not_cover_each_other(values: list[float]) -> None:
    """Each place is taken once, all of them between the names and the axis."""
    strip = charts.score_strip([Scored(str(at), value) for at, value in enumerate(values)])
    places = Counter((dot.x, dot.y) for dot in strip.dots)
    assert max(places.values()) == 1
    for dot in strip.dots:
        assert strip.left <= dot.x <= strip.right
        assert strip.head <= dot.y <= strip.base
        assert dot.name_y is None or dot.name_y < strip.head


def test_the_outermost_and_the_highlighted_are_named() -> None:
    """The best three, the last and one's own, each in a line of its own."""
    runs = [Scored(f"r{at}", at / 10, kind="highlight" if at == 4 else "plain") for at in range(9)]
    strip = charts.score_strip(runs)
    named = {dot.name.full: dot.name_y for dot in strip.dots if dot.name_y is not None}
    assert sorted(named) == ["r0", "r4", "r6", "r7", "r8"]
    assert len(set(named.values())) == 5
    assert [dot.anchor for dot in strip.dots][::8] == ["start", "end"]
    lower = charts.score_strip(runs, direction="lower", named=1)
    assert sorted(dot.name.full for dot in lower.dots if dot.name_y) == ["r0", "r4", "r8"]
    with pytest.raises(ValueError, match="finite"):
        charts.score_strip([Scored("a", math.nan)])


def test_steps_of_a_heat_map_are_equal_and_closed_at_the_top() -> None:
    """Every value has a step, ends and what lies outside included."""
    assert [charts.heat_step(at / 10, 0.0, 1.0) for at in range(11)] == [
        *(f"step-{at}" for at in range(10)),
        "step-9",
    ]
    assert charts.heat_step(-1.0, 0.0, 1.0) == "step-0"
    names = [name for name, _, _ in charts.heat_difference_bounds(0.7)]
    middles = [(low + high) / 2 for _, low, high in charts.heat_difference_bounds(0.7)]
    assert [charts.heat_difference(value, 0.7) for value in middles] == names
    assert charts.heat_difference(0.0, 0.0) == "level"
    assert [bound[0] for bound in charts.heat_bounds(0, 1)] == [f"step-{at}" for at in range(10)]
