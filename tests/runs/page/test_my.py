"""An account's own page: its tasks by deadline, its runs as their boards show them, what became of files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from benchmarks.pages import counted
from leaderboard.boards.ops import board
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Task, TaskRole
from leaderboard.errors import SignInNeeded
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import admission_quota
from leaderboard.runs.ops.withdrawals import RunRules
from leaderboard.runs.page import my
from leaderboard.runs.page.my import MyPage, OwnRun, my_page
from leaderboard.runs.page.upload_form import upload_form
from tests.make import blind, build, people
from tests.make.copies import built_once

NOW = datetime.now(UTC).replace(microsecond=0)
MOST_STATEMENTS = 20
GOOD, POOR = {"1": ["a", "c"], "2": ["d"]}, {"1": ["b"]}


def _phase(database: Database, slug: str, **values: object) -> None:
    of_task = Phase.task_id == select(Task.id).where(Task.slug == slug).scalar_subquery()
    with database.write() as session:
        session.execute(update(Phase).where(of_task).values(**values))


@pytest.fixture
@built_once
def ann(database: Database, tmp_path: Path) -> int:
    """Ann's account, with runs in an open, a blind, a sealed and a closed task, and a rejected file."""
    ids = blind.task(database, tmp_path)
    assert ids["public"] == 1
    ann = 1
    for slug, visibility in (("open", "open"), ("sealed", "sealed"), ("over", "open"), ("others", "open")):
        build.task(database, tmp_path, slug, visibility=visibility, measures=("AP",))
    for slug in ("open", "sealed", "over"):
        build.run(database, tmp_path, GOOD, f"good-{slug}", slug=slug, team_name="Owls")
        build.run(database, tmp_path, POOR, f"poor-{slug}", slug=slug, team_name="Bears")
    build.run(database, tmp_path, GOOD, "bobs", slug="others", team_name="Bears")
    bad = build.run_file(tmp_path, {"99": ["a"]}, "bad")
    build.submit(database, bad, "open", team_name="Owls")
    build.drain(database)
    _phase(database, "t", closes_at=NOW + timedelta(days=2), runs_per_day=5, runs_in_all=30)
    _phase(database, "sealed", closes_at=NOW + timedelta(days=1))
    _phase(database, "over", closes_at=NOW - timedelta(days=1))
    return ann


def _page(database: Database, account_id: int) -> MyPage:
    viewer = people.viewer(database, account_id)
    with database.read() as session:
        return my_page(session, viewer)


def _runs(page: MyPage) -> dict[str, OwnRun]:
    return {run.name: run for run in page.runs}


@pytest.mark.dialect
def test_tasks_come_by_deadline(database: Database, ann: int) -> None:
    """What closes next is first, what is closed last, others' tasks are not here; quotas are the limits'."""
    page = _page(database, ann)
    assert [(row.slug, row.team, row.state, row.runs) for row in page.tasks] == [
        ("sealed", "Owls", "open", 1),
        ("t", "Owls", "open", 2),
        ("open", "Owls", "open", 1),
        ("over", "Owls", "closed", 1),
    ]
    assert [row.closes_at for row in page.tasks][:2] == [NOW + timedelta(days=1), NOW + timedelta(days=2)]
    viewer = people.viewer(database, ann)
    with database.read() as session:
        for row in page.tasks[:3]:
            assert row.quota == admission_quota(session, viewer, row.slug, 1)
    assert page.tasks[1].quota is not None
    assert (page.tasks[1].quota.left_today, page.tasks[1].quota.left_in_all) == (3, 28)


@pytest.mark.dialect
def test_left_today_is_what_the_smallest_of_all_limits_leaves(database: Database, ann: int) -> None:
    """Of team and account, a day and in all: the page says the same as the form, and names the limit."""
    viewer = people.viewer(database, ann)
    # Two runs of the team are in the task.
    for given, left_today, limit in (
        ({"account_runs_per_day": 12}, 3, "5 runs per day for Owls"),
        ({"runs_per_day": 12}, 10, "12 runs per day for Owls"),
        ({"account_runs_per_day": 4}, 2, "4 runs per day for you and all your teams"),
        ({"runs_in_all": 3}, 1, "3 runs in total for Owls"),
        ({"account_runs_in_all": 2, "runs_per_day": None}, 0, "2 runs in total for you and all your teams"),
    ):
        _phase(database, "t", **given)
        with database.read() as session:
            shown = next(row.quota for row in my_page(session, viewer).tasks if row.slug == "t")
            form = next(team.quota for team in upload_form(session, viewer, "t").teams)
        assert shown == form
        assert shown is not None
        assert (shown.left_today, shown.limit) == (left_today, limit)


