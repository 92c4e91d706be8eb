"""What stands beside runs and judgments: documents left out, reproductions, and suites, which stay here."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from leaderboard.boards.ops import board as boards
from leaderboard.boards.page import tables
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import QrelsRevision, Reproduction, Run, Suite, SuiteMember, Task
from leaderboard.errors import Invalid
from leaderboard.reproductions.page import tables as reproduction_tables
from leaderboard.reproductions.page.show import reproductions_page
from leaderboard.scoring.ops.qrels import left_out
from leaderboard.trec.qrels.left_out import LeftOut
from tests.bundles import make as bundles
from tests.make import build, revised
from tests.reproductions import make as reproduced
from tests.suites import make as suited

AGAIN = ImportRequest(slug="again")


def _scores(database: Database, slug: str) -> list[Any]:
    with database.read() as session:
        shown = boards.board(session, OPERATOR, slug)
        rows = tables.board_facts(shown)["rows"]
        basis = shown.basis
    assert basis is not None
    return [basis.left_out, *((row["rank"], row["run"], row["scores"]) for row in rows)]


@pytest.mark.trial
def test_documents_left_out_come_back(database: Database, tmp_path: Path) -> None:
    """Those of a residual round, with what is said of them; boards have the same scores."""
    revised.task(database, tmp_path)
    before = _scores(database, "t")
    leaves = LeftOut({"1": frozenset({b"a"}), "2": frozenset({b"d", b"x"})}, True, 1, (1,))
    build.revise(database, tmp_path, revised.BETTER, left_out=leaves)
    build.drain(database)
    assert _scores(database, "t") != before
    for make, name in ((bundles.exported, "whole"), (bundles.public, "public")):
        make(database, tmp_path / name)
        bundles.imported(database, tmp_path / name, ImportRequest(slug=name))
        assert _scores(database, name) == _scores(database, "t")
    with database.read() as session:
        rows = session.execute(
            select(QrelsRevision.id, QrelsRevision.left_out_facts)
            .where(QrelsRevision.number == 2)
            .order_by(QrelsRevision.id)
        ).all()
        told = [(left_out.by_id(session, row.id), row.left_out_facts) for row in rows]
    assert told[0] == told[1] == told[2]
    (path,) = (tmp_path / "whole" / "qrels").glob("*left-out.txt")
    assert path.read_text().splitlines() == ["1 a", "2 d", "2 x"]


def test_a_list_of_documents_left_out_is_checked(database: Database, tmp_path: Path) -> None:
    """One that is missing, or of which nothing is said, is refused."""
    revised.task(database, tmp_path)
    build.revise(database, tmp_path, revised.BETTER, left_out=LeftOut({"1": frozenset({b"a"})}))
    build.drain(database)
    bundles.exported(database, tmp_path / "out")
    path = tmp_path / "out" / "records" / "revisions.jsonl"
    text = path.read_text()
    for old, new in (('"left_out": "qrels', '"left_out": "nowhere'), ('"left_out_facts": {', '"note_": {')):
        assert old in text
        path.write_text(text.replace(old, new))
        bundles.seal(tmp_path / "out")
        with pytest.raises(Invalid):
            bundles.imported(database, tmp_path / "out", AGAIN)


def _reproductions(database: Database, slug: str) -> Any:
    with database.read() as session:
        page = reproductions_page(session, OPERATOR, slug, None)
        told = reproduction_tables.reproductions(page).facts()
    of_site = ("run_id", "original_id", "original_task")
    return [
        {key: value for key, value in row.items() if key not in of_site}
        for row in told
        if row["run"] == "new-again"
    ]


@pytest.mark.trial
def test_reproductions_within_the_task_come_back(database: Database, tmp_path: Path) -> None:
    """Which run reproduces which, beside which baselines, with the same levels; not those of other tasks."""
    made = reproduced.linked(database, tmp_path)
    for make, name in ((bundles.exported, "whole"), (bundles.public, "public")):
        make(database, tmp_path / name)
        bundles.imported(database, tmp_path / name, ImportRequest(slug=name))
    (before,) = _reproductions(database, "t")
    assert _reproductions(database, "whole") == _reproductions(database, "public") == [before]
    named = dict(_links(database))
    assert named["whole", "new-again"] == named["t", "new-again"] == ("new", "base", "base-again")
    assert made.new_again
    bundles.exported(database, tmp_path / "u", "u")
    bundles.imported(database, tmp_path / "u", ImportRequest(slug="there"))
    assert ("there", "new-there") not in dict(_links(database))
    assert bundles.rows(tmp_path / "u", "reproductions") == []


def _links(database: Database) -> list[Any]:
    """(Slug, run) -> the names of what it reproduces and of the baselines."""
    with database.read() as session:
        runs = {run.id: run for run in session.scalars(select(Run))}
        slugs = {row[0]: row[1] for row in session.execute(select(Run.id, Task.slug).join(Task))}
        return [
            (
                (slugs[link.run_id], runs[link.run_id].name),
                tuple(
                    runs[one].name if one is not None else None
                    for one in (link.original_id, link.original_baseline_id, link.baseline_id)
                ),
            )
            for link in session.scalars(select(Reproduction))
        ]


def test_a_suite_stays_where_it_is(database: Database, tmp_path: Path) -> None:
    """It is over several tasks: a member's bundle is the same without it, and makes no member."""
    suited.tasks(database, tmp_path)
    slug = next(iter(suited.TASKS.values()))
    build.drain(database)
    bundles.exported(database, tmp_path / "before", slug)
    with database.write() as session:
        suited.changes.create(session, OPERATOR, suited.draft())
    bundles.exported(database, tmp_path / "after", slug)
    assert bundles.contents(tmp_path / "before") == bundles.contents(tmp_path / "after")
    bundles.imported(database, tmp_path / "after", AGAIN)
    with database.read() as session:
        assert len(session.scalars(select(SuiteMember.id)).all()) == len(suited.TASKS)
        assert len(session.scalars(select(Suite.id)).all()) == 1
    assert "suites" in (tmp_path / "after" / "README.md").read_text()
