"""Names nobody may know of are free: of hidden runs, and of others' drafts with their collections."""

from pathlib import Path

import pytest
from sqlalchemy import select, update

from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Entry, Run, Task
from leaderboard.errors import Conflict, Forbidden, NotFound
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops import collections
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.tasks.ops import drafts, organise
from tests.make import build, people
from tests.make.copies import built_once

pytestmark = pytest.mark.dialect


def _documents(folder: Path) -> Path:
    path = folder / "documents.jsonl"
    path.write_text('{"docno": "d1", "text": "secret"}\n')
    return path


def _draft(database: Database, folder: Path, organiser: int, slug: str, **options: object) -> str:
    maker = people.viewer(database, organiser)
    return build.task(database, folder, slug, viewer=maker, publish=False, **options)  # type: ignore[arg-type]


@pytest.fixture
@built_once
def organisers(database: Database) -> tuple[int, int]:
    """Two organisers, each without a task."""
    olga, otto = (people.account(database, name, is_organiser=True) for name in ("Olga", "Otto"))
    return olga, otto


def test_a_draft_hides_its_slug_from_other_organisers(
    database: Database, tmp_path: Path, organisers: tuple[int, int]
) -> None:
    """Two drafts may have one slug; each organiser sees the own one, and who publishes first keeps it."""
    for organiser in organisers:
        _draft(
            database, tmp_path, organiser, "t", name=f"Task of {organiser}", documents=_documents(tmp_path)
        )
    olga, otto = (people.viewer(database, organiser) for organiser in organisers)
    with database.read() as session:
        seen = [policy.visible_task(session, viewer, "t")[0].name for viewer in (olga, otto, OPERATOR)]
        assert seen == ["Task of 1", "Task of 2", "Task of 1"]
        assert [row.id for row in collections.choices(session, otto)] == [2]
    with pytest.raises(Conflict, match="choose another slug"):
        _draft(database, tmp_path, organisers[1], "t")
    with database.write() as session:
        drafts.publish(session, otto, "t")
    with pytest.raises(Conflict, match="was published in the meantime"), database.write() as session:
        drafts.publish(session, olga, "t")
    with database.read() as session:
        seen = [policy.visible_task(session, viewer, "t")[0].name for viewer in (olga, ANONYMOUS, OPERATOR)]
        assert seen == ["Task of 1", "Task of 2", "Task of 2"]
    with database.write() as session:
        organise.discard(session, olga, "t")
        assert policy.visible_task(session, olga, "t")[0].name == "Task of 2"


def test_no_task_is_made_on_the_collection_of_anothers_draft(
    database: Database, tmp_path: Path, organisers: tuple[int, int]
) -> None:
    """Its name is answered like one that does not exist, until the draft is published."""
    _draft(database, tmp_path, organisers[0], "secret", documents=_documents(tmp_path))
    said = []
    for name in ("secret", "absent"):
        with pytest.raises(NotFound) as caught:
            _draft(database, tmp_path, organisers[1], "steal", collection=name)
        said.append(caught.value.message.replace(name, "NAME"))
    assert said[0] == said[1]
    olga = people.viewer(database, organisers[0])
    with database.write() as session:
        drafts.publish(session, olga, "secret")
    assert _draft(database, tmp_path, organisers[1], "reuse", collection="secret") == "reuse"


def test_a_hidden_run_keeps_its_name_to_itself(database: Database, tmp_path: Path) -> None:
    """In a sealed task two teams may use one name, a team may not use its own twice."""
    build.task(database, tmp_path, visibility="sealed")
    file = build.run_file(tmp_path, {"1": ["a"]}, "SECRETRUN")
    sent = [build.submit(database, file, team_name=team) for team in ("Owls", "Bears", "Owls")]
    assert [submission.state for submission in sent] == ["accepted", "accepted", "rejected"]
    with database.read() as session:
        assert session.scalars(select(Run.name)).all() == ["SECRETRUN"] * 2


@pytest.mark.parametrize(
    ("name", "rule"), [("run-1", "is the name of another"), ("run-l", "looks like run-1")]
)
def test_a_shown_run_is_not_impersonated(database: Database, tmp_path: Path, name: str, rule: str) -> None:
    """In an open task a name that is taken, or looks like one that is, makes no run."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, {"1": ["a"]}, "run-1", team_name="Owls")
    file = build.run_file(tmp_path, {"1": ["b"]})
    refused = build.submit(database, file, team_name="Bears", run_request=RunRequest(name))
    assert refused.report is not None
    assert rule in refused.report.problems[0].rule
    other = build.submit(database, file, team_name="Bears", run_request=RunRequest("RUN-1"))
    assert other.state == "accepted"


def test_no_refusal_names_the_team_of_a_run(database: Database, tmp_path: Path) -> None:
    """A team that goes by a pseudonym is not named to who may not change its run."""
    build.task(database, tmp_path)
    run_id = build.run(database, tmp_path, {"1": ["a"]}, "run", team_name="Bears-SECRETTEAM")
    stranger = people.viewer(database, people.account(database, "Stranger"))
    with database.write() as session:
        session.execute(update(Entry).values(pseudonym="Team 1"))
        session.execute(update(Task).values(naming="team"))
    acts = (
        lambda session: withdrawals.withdraw(session, stranger, run_id, "why"),
        lambda session: withdrawals.mark_run(session, stranger, run_id),
        lambda session: facts.description_page(session, stranger, run_id),
        lambda session: facts.describe_run(session, stranger, run_id, {}),
    )
    for act in acts:
        with pytest.raises(Forbidden) as caught, database.write() as session:
            act(session)
        assert "SECRET" not in caught.value.message
