"""The comparison of several runs as page, JSON, CSV and LaTeX, and the button that has it computed."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from leaderboard.comparisons.web import many
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.comparisons.page.test_many import BEST_FIRST, fill
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table
from tests.web.conftest import SignIn
from tests.web.test_crawl import faults, tree

ALL = "run=1&run=2&run=3&run=4"


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> dict[str, int]:
    """Four runs on ten topics; run -> id."""
    return fill(database, tmp_path)


@pytest.mark.usefixtures("filled")
def test_the_page_has_runs_matrix_and_overlaps(client: FlaskClient) -> None:
    """Runs best first with letters and counts, every pair with its sign, every overlap but a run's own."""
    page = client.get(f"/tasks/t/compare?{ALL}")
    rows = table(page, "Mean RR")
    assert [row[0] for row in rows] == list(BEST_FIRST)
    assert rows[0][2] == "0.9500"
    assert "of 6 pairs" in main(page).lower()
    signs = table(page, "All 6 pairs by RR, 10 topics, qrels revision 1, paired t, Holm, 2.5%.")
    assert [row[place + 1] for place, row in enumerate(signs)] == [""] * 4
    assert signs[0][4].startswith("▲ +")
    assert signs[3][1].startswith("▼ -")
    overlaps = table(page, "Mean RBO")
    assert [row[place + 1] for place, row in enumerate(overlaps)] == [""] * 4
    assert overlaps[0][1:] == [row[1] for row in overlaps][0:1] + [row[1] for row in overlaps[1:]]


@pytest.mark.parametrize("query", [ALL, f"{ALL}&baseline=2", "run=1&run=2", f"{ALL}&method=sign%2Bholm"])
@pytest.mark.usefixtures("filled")
def test_the_page_is_well_formed(client: FlaskClient, query: str) -> None:
    """It has none of the faults that keep people from hearing it or working by keyboard."""
    page = client.get(f"/tasks/t/compare?{query}", follow_redirects=True)
    assert list(faults(tree(page.text))) == []


@pytest.mark.usefixtures("filled")
def test_two_ticked_runs_are_shown_on_their_page(client: FlaskClient) -> None:
    """All that can be said of two is there; what is asked of them besides is answered here."""
    answer = client.get("/tasks/t/compare?measure=AP&run=3&run=1")
    path, _, chosen = answer.location.partition("?")
    assert (answer.status_code, path) == (303, "/tasks/t/compare")
    assert sorted(chosen.split("&")) == ["a=3", "b=1", "measure=AP"]
    assert client.get("/tasks/t/compare?run=3&run=1&method=sign%2Bholm").status_code == 200
    assert len(client.get("/tasks/t/compare.json?run=3&run=1").get_json()["pairs"]) == 1


def test_the_matrix_leads_to_the_pages_of_pairs(client: FlaskClient, filled: dict[str, int]) -> None:
    """A cell leads to its two runs, the row's first."""
    found = parsed(client.get(f"/tasks/t/compare?{ALL}")).select("table.matrix td a")
    first = f"/tasks/t/compare?a={filled['strong']}&b={filled['alike']}"
    assert len(found) == 12
    assert found[0]["href"] == first


def test_a_baseline_is_the_question(client: FlaskClient, filled: dict[str, int]) -> None:
    """Against a baseline the rows have difference, interval, p and verdict instead of letters and counts."""
    page = client.get(f"/tasks/t/compare?{ALL}&baseline={filled['middle']}")
    rows = {row[0]: row for row in table(page, "Mean RR")}
    assert rows["middle"][3:] == ["–", "–", "–", "–", "the baseline", "–"]
    assert rows["strong"][3].startswith("+")
    assert rows["strong"][7:] == ["▲ better", "–"]
    assert rows["weak"][7] == "▼ worse"
    assert "corrected over 3 pairs" in main(page)
    assert parsed(page).find("figure", id="against") is not None


