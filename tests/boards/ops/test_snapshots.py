"""Snapshots: what is frozen, that it is found again byte for byte, and for whom."""

import hashlib
import json
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from leaderboard.boards.ops import board, snapshots
from leaderboard.boards.ops.snapshots import FrozenBoard
from leaderboard.boards.page import snapshot
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, Snapshot, Task
from leaderboard.errors import Conflict, NotFound, OverQuota, SignInNeeded
from leaderboard.runs.ops import withdrawals
from tests.make import build, people
from tests.make.damage import damage

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}


def _site(database: Database, folder: Path) -> None:
    """A task with two scored runs."""
    build.task(database, folder, measures=("RR", "AP", "Judged@10"))
    build.run(database, folder, BEST, "best", team_name="One")
    build.run(database, folder, HALF, "half", team_name="Two")
    build.drain(database)


def _freeze(database: Database, viewer: Viewer = OPERATOR) -> FrozenBoard:
    with database.read() as session:
        return snapshots.freeze(session, viewer, "t")


def _keep(database: Database, viewer: Viewer = OPERATOR) -> str:
    frozen = _freeze(database, viewer)
    with database.write() as session:
        return snapshots.keep(session, viewer, frozen)


def _page(database: Database, address: str, viewer: Viewer = ANONYMOUS) -> snapshot.SnapshotPage:
    with database.read() as session:
        return snapshot.page(session, viewer, address)


def _close(database: Database, days: int) -> None:
    """Have the task close so many days from now."""
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=now(session) + timedelta(days=days)))


def test_the_address_is_the_digest_of_canonical_json(database: Database, tmp_path: Path) -> None:
    """Sorted keys, no spaces, a line end; the doubles are the board's own."""
    _site(database, tmp_path)
    address = _keep(database)
    with database.read() as session:
        found = snapshots.opened(session, ANONYMOUS, address)
        shown = board.board(session, ANONYMOUS, "t")
    digest = hashlib.sha256(found.body).hexdigest()
    assert (found.sha256, found.address) == (digest, digest[:16])
    facts = json.loads(found.body)
    text = json.dumps(facts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert found.body == f"{text}\n".encode()
    assert [row["scores"] for row in facts["rows"]] == [row.scores for row in shown.rows]
    assert facts["revision_sha256"] == (shown.basis.revision_sha256 if shown.basis else "")
    assert (facts["topic_ids"], facts["comparison"]["method"]) == (["1", "2", "3"], "t+holm")
    assert {each["key"]: each["version"] for each in facts["measures"]} == {"RR": 1, "AP": 1, "Judged@10": 1}


@pytest.mark.dialect
def test_the_same_board_is_one_snapshot_and_another_board_another(database: Database, tmp_path: Path) -> None:
    """Asking again stores nothing; a new run gives a new address, and the old one stays as it was."""
    _site(database, tmp_path)
    address = _keep(database)
    assert _keep(database) == address
    before = _page(database, address)
    assert before.since == ()
    build.run(database, tmp_path, HALF, "third", team_name="Three")
    assert _keep(database) != address, "a run that waits for its scores is on the board"
    build.drain(database)
    later = _keep(database)
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(Snapshot)) == 3
        task = session.scalars(select(Task)).one()
        seen = board.board(session, ANONYMOUS, "t").access
        shown = snapshots.listed(session, ANONYMOUS, task, seen)
        assert [each.address for each in shown][0::2] == [later, address]
    after = _page(database, address)
    assert (after.rows, after.since) == (before.rows, ("1 run was added: third.",))


def test_places_in_a_queue_are_no_part_of_a_board(database: Database, tmp_path: Path) -> None:
    """A run that is queued, or being scored again, gives the same bytes as one that failed."""
    _site(database, tmp_path)
    build.run(database, tmp_path, HALF, "third", team_name="Three")
    queued = _freeze(database)
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, 3, "a mistake")
    assert _freeze(database).body != queued.body
    rows = json.loads(queued.body)["rows"]
    assert [(row["run"], row["scored"], row["rank"]) for row in rows] == [
        ("best", True, 1),
        ("half", True, 2),
        ("third", False, None),
    ]
    assert b"queued" not in queued.body


def test_what_differs_by_now_is_said_in_words(database: Database, tmp_path: Path) -> None:
    """A new edition, runs that came and went, scores that changed."""
    _site(database, tmp_path)
    address = _keep(database)
    build.revise(database, tmp_path, {"1": {"x": 1}, "2": {"x": 1}, "3": {"x": 1}})
    build.run(database, tmp_path, HALF, "third", team_name="Three")
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, 1, "a mistake")
    build.drain(database)
    assert _page(database, address).since == (
        "It shows edition 2 under qrels revision 2 (here: edition 1, revision 1).",
        "1 run was added: third.",
        "1 run was withdrawn: best.",
        "1 run has a different RR: half.",
    )


