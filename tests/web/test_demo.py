"""The pages of the demo's answers and of their judges, as a visitor meets them."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag, urljoin

import pytest
from flask.testing import FlaskClient
from lxml.html import HtmlElement, document_fromstring

from leaderboard.demo import answers, judges
from leaderboard.settings import Settings
from tests.make import demo_sites
from tests.make.apps import application

pytestmark = pytest.mark.trial
OF_TASKS = tuple(f"/tasks/{slug}" for slug in (answers.SLUG, judges.SLUG))
MOST_PAGES = 600


@pytest.fixture(scope="module")
def client(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    """A visitor of a site with both tasks, scored."""
    folder = tmp_path_factory.mktemp("demo")
    with demo_sites.demo_database(sqlite_template, folder) as database:
        settings = Settings(data=folder, database_url=f"sqlite:///{folder / 'demo.sqlite3'}")
        yield application(settings, database).test_client()


def page(client: FlaskClient, address: str) -> HtmlElement:
    """A page that is there, as its tags."""
    answer = client.get(address)
    assert answer.status_code == 200, address
    return document_fromstring(answer.get_data(as_text=True))


def text(client: FlaskClient, address: str) -> str:
    """What a page says, with single blanks."""
    return " ".join(page(client, address).text_content().split())


def test_every_page_is_there(client: FlaskClient) -> None:
    """All that the tasks' pages link to within them, and their runs, without the settings of a page."""
    seen, waiting = set[str](), list(OF_TASKS)
    while waiting:
        address = waiting.pop()
        seen.add(address)
        assert len(seen) < MOST_PAGES
        answer = client.get(address, follow_redirects=True)
        assert answer.status_code == 200, address
        if answer.mimetype != "text/html":
            continue
        tags = document_fromstring(answer.get_data(as_text=True))
        links = {urldefrag(urljoin(address, href))[0].partition("?")[0] for href in tags.xpath("//a/@href")}
        fresh = {link for link in links if link.startswith((*OF_TASKS, "/runs/")) and not _is_file(link)}
        waiting += sorted(fresh - seen - set(waiting))
    assert {f"{OF_TASKS[0]}/topics/PY009/nuggets", f"{OF_TASKS[1]}/judges"} <= seen


def _is_file(link: str) -> bool:
    # The page of a document says which one in what was cut off.
    return link.endswith((".csv", ".tex", ".md", ".json", "/documents"))


@pytest.mark.parametrize("below", ["", "/about", "/revisions", "/topics/PY009/nuggets"])
def test_pages_of_answers_say_who_judged(client: FlaskClient, below: str) -> None:
    """The machine is named on the board, the description, the judgments and the nuggets of a topic."""
    assert answers.JUDGE in text(client, OF_TASKS[0] + below).replace("’", "'")


def test_a_machine_that_made_all_is_named_once(client: FlaskClient) -> None:
    """The board says once who made nuggets and labels, where it was the same machine."""
    said = text(client, OF_TASKS[0]).replace("’", "'")
    assert f"nuggets, assignments and support labels by {answers.JUDGE} · 12 topics" in said
    before = text(client, f"{OF_TASKS[0]}?edition=1").replace("’", "'")
    assert f"assignments by {answers.JUDGE} · support labels by {answers.COUNTER}" in before


def test_the_first_revision_names_both_machines(client: FlaskClient) -> None:
    """Its support labels were made by another machine than its nuggets."""
    said = text(client, f"{OF_TASKS[0]}/revisions/1").replace("’", "'")
    assert answers.JUDGE in said
    assert answers.COUNTER in said


def test_a_run_of_the_judging_machine_is_marked(client: FlaskClient) -> None:
    """The run that the machine wrote is called its own judge's; nobody else is."""
    rows = page(client, OF_TASKS[0]).xpath("//table//tr[contains(., 'own judge')]")
    assert [row for row in rows if "minilm.written" in row.text_content()] == rows
    assert len(rows) == 1


def test_an_answer_has_its_labels(client: FlaskClient) -> None:
    """Segments with the support of what they cite, and the nuggets held, by the machine that is named."""
    (link,) = page(client, f"{OF_TASKS[0]}/topics/PY026/nuggets").xpath(
        "//thead//a[contains(., 'minilm.written')]/@href"
    )
    said = text(client, link).replace("’", "'")
    assert "A deep copy copies the inner objects too, all the way down." in said
    assert "3 of 3 supported" in said
    assert answers.JUDGE in said


def test_judges_are_held_against_the_board_of_answers(client: FlaskClient) -> None:
    """The page says which board, that a machine is behind it, and has both judges with an agreement."""
    said = text(client, f"{OF_TASKS[1]}/judges")
    assert answers.NAME in said
    assert "The reference is judged by a machine" in said
    found = client.get(f"{OF_TASKS[1]}/judges.json").get_json()
    assert {row["judge"] for row in found["judges"]} == set(judges.runs())


def test_where_a_ranking_would_be_is_the_topic_of_a_judge(client: FlaskClient) -> None:
    """A judge ranks no documents: the address of a ranking leads to the runs by the judge, as a file too."""
    link = page(client, f"{OF_TASKS[1]}/judges").xpath("//table//a[contains(@href, '/judges/')]/@href")[0]
    number = link.rpartition("/")[2]
    for form in ("", ".json"):
        answer = client.get(f"/runs/{number}/topics/PY009{form}")
        assert answer.status_code == 302
        assert answer.location == f"{OF_TASKS[1]}/judges/{number}/topics/PY009{form}"
        assert client.get(answer.location).status_code == 200


def test_tasks_of_answers_do_not_lead_to_the_audit_of_pools(client: FlaskClient) -> None:
    """The audit is of rankings, so a task without any does not link to it."""
    for task in OF_TASKS:
        assert page(client, f"{task}/topics").xpath("//a[contains(@href, '/pools/audit')]") == []


def test_rules_of_rankings_are_not_those_of_answers(client: FlaskClient) -> None:
    """About does not speak of depth, grades and ties where runs rank nothing."""
    for task in OF_TASKS:
        said = text(client, f"{task}/about")
        assert "The board ranks by" in said
        for of_rankings in (
            "documents per topic",
            "unless the measure’s name sets another grade",
            "empty ranking",
        ):
            assert of_rankings not in said, task


def test_the_front_page_calls_the_measure_by_its_short_name(client: FlaskClient) -> None:
    """A card has little room."""
    assert re.search(r"Leader: minilm.query 0\.\d{4} V_strict", text(client, "/"))
