"""The page of curves: what is drawn by itself and on request, its numbers, and what it says otherwise."""

import csv
import io
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops import collections
from leaderboard.settings import Settings
from tests.make import build
from tests.make.apps import application
from tests.make.pages import main, parsed, table
from tests.web.conftest import browser

ADDRESS = "/tasks/t/curves"
SUFFIXES = ("", ".json", ".csv", ".tex")
KINDS = ("rp", "precision", "gain", "roc")
JUDGMENTS = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"a": 0, "d": 1}, "3": {"e": 3, "f": 1}}
RUNS = {
    "first": {"1": ["a", "c", "x"], "2": ["d", "a"], "3": ["e", "f"]},
    "second": {"1": ["b", "a"], "2": ["a", "d"], "3": ["x", "e"]},
    "third": {"1": ["b", "x"], "2": ["y", "a"]},
}


@dataclass(frozen=True)
class Filled:
    """A site with tasks of these runs, and the ids of the runs of task t by name."""

    app: Flask
    ids: dict[str, int]


@pytest.fixture(scope="module")
def filled(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Built once: nothing here writes.

    t has three runs and a baseline, sized the same of a collection of 42 documents, lonely one run that finds
    nothing, many ten equal ones; empty has no run, unjudged no judgments, and two are not open.
    """
    folder = tmp_path_factory.mktemp("curves")
    shutil.copyfile(sqlite_template, folder / "site.sqlite3")
    settings = Settings(data=folder, database_url=f"sqlite:///{folder / 'site.sqlite3'}")
    database = Database(settings.url)
    with database.write() as session:
        collections.add(session, OPERATOR, "Books", size=42)
    options: dict[str, Any] = {"judgments": JUDGMENTS, "measures": ("AP", "RR")}
    for slug in ("t", "lonely", "many", "empty"):
        build.task(database, folder, slug, **options)
    build.task(database, folder, "sized", collection="Books", **options)
    build.task(database, folder, "unjudged", judgments=None)
    for visibility in ("blind", "sealed"):
        build.task(database, folder, visibility, visibility=visibility, **options)
    ids = {}
    for slug in ("t", "sized"):
        found = {name: build.run(database, folder, RUNS[name], name, slug=slug) for name in RUNS}
        path, run_request = (
            build.run_file(folder, RUNS["second"], "base"),
            RunRequest("base", kind="baseline"),
        )
        sent = build.submit(database, path, slug, run_request=run_request).run_id
        assert sent is not None
        ids[slug] = {**found, "base": sent}
    build.run(database, folder, RUNS["third"], "third", slug="lonely")
    for number in range(10):
        build.run(database, folder, RUNS["first"], f"run{number}", slug="many")
    build.drain(database)
    yield Filled(application(settings, database), ids["t"])
    database.dispose()


@pytest.fixture
def client(filled: Filled) -> FlaskClient:
    """A visitor's browser."""
    return browser(filled.app)


@pytest.fixture
def ids(filled: Filled) -> dict[str, int]:
    """The runs of task t by name."""
    return filled.ids


def drawn(response: TestResponse) -> list[str]:
    """The names in the drawing's legend."""
    return [each.get_text() for each in parsed(response).select("#curves .series > title")]


def test_the_leader_the_middle_and_the_best_baseline_are_drawn_first(
    client: FlaskClient, ids: dict[str, int]
) -> None:
    """Each with its AP; the page says who they are, and the form has them ticked."""
    page = client.get(ADDRESS)
    assert drawn(page) == ["1.0000 first", "0.3333 second", "0.3333 base"]
    assert "No runs are selected" in main(page)
    ticked = [str(box["value"]) for box in parsed(page).select("input[name=run][checked]")]
    assert ticked == [str(ids[name]) for name in ("first", "base", "second")]
    assert [row[:3] for row in table(page, "Runs shown, means over 3 topics")] == [
        ["first", "Team", "1.0000"],
        ["second", "Team", "0.3333"],
        ["base baseline", "Team", "0.3333"],
    ]


def test_chosen_runs_are_drawn_in_their_order(client: FlaskClient, ids: dict[str, int]) -> None:
    """Each once, also where the address has it twice, and the other kinds keep the choice."""
    page = client.get(f"{ADDRESS}?run={ids['third']}&run={ids['first']}&run={ids['third']}&run=")
    assert drawn(page) == ["0.0000 third", "1.0000 first"]
    assert "No runs are selected" not in main(page)
    links = [str(link["href"]) for link in parsed(page).select("nav[aria-label=Curves] a")]
    assert f"{ADDRESS}?run={ids['third']}&run={ids['first']}&kind=roc" in links
    current = parsed(page).select_one("nav[aria-label=Curves] [aria-current]")
    assert current is not None
    assert current.get_text() == "Recall and precision"


def test_interpolated_precision_is_worked_by_hand(client: FlaskClient, ids: dict[str, int]) -> None:
    """Second: topic 1 has one of two at rank 2, topic 2 all at rank 2, topic 3 one of two at rank 2.

    So 1/2 everywhere on topic 2, and on the others up to the recall that one document of two stands for:
    trec_eval 10 rounds 2 · recall, from 0.5 on, to 1, and from 0.75 on to 2.
    """
    found = client.get(f"{ADDRESS}.json?run={ids['second']}").get_json()
    assert found["points"] == [round(place / 10, 1) for place in range(11)]
    assert found["runs"][0]["values"] == pytest.approx([0.5] * 8 + [0.5 / 3] * 3)
    assert found["runs"][0]["measures"]["AP"] == pytest.approx((1 / 4 + 1 / 2 + 1 / 4) / 3)


@pytest.mark.parametrize("kind", KINDS)
def test_every_form_has_the_same_numbers(client: FlaskClient, kind: str) -> None:
    """The page's table is the JSON's rounded at some points, the CSV is all of it."""
    state = f"?kind={kind}&depth=20"
    found = client.get(f"{ADDRESS}.json{state}").get_json()
    columns = [run["values"] for run in found["runs"]] + ([found["ideal"]] if found["ideal"] else [])
    lines = list(csv.reader(io.StringIO(client.get(f"{ADDRESS}.csv{state}").get_data(as_text=True))))
    assert lines[0][1:4] == ["first", "second", "base"]
    assert [[float(cell) for cell in line] for line in lines[1:]] == [
        list(row) for row in zip(found["points"], *columns, strict=True)
    ]
    rounded = {tuple(f"{value:.4f}" for value in row) for row in zip(*columns, strict=True)}
    rows = table(client.get(f"{ADDRESS}{state}"), found["upwards"].capitalize())
    assert len(rows) >= 7
    assert {tuple(row[1:]) for row in rows} <= rounded
    text = client.get(f"{ADDRESS}.tex{state}").get_data(as_text=True)
    assert text.count(r"\\") == len(rows) + 1
    assert f"mean over {found['topics']} topics" in text


def test_curves_by_rank_end_where_they_are_asked_to(client: FlaskClient, ids: dict[str, int]) -> None:
    """Precision is out of all ranks; gain has the ideal beside it."""
    state = f"?run={ids['first']}&depth=10"
    precision = client.get(f"{ADDRESS}.json{state}&kind=precision").get_json()
    assert precision["points"] == list(range(1, 11))
    assert precision["runs"][0]["values"][:2] == pytest.approx([1.0, (1 + 1 / 2 + 1) / 3])
    gain = client.get(f"{ADDRESS}.json{state}&kind=gain").get_json()
    assert gain["runs"][0]["values"][:3] == pytest.approx([2, 8 / 3, 8 / 3])
    assert gain["ideal"] == pytest.approx([2.0] + [8 / 3] * 9)
    assert drawn(client.get(f"{ADDRESS}{state}&kind=gain"))[-1] == "ideal"


def test_roc_without_a_collection_size_says_what_its_axis_is(
    client: FlaskClient, ids: dict[str, int]
) -> None:
    """Topic 3 has nothing judged not relevant and so no curve; the registry's measures cannot be had."""
    page = client.get(f"{ADDRESS}?kind=roc")
    assert "the share of documents judged not relevant" in main(page)
    assert "2 of 3 topics have such a curve" in main(page)
    assert drawn(page)[0] == "first"
    found = client.get(f"{ADDRESS}.json?kind=roc&run={ids['second']}").get_json()
    assert found["across"] == "share of the judged non-relevant documents"
    assert found["topics"] == 2
    # The one judged non-relevant document of either topic stands first: recall is 0 up to share 1.
    assert found["runs"][0]["values"][:-1] == [0.0] * 100
    assert found["runs"][0]["values"][-1] == pytest.approx((1 + 1) / 2)
    assert found["runs"][0]["measures"] == {}


def test_roc_of_a_known_collection_has_area_and_error(client: FlaskClient) -> None:
    """The axis ends where rankings do unless the whole is asked for; error says that lower is better."""
    page = client.get("/tasks/sized/curves?kind=roc")
    assert "No ranking goes beyond a fallout of 0.05" in main(page)
    assert drawn(page)[0] == "1.0000 first"
    assert "Lower is better by EER." in main(page)
    found = client.get("/tasks/sized/curves.json?kind=roc").get_json()
    assert found["points"][-1] == 0.05
    assert set(found["runs"][0]["measures"]) == {"ROCAUC", "EER"}
    whole = client.get("/tasks/sized/curves.json?kind=roc&whole").get_json()
    assert whole["points"][-1] == 1.0
    assert whole["runs"][2]["values"][-1] == pytest.approx(1.0)
    assert "End the axis where the rankings end" in main(client.get("/tasks/sized/curves?kind=roc&whole"))


def test_one_topic_has_curves_of_its_own(client: FlaskClient, ids: dict[str, int]) -> None:
    """Runs lead to their rankings of it; it stays chosen in the form."""
    page = client.get(f"{ADDRESS}?topic=1&kind=precision")
    assert "topic 1" in main(page)
    assert parsed(page).find("a", href=f"/runs/{ids['first']}/topics/1") is not None
    chosen = parsed(page).select_one("select#topic option[selected]")
    assert chosen is not None
    assert chosen["value"] == "1"
    found = client.get(f"{ADDRESS}.json?topic=1&kind=precision&run={ids['first']}").get_json()
    assert found["runs"][0]["values"][:3] == pytest.approx([1, 1, 2 / 3])
    empty = client.get(f"{ADDRESS}?topic=3&kind=roc")
    assert "Topic 3 has no ROC curve" in main(empty)
    assert parsed(empty).find("figure") is None


def test_more_than_eight_runs_are_too_many(client: FlaskClient) -> None:
    """The first eight are drawn, without the ideal, which the table still has; the others are named."""
    boxes = parsed(client.get("/tasks/many/curves")).select("input[name=run]")
    state = "&".join(f"run={box['value']}" for box in boxes)
    page = client.get(f"/tasks/many/curves?kind=gain&{state}")
    assert len(drawn(page)) == 8
    assert "the first 8 runs are drawn. Omitted: run8, run9." in main(page)
    assert "It is in the table only" in main(page)
    assert len(table(page, "Cumulated gain")[0]) == 10
    assert client.get(f"/tasks/many/curves.json?{state}").get_json()["left_out"] == ["run8", "run9"]


@pytest.mark.parametrize(
    ("state", "status"),
    [
        *(("?run=99", 404), ("?run=x", 404), ("?topic=77", 404)),
        *(("?kind=nonsense", 422), ("?depth=7", 422), ("?depth=nonsense", 200)),
    ],
)
def test_what_there_is_not_is_said(client: FlaskClient, state: str, status: int) -> None:
    """An unknown run, topic, kind or depth, in every form."""
    for suffix in SUFFIXES:
        assert client.get(f"{ADDRESS}{suffix}{state}").status_code == status


@pytest.mark.trial
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("slug", ["empty", "lonely"])
def test_the_smallest_boards_show_no_number_that_is_none(client: FlaskClient, kind: str, slug: str) -> None:
    """A sentence or a curve at 0."""
    for suffix in SUFFIXES:
        response = client.get(f"/tasks/{slug}/curves{suffix}?kind={kind}")
        assert response.status_code == 200
        text = response.get_data(as_text=True).replace(",", " ").replace(">", " ").replace(":", " ")
        assert not {"nan", "NaN", "None", "inf", "-inf", "Infinity"} & set(text.split())
    assert ("No run is scored yet." in main(client.get(f"/tasks/{slug}/curves"))) == (slug == "empty")


def test_a_task_without_judgments_says_so(client: FlaskClient) -> None:
    """Nothing is scored before there are any."""
    assert "has no judgments yet" in main(client.get("/tasks/unjudged/curves"))
    assert client.get("/tasks/unjudged/curves.json").get_json()["runs"] == []


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_curves_are_held_back(client: FlaskClient, visibility: str) -> None:
    """A blind or sealed task has no such page for its readers, in any form."""
    for suffix in SUFFIXES:
        refused = client.get(f"/tasks/{visibility}/curves{suffix}")
        assert refused.status_code == 404
        assert "shown when it closes" in refused.get_data(as_text=True)
