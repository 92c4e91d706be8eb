"""The page of intervals: what each run's row shows, and how what takes long is asked for."""

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from flask import Flask, render_template_string
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.boards.ops import board
from leaderboard.boards.page import intervals
from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.boards.page.test_reliability import RANKS, TOPICS, fill
from tests.make import build
from tests.make.pages import main, parsed, table
from tests.web.conftest import SignIn

ADDRESS = "/tasks/t/intervals"
SUFFIXES = ("", ".json", ".csv")


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every procedure counts as one a page should not compute."""
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)


def test_every_run_has_its_intervals_in_every_form(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The page's row is the JSON's rounded, the CSV's are the JSON's doubles."""
    fill(database, tmp_path)
    page = client.get(ADDRESS)
    found = client.get(f"{ADDRESS}.json").get_json()
    expected = [
        [
            *(str(row["rank"]), row["run"], f"{row['value']:.4f}"),
            f"{row['mean_low']:.4f} to {row['mean_high']:.4f}",
            f"{row['rank_low']}–{row['rank_high']}",
            f"{row['marginal_low']}–{row['marginal_high']}",
            f"{row['all_low']}–{row['all_high']}",
            f"{row['first']:.1%}",
            f"{row['resampled_low']}–{row['resampled_high']}",
        ]
        for row in found["rows"]
    ]
    assert table(page, "Ranked by mean RR") == expected
    assert len(parsed(page).select("#means g.item")) == 3
    assert "Overlap does not mean equal" in main(page)
    lines = csv.DictReader(io.StringIO(client.get(f"{ADDRESS}.csv").get_data(as_text=True)))
    for line, row in zip(lines, found["rows"], strict=True):
        assert {name: float(line[name]) for name in row if name in line and name not in ("run", "team")} == {
            name: row[name] for name in row if name not in ("run", "team")
        }


@pytest.mark.parametrize("measure", ["SearchLength", "NumRelRet", "GMAP"])
def test_other_measures_can_be_chosen(
    database: Database, client: FlaskClient, tmp_path: Path, measure: str
) -> None:
    """One of which lower is better, a sum, and one that is not a mean and says so."""
    fill(database, tmp_path)
    page = client.get(f"{ADDRESS}?measure={measure}")
    found = client.get(f"{ADDRESS}.json?measure={measure}").get_json()
    assert found["measure"] == measure
    assert ("Lower is better." in main(page)) == (measure == "SearchLength")
    assert ("is not a mean over topics" in main(page)) == (measure == "GMAP")
    chosen = parsed(page).select_one("select#measure option[selected]")
    assert chosen is not None
    assert chosen["value"] == measure


@pytest.mark.trial
@pytest.mark.parametrize(
    ("ranks", "topics"),
    [
        ({}, TOPICS),
        ({"weak": RANKS["weak"]}, TOPICS),
        (RANKS, TOPICS[:1]),
        ({"one": (1,) * 8, "other": (1,) * 8}, TOPICS),
        ({"one": (1,) * 8, "other": (2,) * 8}, TOPICS),
    ],
    ids=["no run", "one run", "one topic", "equal constant runs", "constant difference"],
)
def test_the_smallest_boards_show_no_number_that_is_none(
    database: Database,
    client: FlaskClient,
    tmp_path: Path,
    ranks: Mapping[str, Sequence[int | None]],
    topics: Sequence[str],
) -> None:
    """Dashes, empty cells and nulls instead."""
    fill(database, tmp_path, ranks, topics)
    for suffix in SUFFIXES:
        response = client.get(f"{ADDRESS}{suffix}")
        assert response.status_code == 200
        words = response.get_data(as_text=True).replace(",", " ").replace(">", " ").replace(":", " ")
        assert not {"nan", "NaN", "None", "inf", "-inf", "∞", "Infinity"} & set(words.split())


