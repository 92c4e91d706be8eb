"""Which runs are pooled."""

import pytest

from leaderboard.pooling.methods import chosen_runs

TEAMS = ["a", "a", "b", "a", "b"]


def test_primary_runs_come_first() -> None:
    """The others follow in stored order."""
    assert chosen_runs(TEAMS) == [0, 1, 2, 3, 4]
    assert chosen_runs(TEAMS, primary=[False, False, False, True, True]) == [3, 4, 0, 1, 2]


def test_a_cap_takes_a_teams_primary_runs_first() -> None:
    """One a team: its primary run where it has one, else its first."""
    assert chosen_runs(TEAMS, cap=1) == [0, 2]
    assert chosen_runs(TEAMS, primary=[False, False, False, True, False], cap=1) == [3, 2]
    assert chosen_runs(TEAMS, cap=2) == [0, 1, 2, 4]


def test_wrong_numbers_are_refused() -> None:
    """A cap of nothing, or primary runs of another list."""
    with pytest.raises(ValueError, match="of at least 1, not 0"):
        chosen_runs(TEAMS, cap=0)
    with pytest.raises(ValueError, match="2 primary marks are given for 5 runs"):
        chosen_runs(TEAMS, primary=[True, False])
