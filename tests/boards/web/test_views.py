"""The board's page as its address asks for it: search, filter, columns, baselines, what is judged."""

from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from bs4.element import Tag
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.boards.web import boards
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Member, Run
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table
from tests.web.conftest import SignIn

TOPICS = ("1", "2", "3", "4")
JUDGMENTS = {topic: {"a": 1, "b": 0} for topic in TOPICS}
RUNS = (
    ("first", "Owls", "official", ("a", "b")),
    ("second", "Bears", "official", ("b", "a")),
    ("third", "Bears", "official", ("x", "b", "a")),
    ("floor", "Owls", "baseline", ("b", "a")),
)


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found, and every board offers to be searched."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))
    monkeypatch.setattr(boards, "FILTER_FROM", 1)


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> None:
    """A scored board of two teams; two runs state something of themselves."""
    build.task(database, tmp_path, judgments=JUDGMENTS, topics=TOPICS, measures=("AP", "P@2", "R@2"))
    for name, team, kind, docnos in RUNS:
        rankings = dict.fromkeys(TOPICS, docnos)
        build.run(database, tmp_path, rankings, name, team_name=team, run_request=RunRequest(name, kind))
    build.drain(database)
    stated = {"form": {"type": "manual", "code": "https://example.org/code"}}
    with database.write() as session:
        session.execute(update(Run).where(Run.name == "second").values(details=stated))


def _names(client: FlaskClient, state: str) -> list[str]:
    return [row[2].split()[0] for row in table(client.get(f"/tasks/t{state}"), "Ranked by mean AP")]


def _link(page: BeautifulSoup, words: str) -> str:
    found = page.find("a", string=words)
    assert isinstance(found, Tag), words
    return str(found["href"])


def _sent(form: Tag, **changes: str) -> dict[str, list[str]]:
    """What a browser sends of a GET form, with some fields filled in."""
    fields: dict[str, list[str]] = {}
    for field in form.find_all(["input", "select"]):
        name, kind = str(field.get("name")), field.get("type")
        if kind == "checkbox" and not field.has_attr("checked"):
            continue
        chosen = field.find("option", selected=True) if field.name == "select" else None
        value = str(chosen["value"]) if isinstance(chosen, Tag) else str(field.get("value", ""))
        fields.setdefault(name, []).append(value)
    return {**fields, **{name: [value] for name, value in changes.items()}}


@pytest.mark.usefixtures("filled")
def test_a_search_says_how_many_runs_are_left_and_leads_back(client: FlaskClient) -> None:
    """The count, that ranks are those of the whole board, and a link that clears the filter alone."""
    response = client.get("/tasks/t?measure=P@2&q=bears&bounds")
    assert "2 of 4 runs , ranked among all." in main(response)
    link = _link(parsed(response), "Clear filters")
    assert link == "/tasks/t?measure=P@2&bounds="
    assert "4 runs" in main(client.get(link))


@pytest.mark.usefixtures("filled")
def test_the_form_keeps_the_rest_of_the_address(client: FlaskClient) -> None:
    """Measure, columns and pins go with it as hidden fields; what was asked stands in its fields."""
    page = parsed(client.get("/tasks/t?measure=P@2&columns=AP&columns=unjudged&pin=no&team=Owls&q=fl"))
    form = page.select_one('#main form[role="search"]')
    assert isinstance(form, Tag)
    sent = _sent(form)
    assert {name: sent[name] for name in ("measure", "columns", "pin", "team", "q")} == {
        "measure": ["P@2"],
        "columns": ["AP", "unjudged"],
        "pin": ["no"],
        "team": ["Owls"],
        "q": ["fl"],
    }
    again = client.get("/tasks/t", query_string=_sent(form, q="first"))
    assert [row[1] for row in table(again, "Ranked by mean P@2")] == ["first ● Owls"]


