"""Real and sample files of several tracks on a site, by form and by client, where they are at hand."""

import gzip
import json
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from leaderboard_submit import Client

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import drafts, roles
from leaderboard.tasks.ops import settings as tasks_settings
from leaderboard.tasks.ops.drafts import TaskDraft
from tests.make import answers, build, pages, people
from tests.make.servers import HOST, served
from tests.trec.answers.test_samples import there
from tests.web.api.conftest import Programs, program
from tests.web.conftest import SignIn, Site

__all__ = ["program"]
RAGTIME = tuple(f"ragtime26-runs/T1_run_{number}.jsonl.gz" for number in (1, 2, 3))
BANK = "ragtime26-runs/T3_run_1.jsonl.gz"


def _task(database: Database, topics: Path, slug: str, **settings: str) -> None:
    draft = TaskDraft(slug=slug, name=slug, topics=topics, kind="answers")
    with database.write() as session:
        drafts.create(session, OPERATOR, drafts.prepare(draft))
        drafts.publish(session, OPERATOR, slug)
        tasks_settings.change_settings(session, OPERATOR, slug, settings)


def _ragtime_topics(folder: Path, bank: Path) -> Path:
    """Topics with the ids of the nugget bank: the track's own texts are not among the files."""
    with gzip.open(bank, "rt") as lines:
        ids = [json.loads(line)["metadata"]["topic_id"] for line in lines]
    rows = [
        {"request_id": topic, "title": topic, "limit": 10_000 if topic == ids[0] else None} for topic in ids
    ]
    return answers.jsonl(folder / "topics.jsonl", rows)


def _send(client: FlaskClient, slug: str, path: Path, team: int) -> None:
    with path.open("rb") as file:
        sent = client.post(f"/tasks/{slug}/submit", data={"file": (file, path.name), "team": team})
    assert sent.status_code == 303, pages.main(sent)
    page = client.get(sent.headers["Location"])
    assert pages.parsed(page).find("a", href=lambda href: bool(href) and href.startswith("/runs/")), page.text


@pytest.mark.trial
def test_runs_and_nuggets_of_ragtime_by_the_form(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path, shared_data: Path
) -> None:
    """Three runs of 103 topics and a nugget bank, which come back as they were sent."""
    *runs, bank = there(shared_data, *RAGTIME, BANK)
    team = people.team(database, "Owls", sign_in(client, "Ann", is_organiser=True))
    _task(database, _ragtime_topics(tmp_path, bank), "ragtime", answer_limit="5000", answer_over="refuse")
    with database.write() as session:
        roles.give(session, OPERATOR, "ragtime", "Ann", "organiser")
    for path in runs:
        _send(client, "ragtime", path, team)
    build.drain(database)
    numbers = [1, 2, 3]
    facts = [client.get(f"/runs/{number}/answers/2000.json").get_json() for number in numbers]
    assert all(fact["is_answered"] and fact["length"] <= 5000 for fact in facts)
    assert [client.get(f"/runs/{number}/file").data for number in numbers] == [
        path.read_bytes() for path in runs
    ]
    with bank.open("rb") as file:
        fields = pages.form(client.get("/tasks/ragtime/revisions"), "/tasks/ragtime/revisions")
        made_by = {"by-nuggets": "machine", "name-nuggets": "BiTeM", "note": "The bank."}
        sent = client.post(
            "/tasks/ragtime/revisions", data={**fields, **made_by, "nuggets": (file, bank.name)}
        )
    preview = sent.headers["Location"]
    assert "Nuggets by BiTeM" in pages.main(client.get(preview))
    assert client.post(preview, data=pages.form(client.get(preview), preview)).status_code == 303
    build.drain(database)
    bank_again = client.get("/tasks/ragtime/revisions/1/nuggets.txt").text.splitlines()
    with gzip.open(bank, "rt") as lines:
        before = {one["metadata"]["topic_id"]: one["nugget_bank"] for one in map(json.loads, lines)}
    after = {one["query_id"]: one["nugget_bank"] for one in map(json.loads, bank_again)}
    assert before == after


def test_runs_of_kiddie_and_the_nuggetizer_by_the_form(
    database: Database, client: FlaskClient, sign_in: SignIn, tmp_path: Path, shared_data: Path
) -> None:
    """Topics with their own keys, four runs without references; an answer of rag24."""
    topics, sample, *runs = there(
        shared_data,
        "autojudge-kiddie/topics.jsonl",
        "nuggetizer-readme/answer.rag24.jsonl",
        *(f"autojudge-kiddie/runs/run{number}.jsonl" for number in range(1, 5)),
    )
    team = people.team(database, "Owls", sign_in(client, "Ann"))
    _task(database, topics, "kiddie")
    for path in runs:
        _send(client, "kiddie", path, team)
    build.drain(database)
    assert "chlorophyll" in client.get("/runs/1/answers/leaf").text
    one = json.loads(sample.read_text())
    _task(
        database,
        answers.jsonl(tmp_path / "t.jsonl", [{"id": one["topic_id"], "title": one["topic"]}]),
        "nuggetizer",
        answer_dialects="rag24",
    )
    _send(client, "nuggetizer", sample, team)
    assert client.get(f"/runs/5/answers/{one['topic_id']}.json").get_json()["length"] == 192


def test_a_run_of_ragtime_by_the_client(
    site: Site, program: Programs, tmp_path: Path, shared_data: Path
) -> None:
    """Checked, sent and read by its own package, with the topic's own limit."""
    run, bank = there(shared_data, RAGTIME[0], BANK)
    _task(site.database, _ragtime_topics(tmp_path, bank), "ragtime", answer_limit="5000")
    with served(site.app, site.settings) as running:
        asking = Client(
            f"http://{HOST}:{running.port}",
            program("Berta").secret,
            sleep=lambda _: build.drain(site.database),
        )
        assert asking.check("ragtime", run).accepted
        made = asking.submit("ragtime", run, wait=False)
        answer = asking.answer(made.run_id, "2000")
    assert (made.name, answer["limit"], answer["is_answered"]) == ("T1_run_1", 10_000, True)
