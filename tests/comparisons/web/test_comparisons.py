"""The page of two runs, the choice of runs, and what is told about the impossible."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from flask.testing import FlaskClient

from leaderboard.comparisons.web import comparisons
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.scoring.ops import collections
from leaderboard.stats.gates import Compared, gate
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed
from tests.scoring.ops.statistics.test_standings import fill

ONE = {"1": ["a", "x", "c"], "2": ["y", "d"], "3": ["e", "f"]}
TWO = {"1": ["x", "a", "z"], "2": ["d"], "3": []}


@pytest.fixture
@built_once
def ids(database: Database, tmp_path: Path) -> tuple[int, int]:
    """Two scored runs."""
    build.task(database, tmp_path, measures=("AP", "RR"))
    found = tuple(
        build.run(database, tmp_path, rankings, name) for name, rankings in (("one", ONE), ("two", TWO))
    )
    build.drain(database)
    return found  # type: ignore[return-value]


def address(ids: tuple[int, int], suffix: str = "", **state: str) -> str:
    """The address of the comparison."""
    rest = "".join(f"&{key}={value}" for key, value in state.items())
    return f"/tasks/t/compare{suffix}?a={ids[0]}&b={ids[1]}{rest}"


def test_the_page_says_what_the_tests_say(client: FlaskClient, ids: tuple[int, int]) -> None:
    """A verdict in words, five tests with one marked, every topic with links."""
    response = client.get(address(ids, measure="RR"))
    page, text = parsed(response), main(response)
    assert "The difference is not significant (paired t-test, p" in text
    assert "one is better on 2 and two on 1 of 3 topics" in text
    (marked,) = [row for row in page.find_all("tr") if row.find(class_="tag")]
    assert "paired t" in marked.get_text()
    links = {str(link["href"]) for link in page.find_all("a")}
    assert f"/runs/{ids[0]}/topics/1?measure=RR" in links
    assert any(link.endswith("topic=2#topic") for link in links)
    assert len(page.find_all("figure")) == 4


def test_the_margin_in_the_address_decides_what_is_no_worse(
    client: FlaskClient, database: Database, tmp_path: Path
) -> None:
    """The gate's verdict on the first run against the second: in a sentence, in JSON, by any margin."""
    topics = [str(number) for number in range(1, 13)]
    judgments = {topic: {"a": 1, "b": 0} for topic in topics}
    build.task(database, tmp_path, topics=topics, judgments=judgments, measures=("AP", "SearchLength"))
    rankings = {
        "old": {topic: ["a", "b", "c"] for topic in topics},
        "new": {topic: ["b", "a"] if topic in ("1", "2") else ["a", "b"] for topic in topics},
    }
    old, new = (build.run(database, tmp_path, rankings[name], name) for name in ("old", "new"))
    build.drain(database)
    for margin, verdict in (("0.3", "no worse"), ("0.01", "cannot tell"), ("", "cannot tell")):
        state = {"margin": margin} if margin else {}
        page = main(client.get(address((new, old), measure="AP", **state)))
        facts = client.get(address((new, old), ".json", measure="AP", **state)).get_json()["gate"]
        assert (facts["verdict"], facts["margin"]) == (verdict, float(margin or "0.01"))
        scores = np.ones((2, 12))
        scores[0, :2] = 0.5
        (expected,) = gate([Compared(scores[0], scores[1], float(margin or "0.01"))])
        assert facts["interval"] == pytest.approx([expected.low, expected.high])
        assert f"by more than {margin or '0.01'}." in page
    assert "new is no worse than old by more than 0.3." in main(
        client.get(address((new, old), measure="AP", margin="0.3"))
    )
    links = parsed(client.get(address((new, old), margin="0.3"))).find_all("a", string="Swap runs")
    assert all(f"a={old}&b={new}&margin=0.3" in str(link["href"]) for link in links)
    assert links
    assert client.get(address((new, old), ".json", measure="SearchLength")).get_json()["gate"] is None
    for margin in ("-1", "nan", "inf", "much"):
        assert client.get(address((new, old), ".json", margin=margin)).status_code == 422


