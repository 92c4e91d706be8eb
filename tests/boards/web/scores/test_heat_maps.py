"""The map of all scores: orders, differences, pages, links, and the same numbers in every form."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.boards.page.scores import heat_maps
from leaderboard.boards.web.scores import heat_maps as view
from leaderboard.db.engine import Database
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table

RUNS = {
    "early": {"1": ["a"], "2": ["x", "d"], "10": ["x", "x2", "x3", "e"]},
    "late": {"1": ["x", "a"], "2": ["d"], "10": ["x", "e"]},
    "none": {"1": ["x"]},
}
"""Reciprocal ranks on topics 1, 2 and 10: 1, .5, .25; .5, 1, .5; 0, 0, 0."""
JUDGMENTS = {"1": {"a": 1}, "2": {"d": 1}, "10": {"e": 1}}


@pytest.fixture
@built_once
def ids(database: Database, tmp_path: Path) -> dict[str, int]:
    """Three runs on three topics; the task's order of topics is none of numbers or bytes."""
    build.task(database, tmp_path, topics=("2", "10", "1"), judgments=JUDGMENTS, measures=("RR", "P@5"))
    found = {
        name: build.run(database, tmp_path, rankings, name, team_name=f"Team {name}")
        for name, rankings in RUNS.items()
    }
    build.drain(database)
    return found


def _heads(client: FlaskClient, address: str) -> list[str]:
    """The topics of a map from left to right."""
    links = parsed(client.get(address)).select("table.heat thead th span a:first-child")
    return [link.get_text(strip=True) for link in links]


def _names(client: FlaskClient, address: str) -> list[str]:
    """The runs of a map from the top down."""
    return [row[0].split()[0] for row in table(client.get(address), "RR")][1:]


def test_every_score_has_its_place(client: FlaskClient, ids: dict[str, int]) -> None:
    """In hundredths under the medians, best mean first, each in its colour and leading to its ranking."""
    page = client.get("/tasks/t/heatmap")
    assert table(page, "RR in hundredths (higher is better)") == [
        ["Median", "", "50", "25", "50"],
        ["late ▸", "0.6667", "100", "50", "50"],
        ["early ▸", "0.5833", "50", "25", "100"],
        ["none ▸", "0.0000", "0", "0", "0"],
    ]
    cells = parsed(page).select("table.heat tbody tr:nth-of-type(2) td")[1:]
    assert [str(cell["class"][0]) for cell in cells] == ["step-9", "step-5", "step-5"]
    link = cells[1].find("a")
    assert link is not None
    assert link["href"] == f"/runs/{ids['late']}/topics/10"


@pytest.mark.parametrize(
    ("state", "topics"),
    [
        ("", ["2", "10", "1"]),
        ("?columns=id", ["1", "2", "10"]),
        ("?columns=difficulty", ["2", "1", "10"]),
        ("?run={early}", ["1", "2", "10"]),
        ("?run={late}", ["2", "10", "1"]),
    ],
)
def test_topics_stand_in_the_order_asked_for(
    client: FlaskClient, ids: dict[str, int], state: str, topics: list[str]
) -> None:
    """The task's, by number, by median, or one run's from its best topic on; equal ones as in the task."""
    assert _heads(client, f"/tasks/t/heatmap{state.format(**ids)}") == topics


@pytest.mark.parametrize(
    ("state", "runs"),
    [
        ("", ["late", "early", "none"]),
        ("?rows=name", ["early", "late", "none"]),
        ("?rows=team", ["early", "late", "none"]),
        ("?topic=1", ["early", "late", "none"]),
        ("?topic=2&rows=name", ["late", "early", "none"]),
    ],
)
def test_runs_stand_in_the_order_asked_for(
    client: FlaskClient, ids: dict[str, int], state: str, runs: list[str]
) -> None:
    """By mean, by name, by team, or by one topic's scores."""
    assert _names(client, f"/tasks/t/heatmap{state}") == runs


def test_similarity_is_an_order_of_all(client: FlaskClient, ids: dict[str, int]) -> None:
    """Nothing is lost or doubled when likeness decides the places."""
    state = "/tasks/t/heatmap?rows=similarity&columns=similarity"
    assert sorted(_names(client, state)) == sorted(RUNS)
    assert sorted(_heads(client, state)) == ["1", "10", "2"]


