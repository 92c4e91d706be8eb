"""The audit of judgments on three runs worked by hand."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, update

from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Assessment, Assessor, Run, Task
from leaderboard.errors import Invalid, NotFound, UnknownMeasure
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.judging.page.pools import audit_tables, audits
from leaderboard.judging.page.pools.audits import AuditPage, Choice
from tests.make import build
from tests.make.pooled import GRADES, fill

THIRD = 1 / 3


def _page(database: Database, viewer: Viewer = OPERATOR, slug: str = "t", **choice: Any) -> AuditPage:
    with database.read() as session:
        return audits.page(session, viewer, slug, Choice(**choice))


def test_runs_without_what_their_team_alone_brought(database: Database, tmp_path: Path) -> None:
    """At depth 3 A brought d3 alone, B d6, C d8 and d9: C falls to 0.416667, B behind A."""
    fill(database, tmp_path)
    done = _page(database, depth=3).reusability
    assert done is not None
    by_name = {run.name: run for run in done.runs}
    assert {name: (run.alone, run.alone_relevant) for name, run in by_name.items()} == {
        "A": (1, 0),
        "B": (1, 1),
        "C": (2, 1),
    }
    assert by_name["C"].score == pytest.approx(0.638889, abs=1e-6)
    assert by_name["C"].left_out == pytest.approx(0.416667, abs=1e-6)
    assert by_name["B"].left_out == pytest.approx(0.25)
    assert by_name["A"].left_out == pytest.approx(THIRD)
    assert [(run.name, run.rank, run.left_out_rank) for run in done.runs] == [
        ("C", 1, 1),
        ("B", 2, 3),
        ("A", 3, 3),
    ]
    assert (done.drop, done.dropped) == (1, "B")
    assert done.change == pytest.approx(
        (0 + (7 / 18 - 0.25) / (7 / 18) + (23 / 36 - 15 / 36) / (23 / 36)) / 3
    )
    assert done.agreement.tau == pytest.approx(THIRD)


def test_teams_come_by_what_they_brought(database: Database, tmp_path: Path) -> None:
    """Each team's own tau scores its runs anew and leaves the others as they are."""
    fill(database, tmp_path)
    done = _page(database, depth=3).reusability
    assert done is not None
    rows = [(team.team, team.alone_relevant, team.drop) for team in done.teams]
    assert rows == [("Team C", 1, 0), ("Team B", 1, 1), ("Team A", 0, 0)]
    assert [team.agreement.tau for team in done.teams] == [1.0, pytest.approx(THIRD), 1.0]


def test_the_order_by_depth_of_the_pool(database: Database, tmp_path: Path) -> None:
    """With the first document of each run alone the order is reversed: only d1 is relevant then."""
    fill(database, tmp_path)
    done = _page(database, depth=3).reusability
    assert done is not None
    assert [each.depth for each in done.depths] == [1, 2, 3]
    assert done.depths[0].agreement.tau == -1.0
    assert done.depths[-1].agreement.tau == 1.0


def test_the_depth_is_read_off_the_judgments(database: Database, tmp_path: Path) -> None:
    """Down to rank 2 all of every run is judged, not below."""
    fill(database, tmp_path, judgments={"1": {name: GRADES[name] for name in ("d1", "d2", "d8", "d9")}})
    page = _page(database)
    assert (page.depth, page.guessed) == (2, 2)


@pytest.mark.dialect
def test_a_run_that_was_not_pooled_is_told_what_it_may_lose(database: Database, tmp_path: Path) -> None:
    """A late run brings nothing and has no other score; with both documents relevant it has three of five."""
    fill(database, tmp_path)
    late = build.run(database, tmp_path, {"1": ["x", "y", "d1"]}, "late", team_name="Late")
    build.drain(database)
    with database.write() as session:
        session.execute(update(Run).where(Run.id == late).values(kind="late"))
    done = _page(database, depth=3).reusability
    assert done is not None
    (loser,) = audits.losers(done.runs)
    assert (loser.name, loser.pooled, loser.alone, loser.left_out) == ("late", False, None, None)
    assert loser.judged_top == pytest.approx(THIRD)
    assert loser.unfair
    assert loser.most == pytest.approx(0.6)
    assert (loser.rank, loser.best_rank) == (4, 2)


