"""What is held back stays so: of reproductions nothing is said to whom their scores are not shown."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Entry, Member, Run, Task, TaskRole
from tests.make.copies import built_once
from tests.reproductions import make as reproduced
from tests.reproductions.make import Reproduced
from tests.web.conftest import SignIn


@pytest.fixture
@built_once
def made(database: Database, tmp_path: Path) -> Reproduced:
    """A reproduced and a replicated run, of two open tasks."""
    return reproduced.linked(database, tmp_path)


def change(database: Database, slug: str, **values: object) -> None:
    """Other settings of a task."""
    with database.write() as session:
        session.execute(update(Task).where(Task.slug == slug).values(**values))


def organise(database: Database, account_id: int, slug: str) -> None:
    """Let an account organise the task."""
    with database.write() as session:
        task_id = session.scalars(select(Task.id).where(Task.slug == slug)).one()
        session.add(TaskRole(task_id=task_id, account_id=account_id, role="organiser"))


def text(client: FlaskClient, address: str) -> str:
    """A page that opens."""
    response = client.get(address)
    assert response.status_code == 200, address
    return response.get_data(as_text=True)


def listed(client: FlaskClient, slug: str) -> set[str]:
    """The runs that a task's list of reproductions names."""
    answer = client.get(f"/tasks/{slug}/reproductions.json?measure=AP")
    assert answer.status_code == 200
    assert answer.json is not None
    return {row["run"] for row in answer.json["reproductions"]}


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_while_scores_are_held_back_nothing_is_said(
    client: FlaskClient, database: Database, made: Reproduced, sign_in: SignIn, visibility: str
) -> None:
    """Neither the pages nor the run's own page tell a visitor; the organiser and its team read it."""
    change(database, "t", visibility=visibility)
    for of in ("", f"/{made.new_again}"):
        assert client.get(f"/tasks/t/reproductions{of}").status_code == 404
        assert client.get(f"/tasks/t/reproductions{of}.json").status_code == 404
        assert client.get(f"/api/v1/tasks/t/reproductions{of}").status_code == 404
    if visibility == "blind":
        assert "eproduce" not in text(client, f"/runs/{made.new_again}").partition("<main")[2]
        assert "reproduced_by" not in (client.get(f"/runs/{made.new}.json").json or {})
    member = sign_in(client, "Otto")
    with database.write() as session:
        team_id = session.scalars(select(Run.team_id).where(Run.id == made.new_again)).one()
        session.add(Member(team_id=team_id, account_id=member, role="member", joined_at=now(session)))
    # In a sealed task its team knows of no run of others, so of no original either.
    assert (">new</a>" in text(client, f"/runs/{made.new_again}")) == (visibility == "blind")
    assert client.get("/tasks/t/reproductions").status_code == 404
    organise(database, sign_in(client, "Olga", is_organiser=True), "t")
    assert listed(client, "t") == {"new-again"}


def test_a_replication_needs_the_scores_of_both_tasks(
    client: FlaskClient, database: Database, made: Reproduced
) -> None:
    """While the original's task holds them back, nothing is said in the other one."""
    assert listed(client, "u") == {"new-there"}
    change(database, "t", visibility="blind")
    assert listed(client, "u") == set()
    assert client.get(f"/tasks/u/reproductions/{made.new_there}").status_code == 404
    assert "Replicates" not in text(client, f"/runs/{made.new_there}")
    change(database, "t", visibility="open", published_at=None)
    assert listed(client, "u") == set()
    assert "Replicates" not in text(client, f"/runs/{made.new_there}")


def test_a_masked_run_is_named_by_its_pseudonym_and_replicates_nothing(
    client: FlaskClient, database: Database, made: Reproduced
) -> None:
    """In its own task a reproduction goes by the pseudonym; a replication would tell whose it is."""
    with database.write() as session:
        others = select(Run.team_id).where(Run.id == made.new_again).scalar_subquery()
        session.execute(update(Entry).where(Entry.team_id == others).values(pseudonym="Otter"))
    for slug in ("t", "u"):
        change(database, slug, naming="team")
    assert listed(client, "t") == {"Otter-2"}
    page = text(client, f"/tasks/t/reproductions/{made.new_again}")
    assert "new-again" not in page
    assert "Others" not in page
    assert listed(client, "u") == set()
    assert "Replicates" not in text(client, f"/runs/{made.new_there}")
    assert "new-there" not in text(client, f"/tasks/t/reproductions/{made.new_again}?measure=AP")
