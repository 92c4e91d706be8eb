"""Drafts of revisions: what would change, for how long they are kept, and who may publish them."""

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.boards.ops import board
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Qrels, QrelsRevision
from leaderboard.errors import Conflict, Forbidden, Invalid, NotFound
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.page.revisions import lists, rank_changes
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build
from tests.make.revised import BETTER, graded, settle, task


def test_a_draft_says_what_would_change_and_where_the_runs_would_stand(
    database: Database, tmp_path: Path
) -> None:
    """The ranks foretold are those that come; a draft changes nothing and is gone once published."""
    task(database, tmp_path)
    prepared = files.of_grades(graded(BETTER), "better.txt")
    with database.write() as session:
        token = revisions.keep_draft(session, OPERATOR, "t", prepared, "better")
    with database.read() as session:
        found = rank_changes.preview(session, OPERATOR, "t", token)
        assert (found.base, found.number, found.refused, found.runs) == (1, 2, "", 2)
        total = found.changes.total
        assert (total.added, total.changed, total.removed) == (3, 3, 4)
        assert [(each.grade, each.before, each.after) for each in found.changes.grades] == [
            (3, 1, 0),
            (2, 1, 3),
            (1, 3, 2),
            (0, 2, 1),
        ]
        one = found.changes.topics[0]
        assert (
            one.topic_id,
            one.added,
            one.changed,
            one.removed,
            one.relevant_before,
            one.relevant_after,
        ) == (*("1", 1, 1, 2), *(2, 1))
        assert found.ranks is not None
        foretold = {row.run.name: (row.new, row.new_rank) for row in found.ranks.rows}
        assert lists.revision_list(session, OPERATOR, "t").rows[0].number == 1
    with database.write() as session:
        revisions.publish(session, OPERATOR, "t", token, base=1)
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, OPERATOR, "t")
        assert {row.run: (row.scores["AP"], row.rank) for row in shown.rows} == foretold
        with pytest.raises(NotFound, match="kept for one day"):
            rank_changes.preview(session, OPERATOR, "t", token)


def test_what_takes_long_is_computed_by_a_job(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The preview waits for it, and shows it once it is there."""
    task(database, tmp_path)
    monkeypatch.setattr(rank_changes, "AT_ONCE_S", 0.0)
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    with database.write() as session:
        token = revisions.keep_draft(
            session, OPERATOR, "t", files.of_grades(graded(BETTER), "better.txt"), "better"
        )
    with database.read() as session:
        waiting = rank_changes.preview(session, OPERATOR, "t", token).waiting
    assert waiting is not None
    assert waiting.state == "absent"
    with database.write() as session:
        requests.have_computed(session, waiting.request)
    with database.read() as session:
        queued = rank_changes.preview(session, OPERATOR, "t", token).waiting
    assert queued is not None
    assert queued.state == "queued"
    build.drain(database)
    with database.read() as session:
        found = rank_changes.preview(session, OPERATOR, "t", token).ranks
    assert found is not None
    assert found.rows[0].run.name == "second"


def test_a_draft_is_refused_once_another_revision_came(database: Database, tmp_path: Path) -> None:
    """What was looked at is what is published, or nothing."""
    task(database, tmp_path)
    with database.write() as session:
        token = revisions.keep_draft(
            session, OPERATOR, "t", files.of_grades(graded(BETTER), "better.txt"), "better"
        )
        settle(session, {"1": {b"a": 1}})
    with (
        pytest.raises(Conflict, match="Revision 2 was published in the meantime"),
        database.write() as session,
    ):
        revisions.publish(session, OPERATOR, "t", token, base=1)
    with database.write() as session:
        revisions.publish(session, OPERATOR, "t", token, base=2)


def test_a_draft_of_nothing_new_is_refused_with_the_reason(database: Database, tmp_path: Path) -> None:
    """The same judgments again, and a draft without a note."""
    task(database, tmp_path)
    same = files.of_grades(graded(build.JUDGMENTS), "same.txt")
    with database.write() as session:
        token = revisions.keep_draft(session, OPERATOR, "t", same, "same")
    with database.read() as session:
        assert (
            "identical to the newest revision" in rank_changes.preview(session, OPERATOR, "t", token).refused
        )
    with pytest.raises(Invalid, match="needs a change note"), database.write() as session:
        revisions.keep_draft(session, OPERATOR, "t", same, " ")


@pytest.mark.dialect
def test_drafts_last_a_day(database: Database, tmp_path: Path) -> None:
    """An older one is not found, and dropped when the next one is kept."""
    task(database, tmp_path)
    prepared = files.of_grades(graded(BETTER), "better.txt")
    with database.write() as session:
        token = revisions.keep_draft(session, OPERATOR, "t", prepared, "better")
        draft = revisions.find_draft(session, OPERATOR, "t", token)
        made = session.get_one(QrelsRevision, draft.revision_id)
        session.execute(
            update(QrelsRevision)
            .where(QrelsRevision.id == made.id)
            .values(created_at=made.created_at - timedelta(days=2))
        )
    with pytest.raises(NotFound), database.read() as session:
        revisions.find_draft(session, OPERATOR, "t", token)
    with database.write() as session:
        revisions.keep_draft(session, OPERATOR, "t", prepared, "better")
        kept = session.scalars(select(Qrels.name).where(Qrels.name.startswith("draft "))).all()
    assert len(kept) == 1


def test_others_may_not_publish_and_see_nothing_of_drafts(database: Database, tmp_path: Path) -> None:
    """Only organisers of the task revise it; who does not organise it is told so."""
    task(database, tmp_path)
    other = Viewer(account_id=99, name="other")
    prepared = files.of_grades(graded(BETTER), "better.txt")
    with database.write() as session:
        token = revisions.keep_draft(session, OPERATOR, "t", prepared, "better")
        with pytest.raises(Forbidden):
            revisions.keep_draft(session, other, "t", prepared, "better")
        with pytest.raises(Forbidden):
            rank_changes.preview(session, other, "t", token)
        with pytest.raises(Forbidden):
            board_measures.choose(session, other, "t", ["AP"], "AP")
        assert len(lists.revision_list(session, ANONYMOUS, "t").rows) == 1