def test_one_team_is_audited_run_by_run(database: Database, tmp_path: Path) -> None:
    """Where all runs are of one team, every run stands for one."""
    build.task(database, tmp_path, judgments={"1": GRADES}, measures=("AP",), topics=("1",))
    for name, ranking in (("A", ["d1", "d2"]), ("B", ["d6", "d1"])):
        build.run(database, tmp_path, {"1": ranking}, name)
    build.drain(database)
    page = _page(database, depth=2)
    assert page.audited.run_by_run
    assert page.reusability is not None
    assert [(team.team, team.alone_relevant) for team in page.reusability.teams] == [("B", 1), ("A", 0)]


@pytest.mark.dialect
def test_the_runs_of_a_judged_pool_are_the_pooled_ones(database: Database, tmp_path: Path) -> None:
    """As soon as somebody has judged a document of it."""
    ids = fill(database, tmp_path)
    plan = PoolPlan({"name": "depth", "depth": 3}, runs="chosen", chosen=(ids["A"], ids["B"]), reuse=False)
    with database.read() as session:
        made = previews.preview(session, OPERATOR, "t", plan)
    with database.write() as session:
        pools.add(session, OPERATOR, made)
    assert _page(database, depth=3).audited.pooled == (True, True, True)
    with database.write() as session:
        at = now(session)
        session.add(Assessor(id=1, task_id=1, name="Ada", created_at=at))
        session.flush()
        label = {"pool_id": 1, "topic_id": "1", "docno": "d1", "assessor_id": 1, "grade": 1, "key": "k"}
        session.execute(insert(Assessment), [{**label, "saved_at": at, "sent_at": at}])
    found = _page(database, depth=3).audited
    assert (found.pools, found.pooled) == ((1,), (True, True, False))


def test_methods_are_held_against_the_judgments(database: Database, tmp_path: Path) -> None:
    """Hedge comes to d1, d6 and d9 as first, fifth and sixth of nine documents."""
    fill(database, tmp_path)
    page = _page(database, methods=("hedge",))
    (hedge,) = page.simulated
    assert (page.documents, page.relevant) == (9, 3)
    # Shares go in steps of a twentieth: 0.1 is before the first document, 0.15 after it.
    assert [hedge.recall[place] for place in (0, 2, 3, 11, 12, 14, 20)] == pytest.approx(
        [0, 0, THIRD, THIRD, 2 * THIRD, 1, 1]
    )
    assert hedge.taus[2][0] is not None


def test_every_method_can_be_simulated(database: Database, tmp_path: Path) -> None:
    """Each finds all in the end."""
    fill(database, tmp_path)
    for key in audits.SPECS:
        (found,) = _page(database, methods=(key,)).simulated
        assert found.recall[-1] == 1.0, key


def test_tables_and_json_hold_plain_numbers(database: Database, tmp_path: Path) -> None:
    """Every table has a row for what it is of, and nothing that JSON cannot say."""
    fill(database, tmp_path)
    page = _page(database, depth=3)
    sizes = {name: len(table(page).rows) for name, table in audit_tables.FILES.tables.items()}
    methods = len(audits.USUAL)
    assert sizes == {"teams": 3, "runs": 3, "depths": 3, "methods": methods, "unfair": 0, "found": 21}
    facts = audit_tables.facts(page)
    assert facts["left_out"]["largest_drop"] == 1
    assert "pool depth 3" in audit_tables.teams(page).caption


@pytest.mark.parametrize(
    ("choice", "error"),
    [
        ({"depth": 0}, Invalid),
        ({"depth": 1001}, Invalid),
        ({"methods": ("combmnz",)}, Invalid),
        ({"methods": tuple(audits.SPECS)}, Invalid),
        ({"measure": "P@5"}, UnknownMeasure),
    ],
)
def test_what_cannot_be_audited_is_refused(
    database: Database, tmp_path: Path, choice: dict[str, Any], error: type[Exception]
) -> None:
    """Depths, methods and measures that there are not."""
    fill(database, tmp_path)
    with pytest.raises(error):
        _page(database, **choice)


def test_held_back_judgments_are_not_audited(database: Database, tmp_path: Path) -> None:
    """In a blind task the audit is there for organisers only; in an open one for everybody."""
    fill(database, tmp_path)
    assert _page(database, ANONYMOUS).reusability is not None
    with database.write() as session:
        session.execute(update(Task).values(visibility="blind"))
    with pytest.raises(NotFound):
        _page(database, ANONYMOUS)
    assert _page(database).reusability is not None


def test_without_judgments_the_page_says_so(database: Database, tmp_path: Path) -> None:
    """There is nothing to audit then, nor without a scored run."""
    build.task(database, tmp_path, judgments=None)
    assert "no judgments yet" in _page(database).audited.why
    build.task(database, tmp_path, "other")
    assert "No pooled run" in _page(database, slug="other").audited.why
