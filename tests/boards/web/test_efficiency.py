"""The page of effectiveness against cost, and its files."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.runs.ops.limits import RunRequest
from tests.make import build, pages

GOOD = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}
POOR = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
PAGE = "/tasks/t/efficiency"


@pytest.fixture
def site(database: Database, client: FlaskClient, tmp_path: Path) -> FlaskClient:
    """Three scored runs, two of which report their latency."""
    build.task(database, tmp_path, measures=("RR", "P@5"))
    facts = {
        "quick": {"latency_ms": 2.0},
        "slow": {"latency_ms": 1500.0, "hardware": "<b>big</b>"},
        "none": {},
    }
    for name, said in facts.items():
        rankings = POOR if name == "quick" else GOOD
        build.run(database, tmp_path, rankings, name, run_request=RunRequest(name, facts=said))
    build.drain(database)
    return client


def test_scores_and_costs_stand_beside_each_other(site: FlaskClient) -> None:
    """Units suit the values, a dash stands for nothing, what teams wrote is text."""
    page = site.get(PAGE)
    rows = pages.table(page, "Mean RR")
    assert rows == [
        ["quick ●", "Team", "0.5000", "2 ms", "–"],
        ["slow ●", "Team", "1.0000", "1.5 s", "<b>big</b>"],
    ]
    assert "2 of 3 scored runs report their latency, 1 reports no cost at all." in pages.main(page)
    assert "1 of them states its hardware." in pages.main(page)


def test_the_chart_draws_the_front(site: FlaskClient) -> None:
    """A figure with a mark a run, links to the runs and the scale named."""
    found = pages.parsed(site.get(PAGE)).find("figure", id="front")
    assert found is not None
    assert [each["class"] for each in found.select("path.point")] == [["point", "front"], ["point", "front"]]
    assert [each["href"] for each in found.select("svg a")] == ["/runs/1", "/runs/2"]
    assert "Latency per topic (s) (logarithmic)" in found.get_text()
    assert site.get(f"{PAGE}?figure=front").mimetype == "image/svg+xml"


def test_choices_are_in_the_address_and_kept(site: FlaskClient) -> None:
    """Measure, cost and order are chosen by a form and by links, and the files follow."""
    page = pages.parsed(site.get(f"{PAGE}?measure=P@5&cost=latency_ms&sort=score"))
    heads = page.select("thead th")
    assert [each.get("aria-sort") for each in heads[2:4]] == ["descending", None]
    assert [each["value"] for each in page.select("option[selected]")] == ["latency_ms", "P@5"]
    files = [str(each["href"]) for each in page.select(".downloads a")]
    assert all("measure=P@5" in each.replace("%40", "@") and "sort=score" in each for each in files)
    rows = list(csv.DictReader(io.StringIO(site.get(files[1]).get_data(as_text=True))))
    assert [(row["run"], row["latency_ms"], row["on_front"]) for row in rows] == [
        ("slow", "1500.0", "yes"),
        ("quick", "2.0", "yes"),
    ]


def test_files_are_json_and_latex(site: FlaskClient) -> None:
    """JSON has full precision and says what is self-reported; LaTeX has a caption with the basis."""
    found = site.get(f"{PAGE}.json").get_json()
    assert [(row["run"], row["costs"]["latency_ms"]) for row in found["rows"]] == [
        ("quick", 2.0),
        ("slow", 1500.0),
    ]
    assert (found["units"]["latency_ms"], found["silent"], found["revision"]) == ("ms", 1, 1)
    text = site.get(f"{PAGE}.tex").get_data(as_text=True)
    assert r"\toprule" in text
    assert "3 topics, qrels revision 1" in text


def test_a_cost_that_nobody_reports_is_said(site: FlaskClient) -> None:
    """No chart, a sentence, and the runs that report another cost."""
    page = site.get(f"{PAGE}?cost=energy_wh")
    assert "No scored run reports its energy." in pages.main(page)
    assert pages.parsed(page).find("figure") is None
    assert len(pages.table(page, "Mean RR")) == 2


@pytest.mark.parametrize("query", ["cost=money", "measure=nonsense", "measure=AP"])
def test_what_is_not_there_is_refused_with_a_sentence(site: FlaskClient, query: str) -> None:
    """An unknown cost or measure is 422 and names what there is."""
    response = site.get(f"{PAGE}?{query}")
    assert response.status_code == 422
    assert pages.main(response)


def test_where_nobody_reports_the_page_says_how(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Without a cost there is no table but the ways to report one; without judgments that is said."""
    build.task(database, tmp_path, "waits", judgments=None)
    assert "no judgments yet" in pages.main(client.get("/tasks/waits/efficiency"))
    build.task(database, tmp_path)
    assert "No run has a" in pages.main(client.get(PAGE))
    build.run(database, tmp_path, GOOD)
    build.drain(database)
    page = client.get(PAGE)
    assert "The only scored run reports no cost." in pages.main(page)
    assert pages.parsed(page).find("table") is None
    assert pages.parsed(page).find("a", href="/tasks/t/submit", string="the submission form") is not None
    example = pages.parsed(page).find("pre", class_="copy")
    assert example is not None


def test_the_example_of_the_page_is_understood(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """The header that the page shows, put into a file, gives the costs it says."""
    build.task(database, tmp_path)
    example = pages.parsed(client.get(PAGE)).find("pre", class_="copy")
    assert example is not None
    path = build.run_file(tmp_path, GOOD)
    path.write_text(f"{example.get_text()}\n{path.read_text()}")
    build.submit(database, path)
    build.drain(database)
    row = client.get(f"{PAGE}.json").get_json()["rows"][0]
    assert (row["costs"]["latency_ms"], row["costs"]["index_bytes"], row["costs"]["energy_wh"]) == (
        12.5,
        1.2e9,
        3.5,
    )
    assert row["hardware"] == "name of the processor"


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_held_back_costs_are_not_found(
    database: Database, client: FlaskClient, tmp_path: Path, visibility: str
) -> None:
    """While details are held back the page, its files and its figure are 404 whatever they are asked for."""
    build.task(database, tmp_path, visibility=visibility)
    for address in (
        PAGE,
        f"{PAGE}.json",
        f"{PAGE}.csv",
        f"{PAGE}.tex",
        f"{PAGE}?cost=money",
        f"{PAGE}?figure=front",
    ):
        assert client.get(address).status_code == 404, address