def test_the_state_stays_in_the_form(client: FlaskClient, filled: dict[str, int]) -> None:
    """Runs, measure, method and baseline are chosen in the form as they are in the address."""
    runs = f"run={filled['strong']}&run={filled['weak']}"
    query = f"{runs}&method=wilcoxon%2Bbh&baseline={filled['weak']}&edition=1"
    found = parsed(client.get(f"/tasks/t/compare?{query}")).find("form", class_="choices")
    assert found is not None
    chosen = {str(option["value"]) for option in found.select("option[selected][value]")}
    assert {"wilcoxon+bh", str(filled["weak"])} <= chosen
    hidden = [(each["name"], each["value"]) for each in found.select("input[type=hidden]")]
    assert hidden == [("edition", "1"), ("run", str(filled["strong"])), ("run", str(filled["weak"]))]


@pytest.mark.usefixtures("filled")
def test_json_and_csv_hold_the_same_pairs(client: FlaskClient) -> None:
    """Both name measure, method and every pair at full precision."""
    found = client.get(f"/tasks/t/compare.json?{ALL}&method=t%2Bbh").get_json()
    assert (found["measure"], found["method"], found["topics"], found["state"]) == ("RR", "t+bh", 10, "done")
    text = client.get(f"/tasks/t/compare.csv?{ALL}&method=t%2Bbh").get_data(as_text=True)
    lines = list(csv.DictReader(io.StringIO(text)))
    for line, pair in zip(lines, found["pairs"], strict=True):
        assert (line["a"], line["b"]) == (pair["a"], pair["b"])
        for name in ("difference", "p", "adjusted_p", "rbo"):
            assert float(line[name]) == pair[name]


@pytest.mark.usefixtures("filled")
def test_the_latex_is_a_file_of_all_measures_asked_for(client: FlaskClient) -> None:
    """The links of the page lead to a table of one measure and of all."""
    page = parsed(client.get(f"/tasks/t/compare?{ALL}"))
    one, every = (str(link["href"]) for link in page.select('a[href*="compare.tex"]'))
    response = client.get(one)
    assert response.mimetype == "application/x-tex"
    assert 'filename="t-comparison.tex"' in response.headers["Content-Disposition"]
    assert "Run & RR \\\\" in response.text
    assert "Run & RR & P@5 \\\\" in client.get(every).text


@pytest.mark.usefixtures("filled")
def test_visitors_compare_by_two_measures_at_once(client: FlaskClient, sign_in: SignIn) -> None:
    """Each measure is a comparison of its own: a table of more needs an account, and says so first."""
    address = f"/tasks/t/compare.tex?{ALL}&measure=RR&measure=P@5&measure=nothing"
    refused = client.get(address, headers={"Accept": "application/json"})
    assert refused.status_code == 422
    assert "at most 2 measures" in refused.text
    sign_in(client, "Anna")
    assert "at most 2 measures" not in client.get(address, headers={"Accept": "application/json"}).text


@pytest.mark.parametrize("suffix", ["", ".json", ".csv", ".tex"])
@pytest.mark.parametrize(
    ("query", "status"),
    [
        (f"{ALL}&method=nonsense", 422),
        (f"{ALL}&measure=NumRet", 422),
        (f"{ALL}&baseline=x", 404),
        (f"{ALL}&edition=9", 404),
        ("run=1&run=99", 404),
        ("run=1&run=x", 404),
        ("run=1&run=1", 422),
    ],
)
@pytest.mark.usefixtures("filled")
def test_what_cannot_be_compared_is_refused(
    client: FlaskClient, suffix: str, query: str, status: int
) -> None:
    """Every form refuses what there is not, in a sentence and with the same status."""
    response = client.get(f"/tasks/t/compare{suffix}?{query}", follow_redirects=True)
    assert response.status_code == status


