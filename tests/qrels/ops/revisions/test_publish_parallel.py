"""What happens to a task while a revision of it is being published."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, Judgment, QrelsRevision
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.ops.revisions import NewRevision
from leaderboard.scoring.ops.qrels import files, lines
from leaderboard.tasks.ops import drafts
from tests.make import build

MORE = {"1": {"a": 2, "b": 1, "c": 1}, "2": {"a": 0, "d": 1}, "3": {"e": 3, "f": 1}}
RANKING = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}


def _meanwhile(monkeypatch: pytest.MonkeyPatch, act: Any) -> list[Any]:
    """Have something done when the judgments of a revision are stored and not committed; what came of it."""
    add, results = lines.add, []

    def adding(*arguments: Any, **named: Any) -> QrelsRevision:
        revision = add(*arguments, **named)
        monkeypatch.setattr(lines, "add", add)
        results.append(act())
        return revision

    monkeypatch.setattr(lines, "add", adding)
    return results


def _evaluated(database: Database, run_id: int) -> set[int]:
    """The numbers of the revisions that a run is scored under."""
    with database.read() as session:
        rows = select(QrelsRevision.number).join(Evaluation, Evaluation.revision_id == QrelsRevision.id)
        return set(session.scalars(rows.where(Evaluation.run_id == run_id)))


def test_a_submission_does_not_wait_for_judgments(
    on_postgresql: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that comes while they are stored is accepted at once, and the new edition has it too."""
    build.task(on_postgresql, tmp_path)
    hurried = Database(str(on_postgresql.engine.url), lock_wait_s=1)
    sent = _meanwhile(monkeypatch, lambda: build.run(hurried, tmp_path, RANKING))
    revision = build.revise(on_postgresql, tmp_path, MORE)
    hurried.dispose()
    assert revision.jobs == 1
    build.drain(on_postgresql)
    assert _evaluated(on_postgresql, sent[0]) == {1, 2}
    with on_postgresql.read() as session:
        shown = select(QrelsRevision.number).join(Edition, Edition.revision_id == QrelsRevision.id)
        assert session.scalar(shown.where(Edition.state == "current")) == 2


def test_a_task_published_meanwhile_shows_the_new_revision(
    on_postgresql: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Publishing the task builds the board on the judgments before, then the revision builds it anew."""
    build.task(on_postgresql, tmp_path, publish=False)

    def publish_task() -> None:
        with on_postgresql.write() as session:
            drafts.publish(session, OPERATOR, "t")

    _meanwhile(monkeypatch, publish_task)
    build.revise(on_postgresql, tmp_path, MORE)
    with on_postgresql.read() as session:
        rows = select(Edition.state, QrelsRevision.number).join(
            QrelsRevision, QrelsRevision.id == Edition.revision_id
        )
        assert session.execute(rows.where(Edition.state == "current")).all() == [("current", 2)]


def test_judgments_of_a_refused_revision_are_not_kept(
    on_postgresql: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stored first, they go with the transaction when building the edition fails."""
    build.task(on_postgresql, tmp_path)

    def fails(*_: object) -> None:
        raise RuntimeError("no edition")

    monkeypatch.setattr(revisions.editions, "build", fails)
    prepared = files.prepare(build.qrels_file(tmp_path, MORE, "more"))
    with pytest.raises(RuntimeError, match="no edition"), on_postgresql.write() as session:
        revisions.revise(session, OPERATOR, "t", NewRevision(prepared=prepared, note=""))
    with on_postgresql.read() as session:
        assert session.scalar(select(func.count()).select_from(Judgment)) == 7
        assert session.scalar(select(func.count()).select_from(QrelsRevision)) == 1