@pytest.mark.usefixtures("filled")
def test_ticks_are_kept_by_the_address(client: FlaskClient) -> None:
    """Orders and filters keep them; what a filter hides is compared with the others all the same."""
    boxes = parsed(client.get("/tasks/t")).select(".board input")
    ids = {str(box["aria-label"]).split()[1]: box["value"] for box in boxes}
    ticks = f"ticked={ids['first']}&ticked={ids['third']}"
    page = parsed(client.get(f"/tasks/t?{ticks}&q=first&ticked=999&ticked=x"))
    (box,) = page.select(".board input")
    assert box["value"] == ids["first"]
    assert box.has_attr("checked")
    hidden = page.select("#compare input[name=run]")
    assert [field["value"] for field in hidden] == [ids["third"]]
    sorts = [str(link["href"]) for link in page.select(".board thead a:not(.definition)")]
    assert sorts
    assert all(ticks in link for link in sorts)
    assert "ticked" not in _link(page, "Clear")
    assert all("ticked" not in str(link["href"]) for link in page.select(".downloads a"))


@pytest.mark.usefixtures("filled")
def test_columns_are_chosen_by_a_form(client: FlaskClient) -> None:
    """Ticked is what is shown; the heads are those ticked, and a link leads to the usual ones."""
    page = parsed(client.get("/tasks/t?q=s"))
    form = next(each for each in page.find_all("form") if each.find("legend", string="Measures"))
    assert _sent(form)["columns"] == ["AP", "P@2", "R@2", "unjudged", "means", "ranges", "places"]
    assert _sent(form)["q"] == ["s"]
    chosen = parsed(client.get("/tasks/t?columns=R@2&columns=type&columns=code&columns=bounds"))
    heads = [" ".join(head.get_text().split()) for head in chosen.select("table.board thead th")]
    assert heads == ["Rank", "Run", "AP", "Lowest–highest", "R@2", "Run type", "Code"]
    link = chosen.select_one("table.board td.stated a")
    assert link is not None
    assert link["rel"] == ["noopener", "noreferrer", "nofollow"]
    assert _link(chosen, "Default columns") == "/tasks/t"


@pytest.mark.usefixtures("filled")
def test_a_filter_by_metadata_is_offered_where_runs_state_any(client: FlaskClient) -> None:
    """The facts that runs state can be chosen, with the values they have."""
    page = parsed(client.get("/tasks/t?field=type"))
    assert [each["value"] for each in page.select("select[name=field] option")] == ["", "type", "code"]
    assert [each["value"] for each in page.select("datalist option")] == ["manual"]
    assert _names(client, "?field=type&value=manual") == ["second"]
    assert "No run matches." in main(client.get("/tasks/t?field=type&value=nothing"))


@pytest.mark.usefixtures("filled")
def test_baselines_go_in_line_by_a_link_and_back(client: FlaskClient) -> None:
    """Above the others at first, in a part of their own; the order stays in JSON and CSV."""
    page = parsed(client.get("/tasks/t"))
    assert [link.get_text() for link in page.select("tbody.baselines th a")] == ["floor"]
    assert _names(client, "") == ["floor", "first", "second", "third"]
    link = _link(page, "Baselines ordered by score")
    assert link == "/tasks/t?pin=no"
    assert _names(client, "?pin=no") == ["first", "floor", "second", "third"]
    rows = client.get("/tasks/t.json?pin=no").get_json()["rows"]
    assert [(row["run"], row["rank"]) for row in rows[:3]] == [("first", 1), ("floor", None), ("second", 2)]
    assert _link(parsed(client.get(link)), "Baselines at the top") == "/tasks/t"


@pytest.mark.usefixtures("filled")
def test_your_runs_are_marked_and_a_link_shows_them_alone(
    database: Database, client: FlaskClient, sign_in: SignIn
) -> None:
    """For a member of a team with runs; nobody else is offered it."""
    assert parsed(client.get("/tasks/t")).find("a", string="Your runs (2)") is None
    account = sign_in(client, "Ann")
    bears = build.team(database, "Bears")
    with database.write() as session:
        session.add(Member(team_id=bears, account_id=account, role="member", joined_at=now(session)))
    page = parsed(client.get("/tasks/t?q=first"))
    link = _link(page, "Your runs (2)")
    assert link == "/tasks/t?own="
    own = parsed(client.get(link))
    assert [link.get_text() for link in own.select("tr.own th a")] == ["second", "third"]
    assert len(own.select("table.board tbody tr")) == 2


