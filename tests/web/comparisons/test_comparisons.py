"""The page of two runs, the choice of runs, and what is told about the impossible."""

import json
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.db.engine import Database
from leaderboard.services import collections
from leaderboard.services.policy import OPERATOR
from leaderboard.web.comparisons import comparisons
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed

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
    assert "The two cannot be told apart (paired t, p" in text
    assert "one is better on 2, two on 1 of 3 topics" in text
    (marked,) = [row for row in page.find_all("tr") if row.find(class_="tag")]
    assert "paired t" in marked.get_text()
    links = {str(link["href"]) for link in page.find_all("a")}
    assert f"/runs/{ids[0]}/topics/1?measure=RR" in links
    assert any(link.endswith("topic=2#topic") for link in links)
    assert len(page.find_all("figure")) == 4


def test_one_topic_is_drawn_side_by_side(client: FlaskClient, ids: tuple[int, int]) -> None:
    """The chosen topic adds a drawing, a topic that one run misses too."""
    for topic in ("1", "3"):
        page = parsed(client.get(address(ids, topic=topic)))
        assert page.find(id="rankings") is not None
        captions = {each.get_text() for each in page.find_all("caption")}
        assert f"The two rankings of topic {topic}" in captions
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
        address((same, again)): "The two have the same score on every topic.",
        address((same, late)): "be told apart",
        f"/tasks/s/compare?a={first}&b={second}": "With one topic no test can tell the two apart.",
    }
    for path, said in expected.items():
        text = main(client.get(path))
        assert said in text
        for word in ("nan", "None", "inf "):
            assert word not in text.split(), f"{path}: {word}"
        assert json.loads(client.get(path.replace("compare?", "compare.json?")).get_data())


def test_runs_are_chosen_by_a_form(client: FlaskClient, ids: tuple[int, int]) -> None:
    """Two lists and a list to tick, with the measures; one ticked run comes back to the form."""
    page = parsed(client.get("/tasks/t/compare"))
    assert {each["name"] for each in page.find_all("select")} == {"a", "b", "measure"}
    assert len(page.find_all("input", type="checkbox")) == 2
    again = parsed(client.get(f"/tasks/t/compare?run={ids[0]}"))
    (ticked,) = [each for each in again.find_all("input", type="checkbox") if each.has_attr("checked")]
    assert ticked["value"] == str(ids[0])


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
        assert text.startswith("one has the better mean RR, 0.8333 against 0.5000: by 0.3333")
        assert "95% interval" in text
        first = page.select_one("ul.said li")
        assert first is not None
        assert "neither beats the other" in first.get_text()
        folded = [str(each.find("summary").get_text()) for each in page.find_all("details")]  # type: ignore[union-attr]
        assert folded[-3:] == [
            "Means, effect sizes and five tests",
            "Recall and precision",
            "How alike the rankings are",
        ]
        assert not page.select("details[open]")
    asked = parsed(client.get(address(ids, p="0.95")))
    assert [str(each.find("summary").get_text()) for each in asked.select("details[open]")] == [  # type: ignore[union-attr]
        "How alike the rankings are"
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