@pytest.mark.usefixtures("slow")
def test_what_takes_long_is_asked_for_once(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """A visitor is told to sign in; an account asks, the page waits and then has it."""
    fill(database, tmp_path)
    assert "Sign in to compute them" in main(client.get(ADDRESS))
    assert client.post(ADDRESS, headers={"Accept": "application/json"}).status_code == 401
    sign_in(client, "Ann")
    assert "The rank intervals: computing takes about a second." in main(client.get(ADDRESS))
    for _ in range(2):
        answer = client.post(f"{ADDRESS}?measure=RR")
        assert (answer.status_code, answer.headers["Location"]) == (303, f"{ADDRESS}?measure=RR")
    waiting = parsed(client.get(f"{ADDRESS}?measure=RR")).find(id="waiting")
    assert waiting is not None
    assert waiting["hx-get"] == f"{ADDRESS}?measure=RR"
    assert "queued, waiting for a free evaluator" in waiting.get_text()
    with database.read() as session:
        queued = select(Job).where(Job.kind == queue.COMPARE, Job.state == "queued")
        assert len(session.scalars(queued).all()) == len(client.get(f"{ADDRESS}.json").get_json()["waiting"])
    build.drain(database)
    found = client.get(f"{ADDRESS}.json").get_json()
    assert found["waiting"] == []
    assert found["rows"][0]["first"] is not None
    assert "E ρ²" in main(client.get(ADDRESS))


@pytest.mark.usefixtures("slow")
@pytest.mark.dialect
def test_a_failed_procedure_says_why(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message stands beside the button that asks again."""
    fill(database, tmp_path)
    monkeypatch.setattr("leaderboard.stats.process.MODULE", "leaderboard.stats.nothing")
    sign_in(client, "Ann")
    client.post(ADDRESS)
    with database.write() as session:
        for job in session.scalars(select(Job).where(Job.kind == queue.COMPARE)):
            job.state, job.error = "failed", "It broke."
    page = client.get(ADDRESS)
    assert "The rank intervals: failed. It broke." in main(page)
    assert parsed(page).find("form", method="post", action=ADDRESS) is not None


def test_the_board_can_show_its_reliability(app: Flask, database: Database, tmp_path: Path) -> None:
    """In a closed part of its page: numbers with the measure's digits, in sentences."""
    fill(database, tmp_path)
    text = _on_a_board(app, database)
    with database.read() as session:
        found = intervals.of_board(session, board.board(session, ANONYMOUS, "t"))
    assert isinstance(found, intervals.Reliability)
    assert "Reliability of these topics" in text
    assert f"{found.order:.3f}" in text
    assert f"{found.planned:.4f}" in text
    assert "tested at 2.5% over 3 pairs" in text


def test_the_board_says_where_reliability_is_asked_for(
    app: Flask, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where it takes a job that nobody asked for yet, a link leads to the page of intervals."""
    fill(database, tmp_path)
    monkeypatch.setattr(requests, "AT_ONCE_S", 0.0)
    assert 'href="/tasks/t/intervals?measure=RR"' in _on_a_board(app, database)


def _on_a_board(app: Flask, database: Database) -> str:
    with database.read() as session, app.test_request_context():
        found = intervals.of_board(session, board.board(session, ANONYMOUS, "t"))
        html = render_template_string(
            "{% from 'boards/reliability.html' import reliability %}"
            "{{ reliability(found, 't', {'measure': 'RR'}) }}",
            found=found,
        )
    return " ".join(html.split())


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_intervals_are_held_back(
    database: Database, client: FlaskClient, tmp_path: Path, visibility: str
) -> None:
    """A blind or sealed task has no such page for its readers, in any form."""
    fill(database, tmp_path, visibility=visibility)
    for suffix in SUFFIXES:
        refused = client.get(f"{ADDRESS}{suffix}")
        assert refused.status_code == 404
        assert "shown when it closes" in refused.get_data(as_text=True)
