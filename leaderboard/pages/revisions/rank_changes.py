"""Old and new rank of every run of a board, and how far two orders of them agree."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leaderboard.services.boards.rows import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.stats.orders.rank_correlation import tau_ap, tau_b


@dataclass(frozen=True, slots=True)
class ScoredRun:
    """A run of a board, whichever of its editions."""

    run_id: int
    name: str
    team: str
    kind: str


@dataclass(frozen=True, slots=True)
class RankChange:
    """A run before and after; ranks are None for runs that have none, scores where there is none."""

    run: ScoredRun
    old_rank: int | None
    new_rank: int | None
    old: float | None
    new: float | None

    @property
    def moved(self) -> int:
        """By how many places it went up; 0 where it has no rank on one side."""
        return 0 if self.old_rank is None or self.new_rank is None else self.old_rank - self.new_rank

    @property
    def difference(self) -> float | None:
        """The new score less the old one."""
        return None if self.old is None or self.new is None else self.new - self.old


@dataclass(frozen=True, slots=True)
class RankChanges:
    """Two orders of the same runs, in the new one; correlations are of ranked runs with both scores."""

    measure: MeasureColumn
    rows: tuple[RankChange, ...]
    tau: float | None
    tau_ap: float | None

    @property
    def moved(self) -> int:
        """How many runs have another rank."""
        return sum(1 for row in self.rows if row.moved)

    @property
    def largest(self) -> RankChange | None:
        """The run that moved most; None where none did."""
        most = max(self.rows, key=lambda row: abs(row.moved), default=None)
        return most if most is not None and most.moved else None

    @property
    def pairs(self) -> int:
        """How many ranked runs are compared."""
        return sum(1 for row in self.rows if row.old_rank is not None and row.new_rank is not None)


def rank_changes(
    runs: Sequence[ScoredRun], old: Mapping[int, float], new: Mapping[int, float], by: MeasureColumn
) -> RankChanges:
    """What becomes of the runs' ranks; old and new are scores by run id as the measure prints them.

    Ranks are among official runs that have both scores, equal scores share one, so that a run that came
    in between moves nobody. tau_AP takes the new order for the truth.
    """
    sign = -1.0 if by.direction == "lower" else 1.0
    both = [run for run in runs if run.run_id in old and run.run_id in new and run.kind == RANKED_KIND]
    before = {run.run_id: sign * old[run.run_id] for run in both}
    after = {run.run_id: sign * new[run.run_id] for run in both}
    first, second = _ranks(before), _ranks(after)
    rows = [
        RankChange(
            run,
            first.get(run.run_id),
            second.get(run.run_id),
            old.get(run.run_id),
            new.get(run.run_id),
        )
        for run in runs
    ]

    def place(row: RankChange) -> tuple[bool, float, str]:
        return row.new is None, 0.0 if row.new is None else -sign * row.new, row.run.name

    estimate, truth = (np.array(list(each.values()), dtype=np.float64) for each in (before, after))
    return RankChanges(by, tuple(sorted(rows, key=place)), tau_b(estimate, truth), tau_ap(estimate, truth))


def table(found: RankChanges) -> tuple[list[str], list[list[Any]]]:
    """Header and rows for CSV, in the new order."""
    header = ["run", "team", "kind", "old_rank", "new_rank", "moved_up", "old", "new", "difference"]
    return header, [
        [
            *(row.run.name, row.run.team, row.run.kind, row.old_rank, row.new_rank, row.moved),
            *(row.old, row.new, row.difference),
        ]
        for row in found.rows
    ]


def as_json(found: RankChanges) -> dict[str, Any]:
    """The changes as plain values at full precision."""
    header, rows = table(found)
    return {
        "measure": found.measure.key,
        "tau": found.tau,
        "tau_ap": found.tau_ap,
        "runs": [dict(zip(header, row, strict=True)) for row in rows],
    }


def short_table(found: RankChanges) -> tuple[list[str], list[list[Any]]]:
    """Header and rows as they are printed."""
    digits = found.measure.digits
    return ["Run", "Team", "Old rank", "New rank", "Old", "New", "Difference"], [
        [
            *(row.run.name, row.run.team, row.old_rank, row.new_rank),
            *(None if value is None else f"{value:.{digits}f}" for value in (row.old, row.new)),
            None if row.difference is None else f"{row.difference:+.{digits}f}",
        ]
        for row in found.rows
    ]


def _ranks(scores: Mapping[int, float]) -> dict[int, int]:
    """The rank of every run, higher being better; equal scores share one.

    >>> _ranks({7: 0.5, 8: 0.9, 9: 0.5, 4: 0.1})
    {7: 2, 8: 1, 9: 2, 4: 4}
    """
    ordered = sorted(scores.values(), reverse=True)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    return {run_id: first[value] for run_id, value in scores.items()}
