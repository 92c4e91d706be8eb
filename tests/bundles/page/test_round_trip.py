"""A task that went out and came back is the same, to the last bit of its scores."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from leaderboard.boards.ops import board as boards
from leaderboard.boards.page import tables
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.runs.ops import withdrawals
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.lines import Origin
from leaderboard.trec.qrels.preferences import PreferenceJudgments
from tests.bundles import make as bundles
from tests.make import build, masked, phased, revised, sampled, twins

WORLDS: dict[str, Callable[..., Any]] = {"twins": twins.build, "masked": masked.build, "phased": phased.build}
SUBTOPICS = {"1": {"s1": {b"a": 1, b"x": 0}, "s2": {b"c": 1}}, "2": {"s1": {b"d": 1}}}
PREFERENCES = PreferenceJudgments({"1": {"": {(b"a", b"x"): 1.5}}, "3": {"": {(b"e", b"f"): 1.0}}})


def _all_lines(database: Database, folder: Path) -> None:
    """A board with all that may stand beside its judgments, a machine's line, a draft, past editions."""
    revised.task(database, folder)
    graded = {
        topic: {docno.encode(): grade for docno, grade in of.items()} for topic, of in revised.BETTER.items()
    }
    news = (
        NewRevision(prepared=files.of_grades(graded, "b.txt"), note="better", distractors=[b"q1", b"q2"]),
        NewRevision(prepared=files.of_subtopics(SUBTOPICS, "parts.txt"), note="parts"),
        NewRevision(prepared=files.of_preferences(PREFERENCES, "prefs.txt"), note="prefs"),
        NewRevision(
            prepared=files.of_grades(graded, "m.txt"), note="a machine", line="by a machine",
            by=Origin("machine", "model-1"),
        ),
    )  # fmt: skip
    for new in news:
        with database.write() as session:
            revisions.revise(session, OPERATOR, "t", new)
        build.drain(database)
    late = build.run(database, folder, revised.FIRST, "third", team_name="Other team")
    gone = build.run(database, folder, revised.SECOND, "gone")
    build.drain(database)
    with database.write() as session:
        withdrawals.mark_run(session, OPERATOR, late)
        withdrawals.withdraw(session, OPERATOR, gone, "a mistake")
        revisions.keep_draft(
            session, OPERATOR, "t", files.of_grades({"1": {b"secret": 1}}, "d.txt"), "a secret draft"
        )


def _board(database: Database, slug: str, edition: int | None = None) -> dict[str, Any]:
    """A board without what names a site's rows."""
    with database.read() as session:
        facts = tables.board_facts(boards.board(session, OPERATOR, slug, edition=edition))
    for row in facts["rows"]:
        del row["run_id"]
    del facts["task"]
    return facts


@pytest.mark.trial
@pytest.mark.parametrize("world", WORLDS)
def test_every_task_of_a_site_comes_back_the_same(
    world: str, sqlite_template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blind, sealed, masked, with phases, labels, news, pictures, snapshots: a second export is the first."""
    twins.open_under_one_address(monkeypatch)
    (tmp_path / "world").mkdir()
    made = WORLDS[world](sqlite_template, tmp_path / "world", "a", datetime.now(UTC) - timedelta(seconds=9))
    target = bundles.new_site(sqlite_template, tmp_path / "target")
    with made.database.read() as session:
        slugs = list(session.scalars(select(Task.slug).order_by(Task.id)))
    for slug in slugs:
        first, second = tmp_path / slug, tmp_path / f"{slug}-again"
        bundles.exported(made.database, first, slug)
        bundles.imported(target, first)
        bundles.exported(target, second, slug)
        assert bundles.contents(first) == bundles.contents(second)
    assert len(slugs) > 0


@pytest.mark.trial
@pytest.mark.dialect
def test_lines_drafts_and_withdrawn_runs(database: Database, tmp_path: Path) -> None:
    """Revisions of every line, past editions, marks and withdrawn runs come back; a draft does not go out."""
    _all_lines(database, tmp_path)
    bundles.exported(database, tmp_path / "out")
    assert not any(b"secret" in body for body in bundles.contents(tmp_path / "out").values())
    assert len(bundles.rows(tmp_path / "out", "revisions")) == 7
    made = bundles.imported(database, tmp_path / "out", ImportRequest(slug="again"))
    assert (made.teams_known, made.teams_new) == (("Team", "Other team"), ())
    assert _board(database, "again") == _board(database, "t")
    for edition in range(1, 5):
        assert _board(database, "again", edition) == _board(database, "t", edition)
    bundles.exported(database, tmp_path / "back", "again")
    before, after = bundles.contents(tmp_path / "out"), bundles.contents(tmp_path / "back")
    of_slug = {"records/task.jsonl", "scores/board.json", "citation.bib"}
    assert before.keys() == after.keys()
    assert {name for name in before if before[name] != after[name]} <= of_slug
    assert before["scores/topics.csv"] == after["scores/topics.csv"]


@pytest.mark.trial
@pytest.mark.dialect
@pytest.mark.parametrize("ending", [".zip", ".tar.gz"])
def test_people_and_machine(database: Database, tmp_path: Path, ending: str) -> None:
    """A sample that people judged of a machine's judgments goes through an archive and back."""
    sampled.task(database, tmp_path)
    sampled.judge(database, sampled.draw(database, 0.4, is_shown=True))
    bundles.exported(database, tmp_path / f"out{ending}")
    bundles.imported(database, tmp_path / f"out{ending}", ImportRequest(slug="again"))
    assert _board(database, "again") == _board(database, "t")
    bundles.exported(database, tmp_path / "first")
    bundles.exported(database, tmp_path / "second", "again")
    for table in ("assessments", "assessors", "pools"):
        assert bundles.rows(tmp_path / "first", table) == bundles.rows(tmp_path / "second", table) != []
    names = {row["name"] for row in bundles.rows(tmp_path / "first", "assessors")}
    assert names == {"Assessor 1"}


def test_from_sqlite_to_postgresql(on_postgresql: Database, sqlite_template: Path, tmp_path: Path) -> None:
    """The other database gives the same files."""
    source = bundles.new_site(sqlite_template, tmp_path / "source")
    _all_lines(source, tmp_path)
    bundles.exported(source, tmp_path / "out")
    bundles.imported(on_postgresql, tmp_path / "out")
    bundles.exported(on_postgresql, tmp_path / "back")
    assert bundles.contents(tmp_path / "out") == bundles.contents(tmp_path / "back")
