"""Tables as LaTeX beside each page: the cells a reader prints, and captions that say what they rest on."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import parsed

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
PAIR = "/tasks/t/compare{}?a=1&b=2"
UNDER = r"under qrels revision 1, 3 topics, as trec\_eval 10 computes them"


@pytest.fixture
@built_once
def site(database: Database, tmp_path: Path) -> None:
    """Two scored runs."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    build.run(database, tmp_path, BEST, "best_one")
    build.run(database, tmp_path, HALF, "half", team_name="Other")
    build.drain(database)


def _rows(text: str) -> list[str]:
    """The rows between the rules of a LaTeX table."""
    body = text[text.index(r"\midrule") : text.index(r"\bottomrule")]
    return [line.strip().removesuffix(r" \\") for line in body.splitlines()[1:] if line.strip()]


@pytest.mark.usefixtures("site")
def test_two_runs_are_printed_topic_by_topic(client: FlaskClient) -> None:
    """Best of the first run first, with a minus that is one."""
    response = client.get(PAIR.format(".tex") + "&measure=RR")
    assert response.headers["Content-Disposition"] == 'attachment; filename="best_one-half.tex"'
    assert f"RR of best\\_one and half by topic, {UNDER}; higher is better." in response.text
    assert _rows(response.text) == [f"{topic} & 1.0000 & 0.5000 & 0.5000" for topic in "123"]
    other = client.get("/tasks/t/compare.tex?a=2&b=1&measure=RR").text
    assert _rows(other)[0] == "1 & 0.5000 & 1.0000 & $-$0.5000"


@pytest.mark.usefixtures("site")
def test_several_runs_are_printed_with_their_means(client: FlaskClient) -> None:
    """The same address with more runs is the table of the comparison."""
    text = client.get("/tasks/t/compare.tex?run=1&run=2&measure=RR").text
    assert [row.split(" & ")[0] for row in _rows(text)] == [r"best\_one", "half"]


@pytest.mark.usefixtures("site")
def test_orders_and_intervals_are_printed(client: FlaskClient) -> None:
    """Each with what its scores rest on; scores that never vary have no interval."""
    text = client.get("/tasks/t/measures.tex").text
    assert f"agreement of the rankings of 2 runs by two measures, {UNDER}" in text
    assert _rows(text)[0].startswith("RR & AP & 1.000 & ")
    text = client.get("/tasks/t/intervals.tex?measure=RR").text
    assert f"runs by mean RR, {UNDER}" in text
    assert [row.split(" & ")[:4] for row in _rows(text)] == [
        ["1", r"best\_one", "1.0000", "--"],
        ["2", "half", "0.5000", "--"],
    ]


@pytest.mark.usefixtures("site")
def test_tasks_and_measures_are_printed(client: FlaskClient) -> None:
    """The lists of the site, the second as it was searched."""
    (row,) = _rows(client.get("/tasks.tex").text)
    assert row == r"Task t & open & 3 & 2 & 1 & best\_one & RR & 1.0000 & 1"
    found = _rows(client.get("/measures.tex?q=bpref").text)
    assert any(row.startswith("Bpref & ") for row in found)
    assert len(found) < len(_rows(client.get("/measures.tex").text))


@pytest.mark.trial
@pytest.mark.usefixtures("site")
@pytest.mark.parametrize(
    "path", ["/", "/measures", PAIR.format(""), "/tasks/t/measures", "/tasks/t/intervals", "/tasks/t/history"]
)
def test_every_page_leads_to_its_table(client: FlaskClient, path: str) -> None:
    """The line of downloads has a link to LaTeX that works."""
    links = [str(link["href"]) for link in parsed(client.get(path)).find_all("a", string="LaTeX, booktabs")]
    assert len(links) == 1
    assert client.get(links[0]).mimetype == "application/x-tex"
