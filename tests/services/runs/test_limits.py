"""Limits of runs: by team and by account, whatever a file's size and however many come at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Phase, Run, Throttle, Upload
from leaderboard.errors import Invalid, OverQuota
from leaderboard.pages.runs.upload_form import upload_form
from leaderboard.services.policy import OPERATOR, Viewer
from leaderboard.services.runs import limits, prepare, uploads
from leaderboard.services.runs.admission import RunRequest
from leaderboard.services.runs.uploads import Delivery
from tests.make import build, people

pytestmark = pytest.mark.dialect
TOPICS = [str(number) for number in range(1, 11)]
DEEP = {topic: [f"d{number}" for number in range(12)] for topic in TOPICS}


@pytest.fixture
def owls(database: Database, tmp_path: Path) -> int:
    """A blind task that takes five runs a day, and Anna's team."""
    build.task(database, tmp_path, topics=TOPICS, visibility="blind")
    build.run_file(tmp_path, DEEP)
    return people.team(database, "Owls", people.account(database, "Anna"))


def _delivery(folder: Path, sender: Viewer, team_id: int, name: str) -> Delivery:
    file = prepare.unchecked(folder / "run.txt", "run.txt")
    return Delivery(sender=sender, slug="t", team_id=team_id, file=file, wishes=RunRequest(name))


def _receive(database: Database, folder: Path, sender: Viewer, team_id: int, name: str) -> bool:
    """Send a file as a large one is sent; False where the limits refuse it."""
    try:
        with database.write() as session:
            uploads.receive(session, _delivery(folder, sender, team_id, name))
    except OverQuota:
        return False
    return True


def _runs(database: Database) -> int:
    with database.read() as session:
        return len(session.scalars(select(Run.id)).all())


def test_files_that_wait_for_their_check_count(database: Database, tmp_path: Path, owls: int) -> None:
    """Of forty large files sent at the same time five are taken, and five become runs."""
    anna = people.viewer(database, 1)

    def send(number: int) -> bool:
        return _receive(database, tmp_path, anna, owls, f"r{number}")

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(send, range(40))) == 5
    with database.read() as session:
        form = upload_form(session, anna, "t")
    (choice,) = form.teams
    assert choice.quota is not None
    assert form.is_used_up
    assert (choice.quota.left_today, choice.quota.left_in_all) == (0, 25)
    build.drain(database)
    assert _runs(database) == 5
    assert not _receive(database, tmp_path, anna, owls, "one-more")


def test_another_team_gives_nobody_more_runs(database: Database, tmp_path: Path, owls: int) -> None:
    """One account sends five runs a day for all its teams, and leaving a team does not help."""
    anna = people.viewer(database, 1)
    for number in range(3):
        assert _receive(database, tmp_path, anna, owls, f"r{number}")
    bears = people.team(database, "Bears", 1)
    anna = people.viewer(database, 1)
    assert [_receive(database, tmp_path, anna, bears, f"b{number}") for number in range(3)] == [
        True,
        True,
        False,
    ]
    together = "You and your teams have together used the 5 runs of today"
    with pytest.raises(OverQuota, match=together), database.write() as session:
        uploads.receive(session, _delivery(tmp_path, anna, bears, "b9"))
    bert = people.account(database, "Bert")
    people.join(database, owls, 1, bert)
    assert _receive(database, tmp_path, people.viewer(database, bert), owls, "of-bert")
    wolves = people.team(database, "Wolves", bert)
    alone = Viewer(account_id=1, team_ids=frozenset({wolves}))
    assert not _receive(database, tmp_path, alone, wolves, "w1")


