"""Old and new rank of every run of a board, and how far two orders of them agree."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.services import shown_names
from leaderboard.services.boards.moves import shared_ranks
from leaderboard.services.boards.rows import of_phase
from leaderboard.services.evaluations import choices
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.runs.names import RunName
from leaderboard.stats.orders.rank_correlation import tau_ap, tau_b
from leaderboard.tables.record import Column, Place, Shown, Table, columns_from


@dataclass(frozen=True, slots=True, kw_only=True)
class RankChange:
    """A run before and after; ranks are None for runs that have none, scores where there is none."""

    run: RunName
    old_rank: Annotated[int | None, Shown(key="public_rank")]
    new_rank: Annotated[int | None, Shown(key="hidden_rank")]
    old: float | None
    new: float | None

    @property
    def moved(self) -> Annotated[int, Shown("Moved", key="moved_up")]:
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
    runs: Sequence[RunName], old: Mapping[int, float], new: Mapping[int, float], by: MeasureColumn
) -> RankChanges:
    """What becomes of the runs' ranks; old and new are scores by run id as the measure prints them.

    Ranks are among official runs that have both scores, equal scores share one, so that a run that came
    in between moves nobody. tau_AP takes the new order for the truth.
    """
    sign = by.sign
    both = [run for run in runs if run.run_id in old and run.run_id in new and run.kind == RANKED_KIND]
    before = {run.run_id: sign * old[run.run_id] for run in both}
    after = {run.run_id: sign * new[run.run_id] for run in both}
    first, second = shared_ranks(before), shared_ranks(after)
    rows = [
        RankChange(
            run=run,
            old_rank=first.get(run.run_id),
            new_rank=second.get(run.run_id),
            old=old.get(run.run_id),
            new=new.get(run.run_id),
        )
        for run in runs
    ]

    def place(row: RankChange) -> tuple[bool, float, str]:
        return row.new is None, 0.0 if row.new is None else -sign * row.new, row.run.name

    estimate, truth = (np.array(list(scores.values()), dtype=np.float64) for scores in (before, after))
    return RankChanges(
        measure=by,
        rows=tuple(sorted(rows, key=place)),
        tau=tau_b(estimate, truth),
        tau_ap=tau_ap(estimate, truth),
    )


def scored_runs(
    session: Session, viewer: Viewer, task: Task, sight: Sight, run_ids: Collection[int]
) -> list[RunName]:
    """The runs of the phase that is seen, by id, with names as this viewer may read them; none withdrawn."""
    left_out = choices.not_chosen(session, task)
    names = shown_names.shown_names(session, viewer, task)
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.kind)
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None), *of_phase(sight), Run.id.in_(run_ids))
        .order_by(Run.id)
    )
    return [
        RunName(
            run_id=row.id,
            name=names.run(row.id, row.name),
            team=names.team(row.team_id),
            kind=choices.shown_kind(row.id, row.kind, left_out),
        )
        for row in rows
    ]


def facts(ranks: RankChanges) -> dict[str, Any]:
    """The changes as plain values at full precision."""
    return {
        "measure": ranks.measure.key,
        "tau": ranks.tau,
        "tau_ap": ranks.tau_ap,
        "runs": table(ranks, "", "").facts(),
    }


def table(ranks: RankChanges | None, name: str, caption: str) -> Table[RankChange]:
    """The runs in the new order; None has no rows."""
    key = ranks.measure.key if ranks else "score"
    digits = ranks.measure.digits if ranks else None
    return Table(
        name,
        caption,
        columns_from(
            RankChange,
            Column("new_rank", lambda row: row.new_rank, "New rank", digits=0, shown=Place.PAGE),
            "run.name run.run_id run.team run.kind",
            Column("old_rank", lambda row: row.old_rank, "Old rank", digits=0),
            Column("new_rank", lambda row: row.new_rank, "New rank", digits=0, shown=~Place.PAGE),
            Column("moved_up", lambda row: row.moved, "Moved", digits=0, shown=~Place.PRINT),
            Column("new", lambda row: row.new, f"New {key}", digits=digits, shown=Place.PAGE),
            Column("old", lambda row: row.old, "Old", digits=digits),
            Column("new", lambda row: row.new, "New", digits=digits, shown=~Place.PAGE),
            Column(
                "difference",
                lambda row: row.difference,
                "Difference",
                words=lambda row: None if row.difference is None else f"{row.difference:+.{digits}f}",
                digits=digits,
            ),
        ),
        ranks.rows if ranks else (),
    )
