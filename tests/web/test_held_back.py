"""Blind and sealed tasks over HTTP: what a reader asks for in every form, and what is left out of it."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select, update

from leaderboard.boards.ops.rows import PLACE_FACTS
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Phase, Run
from tests.make import build, people
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table
from tests.web.conftest import SignIn

TOPICS = tuple(str(number) for number in range(1, 11))
FILLERS = tuple(f"d{number:02}" for number in range(12))
SUFFIXES = ("", ".json", ".csv")


@dataclass(frozen=True)
class Held:
    """The runs of a task whose scores are held back: Ann's and Bob's."""

    own: int
    other: int


@built_once
def _fill(database: Database, folder: Path, visibility: str) -> Held:
    for name in ("Ann", "Bob"):
        people.team(database, f"Team {name}", people.account(database, name))
    build.task(
        database,
        folder,
        topics=TOPICS,
        judgments={topic: {"rel": 1, "d00": 0} for topic in TOPICS},
        measures=("RR", "Judged@10"),
        visibility=visibility,
    )
    ids = []
    for name, rank in (("Ann", 3), ("Bob", 7)):
        placed = [*FILLERS[: rank - 1], "rel", *FILLERS[rank - 1 :]]
        ids.append(
            build.run(database, folder, dict.fromkeys(TOPICS, placed), f"of-{name}", team_name=f"Team {name}")
        )
    build.drain(database)
    return Held(*ids)


@pytest.fixture
@built_once
def blind(database: Database, tmp_path: Path) -> Held:
    """A blind task."""
    return _fill(database, tmp_path, "blind")


@pytest.fixture
@built_once
def sealed(database: Database, tmp_path: Path) -> Held:
    """A sealed task."""
    return _fill(database, tmp_path, "sealed")


def _csv(client: FlaskClient, path: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(client.get(path).get_data(as_text=True))))


def _close(database: Database) -> None:
    with database.write() as session:
        made = session.scalars(select(Account.created_at).limit(1)).one()
        session.execute(update(Phase).values(closes_at=made))


@pytest.mark.usefixtures("blind")
def test_a_blind_board_has_three_decimals_in_every_form(client: FlaskClient) -> None:
    """Page, JSON and CSV show the same rounded means over the public topics, and say why."""
    page = client.get("/tasks/t")
    assert [row[2:] for row in table(page, "Ranked by mean RR")] == [["0.333"], ["0.143"]]
    assert "blind until it closes" in main(page)
    found = client.get("/tasks/t.json").get_json()
    assert [row["scores"] for row in found["rows"]] == [{"RR": 0.333}, {"RR": 0.143}]
    assert (found["topics"], found["measures"], found["revision_sha256"]) == (5, ["RR"], None)
    header, *rows = _csv(client, "/tasks/t.csv")
    assert header[5 : 8 + len(PLACE_FACTS)] == ["RR", "state", "moved", *PLACE_FACTS]
    assert [row[5:7] for row in rows] == [["0.333", "done"], ["0.143", "done"]]
    assert {cell for row in rows for cell in row[7:]} == {""}
    assert {row[name] for row in found["rows"] for name in PLACE_FACTS} == {None}


@pytest.mark.usefixtures("blind")
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_hidden_column_cannot_be_asked_for(client: FlaskClient, suffix: str) -> None:
    """Sorting by Judged@10 is refused with the sentence any unknown column gets."""
    refused = client.get(f"/tasks/t{suffix}?measure=Judged@10")
    assert refused.status_code == 422
    assert "Judged@10 is not on this board; its measures are RR." in refused.get_data(as_text=True)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_others_rankings_are_not_there_while_a_task_is_blind(
    client: FlaskClient, sign_in: SignIn, blind: Held, suffix: str
) -> None:
    """A visitor finds no ranking at all, a member only the own team's."""
    assert client.get(f"/runs/{blind.own}/topics/1{suffix}").status_code == 404
    sign_in(client, "Ann")
    assert client.get(f"/runs/{blind.own}/topics/1{suffix}").status_code == 200
    assert client.get(f"/runs/{blind.other}/topics/1{suffix}").status_code == 404


def test_an_own_blind_ranking_has_no_grades(client: FlaskClient, sign_in: SignIn, blind: Held) -> None:
    """The own documents stand in order, without a column of grades and without what was missed."""
    sign_in(client, "Ann")
    path = f"/runs/{blind.own}/topics/1"
    page = parsed(client.get(path))
    (shown,) = page.find_all("table")
    assert [cell.get_text() for cell in shown.find_all("th", scope="col")] == ["Rank", "Document", "Score"]
    assert page.find(class_="grade") is None
    found = client.get(f"{path}.json").get_json()
    assert {row["grade"] for row in found["documents"]} == {None}
    assert (found["missed"], found.get("scores")) == ([], {})
    assert {row[3] for row in _csv(client, f"{path}.csv")[1:]} == {""}


