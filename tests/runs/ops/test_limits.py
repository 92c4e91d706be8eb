"""Limits of runs: by team and by account, whatever a file's size and however many come at once."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core.jobs import queue
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job, Phase, Run, Throttle, Upload
from leaderboard.errors import Invalid, OverQuota
from leaderboard.runs.ops import fixing, limits, prepare, uploads
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.runs.page.upload_form import upload_form
from tests.make import build, people
from tests.make.copies import built_once

pytestmark = pytest.mark.dialect
TOPICS = [str(number) for number in range(1, 11)]
DEEP = {topic: [f"d{number}" for number in range(12)] for topic in TOPICS}


@pytest.fixture
@built_once
def owls(database: Database, tmp_path: Path) -> int:
    """A blind task that takes five runs a day, and Anna's team."""
    build.task(database, tmp_path, topics=TOPICS, visibility="blind")
    build.run_file(tmp_path, DEEP)
    return people.team(database, "Owls", people.account(database, "Anna"))


def _delivery(folder: Path, sender: Viewer, team_id: int, name: str) -> Delivery:
    file = prepare.unchecked(folder / "run.txt", "run.txt")
    return Delivery(sender=sender, slug="t", team_id=team_id, file=file, run_request=RunRequest(name))


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
    together = "You and your teams have together used all 5 runs for today"
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
    assert "Owls has used all 2 runs for today" in str(sent[2].report["problems"])


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
    """Twenty checks an hour are open at once; what is accepted is given back; five left are announced."""

    def checks(account_id: int | None) -> tuple[bool, int]:
        with database.write() as session:
            counted = limits.count_check(session, account_id)
            return counted, limits.rejections_left(session, account_id)

    assert [checks(1) for _ in range(21)] == [*((True, left) for left in range(19, -1, -1)), (False, 0)]
    said = (
        "After 5 more rejected files within this hour your files are checked one at a time, at most one a "
        "minute."
    )
    assert [limits.rejections_in_words(left) for left in (6, 5)] == ["", said]
    assert checks(2) == (True, 19)
    with database.write() as session:
        limits.count_accepted(session, 1)
    assert checks(1) == (True, 0)
    assert checks(None) == (True, 20)


def test_rejected_files_of_a_network_are_limited(database: Database) -> None:
    """Accounts of one address share a limit; a file that is accepted counts for neither."""
    with database.write() as session:
        assert limits.count_check(session, 1, "192.0.2.1")
        session.execute(update(Throttle).where(Throttle.key.contains("ip")).values(count=100))
    with database.write() as session:
        assert not limits.count_check(session, 2, "192.0.2.1")
        assert limits.rejections_left(session, 2) == 20
        limits.count_accepted(session, 1, "192.0.2.1")
        assert limits.count_check(session, 2, "192.0.2.1")


def test_a_good_file_is_taken_after_any_number_of_rejected_ones(
    database: Database, tmp_path: Path, owls: int
) -> None:
    """It waits for its turn, a minute after the check before; one at a time, and nothing more is kept."""
    anna = people.viewer(database, 1)
    build.run_file(tmp_path, {"1": ["a"]}, "bad")
    bad = prepare.unchecked(tmp_path / "bad.txt", "bad.txt")
    with database.write() as session:
        sent = Delivery(sender=anna, slug="t", team_id=owls, file=bad, run_request=RunRequest("no good name"))
        uploads.receive(session, sent)
    build.drain(database)
    with database.write() as session:
        session.execute(update(Throttle).where(Throttle.key == "rejected account:1").values(count=20))
    assert _receive(database, tmp_path, anna, owls, "good")
    with pytest.raises(OverQuota, match=r"run\.txt is waiting to be checked"), database.write() as session:
        uploads.receive(session, _delivery(tmp_path, anna, owls, "next"))
    build.drain(database)
    with database.read() as session:
        upload = session.scalars(select(Upload).order_by(Upload.id.desc())).first()
        assert upload is not None
        rejected = session.scalars(select(Upload.checked_at).where(Upload.state == "rejected")).one()
        job = session.scalars(select(Job).where(Job.subject_id == upload.id, Job.kind == queue.CHECK)).one()
        assert rejected is not None
        assert (upload.state, job.run_after - rejected) == ("received", limits.BETWEEN_TURNS)
    with database.write() as session:
        session.execute(update(Job).values(run_after=Job.created_at))
    build.drain(database)
    assert _runs(database) == 1
    assert _receive(database, tmp_path, anna, owls, "next")


def test_files_rejected_in_turn_are_not_kept(database: Database, tmp_path: Path, owls: int) -> None:
    """Else somebody could fill the disk with them, a file a minute."""
    anna = people.viewer(database, 1)
    path = tmp_path / "again.txt"
    path.write_text("1 Q0 d1 1 3.0 tag\n1 Q0 d1 2 2.0 tag\n")
    file = prepare.unchecked(path, "again.txt")

    def kept(name: str) -> bool:
        with database.write() as session:
            sent = Delivery(sender=anna, slug="t", team_id=owls, file=file, run_request=RunRequest(name))
            upload_id = uploads.receive(session, sent).upload_id
            session.execute(update(Job).values(run_after=Job.created_at))
        build.drain(database)
        with database.read() as session:
            assert session.get_one(Upload, upload_id).state == "rejected"
            return fixing.is_kept(session, upload_id)

    assert kept("one")
    with database.write() as session:
        session.execute(update(Throttle).where(Throttle.key == "rejected account:1").values(count=20))
    assert not kept("two")


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
    assert form() == (("unofficial",), "main accepts only unofficial runs.")
    with pytest.raises(Invalid, match="accepts unofficial runs, not official runs"):
        _receive(database, tmp_path, anna, owls, "r1")
    assert not _runs(database)