@pytest.mark.dialect
def test_runs_show_what_their_boards_show(database: Database, ann: int) -> None:
    """Score, rank and range as on the account's board; of the sealed task no more than that it is valid."""
    page = _page(database, ann)
    runs, viewer = _runs(page), people.viewer(database, ann)
    assert list(runs) == ["good-over", "good-sealed", "good-open", "even", "public"]
    with database.read() as session:
        for slug in ("open", "over", "t", "sealed"):
            shown = board.board(session, viewer, slug)
            for row in shown.rows:
                if row.team != "Owls":
                    continue
                run = runs[row.run]
                assert (run.rank, run.score) == (row.rank, row.scores.get(shown.primary)), run
                assert run.place == shown.places.get(row.run_id), run
    sealed = runs["good-sealed"]
    assert (sealed.state.state, sealed.score, sealed.rank) == ("valid", None, None)
    assert runs["good-open"].place is not None
    assert runs["public"].place is None, "ranges would tell of scores by topic"
    assert runs["even"].score == 0.55


def test_what_may_be_done_with_a_run_is_offered(database: Database, ann: int) -> None:
    """Marked, withdrawn and not chosen runs say so, and offer what may be done now."""
    viewer = people.viewer(database, ann)
    rules = _runs(_page(database, ann))["good-open"].actions.rules
    assert rules == RunRules(may_mark=True, may_withdraw=True)
    rules = _runs(_page(database, ann))["good-over"].actions.rules
    assert rules == RunRules(may_mark=True), "a primary run may change at any time"
    with database.write() as session:
        withdrawals.mark_run(session, viewer, 1)
        withdrawals.withdraw(session, viewer, 2, "a mistake")
        session.execute(update(Task).values(final_runs=1))
    runs = _runs(_page(database, ann))
    assert (runs["even"].state.state, runs["even"].score) == ("withdrawn", None)
    assert runs["even"].actions.rules.may_restore
    assert runs["public"].actions.is_marked
    words = {row["run"]: row["marked"] for row in my.run_table(_page(database, ann)).facts()}
    assert words["public"] is True
    assert _page(database, ann).tasks[1].rule.startswith("At the end count")


def test_rejected_uploads_are_listed_with_their_first_problem(database: Database, ann: int) -> None:
    """Every file of the account's teams, newest first, with the way to its report; none of others."""
    uploads = _page(database, ann).uploads
    assert [(row.file_name, row.state) for row in uploads][:2] == [
        ("bad.txt", "rejected"),
        ("good-over.txt", "accepted"),
    ]
    assert len(uploads) == 6
    assert uploads[0].problems >= 1
    assert uploads[0].first_problem
    assert uploads[0].run_id is None
    assert uploads[1].run_id is not None


def test_whose_page_it_is(database: Database, ann: int) -> None:
    """Of a visitor none, of a newcomer an empty one; an organiser's has the tasks, drafts too."""
    with database.read() as session, pytest.raises(SignInNeeded):
        my_page(session, ANONYMOUS)
    nina = people.account(database, "Nina")
    page = _page(database, nina)
    assert (page.tasks, page.runs, page.uploads, page.has_team) == ((), (), (), False)
    with database.write() as session:
        session.add(TaskRole(task_id=1, account_id=nina, role="organiser"))
        session.execute(update(Task).where(Task.id == 1).values(published_at=None))
    (own,) = _page(database, nina).tasks
    assert (own.slug, own.team, own.state) == ("t", "", "draft")
    assert all(row.slug != "t" for row in _page(database, ann).tasks), "a draft is its organisers' own"


def test_files_say_the_same(database: Database, ann: int) -> None:
    """All three tables, as JSON has them."""
    facts = my.my_facts(_page(database, ann))
    assert {name: len(rows) for name, rows in facts.items()} == {"tasks": 4, "runs": 5, "uploads": 6}
    assert facts["runs"][2]["rank_low"] == 1
    assert facts["tasks"][0]["closes"] == (NOW + timedelta(days=1)).isoformat()


@pytest.mark.trial
def test_more_tasks_take_no_more_statements(database: Database, ann: int, tmp_path: Path) -> None:
    """With three more tasks and runs in them, as many statements as before."""

    def statements() -> int:
        _page(database, ann)
        viewer = people.viewer(database, ann)
        with database.read() as session, counted(database) as sent:
            my_page(session, viewer)
        return len(sent)

    before = statements()
    for number, visibility in enumerate(("open", "sealed", "blind")):
        slug = f"more{number}"
        build.task(database, tmp_path, slug, visibility=visibility, topics=blind.TOPICS, measures=("AP",))
        build.run(database, tmp_path, blind.ranked([]), f"run{number}", slug=slug, team_name="Owls")
    build.drain(database)
    assert statements() == before <= MOST_STATEMENTS
