"""Which judged documents a task's runs found: how many, how high, and what one team alone found."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.pages.scores.table import ComparedRun
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests

VERSION = 1
"""Of what is kept in memory; a new one makes what an older program kept unused."""
NEAR, FAR = 10, 100
"""Ranks down to which a document counts as near the top, and as seen at all."""
NOBODY, SEVERAL = -1, -2
NEVER = np.iinfo(np.int32).max

Counts = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class RunFinds:
    """What the runs found of an edition's judgments; documents are indices into judgments.grades.

    runs, near, far, best, best_run, teams, team: (documents,). relevant, first: (runs, judged topics).
    """

    runs: Counts
    """How many runs retrieved each document."""
    near: Counts
    """How many have it in their top 10."""
    far: Counts
    """How many have it in their top 100."""
    best: Counts
    """The highest rank any run has it at, 0 where none has."""
    best_run: Counts
    """The run (its place among those asked for) with that rank, the first of several; -1 for none."""
    teams: Counts
    """Of how many teams the runs are."""
    team: Counts
    """The id of the team where it is one, else NOBODY or SEVERAL."""
    relevant: Counts
    """How many relevant documents each run has for a topic."""
    first: Counts
    """The rank of the first of them, 0 where there is none."""


def found(session: Session, source: Source, runs: Sequence[ComparedRun], level: int) -> RunFinds:
    """What the runs found, relevant from the grade of level on; kept in memory once it is known.

    At most two statements however many runs there are, none where it is kept.
    """
    digest = _digest(source, runs, level)
    arrays = requests.kept.get(digest)
    if arrays is None:
        arrays = requests.kept.put(digest, cast(Any, _count(session, source, runs, level)))
    return RunFinds(**cast(Any, arrays))


def _digest(source: Source, runs: Sequence[ComparedRun], level: int) -> str:
    """Of all that the answer depends on."""
    facts = (
        *("found documents", VERSION, source.revision_sha256, source.dialect, level),
        [(run.ranking_sha256, run.team_id) for run in runs],
    )
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def _count(session: Session, source: Source, runs: Sequence[ComparedRun], level: int) -> dict[str, Counts]:
    judgments = alignments.compiled_judgments(session, source).judgments
    judged = alignments.alignments(session, source, [run.run_id for run in runs])
    documents, topics = len(judgments.grades), len(judgments)
    counts = {name: np.zeros(documents, dtype=np.int32) for name in ("runs", "near", "far", "teams")}
    best = np.full(documents, NEVER, dtype=np.int32)
    best_run = np.full(documents, -1, dtype=np.int32)
    team = np.full(documents, NOBODY, dtype=np.int32)
    relevant, first = (np.zeros((len(runs), topics), dtype=np.int32) for _ in range(2))
    for place, run in sorted(enumerate(runs), key=lambda pair: pair[1].team_id):
        hits = judged[run.run_id]
        document, rank = hits.document, hits.rank
        counts["runs"][document] += 1
        counts["near"][document[rank <= NEAR]] += 1
        counts["far"][document[rank <= FAR]] += 1
        higher = (rank < best[document]) | ((rank == best[document]) & (place < best_run[document]))
        best[document[higher]], best_run[document[higher]] = rank[higher], place
        fresh = document[(team[document] != run.team_id)]
        counts["teams"][fresh] += 1
        team[fresh] = run.team_id
        relevant_hits = hits.relevant(level)
        relevant[place] = np.bincount(relevant_hits.topic, minlength=topics)
        leading = relevant_hits.nth == 1
        first[place, relevant_hits.topic[leading]] = relevant_hits.rank[leading]
    best[best == NEVER] = 0
    team[counts["teams"] > 1] = SEVERAL
    return {**counts, "best": best, "best_run": best_run, "team": team, "relevant": relevant, "first": first}
