"""Suites in a browser: made, sent to, read, changed."""

import io
import json
from pathlib import Path

from flask.testing import FlaskClient
from sqlalchemy import func, select, update

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Run, Suite, SuiteRun, Task, TaskRole
from leaderboard.suites.ops import changes
from tests.make import build, people, suites
from tests.make.pages import parsed
from tests.suites import make as suited
from tests.web.conftest import SignIn

ALL = dict.fromkeys(suites.MEMBERS, 1)
MEMBERS = "".join(f"{name} {slug} AP lag={suites.LAGS[name]}\n" for name, slug in suited.TASKS.items())
FORM = {
    "slug": "web",
    "title": "The web, again",
    "members": MEMBERS,
    "macro": "lag",
    "reference": "snapshot-1",
}


def _organise(database: Database, account_id: int) -> None:
    from_tasks = range(1, 4)
    with database.write() as session:
        session.add_all(
            TaskRole(task_id=task_id, account_id=account_id, role="organiser") for task_id in from_tasks
        )


def _zip(ranks: dict[str, int], tag: str = "") -> tuple[io.BytesIO, str]:
    return io.BytesIO(suited.archive(ranks, tag)), "sent.zip"


def test_an_organiser_of_all_tasks_makes_a_suite_and_changes_it(
    client: FlaskClient, database: Database, tmp_path: Path, sign_in: SignIn
) -> None:
    """The form makes it, its page and the home page show it; it is changed, taken off and put back."""
    suited.tasks(database, tmp_path)
    account_id = sign_in(client, "Olga", is_organiser=True)
    assert client.post("/suites", data=FORM).status_code == 403
    _organise(database, account_id)
    assert client.get("/suites/new").status_code == 200
    assert client.post("/suites", data=FORM).headers["Location"] == "/suites/web"
    assert "The web, again" in client.get("/suites/web").text
    assert 'href="/suites/web"' in client.get("/").text
    assert 'href="/suites/web"' in client.get("/tasks/web-1/about").text
    assert "lag=short" in client.get("/suites/web/settings").text
    assert client.post("/suites/web/settings", data={**FORM, "title": "Web"}).status_code == 303
    assert "<h1>Web</h1>" in client.get("/suites/web").text
    client.post("/suites/web/withdraw")
    client.delete_cookie("session")
    assert client.get("/suites/web").status_code == 404
    assert 'href="/suites/web"' not in client.get("/").text + client.get("/tasks/web-1/about").text
    with database.write() as session:
        changes.restore(session, OPERATOR, "web")
    assert client.get("/suites/web").status_code == 200


def test_a_wrong_suite_is_told_line_by_line_and_changes_nothing(
    client: FlaskClient, database: Database, tmp_path: Path, sign_in: SignIn
) -> None:
    """Line, value, rule and remedy of every problem; what was typed stays in the form."""
    suited.suite(database, tmp_path)
    _organise(database, sign_in(client, "Olga", is_organiser=True))
    wrong = "snapshot-1 web-1 nDCG@10\nsnapshot-1 web-2\nold web-9\n"
    answer = client.post("/suites/web/settings", data={**FORM, "members": wrong, "macro": ""})
    assert answer.status_code == 422
    for said in (
        "web-1 has no such measure",
        "Two members have this name",
        "This task does not exist",
        "web-9",
    ):
        assert said in answer.text
    assert wrong.strip().splitlines()[2] in answer.text
    assert "snapshot-3" in client.get("/suites/web").text


def test_a_team_sends_an_archive_and_reads_the_board(
    client: FlaskClient, database: Database, tmp_path: Path, sign_in: SignIn
) -> None:
    """Checked first without a trace, then sent; member runs and the suite run lead to each other."""
    suited.suite(database, tmp_path)
    team_id = people.team(database, "Owls", sign_in(client, "Ann"))
    form = {"team": str(team_id), "key": "k"}
    checked = client.post(
        "/suites/web/submit", data={**form, "check": "1", "file": _zip({"snapshot-1": 1}, "good")}
    )
    assert "would be accepted</strong> as good, with 1 run" in checked.text
    assert "No run for snapshot-2, snapshot-3" in checked.text
    with database.read() as session:
        assert session.scalar(select(func.count(Run.id))) == 0
    sent = client.post("/suites/web/submit", data={**form, "file": _zip(ALL, "good")})
    assert sent.headers["Location"] == "/suites/web/runs/1"
    again = client.post("/suites/web/submit", data={**form, "file": _zip(ALL, "good")})
    assert again.headers["Location"] == "/suites/web/runs/1"
    build.drain(database)
    assert "Rank 1 of 1" in client.get("/suites/web/runs/1").text
    assert 'href="/runs/1"' in client.get("/suites/web/runs/1").text
    assert 'href="/suites/web#run-1"' in client.get("/runs/1").text
    board = json.loads(client.get("/suites/web.json").text)
    assert [row["run"] for row in board["board"]] == ["good"]
    assert board["board"][0]["mean"] == 1.0
    for address in (
        "/suites",
        "/suites.csv",
        "/suites/web/changes",
        "/suites/web/pairs",
        "/suites/web.csv",
        "/suites/web.tex?table=pairs",
        "/suites/web/runs/1.json",
    ):
        assert client.get(address).status_code == 200, address