def test_one_topic_is_drawn_side_by_side(client: FlaskClient, ids: tuple[int, int]) -> None:
    """The chosen topic adds a drawing, a topic that one run misses too."""
    for topic in ("1", "3"):
        page = parsed(client.get(address(ids, topic=topic)))
        assert page.find(id="rankings") is not None
        captions = {each.get_text() for each in page.find_all("caption")}
        assert f"Rankings of topic {topic}" in captions
        documents = {str(link["href"]) for link in page.select("svg a") if "docno=" in str(link["href"])}
        assert documents
        assert {client.get(link).status_code for link in documents} == {200}
    assert client.get(address(ids, topic="77")).status_code == 404


def test_links_keep_what_was_chosen(client: FlaskClient, ids: tuple[int, int]) -> None:
    """Another topic, measure or order of the runs leaves the persistence as it is, one not offered too."""
    page = parsed(client.get(address(ids, measure="RR", topic="1", p="0.85")))
    links = {str(link["href"]) for link in page.find_all("a")}
    assert any("topic=2" in link and "p=0.85" in link and "measure=RR" in link for link in links)
    assert any(f"a={ids[1]}&b={ids[0]}" in link and "topic=1" in link for link in links)
    chosen = page.find("select", id="p")
    assert chosen is not None
    assert [each.get_text() for each in chosen.find_all("option", selected=True)] == ["0.85"]


