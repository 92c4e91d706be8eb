"""A suite's board of a site: what files give, of what a reader sees of the members' boards."""

from pathlib import Path

import pytest
from sqlalchemy import update

from benchmarks.pages import counted
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Task
from leaderboard.errors import NotFound
from leaderboard.runs.ops import withdrawals
from leaderboard.stats.standing import topics_to_decide
from leaderboard.suites import page as suites_pages
from leaderboard.suites.ops import changes
from leaderboard.suites.ops.rows import SuiteBoardRequest, board_rows, change_rows, pair_rows, suite_board
from leaderboard.suites.page import SuiteChoice, pair_table
from leaderboard.trec.suites import read_suite, score_suite
from tests.make import build, suites
from tests.suites import make as suited


def _page(database: Database, viewer: Viewer = ANONYMOUS, **choice: object) -> suites_pages.SuitePage:
    with database.read() as session:
        return suites_pages.suite_page(session, viewer, suited.SLUG, SuiteChoice(**choice))  # type: ignore[arg-type]


def test_the_board_is_that_of_the_files(database: Database, tmp_path: Path) -> None:
    """Ranks, means, points, changes and pairs are what the command prints of the same archives."""
    suited.filled(database, tmp_path)
    page = _page(database)
    read = read_suite(suites.suite_file(tmp_path, 'baseline = "bm25"'))
    of_files = suite_board(
        score_suite(read, [tmp_path / f"{name}.zip" for name in ("good", "bm25", "part")]),
        SuiteBoardRequest(),
    )
    named = ("run", "rank", "present", "members", "values", "low", "high", "may_be_best", "means")
    for here, there in zip(page.board.rows, board_rows(of_files), strict=True):
        assert [getattr(here, name) for name in named] == [getattr(there, name) for name in named]
    assert page.board.pairs == pair_rows(of_files)
    compared, said = of_files.board.pairs, of_files.board.verdicts
    assert compared is not None
    assert said is not None
    (needed,) = (topics_to_decide(compared.table, said, compared.units, at) for at in range(len(compared.t)))
    expected = [None if row.better else needed for row in page.board.pairs]
    assert [row["topics_needed"] for row in pair_table(of_files).facts()] == expected
    assert page.board.changes == change_rows(of_files)


def test_a_baseline_has_means_and_no_rank(database: Database, tmp_path: Path) -> None:
    """Suite runs that are not official stand below, without rank and points; gains are told over them."""
    suited.suite(database, tmp_path)
    suited.send(database, tmp_path, dict.fromkeys(suites.MEMBERS, 2), "good", team="Owls")
    suited.send(database, tmp_path, dict.fromkeys(suites.MEMBERS, 1), "bm25", team="Base", kind="baseline")
    build.drain(database)
    first, last = _page(database).board.rows
    assert (first.run, first.rank, last.run, last.rank) == ("good", 1, "bm25", None)
    assert (last.values["mean"], last.values["borda"]) == (1.0, None)
    assert {row.run for row in _page(database).board.changes} == {"good", "bm25"}


def test_a_member_whose_scores_are_held_back_is_left_out_and_named(
    database: Database, tmp_path: Path
) -> None:
    """A visitor's board is of the members that visitors see; who sees all of them has all."""
    suited.filled(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == "web-2").values(visibility="sealed"))
    page = _page(database)
    assert [one.name for one in page.members] == ["snapshot-1", "snapshot-3"]
    assert [one.name for one in page.left_out] == ["snapshot-2"]
    assert page.left_out[0].why
    assert all(len(row.means) == 2 for row in page.board.rows)
    assert len(_page(database, OPERATOR).members) == 3


def test_a_draft_is_not_named(database: Database, tmp_path: Path) -> None:
    """Of a member that is a draft nobody else learns so much as its name."""
    suited.filled(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == "web-2").values(published_at=None))
    assert "snapshot-2" not in str(suites_pages.suite_facts(_page(database)))
    assert "web-2" not in str(suites_pages.suite_facts(_page(database)))


def test_a_masked_member_is_left_out_where_others_name_teams(database: Database, tmp_path: Path) -> None:
    """A row would say whose pseudonym it is; where all members mask, the row goes by the pseudonym."""
    suited.filled(database, tmp_path)
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == "web-3").values(naming="close"))
    page = _page(database)
    assert [one.name for one in page.left_out] == ["snapshot-3"]
    with database.write() as session:
        session.execute(update(Task).values(naming="close"))
    page = _page(database)
    assert not page.left_out
    assert not {"good", "Owls"} & {text for row in page.board.rows for text in (row.run, row.team)}


def test_a_withdrawn_run_is_missing_here_too(database: Database, tmp_path: Path) -> None:
    """A member run that was taken off its board is off the suite's board; the suite run has no rank then."""
    suited.filled(database, tmp_path)
    good = next(run for run in _page(database).runs if run.name == "good")
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, good.parts["snapshot-2"], "wrong")
    row = next(row for row in _page(database).board.rows if row.run == "good")
    assert (row.present, row.rank) == (2, None)


def test_a_missing_member_may_count_as_an_empty_run(database: Database, tmp_path: Path) -> None:
    """Where the suite says so, a missing member has the least value on every topic."""
    suited.filled(database, tmp_path)
    with database.write() as session:
        changes.change(session, OPERATOR, suited.SLUG, suited.draft(missing_is_empty=True))
    row = next(row for row in _page(database).board.rows if row.run == "part")
    assert row.means[1:] == (0.0, 0.0)
    assert row.rank == 3


def test_groups_and_ranking_are_chosen(database: Database, tmp_path: Path) -> None:
    """A group leaves its members and says which; Borda has no dots."""
    suited.filled(database, tmp_path)
    page = _page(database, groups=(("lag", "long"),))
    assert page.counting == ("snapshot-3",)
    assert page.remarks == ("Members that count (lag=long): snapshot-3.",)
    assert not any(row.may_be_best for row in _page(database, by="borda").board.rows)


def test_a_suite_off_the_site_is_not_found(database: Database, tmp_path: Path) -> None:
    """Only who looks after it sees it until it is put back; a member that comes back has its runs again."""
    suited.filled(database, tmp_path)
    with database.write() as session:
        changes.withdraw(session, OPERATOR, suited.SLUG)
    with pytest.raises(NotFound):
        _page(database)
    assert _page(database, OPERATOR).is_withdrawn
    draft = suited.draft()
    fewer = suited.draft(members=draft.members[:2])
    with database.write() as session:
        changes.restore(session, OPERATOR, suited.SLUG)
        changes.change(session, OPERATOR, suited.SLUG, fewer)
    assert all(row.members == 2 for row in _page(database).board.rows)
    with database.write() as session:
        changes.change(session, OPERATOR, suited.SLUG, draft)
    assert next(row for row in _page(database).board.rows if row.run == "good").present == 3


@pytest.mark.trial
def test_more_runs_take_no_more_statements(database: Database, tmp_path: Path) -> None:
    """Read anew with another suite run as many as before, and a few where nothing changed since."""
    suited.filled(database, tmp_path)

    def statements() -> int:
        with counted(database) as sent:
            _page(database)
        return len(sent)

    before = statements()
    assert statements() <= 4
    suited.send(database, tmp_path, dict.fromkeys(suites.MEMBERS, 3), "another", team="Dogs")
    build.drain(database)
    assert statements() == before
    assert len(_page(database).board.rows) == 4