def test_the_evaluator_looks_again(database: Database, tmp_path: Path, owls: int) -> None:
    """Files taken under wider limits are rejected with the limit's sentence, the last ones first."""
    anna = people.viewer(database, 1)
    for number in range(4):
        assert _receive(database, tmp_path, anna, owls, f"r{number}")
    with database.write() as session:
        session.execute(update(Phase).values(runs_per_day=2))
    build.drain(database)
    with database.read() as session:
        sent = session.scalars(select(Upload).order_by(Upload.id)).all()
    assert [upload.state for upload in sent] == ["accepted", "accepted", "rejected", "rejected"]
    assert sent[2].report is not None
    assert "Owls has used the 2 runs of today" in str(sent[2].report["problems"])


def test_a_place_once_given_is_kept(database: Database, tmp_path: Path, owls: int) -> None:
    """What a member's other team sends, and has checked, afterwards does not put a waiting file out."""
    bert = people.account(database, "Bert")
    bears = people.team(database, "Bears", bert)
    people.join(database, bears, bert, 1)
    assert _receive(database, tmp_path, people.viewer(database, 1), owls, "first")
    for number in range(5):
        assert _receive(database, tmp_path, people.viewer(database, bert), bears, f"b{number}")
    with database.write() as session:
        session.execute(update(Job).where(Job.subject_id == 1).values(priority=-1))
    build.drain(database)
    assert _runs(database) == 6


def test_what_an_organiser_sent_is_not_counted_again(database: Database, tmp_path: Path, owls: int) -> None:
    """The evaluator takes every file of the operator, who has no limits."""
    for number in range(7):
        assert _receive(database, tmp_path, OPERATOR, owls, f"r{number}")
    build.drain(database)
    assert _runs(database) == 7


def test_rejected_files_of_an_account_are_limited(database: Database) -> None:
    """Twenty checks an hour are open at once; what is accepted is given back."""
    for _ in range(20):
        with database.write() as session:
            limits.count_check(session, 1)
    with pytest.raises(OverQuota, match="rejected, or still wait"), database.write() as session:
        limits.count_check(session, 1)
    with database.write() as session:
        limits.count_check(session, 2)
        limits.count_accepted(session, 1)
    with database.write() as session:
        limits.count_check(session, 1)
        limits.count_check(session, None)


def test_rejected_files_of_a_network_are_limited(database: Database) -> None:
    """Accounts of one address share a limit; a file that is accepted counts for neither."""
    with database.write() as session:
        limits.count_check(session, 1, "192.0.2.1")
        session.execute(update(Throttle).where(Throttle.key.contains("ip")).values(count=100))
    with pytest.raises(OverQuota), database.write() as session:
        limits.count_check(session, 2, "192.0.2.1")
    with database.write() as session:
        limits.count_accepted(session, 1, "192.0.2.1")
        limits.count_check(session, 2, "192.0.2.1")


def test_large_files_that_are_rejected_count_too(database: Database, tmp_path: Path, owls: int) -> None:
    """A file that the evaluator rejects stays counted, one that it accepts does not."""
    anna = people.viewer(database, 1)
    assert _receive(database, tmp_path, anna, owls, "good")
    assert _receive(database, tmp_path, anna, owls, "no good name")
    build.drain(database)
    with database.read() as session:
        assert session.scalars(select(Throttle.count).where(Throttle.key == "rejected account:1")).all() == [
            1
        ]


def test_the_form_lists_the_kinds_that_its_phases_take(database: Database, tmp_path: Path, owls: int) -> None:
    """Only those, with words that say so; a request for another kind is refused and stores nothing."""
    anna = people.viewer(database, 1)

    def form() -> tuple[tuple[str, ...], str]:
        with database.read() as session:
            page = upload_form(session, anna, "t")
            return page.kinds, page.takes

    assert form() == (("official", "unofficial"), "")
    with database.write() as session:
        session.execute(update(Phase).values(kinds=["unofficial"]))
    assert form() == (("unofficial",), "main takes unofficial runs only.")
    with pytest.raises(Invalid, match="takes unofficial runs, not official ones"):
        _receive(database, tmp_path, anna, owls, "r1")
    assert not _runs(database)
