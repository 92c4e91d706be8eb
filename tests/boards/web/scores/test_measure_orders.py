"""The page of orders by different measures: tables, charts, choices, and what is held back."""

import csv
import io
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from leaderboard.boards.web.scores import measure_orders
from leaderboard.db.engine import Database
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.requests import KeptResults
from tests.boards.page.scores.test_measure_orders import PLACES, fill
from tests.make import build
from tests.make.copies import built_once
from tests.make.pages import main, parsed, table

ADDRESS = "/tasks/t/measures"
SUFFIXES = ("", ".json", ".csv")


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """No result of another test is found."""
    monkeypatch.setattr(requests, "kept", KeptResults(2**20))


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> dict[str, int]:
    """Four runs scored by four measures with a better and a worse, and one without."""
    return fill(database, tmp_path)


@pytest.mark.usefixtures("filled")
def test_the_table_has_the_numbers_of_the_json(client: FlaskClient) -> None:
    """Every two measures, by the coefficient chosen; the share of pairs told apart in the last column."""
    page = client.get(f"{ADDRESS}?coefficient=tau_ap")
    found = client.get(f"{ADDRESS}.json").get_json()
    known = {(each["true_order"], each["order"]): each["tau_ap"] for each in found["coefficients"]}
    keys = [each["measure"] for each in found["measures"]]
    rows = table(page, "τ_AP between the rankings of 4 runs")
    for key, row, measure in zip(keys, rows, found["measures"], strict=True):
        shown = [f"{known.get((key, other), 1.0):.2f}" for other in keys]
        head = f"{key} lower is better" if key == "SearchLength" else key
        power = measure["discriminative_power"]
        assert row == [head, *shown, "–" if power is None else f"{power:.0%}"]
    assert "The ranking by the row’s measure is the reference" in main(page)
    assert "because neither high nor low is better: NumRet" in main(page)


@pytest.mark.usefixtures("filled")
def test_the_csv_has_all_coefficients(client: FlaskClient) -> None:
    """The doubles of the JSON, one row for each two measures in each direction."""
    rows = list(csv.DictReader(io.StringIO(client.get(f"{ADDRESS}.csv").get_data(as_text=True))))
    known = client.get(f"{ADDRESS}.json").get_json()["coefficients"]
    assert len(rows) == 12
    for row, facts in zip(rows, known, strict=True):
        assert {key: value if "order" in key else float(value) for key, value in row.items()} == facts


def test_the_largest_moves_lead_to_the_runs(client: FlaskClient, filled: dict[str, int]) -> None:
    """Those that change rank, by how far, with values and ranks by both measures; the chart has all."""
    page = client.get(f"{ADDRESS}?x=RR&y=AP")
    rows = table(page, "The largest moves from the ranking by RR to that by AP")
    assert [(row[0], row[3], row[5], row[6]) for row in rows] == [
        ("steady", "1", "2", "▼ 1"),
        ("deep", "2", "1", "▲ 1"),
    ]
    found = parsed(page)
    assert found.find("a", href=f"/runs/{filled['steady']}", string="steady") is not None
    assert len(found.select("#slopes g.item")) == 4
    rows = client.get(f"{ADDRESS}.json").get_json()["rows"]
    labels = {each.get_text(strip=True) for each in found.select("#means path.point title")}
    assert labels == {
        f"{row['run']}: {row['scores']['RR']:.4f} and {row['scores']['AP']:.4f}" for row in rows
    }


@pytest.mark.usefixtures("filled")
def test_long_lists_are_cut_until_all_is_asked_for(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows and a link to all of them, which keeps what was chosen."""
    monkeypatch.setattr(measure_orders, "MOVES_AT_FIRST", 1)
    monkeypatch.setattr(measure_orders, "RUNS_AT_FIRST", 2)
    address = f"{ADDRESS}?x=RR&y=AP&standardised=normal"
    cut = client.get(address)
    assert len(table(cut, "The largest moves")) == 1
    assert len(table(cut, "The ranking by standardised RR")) == 2
    (everything,) = parsed(cut).find_all("a", string="All 2 runs that move")
    whole = client.get(str(everything["href"]))
    assert len(table(whole, "The largest moves")) == 2
    assert len(table(whole, "The ranking by standardised RR")) == 4


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize("form", ["normal", "uniform", "empirical"])
def test_standardised_scores_stand_beside_the_raw_ones(client: FlaskClient, form: str) -> None:
    """The page names the reference set and the form, and shows what the JSON has."""
    address = f"?x=SearchLength&standardised={form}"
    page = client.get(ADDRESS + address)
    found = client.get(f"{ADDRESS}.json{address}").get_json()["standardised"]
    assert (found["form"], found["measure"], found["reference"]) == (form, "SearchLength", "all ranked runs")
    assert [row[:3] for row in table(page, "The ranking by standardised SearchLength")] == [
        [row["run"], f"{row['standardised']:.4f}", str(row["standardised_rank"])] for row in found["rows"]
    ]
    assert "The reference set is all ranked runs" in main(page)
    chosen = parsed(page).select_one("select#standardised option[selected]")
    assert chosen is not None
    assert chosen["value"] == form


@pytest.mark.usefixtures("filled")
def test_no_mean_is_not_standardised(client: FlaskClient) -> None:
    """The page says why there is no such order, and has its other tables."""
    page = client.get(f"{ADDRESS}?x=GMAP&standardised=normal")
    assert "is not a mean over topics" in main(page)
    assert table(page, "Kendall’s τ_b between the rankings")


@pytest.mark.usefixtures("filled")
def test_a_choice_there_is_not_is_refused(client: FlaskClient) -> None:
    """In every form of the page."""
    for chosen in ("x=NumRet", "y=nonsense", "coefficient=gamma", "standardised=z"):
        for suffix in SUFFIXES:
            assert client.get(f"{ADDRESS}{suffix}?{chosen}").status_code == 422, chosen


def test_equal_runs_show_no_number_that_is_none(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Tied runs give dashes, empty cells and nulls."""
    fill(database, tmp_path, {"one": PLACES["weak"], "other": PLACES["weak"]})
    for suffix in SUFFIXES:
        text = client.get(f"{ADDRESS}{suffix}?standardised=normal").get_data(as_text=True)
        for word in ("nan", "NaN", "None", "inf"):
            assert f">{word}" not in text
            assert f",{word}" not in text
    page = client.get(ADDRESS)
    assert "RR ties all runs, so it gives no ranking." in main(page)
    assert "No run changes its rank." in main(page)


def test_one_measure_still_says_what_it_tells_apart(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """There is no other order, and the share of pairs is there."""
    fill(database, tmp_path, measures=("RR",))
    page = client.get(ADDRESS)
    assert "RR is the only measure with a direction, so there is no other ranking to compare." in main(page)
    assert [row[0] for row in table(page, "Significantly different pairs of ranked runs")] == ["RR"]


def test_a_task_without_runs_or_judgments_says_so(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Every form is there, without a row."""
    build.task(database, tmp_path, judgments=None)
    for suffix in SUFFIXES:
        assert client.get(f"{ADDRESS}{suffix}").status_code == 200
    assert "has no judgments yet, so its runs are not ranked" in main(client.get(ADDRESS))


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_orders_are_held_back(
    database: Database, client: FlaskClient, tmp_path: Path, visibility: str
) -> None:
    """A blind or sealed task has no such page for its readers, in any form."""
    fill(database, tmp_path, visibility=visibility)
    for suffix in SUFFIXES:
        refused = client.get(f"{ADDRESS}{suffix}")
        assert refused.status_code == 404
        assert "shown when it closes" in refused.get_data(as_text=True)
