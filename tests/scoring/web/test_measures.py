"""The catalogue of measures on the site: the list, the search, a page for each, and links to them."""

import csv
import io
from urllib.parse import unquote

import pytest
from bs4.element import Tag
from flask.testing import FlaskClient
from sqlalchemy import update
from werkzeug.test import TestResponse

from leaderboard.db.tables import Job
from leaderboard.measures.catalogue import entries
from leaderboard.measures.registry import MEASURES
from leaderboard.scoring import page as measures
from tests.make import build, pages
from tests.make.loops import for_every
from tests.web.conftest import Site


@pytest.fixture
def client(site: Site) -> FlaskClient:
    """A visitor's browser."""
    return site.browser()


def _names(response: TestResponse) -> list[str]:
    """The measures of the families, in their order."""
    rows = pages.parsed(response).select("table.catalogue tbody th a")
    return [link.get_text() for link in rows if link.find_previous("h2")["id"] != "most-used"]  # type: ignore[index]


def test_the_list_has_every_measure_under_its_family(client: FlaskClient) -> None:
    """Each measure once, in the order of the families, each of which can be jumped to."""
    response = client.get("/measures")
    listed = [entry.name for section in entries.listing() for entry in section.entries]
    assert _names(response) == listed
    first = pages.parsed(response).select_one("table.catalogue tbody th a")
    assert first is not None
    assert first.get_text() == "nDCG"
    anchors = [str(link["href"]) for link in pages.parsed(response).select("nav.steps a")]
    assert anchors == ["#most-used", *(f"#{section.family.anchor}" for section in entries.listing())]
    assert pages.table(response, "Ranks of relevant")[0] == [
        "AP",
        "Average precision (its mean is MAP) also MAP, map",
        "map , map_cut_k",
    ]


def test_the_list_says_what_sets_a_measure_apart(client: FlaskClient) -> None:
    """That lower is better, and what else it needs."""
    row = next(
        row
        for row in pages.table(client.get("/measures?q=fallout"), "The retrieved")
        if row[0] == "SetFallout"
    )
    assert "lower is better" in row[1]
    assert "needs collection size" in row[1]


@pytest.mark.parametrize(
    ("query", "names", "count"),
    [("gm_map", ["GMAP"], "1 measure "), ("recip_rank", ["RR"], "1 measure "), ("zzz", [], "No measures ")],
)
def test_a_search_says_how_many_it_found(
    client: FlaskClient, query: str, names: list[str], count: str
) -> None:
    """The list shows what was found, the form keeps the words, and JSON and CSV hold the same."""
    response = client.get("/measures", query_string={"q": query})
    page = pages.parsed(response)
    assert _names(response) == names
    assert count in pages.main(response)
    (field,) = page.select("#main input[name=q]")
    assert field["value"] == query
    links = [str(link["href"]) for link in page.select(".downloads a")]
    assert [each["name"] for each in client.get(links[0]).json["measures"]] == names  # type: ignore[index]
    rows = list(csv.DictReader(io.StringIO(client.get(links[1]).text)))
    assert [row["name"] for row in rows] == names


def test_a_query_is_text_and_no_markup(client: FlaskClient) -> None:
    """What was looked for is shown as it was typed, cut to a sensible length."""
    response = client.get("/measures", query_string={"q": '"><b>x</b>' + "y" * 500})
    page = pages.parsed(response)
    assert page.find("b") is None
    (field,) = page.select("#main input[name=q]")
    assert str(field["value"]).startswith('"><b>x</b>yyy')
    assert len(str(field["value"])) == 100


@pytest.mark.trial
@for_every("measure", MEASURES, lambda measure: measure.name)
def test_every_measure_has_a_page(site: Site, measure) -> None:  # type: ignore[no-untyped-def]
    """Title, formula, source, and the example's ranking with its score."""
    client = site.browser()
    response = client.get(f"/measures/{measure.name}")
    text = pages.main(response)
    assert response.status_code == 200
    assert measure.title in text
    assert measure.citation in text
    page = entries.page(measure.name)
    for worked, table in zip(page.worked, pages.parsed(response).select("table.example"), strict=True):
        assert table.caption is not None
        assert table.caption.get_text().strip() == worked.summary
        assert len(table.select("tbody tr")) == len(worked.ranking.lines)
    facts = client.get(f"/measures/{measure.name}.json").json
    assert facts == measures.page_facts(page)


