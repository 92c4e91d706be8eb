"""What was chosen on a board goes along to every page behind it and is found again on the way back."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from bs4 import BeautifulSoup, Tag
from flask import Flask
from flask.testing import FlaskClient

from leaderboard.boards.ops import board
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.tasks.ops import phases
from leaderboard.tasks.ops.phases import PhasePlan
from leaderboard.web import addresses
from leaderboard.web.session import CARRYING
from tests.make import build
from tests.make.copies import built_once
from tests.make.loops import some
from tests.make.pages import main, parsed

pytestmark = pytest.mark.trial

ONE = {"1": ["a", "x", "c"], "2": ["y", "d"], "3": ["e", "f"]}
TWO = {"1": ["x", "a", "z"], "2": ["d"], "3": ["q"]}
BOARD = "/tasks/t"
STATES = (
    "",
    "?measure=AP",
    "?edition=1",
    "?measure=AP&edition=1",
    "?q=o&team=Owls&kind=official&pin=no",
    "?group=ours&one=team",
    "?measure=AP&edition=1&q=o&team=Owls&ticked=1&ticked=2&columns=RR&columns=AP&run=1&reference=2",
    "?phase=main&measure=AP&q=one",
    "?measure=AP&at={today}&q=o",
)
"""Of a board; `{today}` is the day of the walk, which may begin after midnight."""
BEHIND = frozenset(
    (
        *("intervals.show", "measure_orders.show", "efficiency.show", "snapshots.history"),
        *("comparisons.compare", "curves.show", "topics.index", "topics.show", "heat_maps.show"),
        *("runs.show", "rankings.show", "rankings.document", "tasks.about", "revisions.index"),
        *(f"run_sections.{name}" for name in ("explained", "topics", "curves", "ties", "measures", "origin")),
    )
)
"""What a walk has to reach from any board."""
FORMS_KEEP = ("phase", "edition", addresses.PACKED)
FORMS_ASK = ("at", "edition", "measure", "topics")
"""What forms that lead to a board may ask for."""
UNDER_AN_EDITION = BEHIND & {
    *("intervals.show", "efficiency.show", "comparisons.compare", "curves.show", "topics.index"),
    *("topics.show", "heat_maps.show", "runs.show", "rankings.show", "run_sections.topics"),
    *("run_sections.explained", "run_sections.curves", "run_sections.measures"),
}
"""Pages that must say which edition they show where it is an earlier one."""


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> None:
    """Runs of two teams under two editions by two measures, and a group."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    for name, rankings, team in (("one", ONE, "Owls"), ("two", TWO, "Owls"), ("three", TWO, "Bears")):
        build.run(database, tmp_path, rankings, name, team_name=team)
    build.drain(database)
    owls = build.team(database, "Owls")
    with database.write() as session:
        board.declare_group(session, OPERATOR, "t", "ours", teams=[owls])
    build.revise(database, tmp_path, {"1": {"x": 1}, "2": {"y": 1}, "3": {"e": 1}})
    build.drain(database)


def _state(address: str) -> dict[str, list[str]]:
    """What an address chooses."""
    return {name: sorted(values) for name, values in parse_qs(urlsplit(address).query, True).items()}


def _links(page: BeautifulSoup, inside: str = "main") -> list[str]:
    return [str(link["href"]) for link in page.select(f"{inside} a[href^='/']")]


def _submitted(form: Tag, **ticked: list[str]) -> str:
    """Where a GET form leads as it stands, with some boxes ticked."""
    fields: list[tuple[str, str]] = []
    for field in form.select("input[type=hidden], select"):
        chosen = field.select_one("option[selected]") or field.select_one("option")
        fields.append(
            (str(field["name"]), str(field["value"] if chosen is None else chosen.get("value", "")))
        )
    fields += [(name, value) for name, values in ticked.items() for value in values]
    return f"{urlsplit(str(form['action'])).path}?" + "&".join(
        f"{n}={v.replace('&', '%26')}" for n, v in fields
    )


