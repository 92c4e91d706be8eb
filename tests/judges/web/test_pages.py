"""The judges' board, one judge and one topic: what they say, to whom, and that their links lead somewhere."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.cli import main
from leaderboard.core.jobs import queue
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Job, Phase, Task
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops import agreements
from leaderboard.scoring.ops.statistics import requests
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.judges import make as judging
from tests.make import build, pages, people
from tests.web.conftest import SignIn, browser
from tests.web.test_crawl import faults, tree

HEADS = ("/tasks/judged/judges", "/tasks/judged/judges/1", "/tasks/judged/judges/1/topics/2")


@pytest.fixture
def olga(client: FlaskClient, database: Database, sign_in: SignIn, tmp_path: Path) -> FlaskClient:
    """The browser of the organiser of a task with two judges, of which one is of a run's family of models."""
    account = sign_in(client, "Olga", is_organiser=True)
    judging.task(database, tmp_path, viewer=people.viewer(database, account))
    judging.refer(database, tmp_path)
    run_request = RunRequest("oak", facts={"llm": "gpt-5"})
    judging.judge(database, tmp_path, run_request=run_request)
    judging.judge(database, tmp_path, judging.ELM, "elm", team_name="Other")
    build.drain(database)
    return client


def test_no_dialect_of_trec_eval_is_named(olga: FlaskClient, settings: Settings) -> None:
    """Agreement of boards is no measure of trec_eval: no page, file or command says so."""
    site = {"LEADERBOARD_DATABASE_URL": settings.url, "LEADERBOARD_DATA": str(settings.data)}
    shown = CliRunner().invoke(main, ["board", "judged"], env=site)
    assert shown.exit_code == 0, shown.output
    assert "oak" in shown.output
    said = [shown.output]
    files = ("/tasks/judged.md", "/tasks/judged.tex", "/tasks/judged/judges.md")
    for address in ("/tasks/judged", *HEADS, *files):
        answer = olga.get(address)
        assert answer.status_code == 200, address
        said.append(answer.text)
    assert [text for text in said if "trec_eval" in text] == []


def test_the_board_says_what_its_numbers_may_claim(olga: FlaskClient) -> None:
    """Judges by τ_b of the boards, with what holds at least, the ceiling, and what is circular."""
    board = olga.get("/tasks/judged/judges.json").json
    assert board is not None
    by_name = {judge["judge"]: judge for judge in board["judges"]}
    assert set(by_name) == {"oak", "elm"}
    for judge in by_name.values():
        assert judge["at_least"] <= judge["tau_b"]
        assert judge["rank"] in (1, 2)
    assert board["ceiling"] is not None
    assert by_name["oak"]["tau_b_without"] is not None
    assert by_name["elm"]["tau_b_without"] is None
    page = olga.get("/tasks/judged/judges").get_data(as_text=True)
    assert "oak: The judge shares a model family with run A." in " ".join(page.split()).replace("  ", " ")
    assert "describes these topics and runs" in page


@pytest.mark.parametrize("by", ["tau_ap_b", "rho", "rbo", "accuracy", "topics"])
def test_judges_are_ranked_by_what_is_asked_for(olga: FlaskClient, by: str) -> None:
    """The best by it is first; something else is refused."""
    board = olga.get(f"/tasks/judged/judges.json?by={by}").json
    assert board is not None
    key = "by_topic" if by == "topics" else by
    values = [judge[key] for judge in board["judges"]]
    assert values == sorted(values, reverse=True)
    assert olga.get("/tasks/judged/judges?by=r").status_code == 422


def test_a_judge_is_looked_into(olga: FlaskClient) -> None:
    """Runs sum to no over-rating, topics lead to both orders, teams are told apart."""
    judge = olga.get("/tasks/judged/judges/1.json").json
    assert judge is not None
    assert sum(run["over_rated"] for run in judge["runs"]) == pytest.approx(0)
    assert [topic["topic"] for topic in judge["topics"]] == ["1", "2", "3"]
    assert {group["group"] for group in judge["groups"]} == {"Owls", "Foxes", "the judge's family", "others"}
    topic = olga.get("/tasks/judged/judges/1/topics/2.json").json
    assert topic is not None
    assert topic["agreement"] == judge["topics"][1]["agreement"]
    values = {run["run"]: (run["reference"], run["judged"]) for run in topic["runs"]}
    assert values["C"] == (judging.REFERENCE["C"][1], judging.OAK["C"][1])
    assert olga.get("/tasks/judged/judges/1/topics/77").status_code == 404
    assert olga.get("/tasks/judged/judges/99").status_code == 404


@pytest.mark.trial
@pytest.mark.parametrize("address", HEADS)
def test_pages_of_judges_are_well_formed_and_lead_somewhere(olga: FlaskClient, address: str) -> None:
    """Nothing is broken, on the page or behind its links."""
    page = tree(olga.get(address).get_data(as_text=True))
    assert list(faults(page)) == []
    for link in {str(href).partition("#")[0] for href in page.xpath("//main//a/@href")}:
        assert olga.get(urljoin(address, link), follow_redirects=True).status_code == 200, link