def test_differences_are_from_the_topics_median(client: FlaskClient, ids: dict[str, int]) -> None:
    """With their sign, so that colour is not alone in saying it; the medians have no colour."""
    page = client.get("/tasks/t/heatmap?show=difference")
    rows = table(page, "RR minus its median over 3 ranked runs in hundredths")
    assert rows[1:] == [
        ["late ▸", "0.6667", "+50", "+25", "0"],
        ["early ▸", "0.5833", "0", "0", "+50"],
        ["none ▸", "0.0000", "−50", "−25", "−50"],
    ]
    classes = [str(cell["class"][0]) for cell in parsed(page).select("table.heat tbody td:last-child")]
    assert classes == ["none", "level", "up-3", "down-3"]


def test_the_map_is_the_same_in_every_form(client: FlaskClient, ids: dict[str, int]) -> None:
    """JSON and CSV at full precision in the order asked for, LaTeX for print."""
    found = client.get("/tasks/t/heatmap.json?columns=id").get_json()
    assert (found["topics"], found["measure"], found["revision"]) == (["1", "2", "10"], "RR", 1)
    assert found["medians"] == [0.5, 0.5, 0.25]
    assert found["runs"][1]["values"] == [1.0, 0.5, 0.25]
    rows = list(csv.reader(io.StringIO(client.get("/tasks/t/heatmap.csv").get_data(as_text=True))))
    assert rows[:2] == [
        ["run", "run_id", "team", "mean", "2", "10", "1"],
        ["late", str(ids["late"]), "Team late", "0.6666666666666666", "1.0", "0.5", "0.5"],
    ]
    assert "late & Team late & 0.67 & 1.00" in client.get("/tasks/t/heatmap.tex").get_data(as_text=True)


def test_large_maps_come_in_pages(
    client: FlaskClient, ids: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each says which part it shows and leads on; a page too far is the last one; files hold all."""
    for name, value in (("MOST_ROWS", 2), ("MOST_CELLS", 4), ("FEWEST_COLUMNS", 2)):
        monkeypatch.setattr(heat_maps, name, value)
    page = client.get("/tasks/t/heatmap")
    assert "Runs 1 to 2 of 3" in main(page)
    assert "Topics 1 to 2 of 3" in main(page)
    runs, topics = (str(link["href"]) for link in parsed(page).select("main nav.steps a[rel=next]"))
    assert _heads(client, topics) == ["1"]
    assert _names(client, runs) == ["none"]
    assert _names(client, "/tasks/t/heatmap?runs=99") == ["none"]
    assert len(client.get("/tasks/t/heatmap.json").get_json()["runs"]) == 3


def test_in_a_large_map_the_chosen_run_and_topic_lead_on(
    client: FlaskClient, ids: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of links would be slow to load; those of one row and one column are not."""
    monkeypatch.setattr(view, "MOST_LINKED", 3)
    assert parsed(client.get("/tasks/t/heatmap")).select("table.heat td a") == []
    chosen = parsed(client.get(f"/tasks/t/heatmap?run={ids['none']}&topic=10")).select("table.heat td a")
    assert {str(link["href"]) for link in chosen} == {
        *(f"/runs/{ids['none']}/topics/{topic}" for topic in ("1", "2", "10")),
        *(f"/runs/{run_id}/topics/10" for run_id in ids.values()),
    }


@pytest.mark.parametrize(
    ("state", "status"),
    [
        *(("?rows=weight", 422), ("?columns=weight", 422), ("?measure=AP", 422)),
        *(("?topic=77", 404), ("?run=999", 404), ("?run=x&runs=x", 200)),
    ],
)
def test_what_is_not_in_the_map_is_refused(
    client: FlaskClient, ids: dict[str, int], state: str, status: int
) -> None:
    """Unknown orders and measures are invalid, unknown topics and runs not found."""
    assert client.get(f"/tasks/t/heatmap{state}").status_code == status


def test_a_map_without_scores_says_why(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Before the judgments, and before the first run is scored; JSON is empty then."""
    build.task(database, tmp_path, "early", judgments=None)
    build.task(database, tmp_path, "empty")
    assert "No judgments yet" in main(client.get("/tasks/early/heatmap"))
    assert "No run has a" in main(client.get("/tasks/empty/heatmap"))
    for slug in ("early", "empty"):
        for order in ("", "?rows=similarity&columns=similarity&show=difference"):
            assert client.get(f"/tasks/{slug}/heatmap.json{order}").get_json()["runs"] == []


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_held_back_scores_have_no_map(
    database: Database, client: FlaskClient, tmp_path: Path, visibility: str
) -> None:
    """It does not exist for others, in no form."""
    build.task(database, tmp_path, visibility=visibility)
    for suffix in ("", ".json", ".csv", ".tex"):
        assert client.get(f"/tasks/t/heatmap{suffix}").status_code == 404
