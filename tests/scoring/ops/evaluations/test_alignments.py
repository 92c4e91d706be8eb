"""A run's judged hits are stored with its scores, and are all that its scores need."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import delete, func, select

from leaderboard.core import policy
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Alignment
from leaderboard.measures.grammar import parse
from leaderboard.scoring.ops import rankings
from leaderboard.scoring.ops.evaluations.shown import Source, scores_of, shown_edition
from tests.make import build

RANKINGS = {"1": ["a", "x", "c", "b"], "2": ["d"]}
OTHER = {"2": ["a", "d"], "3": ["f", "e"]}
MEASURES = ("AP", "nDCG@10", "Judged@10")


def _filled(database: Database, folder: Path) -> tuple[Source, list[int]]:
    slug = build.task(database, folder, measures=MEASURES)
    runs = [
        build.run(database, folder, each, name=name) for each, name in ((RANKINGS, "one"), (OTHER, "two"))
    ]
    build.drain(database)
    with database.read() as session:
        task, access = policy.visible_task(session, OPERATOR, slug)
        source = shown_edition(session, task, access).source
    assert source is not None
    return source, runs


@pytest.mark.dialect
def test_every_scored_run_has_its_hits_once(database: Database, tmp_path: Path) -> None:
    """One row a run and revision."""
    _, runs = _filled(database, tmp_path)
    with database.read() as session:
        rows = session.execute(select(Alignment.run_id, func.count()).group_by(Alignment.run_id)).all()
    assert sorted(tuple(row) for row in rows) == [(run, 1) for run in runs]


def test_stored_scores_follow_from_the_hits(database: Database, tmp_path: Path) -> None:
    """Every measure computed from them is what the evaluator stored, bit for bit."""
    source, runs = _filled(database, tmp_path)
    with database.read() as session:
        found = rankings.alignments(session, source, runs)
        for key in MEASURES:
            stored = scores_of(session, source, key, parse(key).measure.version, runs)
            for run in runs:
                computed = parse(key).compute(found[run])[np.array(source.places)]
                assert computed.tolist() == stored[run].tolist(), (key, run)


@pytest.mark.dialect
def test_hits_that_are_not_stored_are_found_in_the_rankings(database: Database, tmp_path: Path) -> None:
    """A run that an older version scored shows the same."""
    source, runs = _filled(database, tmp_path)
    with database.read() as session:
        stored = rankings.alignment(session, source, runs[0])
    with database.write() as session:
        session.execute(delete(Alignment))
    with database.read() as session:
        anew = rankings.alignment(session, source, runs[0])
    for part in ("topic", "rank", "document", "retrieved"):
        assert getattr(anew, part).tolist() == getattr(stored, part).tolist()


def test_hits_have_docnos(database: Database, tmp_path: Path) -> None:
    """In the order of the ranking: judged documents only."""
    source, runs = _filled(database, tmp_path)
    with database.read() as session:
        compiled = rankings.compiled_judgments(session, source)
        found = rankings.alignment(session, source, runs[0])
    first = found.document[found.topic == 0]
    assert rankings.docnos_of(compiled, first) == ["a", "c", "b"]
    assert found.rank[found.topic == 0].tolist() == [1, 3, 4]
