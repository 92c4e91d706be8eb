"""Clones, the archive, drafts again, slugs that were, and who organises a task made by command."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core import policy
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Audit, Phase, QrelsRevision, Task, TaskRole, Topic, TopicSet
from leaderboard.errors import Closed, Conflict, Invalid, LeaderboardError, NotFound
from leaderboard.tasks.ops import drafts, organise, roles, settings
from leaderboard.tasks.ops.organise import TaskCopy
from tests.make import build, people

MOMENT = datetime(2030, 1, 1, tzinfo=UTC)


def _clone(database: Database, revision: str = "newest", slug: str = "next") -> Task:
    with database.write() as session:
        organise.clone(session, OPERATOR, "t", TaskCopy(slug, "Next", revision))
    with database.read() as session:
        return session.scalars(select(Task).where(Task.slug == slug)).one()


def _own(database: Database, table: type, task: Task) -> list:  # type: ignore[type-arg]
    with database.read() as session:
        return list(session.scalars(select(table).where(table.task_id == task.id)))


@pytest.mark.dialect
def test_a_clone_has_all_but_runs_and_dates(database: Database, tmp_path: Path) -> None:
    """Topics with their texts and exclusions, public half, phases, settings and the judgments asked for."""
    build.task(database, tmp_path, visibility="blind", level=2, name="First")
    build.revise(database, tmp_path, {"1": {"a": 3}})
    build.run(database, tmp_path, {topic: [*"abcdefghijkl"] for topic in "123"})
    with database.write() as session:
        session.execute(update(Phase).values(opens_at=MOMENT, runs_in_all=7))
        session.execute(update(Topic).where(Topic.topic_id == "2").values(excluded="no reason"))
        settings.change_settings(session, OPERATOR, "t", {"licence": "CC0"})
    made = _clone(database)
    assert (made.published_at, made.level, made.licence, made.name) == (None, 2, "CC0", "Next")
    (phase,) = _own(database, Phase, made)
    assert (phase.opens_at, phase.runs_in_all, phase.visibility) == (None, 7, None)
    topics = {topic.topic_id: (topic.title, topic.excluded) for topic in _own(database, Topic, made)}
    assert topics["2"] == ("title of 2", "no reason")
    public = {each.task_id: each.topics for each in _sets(database) if each.name == "public"}
    assert len(public) == 2
    assert public[made.id] == public[made.id - 1]
    assert [row.judgments for row in _revisions(database)] == [7, 1, 1]
    _clone(database, "1", "again")
    assert [row.judgments for row in _revisions(database)][3:] == [7]
    _clone(database, "none", "bare")
    assert len(_revisions(database)) == 4


def _sets(database: Database) -> list[TopicSet]:
    with database.read() as session:
        return list(session.scalars(select(TopicSet)))


def _revisions(database: Database) -> list[QrelsRevision]:
    with database.read() as session:
        return list(session.scalars(select(QrelsRevision).order_by(QrelsRevision.id)))


def test_a_clone_that_cannot_be_is_refused(database: Database, tmp_path: Path) -> None:
    """A slug that is taken or none, no name, a revision there is not: said, and nothing is made."""
    build.task(database, tmp_path)
    cases: list[tuple[TaskCopy, type[LeaderboardError]]] = [
        (TaskCopy("t", "Name"), Conflict),
        (TaskCopy("A b", "Name"), Invalid),
        (TaskCopy("fine", " "), Invalid),
        (TaskCopy("fine", "Name", "9"), NotFound),
        (TaskCopy("fine", "Name", "x"), NotFound),
    ]
    for wanted, error in cases:
        with pytest.raises(error), database.write() as session:
            organise.clone(session, OPERATOR, "t", wanted)
    with database.read() as session:
        assert len(session.scalars(select(Task)).all()) == 1


@pytest.mark.dialect
def test_an_archived_task_takes_no_runs(database: Database, tmp_path: Path) -> None:
    """Not even from its organisers; back from the archive it does."""
    build.task(database, tmp_path)
    with database.write() as session:
        organise.archive(session, OPERATOR, "t")
    with pytest.raises(Closed, match="archived"):
        build.run(database, tmp_path, {"1": ["a"]})
    with database.write() as session:
        organise.restore(session, OPERATOR, "t")
    assert build.run(database, tmp_path, {"1": ["a"]})


def test_a_task_with_runs_is_neither_a_draft_again_nor_deleted(database: Database, tmp_path: Path) -> None:
    """Without runs it goes back and forth, and then another dialect is possible."""
    build.task(database, tmp_path)
    for act in (organise.unpublish, drafts.publish, organise.unpublish):
        with database.write() as session:
            act(session, OPERATOR, "t")
    with database.write() as session:
        settings.change_settings(session, OPERATOR, "t", {"dialect": "9"})
        drafts.publish(session, OPERATOR, "t")
    build.run(database, tmp_path, {"1": ["a"]})
    for act in (organise.unpublish, organise.discard):
        with pytest.raises(Conflict), database.write() as session:
            act(session, OPERATOR, "t")


@pytest.mark.dialect
def test_a_former_slug_is_kept_until_its_task_is_a_draft(database: Database, tmp_path: Path) -> None:
    """Neither a new task nor a draft of another organiser takes it, however often the task is renamed."""
    otto = people.viewer(database, people.account(database, "Otto", is_organiser=True))
    build.task(database, tmp_path)
    with database.write() as session:
        organise.unpublish(session, OPERATOR, "t")
    build.task(database, tmp_path, viewer=otto, publish=False)
    with database.write() as session:
        task = session.scalars(select(Task).order_by(Task.id)).first()
        assert task is not None
        drafts.publish(session, Viewer(organises=frozenset({task.id})), "t")
        for slug in ("second", "third", "second"):
            drafts.rename_slug(session, OPERATOR, task, slug)
    otto = people.viewer(database, otto.account_id or 0)
    with database.read() as session:
        assert [policy.now_at(session, slug) for slug in ("t", "third", "second")] == [
            "second",
            "second",
            None,
        ]
        assert policy.visible_task(session, otto, "t")[0].published_at is None
    with pytest.raises(Conflict), database.write() as session:
        drafts.publish(session, otto, "t")
    with pytest.raises(Conflict, match="renamed"):
        build.task(database, tmp_path, "third")
    with database.write() as session:
        organise.unpublish(session, OPERATOR, "second")
        drafts.publish(session, otto, "t")


def test_the_only_organiser_takes_over_what_nobody_organises(database: Database, tmp_path: Path) -> None:
    """A task made by command gets the one organiser there is; of two, the operator chooses."""
    build.task(database, tmp_path)
    with database.write() as session:
        assert roles.adopt(session, OPERATOR) == 0
    people.account(database, "Anna")
    olga = people.account(database, "Olga", is_organiser=True)
    with database.write() as session:
        assert [roles.adopt(session, OPERATOR) for _ in range(2)] == [1, 0]
        assert session.scalars(select(TaskRole.account_id)).all() == [olga]
        assert session.scalars(select(Audit.action).order_by(Audit.id.desc())).first() == "task.role"
    people.account(database, "Otto", is_organiser=True)
    build.task(database, tmp_path, "second")
    with database.write() as session:
        assert roles.adopt(session, OPERATOR) == 0
