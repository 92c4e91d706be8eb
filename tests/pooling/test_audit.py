"""Who brought what into the pool, and what is left without it."""

import numpy as np

from leaderboard.pooling import audit
from tests.pooling.worked import RUNS, names

RELEVANT = np.isin(np.arange(9), [0, 5, 8])
TOPS = [run[:3] for run in RUNS]


def test_documents_only_one_run_has() -> None:
    """At depth 3: A alone has d3, B alone d6, C alone d8 and d9; of these d6 and d9 are relevant."""
    holder = audit.holders(TOPS, np.arange(3), 9)
    assert [names(np.flatnonzero(holder == run)) for run in range(3)] == ["d3", "d6", "d8 d9"]
    assert names(np.flatnonzero(holder == audit.SEVERAL)) == "d1 d2"
    assert names(np.flatnonzero(holder == audit.NOBODY)) == "d4 d5 d7"


def test_teams_share_their_runs_contributions() -> None:
    """A and B are one team: d1 of all three stays common, d2 is now the team's own."""
    teams = np.array([0, 0, 1])
    unique = audit.unique(TOPS, teams, np.ones(9, dtype=np.bool_), RELEVANT)
    assert (unique.run.tolist(), unique.run_relevant.tolist()) == ([1, 1, 2], [0, 1, 1])
    assert (unique.team.tolist(), unique.team_relevant.tolist()) == ([3, 2], [1, 1])
    half = audit.unique(TOPS, teams, np.arange(9) < 6, RELEVANT)
    assert (half.run.tolist(), half.team.tolist()) == ([1, 1, 0], [3, 0])


def average_precision(run: list[int], relevant: list[int]) -> float:
    """AP of a ranking."""
    hits = np.isin(run, relevant)
    return float((np.cumsum(hits) / np.arange(1, len(run) + 1) * hits).sum() / len(relevant))


def test_leaving_a_team_out() -> None:
    """C's AP was (1/2 + 2/3 + 3/4) / 3; without its own d8 and d9 it is (1/3 + 2/4) / 2."""
    removed = audit.holders(TOPS, np.arange(3), 9) == 2
    full, left = np.flatnonzero(RELEVANT), np.flatnonzero(RELEVANT & ~removed)
    run = RUNS[2].tolist()
    assert round(average_precision(run, full.tolist()), 6) == 0.638889
    assert round(average_precision(run, left.tolist()), 6) == 0.416667


def test_judgments_without_some_documents() -> None:
    """Two topics of three and two documents; the second and the last go."""
    kept = audit.without(np.array([0, 3, 5]), np.array([False, True, False, False, True]))
    assert kept.documents.tolist() == [0, 2, 3]
    assert kept.place.tolist() == [0, -1, 1, 2, -1]
    assert kept.starts.tolist() == [0, 2, 3]


def test_best_ranks_say_how_deep_a_pool_had_to_be() -> None:
    """d6 is third of B and fourth of C; no run has a tenth document."""
    best = audit.best_ranks(RUNS, [np.arange(1, 6)] * 3, 10)
    assert best[:9].tolist() == [1, 1, 3, 4, 5, 3, 5, 1, 2]
    assert best[9] == audit.NEVER


def test_rank_drops_move_a_teams_own_runs_only() -> None:
    """Team 0's two runs fall behind the third one together; ties share the better place."""
    full = np.array([0.6, 0.5, 0.4, 0.3])
    drops = audit.rank_drops(full, np.array([0.35, 0.35, 0.1, 0.45]), np.array([0, 0, 1, 2]))
    assert drops.tolist() == [1, 0, 1, -1]


def test_relative_change() -> None:
    """Runs without a score have none; there may be no other."""
    assert audit.relative_change(np.array([0.5, 0.25, 0]), np.array([0.25, 0.375, 0])) == 0.5
    assert audit.relative_change(np.zeros(2), np.zeros(2)) is None
