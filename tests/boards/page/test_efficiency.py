"""Effectiveness against cost: which runs are on the front, and what is said where nobody reports."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from leaderboard.boards.page import efficiency
from leaderboard.boards.page.efficiency import EfficiencyPage
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid, NotFound, UnknownMeasure
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tables.latex import latex_text
from leaderboard.web.charts import pareto_front
from tests.make import build
from tests.make.copies import built_once

GOOD = {"1": ["a", "c"], "2": ["d"], "3": ["e"]}
MIDDLE = {"1": ["x", "a"], "2": ["x", "d"], "3": ["e"]}
POOR = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
RUNS: dict[str, tuple[Mapping[str, list[str]], str, dict[str, str | float]]] = {
    "slow": (GOOD, "official", {"latency_ms": 100.0, "hardware": "big"}),
    "quick": (POOR, "official", {"latency_ms": 1.0, "hardware": "small"}),
    "base": (MIDDLE, "baseline", {"latency_ms": 5.0, "index_bytes": 2e6}),
    "waste": (POOR, "official", {"latency_ms": 50.0}),
    "sized": (MIDDLE, "official", {"index_bytes": 1e6}),
    "silent": (GOOD, "official", {"llm": "none"}),
}


@pytest.fixture
@built_once
def filled(database: Database, tmp_path: Path) -> Database:
    """Six scored runs, of which five report some cost."""
    build.task(database, tmp_path, measures=("RR", "NumRet", "SearchLength(rel=1)"))
    for name, (rankings, kind, facts) in RUNS.items():
        build.run(database, tmp_path, rankings, name, run_request=RunRequest(name, kind, facts=facts))
    build.drain(database)
    return database


def _page(database: Database, viewer: Viewer = ANONYMOUS, slug: str = "t", **options: str) -> EfficiencyPage:
    with database.read() as session:
        return efficiency.efficiency_page(session, viewer, slug, **options)


def test_the_front_is_of_runs_that_nobody_beats(filled: Database) -> None:
    """Mean RR 1/2, 2/3 and 1 at 1, 5 and 100 ms: all three are on the front, 1/2 at 50 ms is not."""
    page = _page(filled)
    assert (page.cost.field.key, page.cost.reported, page.silent) == ("latency_ms", 4, 1)
    found = [(row.name, row.costs.get("latency_ms"), row.on_front) for row in page.rows]
    assert found == [
        ("quick", 1.0, True),
        ("base", 5.0, True),
        ("waste", 50.0, False),
        ("slow", 100.0, True),
        ("sized", None, False),
    ]
    assert [row.score for row in page.drawn] == pytest.approx([1 / 2, 2 / 3, 1 / 2, 1])
    assert [row.rank for row in page.rows] == [4, None, 4, 1, 3]


def test_chart_and_table_agree_on_the_front(filled: Database) -> None:
    """The line that is drawn joins the runs that are marked."""
    drawn = _page(filled).drawn
    on_line = pareto_front([(row.costs["latency_ms"], row.score) for row in drawn])
    assert [drawn[place].name for place in on_line] == [row.name for row in drawn if row.on_front]


def test_another_cost_and_order_can_be_chosen(filled: Database) -> None:
    """By index size the equal score with the smaller index wins; sorted by score the best come first."""
    page = _page(filled, cost="index_bytes", order="score")
    assert [row.name for row in page.rows] == ["slow", "base", "sized", "quick", "waste"]
    assert [row.name for row in page.rows if row.on_front] == ["sized"]
    assert page.cost.unit.name == "MB"
    assert [(each.field.key, each.reported) for each in page.costs] == [
        ("latency_ms", 4),
        ("index_bytes", 2),
        ("energy_wh", 0),
        ("runtime_ms", 0),
    ]


def test_where_lower_is_better_the_front_is_of_the_lowest(filled: Database) -> None:
    """By search length, of which less is better, the same runs are on the front."""
    page = _page(filled, measure="SearchLength(rel=1)")
    assert page.measure.direction == "lower"
    assert [row.name for row in page.rows if row.on_front] == ["quick", "base", "slow"]
    assert "lower is better" in efficiency.table(page).caption


def test_hardware_is_counted(filled: Database) -> None:
    """Two of the four runs that are drawn say what they were measured on, each something else."""
    assert _page(filled).machines == (2, 2)


def test_measures_without_better_and_worse_are_not_offered(filled: Database) -> None:
    """NumRet is on the board and not here; unknown costs are refused with those there are."""
    assert "NumRet" not in [each.key for each in _page(filled).measures]
    with pytest.raises(UnknownMeasure, match="choose one of RR"):
        _page(filled, measure="NumRet")
    with pytest.raises(Invalid, match="choose one of latency_ms"):
        _page(filled, cost="money")


def test_nobody_reports(database: Database, tmp_path: Path) -> None:
    """Without judgments there are no scores; with them and without costs all runs are silent."""
    build.task(database, tmp_path, judgments=None)
    build.run(database, tmp_path, GOOD)
    page = _page(database)
    assert (page.basis, page.rows, page.silent, page.shown_costs) == (None, (), 0, ())
    build.revise(database, tmp_path, build.JUDGMENTS)
    build.drain(database)
    page = _page(database)
    assert (page.rows, page.silent) == ((), 1)


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_what_runs_cost_is_held_back(database: Database, tmp_path: Path, visibility: str) -> None:
    """In a blind or sealed task only its organisers see what others report."""
    build.task(database, tmp_path, visibility=visibility)
    with pytest.raises(NotFound, match="shown when it closes"):
        _page(database)
    assert _page(database, OPERATOR).rows == ()


def test_files_say_the_same_at_full_precision(filled: Database) -> None:
    """JSON and CSV have every cost in the unit it is kept in; LaTeX in the one it is shown in."""
    page = _page(filled)
    assert efficiency.facts(page)["rows"][0]["costs"] == {
        "latency_ms": 1.0,
        "index_bytes": None,
        "energy_wh": None,
        "runtime_ms": None,
    }
    table = efficiency.table(page)
    header, rows = table.data()
    assert rows[1] == ["base", 3, "Team", "baseline", None, 2 / 3, 5.0, 2e6, None, None, "", "yes"]
    assert header[5:7] == ["RR", "latency_ms"]
    printed = latex_text(table)
    assert "Run & Team & RR & Latency per topic (ms) & Index size (MB) & Front" in printed
    assert "base & Team & 0.6667 & 5.000 & 2.000 & yes" in printed
    assert "have not been verified" in printed
    assert "3 topics, qrels revision 1" in printed