def test_a_blind_run_and_its_topics_show_no_score_by_topic(
    client: FlaskClient, sign_in: SignIn, blind: Held
) -> None:
    """Its own team gets the mean too, among the board's, and nothing more: no score by topic, no judgment."""
    sign_in(client, "Ann")
    page = parsed(client.get(f"/runs/{blind.own}"))
    (strip,) = page.find_all("svg")
    assert (
        strip["aria-label"]
        == "RR: median 0.238, middle half 0.191 to 0.286, all 0.143 to 0.333, this run 0.333"
    )
    captions = [" ".join(each.get_text().split()) for each in page.find_all("caption")]
    assert len(captions) == 1
    assert captions[0].startswith("Means over topics; ranks among the official runs")
    assert page.select_one("p.status").get_text(strip=True) == "Qrels revision 1 · 5 topics · trec_eval 10"  # type: ignore[union-attr]
    for section in ("explained", "topics", "curves", "ties", "measures"):
        assert client.get(f"/runs/{blind.own}/{section}").status_code == 404
        assert page.find("a", href=f"/runs/{blind.own}/{section}") is None
    assert client.get(f"/runs/{blind.own}.json").get_json()["per_topic"] == {}
    assert _csv(client, f"/runs/{blind.own}.csv") == [["topic", "RR"], ["all", "0.333"]]
    topic = client.get("/tasks/t/topics/1.json").get_json()
    assert (topic["judgments"], topic["rows"]) == ({}, [])
    assert parsed(client.get("/tasks/t/topics/1")).find("table") is None
    listed = client.get("/tasks/t/topics.json").get_json()["topics"]
    assert {(row["judged"], row["relevant"], row["median"], row["best"]) for row in listed} == {(None,) * 4}


@pytest.mark.dialect
def test_the_close_opens_every_form_of_a_blind_task(
    database: Database, client: FlaskClient, blind: Held
) -> None:
    """Afterwards a visitor gets all topics, doubles, grades and the held-back column."""
    _close(database)
    found = client.get("/tasks/t.json").get_json()
    assert (found["topics"], found["measures"]) == (10, ["RR", "Judged@10"])
    assert found["rows"][0]["scores"]["RR"] == pytest.approx(1 / 3, abs=1e-15)
    assert len(client.get(f"/runs/{blind.other}.json").get_json()["per_topic"]) == 10
    ranked = client.get(f"/runs/{blind.other}/topics/1.json").get_json()["documents"]
    assert [row["grade"] for row in ranked[:7]] == [0, *[None] * 5, 1]
    assert "blind" not in main(client.get("/tasks/t"))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_sealed_run_of_others_is_not_there(
    client: FlaskClient, sign_in: SignIn, sealed: Held, suffix: str
) -> None:
    """Visitors and other teams get 404 for the run and its rankings, as for a run that never was."""
    for name in (None, "Ann"):
        if name:
            sign_in(client, name)
        for path in (f"/runs/{sealed.other}", f"/runs/{sealed.other}/topics/1", "/runs/999"):
            assert client.get(f"{path}{suffix}").status_code == 404, (name, path)


def _numbers(found: Any) -> list[float]:
    """Every number with decimals anywhere in JSON."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list):
        return [number for each in found for number in _numbers(each)]
    return [found] if isinstance(found, float) else []


def test_a_sealed_run_is_valid_and_nothing_else(client: FlaskClient, sign_in: SignIn, sealed: Held) -> None:
    """Its team reads `valid` on the board and on its page, and no score in any form."""
    assert table_rows(client) == []
    sign_in(client, "Ann")
    (row,) = table_rows(client)
    assert (row["rank"], row["run"], row["state"], row["scores"]) == (None, "of-Ann", "valid", {"RR": None})
    cells = ["", "of-Ann", str(sealed.own), "Team Ann", "official", "", "valid"]
    assert _csv(client, "/tasks/t.csv")[1][:7] == cells
    assert "By team Team Ann : valid." in main(client.get(f"/runs/{sealed.own}"))
    assert _csv(client, f"/runs/{sealed.own}.csv") == [["topic"], ["all"]]
    for path in ("/tasks/t.json", f"/runs/{sealed.own}.json", "/tasks/t/topics.json"):
        assert _numbers(client.get(path).get_json()) == [], path


def table_rows(client: FlaskClient) -> list[dict[str, Any]]:
    """The board's rows as JSON."""
    rows: list[dict[str, Any]] = client.get("/tasks/t.json").get_json()["rows"]
    return rows


@pytest.mark.usefixtures("sealed")
def test_a_sealed_board_does_not_say_that_judgments_are_missing(client: FlaskClient, sign_in: SignIn) -> None:
    """Whether there are judgments is held back; the page says until when, and has no editions."""
    sign_in(client, "Ann")
    page = client.get("/tasks/t")
    assert "sealed: no scores are shown until it closes" in main(page)
    assert "none yet" not in main(page)
    assert client.get("/tasks/t?edition=1").status_code == 404


def test_the_close_opens_a_sealed_task(database: Database, client: FlaskClient, sealed: Held) -> None:
    """Afterwards the board ranks all runs and anybody opens them."""
    _close(database)
    assert [(row["rank"], row["run"]) for row in table_rows(client)] == [(1, "of-Ann"), (2, "of-Bob")]
    assert client.get(f"/runs/{sealed.other}/topics/1.csv").status_code == 200


def test_a_blind_run_of_others_says_what_it_is_and_hides_its_file(
    database: Database, client: FlaskClient, sign_in: SignIn, blind: Held
) -> None:
    """Name, team and counts are shown; digests, tag, header and warnings belong to the team."""
    with database.write() as session:
        session.execute(update(Run).where(Run.id == blind.other).values(details={"secret": "recipe"}))
    sign_in(client, "Ann")
    text = main(client.get(f"/runs/{blind.other}")) + main(client.get(f"/runs/{blind.other}/origin"))
    assert "Team Bob" in text
    for secret in ("SHA-256", "Tag in the file", "recipe", "Upload report", "Withdraw"):
        assert secret not in text
    assert client.get(f"/runs/{blind.other}.json").get_json()["file_sha256"] is None
    assert "SHA-256 of the rankings" in main(client.get(f"/runs/{blind.own}/origin"))
