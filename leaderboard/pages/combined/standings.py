"""Where runs stand on a combined board: by both, by the machine and by people's sample alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import parse
from leaderboard.pages.combined import plans
from leaderboard.pages.combined.plans import MachinePlan
from leaderboard.services.boards.rows import Row
from leaderboard.services.combined.judged import JudgedSample
from leaderboard.services.combined.scores import CombinedScores, combined_scores, top_of
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import FloatArray, scores_of
from leaderboard.services.runs.names import RunName
from leaderboard.services.statistics.standings import ALPHA, Place
from leaderboard.stats.combined.bias import Favour, favours
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.reliability.power import half_width
from leaderboard.stats.standing.standing import verdicts

BoolArray = npt.NDArray[np.bool_]

METHOD = "t+holm"
MOST_OUTSIDE = 0.05
"""Of the weight of a run's top: where more is outside of the pool, nothing was drawn of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedRow(RunName):
    """A ranked run: its score by both, by the machine and by people's sample alone, with its rank in each.

    low and high are the ends of the 95 % interval of the score by both. place says whom it beats by the board
    that is shown, None on the machine's, which says nothing of people, and where the run is left unranked.
    """

    rank: int | None
    score: float
    low: float
    high: float
    place: Place | None
    machine: float
    machine_rank: int
    people: float
    people_rank: int
    move: int
    """By how many ranks it stands higher than by the machine among the ranked runs, below 0 where lower."""
    outside: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FavouredTeam:
    """What the machine gives the runs of a team more than people do, compared with all runs."""

    team: str
    runs: int
    favour: Favour


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedBoard:
    """What is said of the runs by one measure on the topics that are done."""

    rows: tuple[CombinedRow, ...]
    top: int
    """Ranks of which all but 5% of the weight must be in the machine's pool for a run to have a rank."""
    may_be_best: int
    swapped: int
    """Pairs of runs that stand the other way round than by the machine."""
    pairs: int
    teams: tuple[FavouredTeam, ...]
    """Empty where there is one team only."""
    plan: MachinePlan | None

    @property
    def unranked(self) -> int:
        """How many runs are left without a rank."""
        return sum(row.rank is None for row in self.rows)


def combined_board(
    session: Session, sample: JudgedSample, column: MeasureColumn, rows: Sequence[Row], order: str
) -> CombinedBoard | None:
    """The board of runs by a measure that can be combined; None where fewer than two were scored.

    order is `combined`, `machine` or `people`: whose order the runs are in, and whose verdicts are shown.
    """
    bound, source = parse(column.key), sample.source
    machine = scores_of(session, source, column.key, column.version, [row.run_id for row in rows])
    known = [row for row in rows if row.run_id in machine]
    if len(known) < 2:
        return None
    scores = combined_scores(session, sample, bound, [(row.run_id, row.ranking_sha256) for row in known])
    by_machine = np.array([machine[row.run_id] for row in known])
    means = {"combined": scores.combined, "machine": by_machine, "people": scores.people}
    is_ranked = scores.outside <= MOST_OUTSIDE
    places = {} if order == "machine" else _places(means[order], known, is_ranked)
    made = _rows(known, scores, by_machine, is_ranked, places)
    ordered = sorted(made, key=lambda row: (_place_in(row, order), row.name))
    chosen = np.flatnonzero(is_ranked)
    orders = np.sign(scores.combined[chosen].mean(axis=1)[:, None] - scores.combined[chosen].mean(axis=1))
    others = np.sign(by_machine[chosen].mean(axis=1)[:, None] - by_machine[chosen].mean(axis=1))
    return CombinedBoard(
        rows=tuple(ordered),
        top=top_of(bound),
        may_be_best=sum(row.place is not None and row.place.best_set for row in made),
        swapped=int(np.count_nonzero(orders * others < 0)) // 2,
        pairs=len(chosen) * (len(chosen) - 1) // 2,
        teams=_teams(known, by_machine, scores.combined),
        plan=_plan(sample, bound, scores, [row.name for row in made], is_ranked),
    )


def _plan(
    sample: JudgedSample,
    bound: BoundMeasure,
    scores: CombinedScores,
    names: Sequence[str],
    is_ranked: BoolArray,
) -> MachinePlan | None:
    means = np.where(is_ranked, scores.combined.mean(axis=1), -np.inf)
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    if not np.isfinite(means[second]):
        return None
    return plans.plan_of(sample, bound, scores, (first, second), (names[first], names[second]))


def _place_in(row: CombinedRow, order: str) -> float:
    ranks = {"combined": row.rank, "machine": row.machine_rank, "people": row.people_rank}
    place = ranks[order]
    return float("inf") if place is None else place


def _places(scores: FloatArray, rows: Sequence[Row], is_ranked: BoolArray) -> dict[int, Place]:
    """Run id -> whom it beats, of the runs that are ranked, by the board's ordinary verdicts."""
    chosen = np.flatnonzero(is_ranked)
    if len(chosen) < 2:
        return {}
    said = verdicts(all_pairs(scores[chosen], method(METHOD), seed=1), LEVEL)
    return {
        rows[at].run_id: Place(
            beats=int(said.beats[place]),
            beaten_by=int(said.rank_low[place]) - 1,
            undecided=int(said.undecided[place]),
            rank_low=int(said.rank_low[place]),
            rank_high=int(said.rank_high[place]),
            best_set=bool(said.may_be_best[place]),
            named=int(said.named[place]),
        )
        for place, at in enumerate(chosen.tolist())
    }


def _rows(
    rows: Sequence[Row],
    scores: CombinedScores,
    machine: FloatArray,
    is_ranked: BoolArray,
    places: dict[int, Place],
) -> list[CombinedRow]:
    topics = scores.combined.shape[1]
    means = scores.combined.mean(axis=1)
    halves = [
        half_width(sd, topics, confidence=1 - ALPHA) for sd in scores.combined.std(axis=1, ddof=1).tolist()
    ]
    ranks = _ranks(np.where(is_ranked, means, -np.inf))
    among = _ranks(np.where(is_ranked, machine.mean(axis=1), -np.inf))
    machine_ranks, people_ranks = _ranks(machine.mean(axis=1)), _ranks(scores.people.mean(axis=1))
    return [
        CombinedRow(
            run_id=row.run_id,
            name=row.run,
            team=row.team,
            kind=row.kind,
            rank=ranks[at] if is_ranked[at] else None,
            score=float(means[at]),
            low=float(means[at]) - halves[at],
            high=float(means[at]) + halves[at],
            place=places.get(row.run_id),
            machine=float(machine[at].mean()),
            machine_rank=machine_ranks[at],
            people=float(scores.people[at].mean()),
            people_rank=people_ranks[at],
            move=among[at] - ranks[at] if is_ranked[at] else 0,
            outside=float(scores.outside[at]),
        )
        for at, row in enumerate(rows)
    ]


def _ranks(means: FloatArray) -> list[int]:
    better: list[int] = (means[None, :] > means[:, None]).sum(axis=1).tolist()
    return [1 + count for count in better]


def _teams(rows: Sequence[Row], machine: FloatArray, combined: FloatArray) -> tuple[FavouredTeam, ...]:
    """Whom the machine favours, most favoured first; empty where all runs are of one team."""
    members: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        members.setdefault(row.team, []).append(at)
    if len(members) < 2:
        return ()
    found = favours(machine, combined, list(members.values()))
    teams = [
        FavouredTeam(team=team, runs=len(runs), favour=favour)
        for (team, runs), favour in zip(members.items(), found, strict=True)
    ]
    return tuple(sorted(teams, key=lambda row: (-row.favour.mean, row.team)))