@pytest.mark.usefixtures("filled")
def test_a_run_outside_the_pool_is_told_with_how_much_of_it_is_judged(client: FlaskClient) -> None:
    """The badge's title names the share; the explanation below counts such runs."""
    page = parsed(client.get("/tasks/t"))
    (badge,) = page.find_all("span", string="outside the pool")
    assert str(badge["title"]).startswith("Only 67% of its top 10 is judged")
    assert badge.find_previous_sibling("a") == page.find("a", string="third")
    assert "Here: 1 run." in main(client.get("/tasks/t"))


@pytest.mark.usefixtures("filled")
def test_bounds_are_shown_on_demand(client: FlaskClient) -> None:
    """A link asks for them; a measure that has none is answered with a sentence."""
    page = client.get("/tasks/t")
    link = _link(parsed(page), "Show them next to the score")
    assert link == "/tasks/t?bounds="
    rows = table(client.get(link), "Ranked by mean AP")
    assert [row[7] for row in rows[1:]] == ["1.0000–1.0000", "0.5000–0.5000", "0.3333–0.8333"]
    assert "only those of AP, nDCG, P, RR and RBP" in main(client.get("/tasks/t?measure=R@2&bounds"))
    found = client.get("/tasks/t.json?bounds").get_json()["rows"]
    assert found[1]["lowest"] == 1.0
    assert "lowest" not in client.get("/tasks/t.json").get_json()["rows"][0]


@pytest.mark.usefixtures("filled")
def test_the_table_is_no_part_of_a_form(client: FlaskClient) -> None:
    """Print leaves forms out and has to keep the board; its ticks name the form they belong to."""
    page = parsed(client.get("/tasks/t"))
    assert page.select("form table.board") == []
    ticks = page.select("table.board input")
    assert {str(each["form"]) for each in ticks} == {"compare"}
    assert page.find("form", id="compare") is not None


@pytest.mark.usefixtures("filled")
def test_latex_follows_the_state(client: FlaskClient) -> None:
    """The same rows and columns as the page, as a file named after the task."""
    response = client.get("/tasks/t.tex?q=bears&columns=AP")
    assert response.mimetype == "application/x-tex"
    assert response.headers["Content-Disposition"] == 'attachment; filename="t.tex"'
    lines = [line.strip() for line in response.text.splitlines() if line.strip().startswith(("2", "3"))]
    assert lines == [
        r"2 & second & Bears & \textbf{0.5000}$^{\dagger}$ \\",
        r"3 & third & Bears & 0.3333$^{\dagger}$ \\",
    ]


@pytest.mark.trial
@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("suffix", ["", ".json", ".csv", ".tex"])
def test_anything_may_be_asked_for(client: FlaskClient, suffix: str) -> None:
    """Strange words find nothing or are passed over; they are never an error, and never code."""
    for state in ("q=%3Cscript%3E", "columns=%7B%7B1%7D%7D", "field=x&value=%22", "kind=?", "q=" + "x" * 900):
        response = client.get(f"/tasks/t{suffix}?{state}&own&team=%3Cb%3E")
        assert response.status_code == 200, state
        assert "<script>" not in response.text
        assert "<b>0 of" in response.text or suffix


def test_a_blind_board_offers_nothing_of_what_is_held_back(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """No share, no bounds, no facts and no field to filter by, whatever the address asks for."""
    deep = (*(f"d{number}" for number in range(11)), "a")
    names = [str(number) for number in range(1, 11)]
    build.task(
        database,
        tmp_path,
        judgments={name: {"a": 1} for name in names},
        topics=names,
        measures=("RR",),
        visibility="blind",
    )
    build.run(database, tmp_path, dict.fromkeys(names, deep), "only")
    build.run(database, tmp_path, dict.fromkeys(names, deep[::-1]), "other")
    build.drain(database)
    page = parsed(client.get("/tasks/t?bounds&field=type&columns=unjudged&columns=bounds"))
    assert page.select("select[name=field] option[value=type]") == []
    assert page.find("legend", string="Confidence") is None
    plain = parsed(client.get("/tasks/t?bounds&columns=unjudged"))
    assert [head.get_text(strip=True) for head in plain.select("table.board thead th")] == [
        *("Rank", "Run", "RR")
    ]
    row = client.get("/tasks/t.json?bounds").get_json()["rows"][0]
    assert (row["unjudged"], row["judged_at_10"], row["outside_the_pool"]) == (None, None, None)
    assert "lowest" not in row