def test_an_error_in_the_archive_says_member_line_and_rule(
    client: FlaskClient, database: Database, tmp_path: Path, sign_in: SignIn
) -> None:
    """The form comes back with every problem, and nothing was stored."""
    suited.suite(database, tmp_path)
    team_id = people.team(database, "Owls", sign_in(client, "Ann"))
    content = suites.files(ALL, "bad")
    content["snapshot-1/run.txt"] = b"1 Q0 a 1 high t\n"
    content["snapshot-9/run.txt"] = b"1 Q0 a 1 1 t\n"
    path = suites.zipped(tmp_path / "bad.zip", content)
    answer = client.post(
        "/suites/web/submit", data={"team": str(team_id), "file": (io.BytesIO(path.read_bytes()), "bad.zip")}
    )
    assert answer.status_code == 422
    assert "snapshot-1" in answer.text
    assert "There is no such member" in answer.text
    with database.read() as session:
        assert session.scalar(select(func.count(SuiteRun.id))) == 0


def test_runs_of_the_tasks_are_put_together_in_the_form(
    client: FlaskClient, database: Database, tmp_path: Path, sign_in: SignIn
) -> None:
    """Runs that a team has become a suite run; its page fills in what is missing, takes it off and back."""
    suited.suite(database, tmp_path)
    team_id = people.team(database, "Owls", sign_in(client, "Ann"))
    first = build.run(database, tmp_path, {"1": ["a"]}, "mine", slug="web-1", team_name="Owls")
    second = build.run(database, tmp_path, {"3": ["c"]}, "mine", slug="web-2", team_name="Owls")
    assert f'value="snapshot-1={first}"' in client.get("/suites/web/submit").text
    data = {"team_id": str(team_id), "name": "mine", "runs": [f"snapshot-1={first}", ""]}
    assert client.post("/suites/web/runs", data=data).headers["Location"] == "/suites/web/runs/1"
    assert f'value="snapshot-2={second}"' in client.get("/suites/web/runs/1").text
    filled = client.post("/suites/web/runs/1/parts", data={"runs": f"snapshot-2={second}"})
    assert filled.status_code == 303
    assert f'href="/runs/{second}"' in client.get("/suites/web/runs/1").text
    assert client.post("/suites/web/runs/1/withdraw").status_code == 303
    assert "withdrawn from the suite" in client.get("/suites/web/runs/1").text
    assert client.post("/suites/web/runs/1/restore").status_code == 303
    assert client.post("/suites/web/runs", data={**data, "runs": "snapshot-1=x"}).status_code == 422


def test_suites_are_found_by_who_may_know_of_them(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """By title, address and description; not once taken off the site, nor where all members are drafts."""
    suited.suite(database, tmp_path, description="Snapshots of a crawl.")

    def found(words: str) -> list[str]:
        return [row["slug"] for row in client.get(f"/search.json?q={words}").get_json()["suites"]]

    assert [found(words) for words in ("WEB", "again+the", "snapshots", "web+nothing")] == [["web"]] * 3 + [
        []
    ]
    link = parsed(client.get("/search?q=again")).find("a", href="/suites/web")
    assert link is not None
    assert link.text == "The web, again"
    for hidden in (
        update(Suite).values(withdrawn_at=Suite.created_at),
        update(Task).values(published_at=None),
    ):
        with database.write() as session:
            session.execute(hidden)
        assert found("again") == []
        with database.write() as session:
            session.execute(update(Suite).values(withdrawn_at=None))