@pytest.mark.dialect
def test_drafts_sealed_tasks_and_tasks_without_judgments_are_refused(
    database: Database, tmp_path: Path
) -> None:
    """Nothing is frozen that the public does not see, not even for organisers."""
    build.task(database, tmp_path, publish=False)
    with pytest.raises(Conflict, match="is a draft"):
        _freeze(database)
    with database.write() as session:
        session.execute(update(Task).values(published_at=now(session)))
    with pytest.raises(Conflict, match="no judgments yet"):
        _freeze(database)
    with database.write() as session:
        session.execute(update(Task).values(visibility="sealed"))
    with pytest.raises(Conflict, match="is sealed"):
        _freeze(database)
    with database.read() as session, pytest.raises(NotFound):
        snapshots.freeze(session, OPERATOR, "nothing")


@pytest.mark.dialect
def test_only_accounts_freeze_and_not_too_often(database: Database, tmp_path: Path) -> None:
    """Visitors are asked to sign in; an account may try twenty times an hour."""
    _site(database, tmp_path)
    with pytest.raises(SignInNeeded):
        _freeze(database, ANONYMOUS)
    nina = people.viewer(database, people.account(database, "Nina"))
    for _ in range(snapshots.MOST_AN_HOUR):
        address = _keep(database, nina)
    with pytest.raises(OverQuota, match="Too many attempts"):
        _keep(database, nina)
    with database.read() as session:
        (kept,) = session.scalars(select(Snapshot))
    assert (kept.sha256[:16], kept.created_by) == (address, nina.account_id)


def _blind(database: Database, folder: Path) -> None:
    topics = [str(number) for number in range(1, 9)]
    judged = {topic: {"a": 1, "b": 0} for topic in topics}
    measures = ("RR", "Judged@10")
    build.task(database, folder, topics=topics, judgments=judged, measures=measures, visibility="blind")
    deep = [f"d{number:02}" for number in range(12)]
    ranking = {topic: [*deep[: int(topic) % 3], "a", *deep[3:]] for topic in topics}
    build.run(database, folder, ranking, "one")
    build.drain(database)


def test_of_a_blind_task_only_what_the_public_sees_is_frozen(database: Database, tmp_path: Path) -> None:
    """Whoever freezes: means over public topics at three decimals, no digest, no Judged@10."""
    _blind(database, tmp_path)
    facts = json.loads(_freeze(database, OPERATOR).body)
    (row,) = facts["rows"]
    assert row["scores"] == {"RR": round(row["scores"]["RR"], 3)}
    assert (facts["topics"], facts["decimals"], facts["details"]) == (4, 3, False)
    assert [facts[key] for key in ("revision_sha256", "topic_ids", "comparison")] == [None] * 3
    assert (row["ranking_sha256"], row["beats"]) == (None, None)


@pytest.mark.dialect
def test_the_policy_of_now_wins_over_what_was_frozen(database: Database, tmp_path: Path) -> None:
    """What was frozen while a task was closed is not there for the public once it is opened again."""
    _blind(database, tmp_path)
    early = _keep(database)
    _close(database, -1)
    whole = _keep(database)
    assert _page(database, early).since[-1] == "1 run has a different RR: one."
    assert [each.key for each in _page(database, whole).measures] == ["RR", "Judged@10"]
    _close(database, 1)
    with pytest.raises(NotFound, match="No snapshot"):
        _page(database, whole)
    assert _page(database, whole, OPERATOR).decimals is None
    with database.read() as session:
        task = session.scalars(select(Task)).one()
        seen = board.board(session, ANONYMOUS, "t").access
        assert [each.address for each in snapshots.listed(session, ANONYMOUS, task, seen)] == [early]


def test_a_damaged_snapshot_hides_no_other(database: Database, tmp_path: Path) -> None:
    """The list leaves it out for whoever may not see everything: what it says can no longer be read."""
    _blind(database, tmp_path)
    _keep(database)
    with database.write() as session:
        session.execute(update(Task).values(primary_measure="RR", name="Another"))
    second = _keep(database)
    damage(database, Snapshot.body)
    with database.read() as session:
        task = session.scalars(select(Task)).one()
        shown = board.board(session, ANONYMOUS, "t").access
        whole = board.board(session, OPERATOR, "t").access
        assert [kept.address for kept in snapshots.listed(session, ANONYMOUS, task, shown)] == [second]
        assert len(snapshots.listed(session, OPERATOR, task, whole)) == 2


@pytest.mark.parametrize("address", ["", "0123456789abcde", "0" * 16, "0" * 64, "../etc", "%", "0" * 65])
def test_an_unknown_address_is_not_found(database: Database, tmp_path: Path, address: str) -> None:
    """Too short, unknown, or no digest at all."""
    _site(database, tmp_path)
    _keep(database)
    with pytest.raises(NotFound, match="No snapshot"):
        _page(database, address)


def test_a_whole_digest_finds_the_snapshot_too(database: Database, tmp_path: Path) -> None:
    """For whoever has the digest and not the address."""
    _site(database, tmp_path)
    address = _keep(database)
    assert _page(database, _freeze(database).sha256).address == address