@pytest.mark.parametrize("address", HEADS)
def test_nothing_is_shown_before_the_close(
    olga: FlaskClient, app: Flask, database: Database, address: str
) -> None:
    """Others see what the reference says once the task is closed, and not before."""
    assert olga.get(address).status_code == 200
    visitor = browser(app)
    assert visitor.get(address).status_code == 404
    with database.write() as session:
        session.query(Phase).update({"closes_at": now(session) - timedelta(days=1)})
    assert visitor.get(address).status_code == 200


def test_the_form_chooses_a_reference(
    client: FlaskClient, database: Database, sign_in: SignIn, tmp_path: Path
) -> None:
    """A file is looked at, then published; a form without its task or file is refused."""
    account = sign_in(client, "Olga", is_organiser=True)
    judging.task(database, tmp_path, viewer=people.viewer(database, account))
    address = "/tasks/judged/reference/file"
    for form in ("/tasks/judged/reference", address):
        assert client.post(form, data={"note": "x"}).status_code == 422
    board = judging.board_file(tmp_path, judging.REFERENCE)
    with board.open("rb") as sent:
        answer = client.post(address, data={"note": "The reference.", "board": (sent, "board.txt")})
    assert answer.status_code == 303, answer.get_data(as_text=True)
    draft = client.get(answer.location)
    assert draft.status_code == 200
    done = client.post(answer.location, data={"base": "0"})
    assert done.status_code == 303
    assert client.get(done.location).status_code == 200
    again = client.post("/tasks/judged/reference", data={"note": "Again.", "source": "nothing"})
    assert again.status_code == 404
    assert pages.form(again, "/tasks/judged/reference")["source"] == "nothing"


def test_a_task_of_judges_is_made_by_the_form(
    client: FlaskClient, database: Database, sign_in: SignIn, tmp_path: Path
) -> None:
    """It is blind and ranks by the agreement of the boards; an open one is refused."""
    sign_in(client, "Olga", is_organiser=True)
    for visibility, status in (("open", 422), ("", 303)):
        with build.topics_file(tmp_path).open("rb") as topics:
            fields = {"name": "Judges 2026", "kind": "judges", "visibility": visibility}
            answer = client.post("/tasks/new", data={**fields, "topics": (topics, "topics.tsv")})
        assert answer.status_code == status
    assert client.get(answer.location).status_code == 200
    with database.read() as session:
        task = session.query(Task).one()
        assert (task.kind, task.visibility, task.primary_measure) == ("judges", "blind", "BoardTau")


@pytest.mark.trial
def test_a_task_of_judges_is_made_by_a_command(tmp_path: Path) -> None:
    """As by the form, on a site of its own."""
    topics, data = build.topics_file(tmp_path), tmp_path / "site"
    given = ("task", "create", "j", "--name", "J", "--topics", str(topics), "--kind", "judges")
    made = CliRunner().invoke(main, [*given, "--data", str(data)])
    assert made.exit_code == 0, made.output
    database = Database(f"sqlite:///{data}/leaderboard.sqlite3")
    with database.read() as session:
        assert [(task.kind, task.visibility) for task in session.query(Task)] == [("judges", "blind")]
    database.dispose()


def test_what_takes_long_is_computed_by_an_evaluator(
    client: FlaskClient, database: Database, sign_in: SignIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queued once all judges are scored; the page says how far it is, and then has the same numbers."""
    account = sign_in(client, "Olga", is_organiser=True)
    judging.task(database, tmp_path, viewer=people.viewer(database, account), visibility="blind")
    judging.refer(database, tmp_path)
    judging.judge(database, tmp_path)
    judging.judge(database, tmp_path, judging.ELM, "elm", team_name="Other")
    build.drain(database)
    at_once = {judge["judge"]: judge["at_least"] for judge in _judges(client)}
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    judging.judge(database, tmp_path, judging.REFERENCE, "ash", team_name="Third")
    evaluator = Evaluator(database, Settings())
    while evaluator.work(Job.kind == queue.EVALUATE):
        pass
    assert {judge["at_least"] for judge in _judges(client)} == {None}
    page = client.get("/tasks/judged/judges").get_data(as_text=True)
    assert "“At least” is computed by the evaluator: waiting in the queue." in page
    build.drain(database)
    monkeypatch.setattr(agreements, "judge_agreement", _light_alone(agreements.judge_agreement))
    found = {judge["judge"]: judge["at_least"] for judge in _judges(client)}
    assert {name: found[name] for name in at_once} == at_once
    assert found["ash"] == 1.0
    assert "is computed by the evaluator" not in client.get("/tasks/judged/judges").get_data(as_text=True)


def _judges(client: FlaskClient) -> list[dict[str, Any]]:
    answer = client.get("/tasks/judged/judges.json").json
    assert answer is not None
    return list(answer["judges"])


def _light_alone(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let nothing be computed while a page waits but what the board needs of a judge."""

    def computed(*arguments: Any, only_ranked: bool = False) -> Any:
        assert only_ranked, "a page computes what an evaluator should"
        return compute(*arguments, only_ranked=True)

    return computed
