"""A judge's labels beside the judgments: what the pages say, and to whom."""

import json
from datetime import timedelta
from pathlib import Path
from urllib.parse import urljoin

import numpy as np
import pytest
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, Task
from leaderboard.stats.judges import label_agreement
from tests.judges import make as judging
from tests.make import build, people
from tests.web.conftest import SignIn, browser
from tests.web.test_crawl import faults, tree

TEXT = judging.CONFIDENT + "2 Q0 x 1 0.2 oak\n1 Q0 y 0 0.6 oak\n"
"""People judged a 2, b 0 on topic 1, a 0, d 1 on topic 2, e 3, f 1 on topic 3."""


@pytest.fixture
def run_id(client: FlaskClient, database: Database, sign_in: SignIn, tmp_path: Path) -> int:
    """The judge of a task whose organiser is signed in; its reference is a public board of rankings."""
    account = sign_in(client, "Olga", is_organiser=True)
    viewer = people.viewer(database, account)
    judging.ranked(database, tmp_path)
    judging.task(database, tmp_path, viewer=viewer)
    judging.refer_to(database)
    made = judging.label(database, tmp_path, TEXT)
    judging.judge(database, tmp_path, {run: (0.1, 0.2, 0.3) for run in "ABCD"}, "plain", team_name="Other")
    build.drain(database)
    assert made.run_id is not None, made.report
    return made.run_id


def close(database: Database) -> None:
    """End the task of judges."""
    with database.write() as session:
        of_task = Phase.task_id == session.query(Task.id).filter(Task.slug == "judged").scalar()
        session.query(Phase).filter(of_task).update({"closes_at": now(session) - timedelta(days=1)})


def test_what_is_said_is_what_the_statistics_say(client: FlaskClient, run_id: int) -> None:
    """Over the documents that both judged: a 2 2, b 0 1, d 1 1, e 3 0."""
    found = client.get(f"/tasks/judged/judges/{run_id}/labels.json").json
    assert found is not None
    expected = label_agreement(np.array([2, 0, 1, 3]), np.array([2, 1, 1, 0]), same_scale=False)
    overall = found["overall"]
    assert (overall["documents"], overall["kappa"]) == (4, pytest.approx(expected.kappa))
    assert overall["confusion"] == {
        "grades": [0, 1, 2, 3],
        "counts": [[0, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]],
    }
    assert (found["over"], found["same_scale"], found["labels"], found["with_confidence"]) == (
        "both",
        False,
        6,
        6,
    )
    assert overall["linear"] is None
    assert found["differences"][0] == {"topic": "3", "docno": "e", "grade": 3, "label": 0, "confidence": 0.7}
    assert [row["topic"] for row in found["topics"]] == ["1", "2", "3"]


def test_documents_of_either_are_another_number(client: FlaskClient, run_id: int) -> None:
    """A missing grade is 0, as autojudge-evaluate has it; the page says which of the two it shows."""
    address = f"/tasks/judged/judges/{run_id}/labels"
    found = client.get(f"{address}.json?documents=either").json
    assert found is not None
    assert (found["over"], found["overall"]["documents"]) == ("either", 9)
    assert found["overall"]["mae"] == pytest.approx((1 + 1 + 1 + 3 + 1) / 9)
    page = client.get(f"{address}?documents=either").get_data(as_text=True)
    assert '<strong aria-current="true">judged by either, missing grades as 0</strong>' in page
    assert client.get(f"{address}?documents=all").status_code == 422


def test_levels_and_scales_are_the_readers_choice(client: FlaskClient, run_id: int) -> None:
    """A scale makes distances defined; one that leaves out a label is refused."""
    address = f"/tasks/judged/judges/{run_id}/labels.json"
    found = client.get(f"{address}?level=2:1&scale=0=0,1=1,2=3").json
    assert found is not None
    assert [(level["truth"], level["judge"]) for level in found["overall"]["levels"]] == [(2, 1)]
    assert found["overall"]["mae"] == pytest.approx((1 + 1 + 3) / 4)
    for refused in ("scale=0=0", "scale=nonsense", "level=x"):
        assert client.get(f"{address}?{refused}").status_code == 422


