"""A season of a shared task in a real browser: every step by clicks and typed fields."""

import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import follow
from tests.browser.season import PASSWORD, Crowd, Person
from tests.make import build
from tests.make.sites import Site

pytestmark = [pytest.mark.browser, pytest.mark.trial]

TOPICS = [str(number) for number in range(1, 251)]
JUDGED = TOPICS[:100]
DEEP = [f"y{number}" for number in range(10)]
"""Blind tasks take runs of 10 documents per topic."""
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
    person.press("Create draft")


def _local(moment: datetime) -> str:
    """As a date is typed into a form."""
    return moment.strftime("%Y-%m-%dT%H:%M")


def _day(days: int) -> str:
    return _local(datetime.now(UTC) + timedelta(days=days))


def _ranking(shift: int, topics: Sequence[str] = tuple(TOPICS)) -> Mapping[str, Sequence[str]]:
    """The relevant document comes later the larger the shift, in two of three topics."""
    return {
        topic: [f"x{n}" for n in range(shift * (int(topic) % 3))] + [f"r{topic}", *DEEP] for topic in topics
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
    """An empty site to a published task: 4 clicks, 2 files; its board to a scored run: 5 clicks, 3 fields."""
    olga = _organiser(crowd, site)
    _make(olga, "Small task", "", build.topics_file(tmp_path), build.qrels_file(tmp_path))
    olga.press("Publish task")
    expect(olga.main).to_contain_text("Published")
    assert (olga.clicks, olga.files, olga.fields) == (4, 2, 1)

    nora = crowd.person("Nora")
    nora.open(site.address)
    nora.follow("Small task")
    nora.clicks = 0
    nora.follow("Submit run")
    nora.type({"Name": "Nora", "Password": PASSWORD, "Team": "Newts"})
    nora.press("Create account")
    nora.attach("Run files", build.run_file(tmp_path, {"1": ["a"], "2": ["d"], "3": ["e"]}, "first"))
    nora.press("Submit run")
    expect(nora.page.locator("#state")).to_contain_text("scored")
    assert nora.clicks <= 5
    assert nora.fields <= 3
    assert nora.files == 1


def test_a_sealed_season(crowd: Crowd, site: Site, tmp_path: Path) -> None:
    """Two organisers, three teams, a stranger; 100 of 250 topics are judged; from the call to the archive."""
    olga, stranger = _organiser(crowd, site), crowd.person("stranger")
    _make(
        olga,
        "Rivers track",
        "TREC track",
        build.topics_file(tmp_path, TOPICS),
        build.qrels_file(tmp_path, _judgments(JUDGED)),
    )
    olga.press("Score only judged topics")
    expect(olga.main).to_contain_text("Only judged topics are scored")
    olga.press("Publish task")

    otto = _second_organiser(crowd, olga)
    otto.follow("Settings")
    otto.unfold("Teams, agreement and names")
    otto.pick("Entry", "approval")
    otto.type({"Agreement": "Judgments stay on our disks."})
    otto.press("Save teams, agreement and names")
    otto.unfold("Name and description")
    otto.type({"Description": "Find documents about *rivers*.", "Contact": "otto@example.org"})
    otto.press("Save name and description")
    expect(otto.page.get_by_role("status")).to_contain_text("Saved")
    olga.follow("Organise", "Team pseudonyms")
    olga.press("Assign pseudonyms")
    _dates(olga, _day(9))

    teams = [_team(crowd, site, name) for name in TEAMS]
    olga.follow("Organise", "Teams in this task")
    for name in TEAMS:
        olga.press(f"Accept {name}")
    for shift, team in enumerate(teams):
        _sends(team, shift, tmp_path)
    _reads_nothing(stranger, site)

    _dates(olga, _day(12), "The collection came late.")
    teams[0].follow("About")
    teams[0].follow("News")
    expect(teams[0].main).to_contain_text("The collection came late.")
    expect(teams[0].main).to_contain_text("otto@example.org")
    teams[1].follow("Board")
    expect(teams[1].main).not_to_contain_text("Owls")
    expect(teams[1].main).to_contain_text("scores and other teams’ runs are hidden")

    _keep_sealed(olga)
    _dates(olga, _day(-1), "All runs are in.")
    _reads_nothing(stranger, site)
    olga.follow("Phases and dates")
    olga.unfold("Change main")
    olga.press("Show scores to everybody")
    stranger.follow("Tasks", "Rivers track")
    board = stranger.page.get_by_role("table", name="Ranked by")
    for name in TEAMS:
        expect(board).to_contain_text(name)
    expect(board.get_by_role("row").nth(1)).to_contain_text("Owls")
    expect(stranger.main).to_contain_text("100 topics")
    assert "Owls" in stranger.download("CSV, full precision").read_text()

    olga.follow("Organise", "Settings")
    olga.unfold("Export, clone, archive, unpublish")
    olga.press("Archive task")
    teams[0].follow("Submit run")
    assert not teams[0].main.get_by_label("Run files").count()


def _second_organiser(crowd: Crowd, first: Person) -> Person:
    first.follow("Settings", "People")
    first.clicks += 1
    first.main.locator("#invite-role").select_option("organiser")
    first.type({"Message to the invitee": "We run it together."})
    first.press("Create invitation link")
    person = crowd.person("Otto")
    person.open(first.page.get_by_label("Copy this link").input_value())
    expect(person.main).to_contain_text("We run it together.")
    person.type({"Name": "Otto", "Password": PASSWORD})
    person.press("Create account and join")
    return person


def _dates(organiser: Person, closes: str, reason: str = "") -> None:
    organiser.follow("Organise")
    organiser.type({"Closes (UTC)": closes} | ({"Reason for moving the deadline": reason} if reason else {}))
    organiser.press("Save dates")


def _keep_sealed(organiser: Person) -> None:
    organiser.follow("Phases and dates")
    organiser.unfold("Change main")
    organiser.pick("Scores after the deadline", "sealed")
    organiser.press("Change main")


def _team(crowd: Crowd, site: Site, name: str) -> Person:
    """Somebody who comes to the task's page, makes an account with a team, and asks to enter."""
    person = crowd.person(name)
    person.open(site.address)
    person.follow("Rivers track", "Submit run")
    person.type({"Name": f"Head of {name}", "Password": PASSWORD, "Team": name})
    person.press("Create account")
    person.follow("Enter this task")
    person.choose("The team agrees")
    person.press("Ask to enter")
    expect(person.main).to_contain_text(name)
    return person


def _sends(person: Person, shift: int, folder: Path) -> None:
    """A run with an error that a button fixes, two in a zip; one is withdrawn, restored and chosen."""
    name = person.name.lower()
    wrong = build.run_file(folder, _ranking(shift), f"{name}-main")
    lines = wrong.read_text().splitlines(keepends=True)
    wrong.write_text("".join([*lines, lines[0]]))
    person.follow("Submit run")
    person.attach("Run files", wrong)
    person.press("Submit run")
    expect(person.page.get_by_role("status")).to_contain_text("Rejected")
    person.press("Fix and submit file")
    person.follow(f"Scores of {name}-main")
    _held_back(person)
    person.press("Mark as primary")
    person.unfold("Withdraw")
    person.type({"Reason": "The index was old."})
    person.press("Withdraw run")
    person.press("Restore")
    person.follow("Submit another run")
    others = [build.run_file(folder, _ranking(shift + n), f"{name}-{n}") for n in (3, 4)]
    person.attach("Run files", _packed(folder, *others))
    person.press("Submit run")
    expect(person.main).to_contain_text("2 accepted")
    person.follow("My page")
    expect(person.page.get_by_role("table", name="Runs")).to_contain_text("Unmark as primary")
    person.follow("rivers-track")


def _held_back(person: Person) -> None:
    expect(person.page.locator("#state")).not_to_contain_text("waiting")
    assert "0." not in person.page.locator("#state").inner_text()


def _reads_nothing(stranger: Person, site: Site) -> None:
    """No name of a team and no score on any page of the task that a stranger comes to by its links."""
    stranger.open(site.address)
    stranger.follow("Rivers track")
    rooms = stranger.page.get_by_role("navigation", name="Task").get_by_role("link")
    for room in rooms.all_inner_texts():
        follow(rooms.get_by_text(room, exact=True))
        _says_nothing(stranger, room)
        pages = stranger.page.get_by_role("navigation", name=f"{room} pages").get_by_role("link")
        for name in pages.all_inner_texts():
            follow(pages.get_by_text(name, exact=True))
            _says_nothing(stranger, name)
        if rooms.count() == 0:
            stranger.page.go_back()


def _says_nothing(stranger: Person, name: str) -> None:
    text = stranger.page.content()
    said = [word for team in TEAMS for word in (team, team.lower()) if word in text]
    said += re.findall(r"\b[01]\.\d{3,4}\b", stranger.main.inner_text())
    assert not said, f"{name} says {said}"


def test_a_blind_season_with_limits(crowd: Crowd, site: Site, tmp_path: Path) -> None:
    """Runs left today are counted down, none is asked for at 0; the reveal shows how runs moved."""
    topics = TOPICS[:8]
    olga = _organiser(crowd, site)
    _make(
        olga,
        "Hidden hills",
        "Public and hidden topics",
        build.topics_file(tmp_path, topics),
        build.qrels_file(tmp_path, _judgments(topics)),
    )
    olga.press("Publish task")
    olga.follow("Phases and dates" if olga.says("Phases and dates") else "Phases")
    olga.unfold("Change main")
    olga.type({"Runs per team per day": "3", "Closes": _day(5)})
    olga.press("Change main")

    nora = crowd.person("Nora")
    nora.open(site.address)
    nora.follow("Hidden hills", "Submit run")
    nora.type({"Name": "Nora", "Password": PASSWORD, "Team": "Newts"})
    nora.press("Create account")
    for shift in range(3):
        expect(nora.main.get_by_label("Team").locator("visible=true")).to_contain_text(
            f"{3 - shift} left today"
        )
        nora.attach("Run files", build.run_file(tmp_path, _ranking(shift, topics), f"newt{shift}"))
        nora.press("Submit run")
        expect(nora.page.locator("#state")).to_contain_text("scored")
        if shift:
            nora.press("Mark as final")
            expect(nora.main).to_contain_text(f"Final runs: {shift} of at most 2 marked")
        nora.follow("Submit another run")
    expect(nora.main).to_contain_text("You have no runs left today")
    assert not nora.main.get_by_role("button", name="Submit run", exact=True).count()

    _dates(olga, _day(-1), "All runs are in.")
    nora.follow("Board")
    nora.unfold("How to read this board")
    nora.follow("Public and hidden topics")
    table = nora.page.get_by_role("table").first
    expect(table.get_by_role("row").first).to_contain_text("Moved")
    expect(table.get_by_role("row", name="newt0")).to_contain_text("not chosen")
    for shift in (1, 2):
        expect(table.get_by_role("row", name=f"newt{shift}")).to_have_text(re.compile(rf"^\s*{shift}"))