def _walked(app: Flask, client: FlaskClient, start: str) -> Iterator[tuple[str, str, BeautifulSoup]]:
    """(endpoint, address, page) of every page of the task behind a board, each path once."""
    adapter, carrying = app.url_map.bind("localhost"), app.extensions[CARRYING]
    waiting, seen = [start], {urlsplit(start).path}
    while waiting:
        address = waiting.pop(0)
        answer = client.get(address, follow_redirects=True)
        assert answer.status_code == 200, address
        page = parsed(answer)
        endpoint, _ = adapter.match(urlsplit(address).path)
        yield endpoint, address, page
        found = _links(page)
        if endpoint == addresses.BOARD and (form := page.find("form", id="compare")) is not None:
            found.append(_submitted(form, run=["1", "2"]))  # type: ignore[arg-type]
        for link in found:
            path = urlsplit(link).path
            # One address has a form, a comparison of two and one of several.
            which = path + "".join(sorted({"a", "run"} & _state(link).keys()))
            if which not in seen and adapter.test(path) and adapter.match(path)[0] in carrying:
                seen.add(which)
                waiting.append(link)


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("state", some(STATES, STATES[-3:]))
def test_what_was_chosen_goes_along_and_back(
    app: Flask, database: Database, client: FlaskClient, state: str
) -> None:
    """Measure, edition and phase stand in every address; crumbs and tabs lead to the board that was left."""
    state = state.format(today=f"{datetime.now(UTC):%Y-%m-%d}")
    chosen = _state(state)
    if "phase" in chosen:
        with database.write() as session:
            phases.add(session, OPERATOR, "t", PhasePlan(name="late"))
    shared = {name: values for name, values in chosen.items() if name in addresses.READ_BY_ALL}
    reached = set()
    for endpoint, address, page in _walked(app, client, f"{BOARD}{state}"):
        if endpoint == addresses.BOARD:
            continue
        reached.add(endpoint)
        assert shared.items() <= _state(address).items(), address
        back = [link for link in _links(page, ":is(.path, .tabs, .second)") if urlsplit(link).path == BOARD]
        assert back, address
        assert {link for link in back if _state(link) != chosen} == set(), address
        if endpoint in UNDER_AN_EDITION:
            said = "This is edition 1, as it was shown then" in " ".join(page.get_text().split())
            assert said == ("edition" in chosen), address
        for form in page.select("main form[method=get]"):
            sent = _state(_submitted(form))
            kept = {name: values for name, values in _state(address).items() if name in FORMS_KEEP}
            if urlsplit(str(form["action"])).path == BOARD:
                kept = {name: values for name, values in chosen.items() if name not in FORMS_ASK}
            assert kept.items() <= sent.items(), (address, form["action"])
    assert reached >= BEHIND


@pytest.mark.usefixtures("filled")
def test_addresses_stay_clean(client: FlaskClient) -> None:
    """What a page shows anyhow stands in no address, nor does anything of a board that was left as it is."""
    for state in ("", "?measure=RR"):
        links = _links(parsed(client.get(f"{BOARD}{state}")))
        assert f"{BOARD}/topics" in links
        assert "/runs/1" in links
        # The files of a figure are those of the page as it was asked for.
        named = [link for link in links if "figure=" not in link and ".json?" not in link]
        assert not [link for link in named if "board=" in link or "measure=RR" in link]
    (now,) = [
        link
        for link in _links(parsed(client.get("/runs/1/topics?edition=1&measure=AP&board=q%3Do")))
        if "edition" not in link and urlsplit(link).path == "/runs/1/topics"
    ]
    assert _state(now) == {"measure": ["AP"], "board": ["q=o"]}


@pytest.mark.usefixtures("filled")
def test_a_board_is_left_only_with_what_it_reads(client: FlaskClient) -> None:
    """Names that no board has, and a state that is none, are dropped on the way back."""
    strange = f"/runs/1?board={'q%3Do%26next%3Devil%26slug%3Ds%26measure%3DAP'}"
    back = [
        _state(link) for link in _links(parsed(client.get(strange)), ".tabs") if urlsplit(link).path == BOARD
    ]
    assert back
    assert all(state == {"q": ["o"]} for state in back)
    many = "%26".join(f"ticked%3D{number}" for number in range(900))
    answer = client.get(f"/runs/1?board={many}")
    assert answer.status_code == 200
    assert BOARD in _links(parsed(answer), ".tabs")


@pytest.mark.usefixtures("filled")
def test_a_run_is_shown_by_the_measure_that_was_chosen(client: FlaskClient) -> None:
    """Its headline, rank and edition are those of the board that led to it."""
    usual = main(client.get("/runs/2"))
    chosen = main(client.get("/runs/2?measure=AP&edition=1"))
    assert "0.3333 RR" in usual
    assert "0.4167 AP" in chosen
    assert "This is edition 1, as it was shown then." in chosen
    assert client.get("/runs/2?measure=P@1").status_code == 422
    assert client.get("/runs/2?edition=7").status_code == 404
    assert client.get("/runs/2/topics?edition=x").status_code == 404