def test_a_topic_has_all_its_documents(client: FlaskClient, run_id: int) -> None:
    """Those that differ most first, with confidence; of either, what one side lacks is empty."""
    found = client.get(f"/tasks/judged/judges/{run_id}/labels/1.json").json
    assert found is not None
    assert [(row["docno"], row["grade"], row["label"], row["confidence"]) for row in found["documents"]] == [
        ("b", 0, 1, 0.4),
        ("a", 2, 2, 0.9),
    ]
    either = client.get(f"/tasks/judged/judges/{run_id}/labels/1.json?documents=either").json
    assert either is not None
    lacking = {row["docno"]: (row["grade"], row["label"]) for row in either["documents"]}
    assert (lacking["c"], lacking["y"]) == ((1, None), (None, 0))
    assert client.get(f"/tasks/judged/judges/{run_id}/labels/77").status_code == 404
    assert client.get(f"/tasks/judged/judges/{run_id + 1}/labels").status_code == 404


@pytest.mark.trial
@pytest.mark.parametrize("rest", ["", "/labels", "/labels?documents=either", "/labels/1", "/labels/3?all="])
def test_pages_are_well_formed_and_lead_somewhere(client: FlaskClient, run_id: int, rest: str) -> None:
    """Nothing is broken, on the page or behind its links, those to documents among them."""
    address = f"/tasks/judged/judges/{run_id}{rest}"
    page = tree(client.get(address).get_data(as_text=True))
    assert list(faults(page)) == []
    links = {str(href).partition("#")[0] for href in page.xpath("//main//a/@href")}
    assert not rest or any("/tasks/t/documents" in link for link in links)
    for link in links:
        assert client.get(urljoin(address, link), follow_redirects=True).status_code == 200, link


@pytest.mark.parametrize("rest", ["/labels", "/labels.json", "/labels/1", "/labels/1.csv"])
def test_labels_are_shown_after_the_close_to_who_sees_the_judgments(
    app: Flask, client: FlaskClient, database: Database, run_id: int, rest: str
) -> None:
    """The task of judges has to be over, and the task that the judgments are of has to show them."""
    visitor, address = browser(app), f"/tasks/judged/judges/{run_id}{rest}"
    assert client.get(address).status_code == 200
    assert visitor.get(address).status_code == 404
    close(database)
    assert visitor.get(address).status_code == 200
    with database.write() as session:
        session.query(Task).filter(Task.slug == "t").update({"visibility": "blind"})
    assert visitor.get(address).status_code == 404
    judge = visitor.get(f"/tasks/judged/judges/{run_id}")
    assert judge.status_code == 200
    assert "/labels" not in judge.get_data(as_text=True)
    with database.write() as session:
        session.query(Task).filter(Task.slug == "t").update({"visibility": "open", "published_at": None})
    assert visitor.get(address).status_code == 404


def test_labels_of_answers_are_held_against_those_of_people(
    client: FlaskClient, database: Database, sign_in: SignIn, tmp_path: Path
) -> None:
    """Nuggets by the answer that holds them, linked to it; a failed label counts for neither side."""
    account = sign_in(client, "Olga", is_organiser=True)
    judging.answered_task(database, tmp_path)
    judging.task(database, tmp_path, topics=("1", "2"), viewer=people.viewer(database, account))
    judging.refer_to(database, "said", measure="NuggetRecall(set=all)")
    kinder = {**judging.HELD, "C": ("support", "failed", "not_support")}
    text = "".join(f"{json.dumps(line)}\n" for line in judging.held_nuggets(kinder))
    made = judging.label(database, tmp_path, text)
    build.drain(database)
    address = f"/tasks/judged/judges/{made.run_id}/labels"
    found = client.get(f"{address}.json").json
    assert found is not None
    assert (found["labelled"], found["overall"]["documents"]) == ("nugget", 16)
    assert found["differences"] == [
        {"topic": topic, "nugget": "C · v1", "grade": 1, "label": 2, "confidence": None} for topic in "12"
    ]
    page = tree(client.get(address).get_data(as_text=True))
    assert list(faults(page)) == []
    links = [str(href) for href in page.xpath("//main//a/@href") if "/answers/" in str(href)]
    assert links
    for link in links:
        assert client.get(link).status_code == 200, link
