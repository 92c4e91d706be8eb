"""A season of a shared task in a real browser: every step by clicks and typed fields."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.season import PASSWORD, Crowd, Person
from tests.make import build
from tests.make.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.trial]

TOPICS = [str(number) for number in range(1, 251)]
JUDGED = TOPICS[:100]
TEAMS = ("Owls", "Bears", "Newts")


@pytest.fixture
def crowd(browser: Browser, site: Site) -> Iterator[Crowd]:
    """Everybody who comes to the site; no page of it may fail."""
    crowd = Crowd(browser)
    yield crowd
    crowd.leave()
    assert crowd.faults() == []


def _organiser(crowd: Crowd, site: Site) -> Person:
    """The first organiser, signed in by the link that a fresh site prints."""
    person = crowd.person("Olga")
    person.open(site.sign_in)
    person.press("Sign in")
    return person


def _make(person: Person, name: str, kind: str, topics: Path, qrels: Path) -> None:
    person.follow("New task")
    if kind:
        person.choose(kind)
    person.type({"Name": name})
    person.attach("Topics file", topics)
    person.attach("Qrels file", qrels)
    person.press("Make the draft")


def _local(moment: datetime) -> str:
    """As a date is typed into a form."""
    return moment.strftime("%Y-%m-%dT%H:%M")


def _day(days: int) -> str:
    return _local(datetime.now(UTC) + timedelta(days=days))


def _scored(person: Person) -> None:
    """Wait on the page of a run until it has been scored or accepted; pages refresh themselves."""
    expect(person.page.locator("#state")).not_to_contain_text("waits")


def _ranking(shift: int, topics: Sequence[str] = tuple(TOPICS)) -> Mapping[str, Sequence[str]]:
    """Relevant is r of every judged topic; a run ranks it lower the larger the shift, for every third topic."""
    return {
        topic: [f"x{n}" for n in range(shift * (int(topic) % 3))] + [f"r{topic}", "y"] for topic in topics
    }


def _judgments(topics: Sequence[str]) -> dict[str, dict[str, int]]:
    return {topic: {f"r{topic}": 1, "x0": 0} for topic in topics}


def _packed(folder: Path, *paths: Path) -> Path:
    path = folder / "runs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for each in paths:
            archive.write(each, each.name)
    return path


def test_four_clicks_publish_a_task_and_five_score_a_run(crowd: Crowd, site: Site, tmp_path: Path) -> None:
    """From an empty site to a published task: 4 clicks, 2 files; from its board to a scored run: 5, 3 fields."""
    olga = _organiser(crowd, site)
    _make(olga, "Small task", "", build.topics_file(tmp_path), build.qrels_file(tmp_path))
    olga.press("Publish the task")
    expect(olga.main).to_contain_text("Published")
    assert (olga.clicks, olga.files, olga.fields) == (4, 2, 1)

    nora = crowd.person("Nora")
    nora.open(site.address)
    nora.follow("Small task")
    nora.clicks = 0
    nora.follow("Send a run")
    nora.type({"Name": "Nora", "Password": PASSWORD, "Team": "Newts"})
    nora.press("Make the account")
    nora.attach("Run files", build.run_file(tmp_path, {"1": ["a"], "2": ["d"], "3": ["e"]}, "first"))
    nora.press("Send")
    expect(nora.page.locator("#state")).to_contain_text("scored")
    assert nora.clicks <= 5
    assert nora.fields <= 3
    assert nora.files == 1