def test_a_worked_example_is_a_table_of_ranks_and_grades(client: FlaskClient) -> None:
    """The ranking of AP's docstring, what was missed, and the score."""
    response = client.get("/measures/AP")
    assert pages.table(response, "AP = 0.555556") == [
        ["1", "1"],
        ["2", "0"],
        ["3", "2"],
        ["not retrieved", "1"],
    ]
    assert "a third one not retrieved: (1/1 + 2/3) / 3." in pages.main(response)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("MAP", "/measures/AP"),
        ("map", "/measures/AP"),
        ("ndcg_cut_10", "/measures/nDCG?written=nDCG@10"),
        ("nDCG@10", "/measures/nDCG?written=nDCG@10"),
        ("P(rel=2)@5", "/measures/P?written=P(rel=2)@5"),
        ("ndcg_cut", "/measures/nDCG"),
    ],
)
def test_other_names_lead_to_the_measure(client: FlaskClient, name: str, address: str) -> None:
    """Aliases, trec_eval's names and names with parameters are redirected to the one page."""
    response = client.get(f"/measures/{name}")
    assert (response.status_code, unquote(response.headers["Location"])) == (302, address)
    assert client.get(address).status_code == 200
    assert client.get(f"/measures/{name}.json").status_code == 200


def test_a_page_shows_the_parameters_of_the_form_it_was_asked_for(client: FlaskClient) -> None:
    """The last column of the parameters has the values in that form."""
    response = client.get("/measures/ndcg_cut_10", follow_redirects=True)
    heading = pages.parsed(response).h1
    assert isinstance(heading, Tag)
    assert heading.get_text() == "nDCG@10"
    cutoff = next(row for row in pages.table(response, "Parameters") if row[0] == "@cutoff")
    assert cutoff[-1] == "10"
    assert len(pages.table(client.get("/measures/nDCG"), "Parameters")[0]) == 4


def test_trec_evals_names_are_told_with_what_they_are_here(client: FlaskClient) -> None:
    """The parameter of each, and the version that alone has it."""
    assert ["set_F_x", "SetF(beta=√x)", "-m set_F.0.25"] in pages.table(
        client.get("/measures/SetF"), "What trec_eval"
    )
    assert pages.table(client.get("/measures/Unj"), "What trec_eval")[0][0] == "unj_k version 10 only"


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/measures/ndgc", "did you mean nDCG"),
        ("/measures/P@0", "must be a whole number"),
        ("/measures/AP?written=P@5", "P@5 is not a form of AP"),
        ("/measures/AP?written=%3Cb%3E", "is not a measure"),
        ("/measures/ndgc.json", "did you mean nDCG"),
    ],
)
def test_an_unknown_name_is_not_found_with_a_hint(client: FlaskClient, address: str, message: str) -> None:
    """404, and the nearest name or the rule that was broken."""
    response = client.get(address)
    assert response.status_code == 404
    text = response.json["error"] if response.is_json else pages.main(response)  # type: ignore[index]
    assert message in text


@pytest.mark.trial
def test_boards_runs_topics_and_tasks_lead_to_their_measures(site: Site) -> None:
    """Every measure named in a heading is a link to its page, with its parameters."""
    client = site.browser("Olga")
    with site.database.write() as session:
        session.execute(update(Job).values(state="queued"))
    build.drain(site.database)
    for address in (
        "/tasks/robots",
        f"/runs/{site.world.run}",
        "/tasks/robots/topics/1",
        "/tasks/robots/about",
    ):
        links = pages.parsed(client.get(address)).select('main a[href^="/measures/"]')
        found = {str(link["href"]) for link in links}
        assert {unquote(each) for each in found} >= {"/measures/nDCG?written=nDCG@10"}, address
        assert all(client.get(each).status_code == 200 for each in found)


def test_a_heading_sorts_and_explains(site: Site) -> None:
    """A column of the board has two links: one that ranks by it, one to what it is."""
    page = pages.parsed(site.browser().get("/tasks/robots"))
    (heading,) = (each for each in page.select("table.board thead th") if each.get("aria-sort"))
    sorting, explaining = heading.select("a")
    assert sorting["href"] == "/tasks/robots"
    others = [str(each.select("a")[0]["href"]) for each in page.select("table.board th.number:has(a)")]
    assert any(address.startswith("/tasks/robots?measure=") for address in others)
    assert explaining["aria-label"] == f"Definition of {sorting.get_text()}"
    assert str(explaining["href"]).startswith("/measures/")
