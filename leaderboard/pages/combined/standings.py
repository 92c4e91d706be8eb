"""Where runs stand on a combined board: by both, by the machine and by people's sample alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import parse
from leaderboard.pages.combined import favoured, plans
from leaderboard.pages.combined.estimates import EstimatedScores, estimated
from leaderboard.pages.combined.favoured import FavouredRuns, FavourSeen
from leaderboard.pages.combined.plans import MachinePlan
from leaderboard.services.boards.rows import Row
from leaderboard.services.combined.judged import JudgedSample
from leaderboard.services.combined.scores import CombinedScores, combined_scores, top_of, worth_of
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import FloatArray, scores_of
from leaderboard.services.runs.names import RunName
from leaderboard.services.statistics.sentences import too_few_topics
from leaderboard.services.statistics.standings import Place, varies
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.standing.standing import topics_to_decide, verdicts, widest_pair
from leaderboard.tables.record import Place as On
from leaderboard.tables.record import Shown

BoolArray = npt.NDArray[np.bool_]

MOST_OUTSIDE = 0.05
"""Of the weight of a run's top: where more is outside of the pool, nothing was drawn of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedRow(RunName):
    """A ranked run: its score by both, by the machine and by people's sample alone, with its rank in each.

    low and high are the ends of the 95 % interval of the score by both, None where it never varies.
    place says whom it beats by the board that is shown, None on the machine's, which says nothing of people,
    and where the run is left unranked.
    """

    rank: int | None
    score: float
    low: float | None
    high: float | None
    place: Place | None
    machine: float
    machine_rank: Annotated[int, Shown("Rank")]
    people: float
    people_rank: Annotated[int, Shown("Rank")]
    move: int
    """By how many ranks it stands higher than by the machine among the ranked runs, below 0 where lower."""
    outside: Annotated[float, Shown(shown=On.DATA)]


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedBoard:
    """What is said of the runs by one measure on the topics that are done."""

    rows: tuple[CombinedRow, ...]
    top: int
    """Ranks of which all but 5% of the weight must be in the machine's pool for a run to have a rank."""
    may_be_best: int
    too_few: str
    """That the topics are too few to order the runs; empty where they are not, or without verdicts."""
    swapped: int
    """Pairs of runs that stand the other way round than by the machine."""
    pairs: int
    teams: tuple[FavouredRuns, ...]
    """Without teams that have too few runs of others beside them."""
    models: tuple[FavouredRuns, ...]
    """By family of the language models that runs declare; without families that nearly all runs declare."""
    believed: float | None
    """The share of the machine's scores that is used, where people judged whole topics; else None."""
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
    bound, source = parse(column.key), sample.everything
    machine = scores_of(session, source, column.key, column.version, [row.run_id for row in rows])
    known = [row for row in rows if row.run_id in machine]
    if len(known) < 2:
        return None
    scores = combined_scores(session, sample, bound, [(row.run_id, row.ranking_sha256) for row in known])
    made = estimated(sample, scores, np.array([machine[row.run_id] for row in known]))
    is_ranked = scores.outside <= MOST_OUTSIDE
    topics = sample.finished
    places, too_few = ({}, "") if order == "machine" else _places(made, order, known, is_ranked, topics)
    lines = _rows(known, made, scores.outside, is_ranked, places)
    chosen = np.flatnonzero(is_ranked)
    seen = FavourSeen(sample.labels, worth_of(bound), scores.placed)
    return CombinedBoard(
        rows=tuple(sorted(lines, key=lambda row: (_place_in(row, order), row.name))),
        top=top_of(bound),
        may_be_best=sum(row.place is not None and row.place.best_set for row in lines),
        too_few=too_few,
        swapped=_swapped(made.combined[chosen], made.machine[chosen]),
        pairs=len(chosen) * (len(chosen) - 1) // 2,
        teams=favoured.by_team(known, seen),
        models=favoured.by_model(known, seen, sample.machine),
        believed=made.believed,
        plan=_plan(sample, bound, made, scores, [row.name for row in lines], is_ranked),
    )


def _swapped(means: FloatArray, others: FloatArray) -> int:
    """Pairs of runs that stand one way round by some means, and the other by others."""
    orders, turned = np.sign(means[:, None] - means), np.sign(others[:, None] - others)
    return int(np.count_nonzero(orders * turned < 0)) // 2


def _plan(
    sample: JudgedSample,
    bound: BoundMeasure,
    made: EstimatedScores,
    scores: CombinedScores,
    names: Sequence[str],
    is_ranked: BoolArray,
) -> MachinePlan | None:
    means = np.where(is_ranked, made.combined, -np.inf)
    first, second = np.argsort(-means, kind="stable")[:2].tolist()
    if not np.isfinite(means[second]):
        return None
    of = (names[first], names[second])
    if made.whole is not None and made.believed is not None:
        return plans.plan_of_topics(made.whole, made.believed, (first, second), of)
    return plans.plan_of(sample, bound, scores, (first, second), of)


def _place_in(row: CombinedRow, order: str) -> float:
    ranks = {"combined": row.rank, "machine": row.machine_rank, "people": row.people_rank}
    place = ranks[order]
    return float("inf") if place is None else place


def _places(
    made: EstimatedScores, order: str, rows: Sequence[Row], is_ranked: BoolArray, topics: int
) -> tuple[dict[int, Place], str]:
    """Run id -> whom it beats, of the ranked runs, by a board's verdicts; and CombinedBoard.too_few."""
    chosen = np.flatnonzero(is_ranked)
    if len(chosen) < 2:
        return {}, ""
    table = made.compare(chosen, order)
    said, too_few = verdicts(table, LEVEL), ""
    if said.too_few:
        needed = topics_to_decide(table, said, topics, widest_pair(table))
        too_few = too_few_topics(f"{len(chosen):,} runs", topics, needed)
    places = {
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
    return places, too_few


def _rows(
    rows: Sequence[Row],
    made: EstimatedScores,
    outside: FloatArray,
    is_ranked: BoolArray,
    places: dict[int, Place],
) -> list[CombinedRow]:
    ranks = _ranks(np.where(is_ranked, made.combined, -np.inf))
    among = _ranks(np.where(is_ranked, made.machine, -np.inf))
    machine_ranks, people_ranks = _ranks(made.machine), _ranks(made.people)
    return [
        CombinedRow(
            **row.named(),
            rank=ranks[at] if is_ranked[at] else None,
            score=float(made.combined[at]),
            low=float(made.combined[at] - made.half[at]) if varies(made.half[at]) else None,
            high=float(made.combined[at] + made.half[at]) if varies(made.half[at]) else None,
            place=places.get(row.run_id),
            machine=float(made.machine[at]),
            machine_rank=machine_ranks[at],
            people=float(made.people[at]),
            people_rank=people_ranks[at],
            move=among[at] - ranks[at] if is_ranked[at] else 0,
            outside=float(outside[at]),
        )
        for at, row in enumerate(rows)
    ]


def _ranks(means: FloatArray) -> list[int]:
    better: list[int] = (means[None, :] > means[:, None]).sum(axis=1).tolist()
    return [1 + count for count in better]
