"""Pools of what answers cite: which documents, in which order, and what becomes of their labels."""

from pathlib import Path
from typing import Any

import pytest

from leaderboard.answers.ops.answers import cited_first
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.errors import Conflict, Invalid
from leaderboard.judging.ops import combined
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolPlan, Preview
from leaderboard.judging.page.pools import pools as pool_pages
from leaderboard.pooling.methods import method
from leaderboard.pooling.registry import OF_ANSWERS
from leaderboard.trec.answers.record import Answer, Citation, Segment
from tests.make import answered, build, nuggeted

TEXTS = {
    "1": [("One.", ["d1", "d2", "d3"]), ("Two.", ["d4", "d1"]), ("Three.", [])],
    "2": [("Four.", ["d5"])],
}
OTHERS = {"1": [("Five.", ["d2", "d9"])], "3": [("Six.", ["d7", "d8"])]}


@pytest.fixture
def task(database: Database, tmp_path: Path) -> Database:
    """A task of answers with runs of two teams, judged by nuggets."""
    answered.task(database, tmp_path, "t")
    answered.run(database, tmp_path, TEXTS, "one", slug="t", team_name="Owls")
    answered.run(database, tmp_path, OTHERS, "two", slug="t", team_name="Bears")
    nuggeted.revise(database, nuggeted.files(tmp_path, assignments=nuggeted.worked_labels("one")))
    return database


def _preview(database: Database, **spec: Any) -> Preview:
    with database.read() as session:
        return previews.preview(session, OPERATOR, "t", PoolPlan(method=spec))


def _documents(made: Preview) -> dict[str, list[str]]:
    return {of.topic_id: [row.docno for row in of.rows()] for of in made.pools}


def test_first_citations_come_before_second_ones() -> None:
    """Of every segment in its order; a document counts where it is cited first."""
    segments = [Segment(text, tuple(map(Citation, docnos))) for text, docnos in TEXTS["1"]]
    answer = Answer("u", "1", tuple(segments), ())
    assert list(cited_first(answer, 1)) == ["d1", "d4"]
    assert list(cited_first(answer, 2)) == ["d1", "d4", "d2", "d1"]
    assert list(cited_first(answer, 9)) == ["d1", "d4", "d2", "d1", "d3"]


def test_citations_and_references_are_pooled(task: Database) -> None:
    """The union over runs by best place, ties in byte order; a budget cuts it; who brings what."""
    first = _preview(task, name="citations")
    assert _documents(first) == {"1": ["d1", "d2", "d4"], "2": ["d5"], "3": ["d7"]}
    assert {row.name: (row.documents, row.alone) for row in first.by_run} == {"one": (3, 3), "two": (2, 2)}
    assert _documents(_preview(task, name="citations", first=2))["1"] == ["d1", "d2", "d4", "d9"]
    assert _documents(_preview(task, name="references", first=2)) == {
        "1": ["d1", "d2", "d9"], "2": ["d5"], "3": ["d7", "d8"],
    }  # fmt: skip
    assert _documents(_preview(task, name="references", first=2, budget=1))["1"] == ["d1"]


def test_only_methods_of_answers_are_offered(task: Database, tmp_path: Path) -> None:
    """Those of rankings are refused, and the other way round; neither follows a first stage."""
    with pytest.raises(Conflict, match="pools are made from what they cite. Choose citations or references"):
        _preview(task, name="rrf")
    build.task(task, tmp_path, "ranked")
    build.run(task, tmp_path, {"1": ["a"]}, slug="ranked")
    for name in OF_ANSWERS:
        with task.read() as session, pytest.raises(Conflict, match="pools are made from rankings"):
            previews.preview(session, OPERATOR, "ranked", PoolPlan(method={"name": name}))
        with pytest.raises(ValueError, match="cannot be a second stage"):
            method({"name": "staged", "then": {"name": name}})
    with pytest.raises(Invalid):
        _preview(task, name="citations", first=0)
    with task.read() as session, pytest.raises(Conflict, match="drawn only from judgments of documents"):
        combined.draw_topics(session, OPERATOR, "t", 10)


@pytest.mark.dialect
def test_a_pool_of_citations_is_stored_and_exported(task: Database) -> None:
    """As any other pool, by its method's name."""
    made = _preview(task, name="citations")
    with task.write() as session:
        number = pools.add(session, OPERATOR, made, "cited")
        pools.change(session, OPERATOR, "t", number, pools.OPEN, without_texts=True)
    with task.read() as session:
        text = "".join(pools.exported(session, OPERATOR, "t", number, "nist"))
        page = pool_pages.page(session, OPERATOR, "t", number)
    assert [tuple(line.split()[:2]) for line in text.splitlines()] == [
        ("1", "d1"), ("1", "d2"), ("1", "d4"), ("2", "d5"), ("3", "d7"),
    ]  # fmt: skip
    assert page.pool.method == "First citations of each segment, first 1"