@pytest.fixture
def long(filled: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Four runs whose comparison takes too long for a page."""
    monkeypatch.setattr(requests, "AT_ONCE_S", -1.0)
    return filled


@pytest.mark.usefixtures("long")
def test_a_visitor_is_told_how_long_it_takes(client: FlaskClient) -> None:
    """Without an account there is no button, and the files say that there is nothing yet."""
    page = client.get(f"/tasks/t/compare?{ALL}")
    assert "Comparing the scores of these runs takes about a second." in main(page)
    assert parsed(page).select("#comparison form") == []
    assert [row[0] for row in table(page, "Mean RR")] == list(BEST_FIRST)
    assert parsed(page).select('a[href*="compare.csv"]') == []
    assert client.get(f"/tasks/t/compare.csv?{ALL}").status_code == 409
    assert client.get(f"/tasks/t/compare.tex?{ALL}").status_code == 409
    assert client.get(f"/tasks/t/compare.json?{ALL}").get_json()["pairs"] == []
    assert (
        client.post(f"/tasks/t/comparisons?{ALL}", headers={"Accept": "application/json"}).status_code == 401
    )


@pytest.mark.usefixtures("long")
def test_who_is_signed_in_has_it_computed(database: Database, client: FlaskClient, sign_in: SignIn) -> None:
    """The button queues both comparisons once; the page refreshes itself until they are there."""
    sign_in(client, "Anna")
    address = f"/tasks/t/compare?{ALL}&method=t%2Bbh"
    form = parsed(client.get(address)).select_one("#comparison form")
    assert form is not None
    for _ in range(2):
        response = client.post(str(form["action"]))
        assert response.status_code == 303
        assert response.headers["Location"] == address
    with database.read() as session:
        assert len(session.scalars(select(Job.id).where(Job.kind == "compare")).all()) == 2
    state = parsed(client.get(address)).find(id="comparison")
    assert state is not None
    assert state["hx-get"] == address
    assert "waiting for a free evaluator" in state.get_text()
    build.drain(database)
    page = client.get(address)
    assert len(table(page, "All 6 pairs by RR")) == 4
    assert "hx-get" not in parsed(page).find(id="comparison").attrs  # type: ignore[union-attr]


@pytest.mark.usefixtures("filled")
def test_more_runs_have_fewer_numbers(client: FlaskClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond some runs cells have signs alone, no links, and only the most alike rankings are listed."""
    for name in ("NUMBERS_UP_TO", "LINKS_UP_TO", "NOTES_UP_TO", "OVERLAPS_UP_TO"):
        monkeypatch.setattr(many, name, 3)
    monkeypatch.setattr(many, "MOST_ALIKE", 2)
    page = client.get(f"/tasks/t/compare?{ALL}")
    cells = {cell for row in table(page, "All 6 pairs") for cell in row[1:]}
    assert cells <= {"", "▲", "▼", "·"}
    assert parsed(page).select("table.matrix td a, table.matrix td[title]") == []
    values = [float(row[2]) for row in table(page, "The 2 most similar of 6")]
    assert values == sorted(values, reverse=True)
    assert len(values) == 2


def test_one_topic_and_equal_runs_are_put_in_words(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """What is undefined is a dash or a sentence, never a number that is none."""
    ids = fill(database, tmp_path, {"a": (1,), "b": (2,), "c": (2,)})
    runs = "&".join(f"run={each}" for each in ids.values())
    page = client.get(f"/tasks/t/compare?{runs}&baseline={ids['a']}")
    assert "With one topic no significance test is possible" in main(page)
    for word in ("nan", "inf ", "None"):
        assert word not in main(page)
    assert client.get(f"/tasks/t/compare.json?{runs}").get_json()["pairs"][0]["interval"] == [None, None]


def test_held_back_comparisons_are_not_found(
    database: Database, client: FlaskClient, tmp_path: Path, sign_in: SignIn
) -> None:
    """A blind task has no comparison in any form for those who do not organise it."""
    fill(database, tmp_path, visibility="blind")
    sign_in(client, "Anna")
    for suffix in ("", ".json", ".csv", ".tex"):
        assert client.get(f"/tasks/t/compare{suffix}?{ALL}").status_code == 404
    assert client.post(f"/tasks/t/comparisons?{ALL}").status_code == 404
