"""What a board's page says of its order: sentences, marks, the plot, and comparisons that take a job."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.db.tables import TaskRole
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build
from tests.make.pages import main, parsed
from tests.scoring.ops.statistics.test_standings import fill
from tests.web.conftest import SignIn


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


def test_the_page_says_who_may_be_the_best(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Sentences above the table, a dot at each of the best set, counts and ranges in the rows, a plot."""
    fill(database, tmp_path)
    response = client.get("/tasks/t")
    page, text = parsed(response), main(response)
    assert "2 of 4 runs may be the best on topics like these 10." in text
    assert len(page.find_all("span", attrs={"aria-label": "may be the best"})) == 2
    assert page.find(id="differences") is not None
    assert "Reliability of these topics" in text


def test_a_click_marks_the_runs_that_are_alike(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The undecided count of a row leads to the board with its equals marked."""
    ids = fill(database, tmp_path)
    link = parsed(client.get("/tasks/t")).find("a", href=f"/tasks/t?run={ids['strong']}")
    assert link is not None
    page = parsed(client.get(str(link["href"])))
    assert [row["class"] for row in page.find_all("tr", class_="like")] == [["like", "cut"]]
    (marked,) = page.find_all("tr", class_="marked")
    assert "strong" in marked.get_text()


def test_ticked_runs_lead_to_their_comparison(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The board's form sends its ticks and its measure."""
    ids = fill(database, tmp_path)
    page = parsed(client.get("/tasks/t"))
    form = page.find("form", id="compare")
    assert form is not None
    assert form["action"] == "/tasks/t/compare"
    ticks = page.find_all("input", type="checkbox", attrs={"form": "compare", "name": "run"})
    assert {each["value"] for each in ticks} == set(map(str, ids.values()))


def test_another_run_can_be_the_reference(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """By ?reference= the plot turns around; an id that is none falls back to the leader."""
    ids = fill(database, tmp_path)
    assert "Differences from strong" in main(client.get("/tasks/t"))
    assert "Differences from weak" in main(client.get(f"/tasks/t?reference={ids['weak']}"))
    assert "Differences from strong" in main(client.get("/tasks/t?reference=999"))


def test_one_run_a_team_says_so(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """The view names its rule and leads back."""
    fill(database, tmp_path)
    page = client.get("/tasks/t?one=team")
    assert "One run per team: the best it marked, otherwise its best by RR" in main(page)
    assert "Verdicts compare all 4 ranked runs; 1 is shown." in main(page)


def test_a_long_comparison_is_asked_for_by_a_button(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A visitor is told to sign in; who is signed in queues it, sees it queued, and then its sentences."""
    fill(database, tmp_path)
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    assert "Sign in to start the comparison." in main(client.get("/tasks/t"))
    sign_in(client, "Ann")
    assert client.post("/tasks/t/standing").status_code == 303
    page = parsed(client.get("/tasks/t"))
    state = page.find(id="standing")
    assert state is not None
    assert state["hx-get"] == "/tasks/t"
    assert "as soon as an evaluator is free" in main(client.get("/tasks/t"))
    build.drain(database)
    assert "may be the best on topics like these" in main(client.get("/tasks/t"))


def test_organisers_choose_the_method_on_their_page(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """The choice stands in the form afterwards and in the sentence on the board."""
    fill(database, tmp_path)
    account = sign_in(client, "Olga", is_organiser=True)
    with database.write() as session:
        session.add(TaskRole(task_id=1, account_id=account, role="organiser"))
    sent = client.post("/tasks/t/settings/measures", data={"comparison": "t+bh"})
    assert sent.status_code == 303
    chosen = parsed(client.get("/tasks/t/settings")).find("select", id="comparison")
    assert chosen is not None
    (selected,) = chosen.find_all("option", selected=True)
    assert selected["value"] == "t+bh"
    assert "(paired t, Benjamini-Hochberg)" in main(client.get("/tasks/t"))


def test_too_few_topics_praise_nobody_on_any_page(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Board, its files, frame, badge, front page and the run that scores the same everywhere."""
    ranks = {
        "even": (2,) * 10,
        "mixed": (1, 4, 1, 4, 2, 2, 1, 4, 2, 2),
        "low": (3, 2, 2, 3, 2, 2, 2, 3, 2, 2),
    }
    runs = fill(database, tmp_path, ranks)
    text = main(client.get("/tasks/t"))
    too_few = "10 topics are too few to order these 3 runs; about 78 would be needed."
    assert f"Highest mean RR: mixed (0.5750). {too_few}" in text
    pages = (
        "/",
        "/tasks/t",
        "/tasks/t/embed",
        "/tasks/t/badge.svg",
        "/tasks/t.tex",
        f"/runs/{runs['mixed']}",
    )
    for address in pages:
        answer = client.get(address)
        assert answer.status_code == 200, address
        assert "may be the best" not in answer.text, address
    assert "too few topics to rank the runs" in client.get("/tasks/t/badge.svg").text
    assert "Too few topics to rank these 3 runs" in client.get("/").text
    board = client.get("/api/v1/tasks/t/board").get_json()
    assert [row["best_set"] for row in board["rows"]] == [False] * 3
    assert "no confidence interval: all 10 topics have the same score" in main(
        client.get(f"/runs/{runs['even']}")
    )
