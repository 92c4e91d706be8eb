"""Fixes of uploads: the file that was sent is kept, the fixed one is checked and counted like any other."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core.policy import Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Run, Upload, UploadChunk
from leaderboard.errors import Invalid, NotFound, OverQuota
from leaderboard.runs.ops import batches, fixing
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.runs.ops.uploads import Submission
from leaderboard.runs.page.upload import upload_file, upload_page
from tests.make import build, people
from tests.make.copies import built_once

BAD = "01 Q0 a 1 2 t\n01 Q0 a 2 1 t\n02 Q0 d 1 2 t\n03 Q0 e 1 2 t\n"
FIXED = "1 Q0 a 1 2 t\n2 Q0 d 1 2 t\n3 Q0 e 1 2 t\n"


@pytest.fixture
@built_once
def ann(database: Database, tmp_path: Path) -> Viewer:
    """A member of Owls; there is a task."""
    build.task(database, tmp_path)
    account = people.account(database, "Ann")
    people.team(database, "Owls", account)
    return people.viewer(database, account)


def _send(database: Database, folder: Path, viewer: Viewer, text: str = BAD) -> Submission:
    path = folder / "mine.run"
    path.write_text(text)
    return build.submit(database, path, viewer=viewer, team_name="Owls")


def _fix(database: Database, viewer: Viewer, upload_id: int, *names: str) -> int:
    with database.write() as session:
        made = fixing.ask(session, viewer, upload_id, names).upload_id
    build.drain(database)
    return made


def test_a_rejected_file_is_fixed_step_by_step(database: Database, tmp_path: Path, ann: Viewer) -> None:
    """What hides behind one problem is offered next; each file is kept, logged and can be downloaded."""
    sent = _send(database, tmp_path, ann).upload_id
    first = _fix(database, ann, sent, "duplicates")
    second = _fix(database, ann, first, "topics")
    assert _fix(database, ann, sent, "duplicates") == first
    with database.read() as session:
        pages = [upload_page(session, ann, upload_id) for upload_id in (sent, first, second)]
        assert [page.upload.state for page in pages] == ["rejected", "rejected", "accepted"]
        assert [page.offered for page in pages] == [("duplicates",), ("topics",), ()]
        assert [page.upload.fixes for page in pages] == [
            [],
            [{"fix": "duplicates", "lines": 1}],
            [{"fix": "topics", "lines": 3}],
        ]
        assert (pages[1].upload.fixed_from_id, pages[0].fixed_ids) == (sent, (first,))
        run = session.scalars(select(Run)).one()
        assert (run.name, run.upload_id, run.entries) == ("mine", second, 3)
        file = upload_file(session, ann, second)
        assert (file.name, file.size, file.sha256) == ("mine.txt", len(FIXED), pages[2].upload.sha256)
    for upload_id, text in ((sent, BAD), (second, FIXED)):
        stored = StoredFile(database, upload_id)
        with stored.open() as content:
            assert content.read().decode() == text
    stored.require_whole(file.sha256)


def test_who_may_fix_what(database: Database, tmp_path: Path, ann: Viewer) -> None:
    """Strangers learn nothing; only what is offered can be asked for; limits hold for a fixed file too."""
    sent = _send(database, tmp_path, ann).upload_id
    cases = [
        (Viewer(account_id=99, name="Zed"), ["duplicates"], NotFound),
        (ann, ["depth"], Invalid),
        (ann, ["magic"], Invalid),
        (ann, [], Invalid),
    ]
    for viewer, names, error in cases:
        with pytest.raises(error), database.write() as session:
            fixing.ask(session, viewer, sent, names)
    with database.write() as session:
        session.execute(update(Phase).values(runs_in_all=0))
    with pytest.raises(OverQuota), database.write() as session:
        fixing.ask(session, ann, sent, ["duplicates"])


def test_a_fix_that_cannot_be_applied_is_a_rejection(
    database: Database, tmp_path: Path, ann: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics in parts, more than is held: the report says why, and the file that was sent is still there."""
    monkeypatch.setattr("leaderboard.trec.runs.fixes.JOINED_BYTES", 30)
    sent = _send(database, tmp_path, ann, "1 Q0 a 1 2 t\n2 Q0 d 1 2 t\n1 Q0 a 2 1 t\n").upload_id
    made = _fix(database, ann, sent, "duplicates")
    with database.read() as session:
        page = upload_page(session, ann, made)
        assert page.report is not None
        assert (page.upload.state, page.has_file) == ("rejected", False)
        assert "scattered" in str(page.report.problems[0])
        assert upload_page(session, ann, sent).offered == ("duplicates",)


def test_only_files_that_can_be_fixed_are_kept_and_for_a_week(
    database: Database, tmp_path: Path, ann: Viewer
) -> None:
    """A file without a fix leaves its report; one with a fix goes after a week, unless one was made of it."""
    hopeless = _send(database, tmp_path, ann, "9 Q0 a 1 2 t\n").upload_id
    sent, other = (_send(database, tmp_path, ann).upload_id for _ in range(2))
    _fix(database, ann, other, "duplicates")
    with database.write() as session:
        moment = session.scalars(select(Upload.checked_at).where(Upload.id == sent)).one()
        assert moment is not None
        session.execute(update(Upload).values(checked_at=moment - timedelta(days=8)))
        kept = set(session.scalars(select(UploadChunk.upload_id)))
        assert hopeless not in kept
        assert {sent, other} < kept
        batches.expire(session)
        assert set(session.scalars(select(UploadChunk.upload_id))) == {other}
