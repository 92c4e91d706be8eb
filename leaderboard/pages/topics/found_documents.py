"""Which judged documents a task's runs found: how many, how high, and what one team alone found."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.measures.judged import Relevant
from leaderboard.pages.scores.table import ComparedRun
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests

VERSION = 1
"""Of what is kept in memory; a new one makes what an older program kept unused."""
NEAR, FAR = 10, 100
"""Ranks down to which a document counts as near the top, and as seen at all."""
NOBODY, SEVERAL = -1, -2
NEVER = np.iinfo(np.int64).max

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
    # A rank and a run in one number, so that the least is the highest rank and of these the first run.
    leading = np.full(documents, NEVER, dtype=np.int64)
    team = np.full(documents, NOBODY, dtype=np.int32)
    relevant, first = (np.zeros((len(runs), topics), dtype=np.int32) for _ in range(2))
    by_team = groupby(sorted(enumerate(runs), key=lambda pair: pair[1].team_id), lambda pair: pair[1].team_id)
    for team_id, of_team in by_team:
        theirs = np.zeros(documents, dtype=np.bool_)
        for place, run in of_team:
            hits = judged[run.run_id]
            document, rank = hits.document, hits.rank
            theirs[document] = True
            counts["runs"][document] += 1
            for name, depth in (("near", NEAR), ("far", FAR)):
                counts[name][document[rank <= depth]] += 1
            leading[document] = np.minimum(leading[document], rank * len(runs) + place)
            _note_relevant(hits.relevant(level), relevant[place], first[place])
        counts["teams"] += theirs
        team[theirs] = team_id
    is_found = leading != NEVER
    best, best_run = np.divmod(leading, max(len(runs), 1))
    team[counts["teams"] > 1] = SEVERAL
    return {
        **counts,
        "best": np.where(is_found, best, 0).astype(np.int32),
        "best_run": np.where(is_found, best_run, -1).astype(np.int32),
        "team": team,
        "relevant": relevant,
        "first": first,
    }


def _note_relevant(hits: Relevant, relevant: Counts, first: Counts) -> None:
    """Fill in how many relevant documents one run has for each topic and where the first of them is."""
    relevant[:] = np.bincount(hits.topic, minlength=len(relevant))
    leading = hits.nth == 1
    first[hits.topic[leading]] = hits.rank[leading]
