"""The layout of runs by two measures."""

from hypothesis import given
from hypothesis import strategies as st

from leaderboard.web.charts.planes import Pair, means_chart

VALUES = st.floats(-1e6, 1e6).map(lambda value: round(value, 3))


@given(st.lists(st.tuples(VALUES, VALUES), max_size=40))
def test_every_run_stands_in_the_square(found: list[tuple[float, float]]) -> None:
    """Higher values stand further right and further up, whatever the scales."""
    chart = means_chart([Pair(str(at), *each) for at, each in enumerate(found)])
    places = [(point.x, -point.y) for point in chart.points]
    assert all(chart.left <= x <= chart.right and -chart.bottom <= y <= -chart.top for x, y in places)
    for axis in (0, 1):
        order = sorted(range(len(found)), key=lambda at: found[at][axis])
        along = [places[at][axis] for at in order]
        assert along == sorted(along)


@given(st.lists(st.tuples(VALUES, VALUES), max_size=40))
def test_names_cover_neither_names_nor_marks(found: list[tuple[float, float]]) -> None:
    """Only the first six are named, each beside its own mark and clear of all others."""
    chart = means_chart([Pair(f"run{at}", *each) for at, each in enumerate(found)])
    assert {note.text for note in chart.notes} <= {f"run{at}" for at in range(6)}
    spans = []
    for note in chart.notes:
        wide = 9.0 * len(note.text)
        low = note.x if note.anchor == "start" else note.x - wide
        own = chart.points[int(note.text.removeprefix("run"))]
        assert abs(note.y - own.y) < 4.01
        assert 7.99 < abs(note.x - own.x) < 8.01
        for point in chart.points:
            inside = low <= point.x <= low + wide and abs(point.y - note.y + 4) < 8.99
            assert point is own or not inside
        for other_low, other_wide, y in spans:
            apart = low > other_low + other_wide or other_low > low + wide or abs(y - note.y) > 12.99
            assert apart
        spans.append((low, wide, note.y))


def test_no_run_is_an_empty_square() -> None:
    """There are axes and nothing else."""
    chart = means_chart([])
    assert (chart.points, chart.notes) == ((), ())
    assert chart.across
    assert chart.down
