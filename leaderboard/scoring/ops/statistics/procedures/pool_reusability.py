"""Arrays of a pool audit: unique contributions of each team, and run order by pool depth.

Computed by a job from the stored hits of runs; SciPy is not needed here: evaluators import this module.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.pooling.audit import Kept, best_ranks, holders, unique, without
from leaderboard.pooling.candidates import IntArray
from leaderboard.scoring.ops import rankings
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.stats.arrays import Arrays

NEEDS = frozenset({"graded", "collection size"})
"""Inputs of measures supported under reduced judgments; not subtopics and preferences."""

Removed = npt.NDArray[np.bool_]


class ReducedJudgments:
    """The judgments without some documents, (documents,); the entry for distractors always stays."""

    def __init__(self, judgments: Judgments, removed: Removed) -> None:
        self._kept: Kept = without(judgments.starts, removed & judgments.named)
        self.judgments = replace(
            judgments,
            grades=judgments.grades[self._kept.documents],
            starts=self._kept.starts,
            subtopics=None,
            preferences=None,
        )

    def judged(self, run: Judged) -> Judged:
        """A run aligned with the reduced judgments; ranks are unchanged."""
        place = self._kept.place[run.document]
        stays = place >= 0
        return Judged(
            self.judgments, run.topic[stays], run.rank[stays], place[stays], run.retrieved, run.dialect
        )


def score(bound: BoundMeasure, run: Judged, places: Sequence[int]) -> float:
    """A run's mean, or sum, over the topics at these places."""
    scores = bound.compute(run)[np.array(places, dtype=np.int64)]
    return float(scores.sum() if bound.measure.aggregate == "sum" else scores.mean())


PROCEDURE = "pool_audit"
DEPTHS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 75, 100, 150, 200, 500, 1000)
"""Examined pool depths, up to the depth of the pool."""
Progress = Callable[[float], None]


def options(depth: int, level: int, teams: Sequence[int]) -> str:
    """Inputs of the audit other than rankings, as the method of a request.

    teams: team index of every run, from 0 by first appearance; -1 for unpooled runs.
    """
    return json.dumps({"depth": depth, "level": level, "teams": list(teams)}, separators=(",", ":"))


def depths_to(depth: int) -> list[int]:
    """The depths at which the order of runs is computed, for a given pool depth.

    >>> depths_to(8), depths_to(9)
    ([1, 2, 3, 4, 5, 6, 8], [1, 2, 3, 4, 5, 6, 8, 9])
    """
    return [*(earlier for earlier in DEPTHS if earlier < depth), depth]


def seconds(runs: int, topics: int) -> float:
    """Estimated time on one core."""
    return 0.02 + runs * topics * 2.5e-4


def compute(
    session: Session, source: Source, run_ids: Sequence[int], measure: str, method: str, progress: Progress
) -> Arrays:
    """The audit of a pool that took the top `depth` documents of the runs that have a team.

    run, run_relevant (runs,), team, team_relevant (teams,): unique documents, and unique relevant ones. full,
    left_out (runs,): scores under all judgments and without those contributed only by the run's team. depths
    (depths,), by_depth (depths, runs): scores under the judgments of a pool that deep. judged_top,
    judged_depth (runs,): shares judged in the top 10 and the top `depth`. Runs that were not pooled have no
    share in the judgments and keep their score.
    """
    options = json.loads(method)
    depth, level, teams = options["depth"], options["level"], np.array(options["teams"], dtype=np.int64)
    bound = parse(measure)
    judgments = rankings.compiled_judgments(session, source).judgments
    runs = rankings.alignments(session, source, run_ids)
    documents, ranks = _documents(runs, run_ids, teams, depth)
    counted = (judgments.grades >= 0) & judgments.named
    counts = unique(documents, np.maximum(teams, 0), counted, counted & (judgments.grades >= level))
    holder = holders(documents, np.maximum(teams, 0), len(judgments.grades))
    best = best_ranks(documents, ranks, len(judgments.grades))
    depths = depths_to(depth)
    reduced = {
        team: ReducedJudgments(judgments, holder == team) for team in np.unique(teams[teams >= 0]).tolist()
    }
    cut = [ReducedJudgments(judgments, best > end) for end in depths]
    full, left_out = np.zeros(len(run_ids)), np.zeros(len(run_ids))
    by_depth = np.zeros((len(depths), len(run_ids)))
    shares = np.zeros((2, len(run_ids)))
    for at, (run_id, team) in enumerate(zip(run_ids, teams.tolist(), strict=True)):
        run = runs[run_id]
        full[at] = left_out[at] = score(bound, run, source.places)
        if team >= 0:
            left_out[at] = score(bound, reduced[team].judged(run), source.places)
        by_depth[:, at] = [score(bound, shallow.judged(run), source.places) for shallow in cut]
        shares[:, at] = [judged_share(run, source, top) for top in (10, depth)]
        progress((at + 1) / len(run_ids))
    return {
        "run": counts.run,
        "run_relevant": counts.run_relevant,
        "team": counts.team,
        "team_relevant": counts.team_relevant,
        "full": full,
        "left_out": left_out,
        "depths": np.array(depths),
        "by_depth": by_depth,
        "judged_top": shares[0],
        "judged_depth": shares[1],
    }


def judged_share(run: Judged, source: Source, depth: int) -> float:
    """The mean share of judged documents in the top ranks over topics that have any, nan without."""
    places = np.array(source.places, dtype=np.int64)
    is_judged = (run.grade >= 0) & (run.rank <= depth)
    count = np.bincount(run.topic[is_judged], minlength=len(run.judgments))[places]
    size = np.minimum(run.retrieved, depth)[places]
    return float((count[size > 0] / size[size > 0]).mean()) if (size > 0).any() else float("nan")


def _documents(
    runs: rankings.Alignments, run_ids: Sequence[int], teams: IntArray, depth: int
) -> tuple[list[IntArray], list[IntArray]]:
    """The judged documents of every pooled run down to the depth, and their ranks; none of the others."""
    documents, ranks = [], []
    for run_id, team in zip(run_ids, teams.tolist(), strict=True):
        run = runs[run_id]
        top = run.rank <= (depth if team >= 0 else 0)
        documents.append(run.document[top])
        ranks.append(run.rank[top])
    return documents, ranks
