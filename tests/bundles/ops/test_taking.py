"""An organiser's import believes a bundle no more than a form: what none could make is refused or left."""

from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.bundles.ops import imports, opening
from leaderboard.bundles.ops.checking import ImportRequest
from leaderboard.bundles.ops.imports import ImportedTask
from leaderboard.core.policy import ANONYMOUS, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Assessor, Edition, Entry, Run, Task, TaskChange, Upload
from leaderboard.errors import Forbidden, Invalid, SignInNeeded
from leaderboard.runs.ops import withdrawals
from tests.bundles import make as bundles
from tests.make import build, judged, people, pools
from tests.make.copies import built_once

RANKINGS = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}


@pytest.fixture
@built_once
def folder(database: Database, tmp_path: Path) -> Path:
    """A bundle as a folder, of a task with runs, one of them withdrawn, labels and two editions."""
    build.task(database, tmp_path, measures=("AP", "nDCG@10"))
    build.run(database, tmp_path, RANKINGS)
    gone = build.run(database, tmp_path, {**RANKINGS, "1": ["c"]}, "gone")
    pools.pool(database, {"1": ["a", "b"]})
    judged.judge(database, judged.assessor(database, "Anne"), "1", {"a": 2})
    build.revise(database, tmp_path, {"1": {"a": 0, "c": 1}, "2": {"d": 1}, "3": {"e": 1}})
    build.drain(database)
    with database.write() as session:
        withdrawals.withdraw(session, bundles.OPERATOR, gone, "a mistake")
    bundles.exported(database, tmp_path / "out")
    return tmp_path / "out"


@pytest.fixture
@built_once
def olga(database: Database) -> Viewer:
    """Who may make tasks."""
    return people.viewer(database, people.account(database, "Olga", is_organiser=True))


def _taken(database: Database, viewer: Viewer, folder: Path) -> ImportedTask:
    with opening.opened(folder) as files:
        opening.require_whole(files)
        with database.write() as session:
            return imports.bring(session, viewer, files, ImportRequest(slug="again"))


@pytest.mark.dialect
def test_the_board_is_built_anew_and_labels_stay_out(database: Database, folder: Path, olga: Viewer) -> None:
    """Revisions, runs and withdrawals come; one edition under the newest revision; the account organises."""
    made = _taken(database, olga, folder)
    assert (made.runs, made.revisions) == (2, 2)
    build.drain(database)
    with database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == "again")).one()
        editions = session.scalars(select(Edition).where(Edition.task_id == task.id)).all()
        assert [(edition.number, edition.state) for edition in editions] == [(1, "current")]
        withdrawn = select(Run.withdrawn_at.is_not(None)).where(Run.task_id == task.id).order_by(Run.id)
        assert session.scalars(withdrawn).all() == [False, True]
        for table in (Assessor, TaskChange):
            assert session.scalars(select(table).where(table.task_id == task.id)).all() == []
    with database.read() as session:
        assert imports.policy.own_task(session, people.viewer(database, olga.account_id or 0), "again")


def test_what_teams_and_runners_said_is_not_believed(database: Database, folder: Path, olga: Viewer) -> None:
    """That a team agreed, how a run was made, since when the task is published."""
    at = "2001-01-01T00:00:00+00:00"
    bundles.rewrite(folder, "entries", agreed_at=at, agreement_version=1)
    bundles.rewrite(
        folder, "uploads", wishes={"execution": {"by": "runner"}}, fixes=[{"fix": "odd", "lines": 1}]
    )
    bundles.rewrite(folder, "task", published_at=at)
    _taken(database, olga, folder)
    with database.read() as session:
        task = session.scalars(select(Task).where(Task.slug == "again")).one()
        assert task.published_at is not None
        assert task.published_at.year > 2001
        assert session.scalars(select(Entry.agreed_at).where(Entry.task_id == task.id)).all() == [None]
        told = select(Upload.wishes, Upload.fixes).where(Upload.task_id == task.id)
        assert all(row == ({}, []) for row in map(tuple, session.execute(told)))


@pytest.mark.parametrize(
    ("table", "fields", "said"),
    [
        ("topic_sets", {"name": "some"}, "no topic set 'all'"),
        ("topic_sets", {"topics": ["1"]}, "no topic set 'all'"),
        ("topic_sets", {"id": 1, "topics": []}, "no topic set 'all'"),
        ("topics", {"subtopics": [{"number": 1}]}, "must be objects with number, text, kind."),
        ("phases", {"kinds": ["odd"]}, "must be of official, baseline, late, unofficial."),
        ("phases", {"opens_at": "0001-01-01T00:00:00+09:00"}, "must be a date and time with time zone."),
        ("task", {"pseudonym_list": "../../secrets"}, "is not a list of names."),
        ("runs", {"team_id": 9}, "must be the id of one of the team rows"),
    ],
)
def test_what_no_form_could_make_is_refused(
    database: Database, folder: Path, olga: Viewer, table: str, fields: dict[str, object], said: str
) -> None:
    """With the reason, and nothing of it is stored."""
    bundles.rewrite(folder, table, **fields)
    with pytest.raises(Invalid) as raised:
        _taken(database, olga, folder)
    assert said in raised.value.message
    with database.read() as session:
        assert session.scalars(select(Task.slug)).all() == ["t"]


def test_only_who_may_make_tasks_imports(database: Database, folder: Path) -> None:
    """Neither visitors nor other accounts."""
    nina = people.viewer(database, people.account(database, "Nina"))
    for viewer, refusal in ((ANONYMOUS, SignInNeeded), (nina, Forbidden)):
        with pytest.raises(refusal):
            _taken(database, viewer, folder)
