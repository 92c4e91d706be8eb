"""Seconds per judgment without the time assessors were away."""

import pytest

from leaderboard.stats.assessors import judging_times


def test_a_twentieth_at_each_end_is_trimmed() -> None:
    """Of twenty times one at each end: 2 to 19 have the mean 10.5. Of nineteen none."""
    times = judging_times([1.0, *range(2, 20), 200.0])
    assert (times.trimmed_mean, times.median, times.judgments) == (10.5, 10.5, 20)
    assert judging_times([1.0, *range(2, 19), 200.0]).trimmed_mean == pytest.approx(371 / 19)


def test_pauses_count_neither_as_judgments_nor_as_time() -> None:
    """Five minutes count, more does not; an hour has as many judgments as the pace gives."""
    times = judging_times([300.0, 300.1, 100.0, 4000.0])
    assert (times.judgments, times.away, times.total, times.an_hour) == (2, 2, 400.0, 18.0)


def test_without_times_there_is_no_number() -> None:
    """No judgment, or nothing but pauses: None, and no pace."""
    for seconds, away in (([], 0), ([301.0], 1)):
        times = judging_times(seconds)
        assert (times.median, times.trimmed_mean, times.an_hour, times.away) == (None, None, None, away)
    assert judging_times([0.0]).an_hour is None