def test_so_many_topics_are_not_listed(
    client: FlaskClient, ids: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above a number of topics one is typed, not chosen from a list, and drawings have no links."""
    monkeypatch.setattr(comparisons, "MOST_LINKED", 2)
    page = parsed(client.get(address(ids)))
    assert page.find("input", id="chosen") is not None
    assert page.find("select", id="chosen") is None
    assert not page.select("figure svg a")


@pytest.mark.trial
def test_no_page_shows_a_number_that_is_none(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """Two equal runs, a constant difference, one topic: sentences, no nan, inf or None."""
    build.task(database, tmp_path, measures=("RR",))
    rankings = {"same": ONE, "again": ONE, "late": {topic: ["q", "r"] for topic in ONE}}
    same, again, late = (build.run(database, tmp_path, each, name) for name, each in rankings.items())
    build.task(database, tmp_path, "s", judgments={"1": {"a": 1}}, topics=("1",), measures=("RR",))
    first, second = (
        build.run(database, tmp_path, {"1": each}, f"s{place}", slug="s")
        for place, each in enumerate((["a"], ["b", "a"]))
    )
    build.drain(database)
    expected = {
        address((same, again)): "Both runs have the same score on every topic.",
        address((same, late)): "neither is significantly better than the other",
        f"/tasks/s/compare?a={first}&b={second}": "With one topic no significance test is possible.",
    }
    for path, said in expected.items():
        text = main(client.get(path))
        assert said in text
        for word in ("nan", "None", "inf "):
            assert word not in text.split(), f"{path}: {word}"
        assert json.loads(client.get(path.replace("compare?", "compare.json?")).get_data())


def test_runs_are_chosen_by_a_form(client: FlaskClient, ids: tuple[int, int]) -> None:
    """Two names with suggestions, and a measure; known names lead to their page, others have a problem."""
    page = parsed(client.get("/tasks/t/compare"))
    assert {str(each["name"]) for each in page.select("main input[list]")} == {"first", "second"}
    assert {str(each["value"]) for each in page.select("datalist option")} == {"one", "two"}
    chosen = client.get("/tasks/t/compare?first=one&second=two&measure=AP")
    assert chosen.status_code == 303
    assert chosen.headers["Location"] == f"/tasks/t/compare?measure=AP&a={ids[0]}&b={ids[1]}"
    wrong = parsed(client.get("/tasks/t/compare?first=one&second=nobody"))
    (field,) = wrong.select("[aria-invalid]")
    assert field["name"] == "second"
    assert "No scored run is named 'nobody'" in wrong.main.get_text()
    same = client.get("/tasks/t/compare?first=one&second=one")
    assert "Choose two different runs" in main(same)


def test_the_matrix_has_every_pair(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """One path a shade, as many cells as pairs, ids for the script; teams and words choose runs."""
    fill(database, tmp_path)
    page = parsed(client.get("/tasks/t/compare"))
    figure = page.select_one(".pairs")
    assert figure is not None
    ids = str(figure["data-ids"]).split()
    assert len(ids) == 4
    paths = {str(path["class"][0]): str(path["d"]) for path in figure.select("path")}
    side = int(str(figure["data-cell"]))
    widths = [int(part[1:]) for path in paths.values() for part in re.findall(r"h[0-9]+", path)]
    assert sum((width + 1) // side for width in widths) == 12
    up = sum(path.count("m") for kind, path in paths.items() if kind.startswith("up"))
    assert up > 0
    assert f"{page.select_one('.said b').get_text()}".endswith("of 6 pairs")
    by_topics = parsed(client.get("/tasks/t/compare?order=topics")).select_one(".pairs")
    assert sorted(str(by_topics["data-ids"]).split()) == sorted(ids)
    assert "Fewer than two ranked runs match" in main(client.get("/tasks/t/compare?q=nothing"))


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("a=1&b=x", 404),
        ("a=1&b=99999", 404),
        ("a=1&b=1", 422),
        ("a=1&b=2&p=2", 422),
        ("a=1&b=2&p=nan", 422),
        ("a=1&b=2&measure=nonsense", 422),
    ],
)
@pytest.mark.usefixtures("ids")
def test_what_cannot_be_compared_is_told(client: FlaskClient, query: str, status: int) -> None:
    """Each with its own sentence, on the page and as JSON."""
    assert client.get(f"/tasks/t/compare?{query}").status_code == status
    assert client.get(f"/tasks/t/compare.json?{query}").status_code == status


def test_files_have_all_topics(client: FlaskClient, ids: tuple[int, int]) -> None:
    """JSON and CSV at full precision; without runs there is no file."""
    facts = json.loads(client.get(address(ids, ".json", measure="RR")).get_data())
    assert facts["by_topic"]["2"]["b"] == 1.0
    assert len(client.get(address(ids, ".csv")).get_data(as_text=True).splitlines()) == 4
    assert client.get("/tasks/t/compare.json").status_code == 404


def test_the_page_begins_with_what_was_asked(client: FlaskClient, ids: tuple[int, int]) -> None:
    """Which is better by how much, then the board's word; tests and coefficients of rankings are folded."""
    for pair in (ids, ids[::-1]):
        page = parsed(client.get(address(pair, measure="RR")))
        headline = page.find(class_="headline")
        assert headline is not None
        text = " ".join(headline.get_text().split())
        assert text.startswith(
            "one has the better mean RR, 0.8333 compared with 0.5000: a difference of 0.3333"
        )
        assert "95% confidence interval" in text
        first = page.select_one("ul.said li")
        assert first is not None
        assert "neither is significantly better than the other" in first.get_text()
        folded = [str(each.find("summary").get_text()) for each in page.select("details:not(.menu)")]  # type: ignore[union-attr]
        assert folded[-3:] == [
            "Means, effect sizes and five tests",
            "Recall and precision",
            "Similarity of the rankings",
        ]
        assert not page.select("details[open]")
    asked = parsed(client.get(address(ids, p="0.95")))
    assert [str(each.find("summary").get_text()) for each in asked.select("details[open]")] == [  # type: ignore[union-attr]
        "Similarity of the rankings"
    ]


def test_documents_have_their_titles_side_by_side(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Where the collection has them; the label says the id too, and what has no title goes by its id."""
    path = tmp_path / "documents.jsonl"
    path.write_text('{"docno": "a", "title": "A title that is far too long for the drawing", "text": "t"}\n')
    with database.write() as session:
        collections.add(session, OPERATOR, "texts", documents=collections.prepare(path))
    build.task(database, tmp_path, measures=("RR",), collection="texts")
    one, two = (build.run(database, tmp_path, each, name) for name, each in (("one", ONE), ("two", TWO)))
    build.drain(database)
    page = parsed(client.get(address((one, two), topic="1")))
    names = [" ".join(each.get_text(" ").split()) for each in page.select("#rankings text.name")]
    assert names[:2] == ["A title that… A title that is far too…", "x"]
    labels = [each.get_text() for each in page.select("#rankings g.item title")]
    assert labels[0].startswith("1. A title that is far too long for the drawing (a): grade 2")
