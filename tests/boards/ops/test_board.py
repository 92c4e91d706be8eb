"""Boards: who is ranked, by what, over which topics, and who may see it."""

from datetime import timedelta
from pathlib import Path

import pytest

from leaderboard.accounts.ops import accounts
from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Board
from leaderboard.boards.page import tables
from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, Task, TaskRole
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.qrels.page.topics import lists
from leaderboard.qrels.page.topics import topic as topic_pages
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.page import measures, run
from leaderboard.runs.page.measures import RunChoice
from leaderboard.runs.page.rankings import ranking as rankings
from leaderboard.tasks.page import landing
from tests.make import build

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}
NONE = {"1": ["x"], "2": ["x"], "3": ["x"]}


def _board(
    database: Database, viewer: Viewer = ANONYMOUS, measure: str | None = None, **options: int
) -> Board:
    with database.read() as session:
        return board.board(session, viewer, "t", measure, **options)


def _ranks(shown: Board) -> list[tuple[int | None, str]]:
    return [(row.rank, row.run) for row in shown.rows]


def _close(database: Database) -> None:
    with database.write() as session:
        for phase in session.query(Phase):
            phase.closes_at = now(session) - timedelta(seconds=1)


def test_equal_scores_share_a_rank_and_stand_by_name(database: Database, tmp_path: Path) -> None:
    """Two runs of the same score are both second, the next one is fourth."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    for name, rankings_ in (("worst", NONE), ("twin-b", HALF), ("twin-a", HALF), ("top", BEST)):
        build.run(database, tmp_path, rankings_, name)
    build.drain(database)
    assert _ranks(_board(database)) == [(1, "top"), (2, "twin-a"), (2, "twin-b"), (4, "worst")]


def test_only_scored_official_runs_have_a_rank(database: Database, tmp_path: Path) -> None:
    """A better baseline stands behind the leader without rank, unscored runs last, withdrawn ones nowhere."""
    build.task(database, tmp_path, measures=("RR",))
    build.run(database, tmp_path, BEST, "base", run_request=RunRequest("base", "baseline"))
    build.run(database, tmp_path, HALF, "second")
    gone = build.run(database, tmp_path, BEST, "gone")
    build.drain(database)
    build.run(database, tmp_path, BEST, "fresh")
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, gone, "a mistake")
    shown = _board(database)
    assert _ranks(shown) == [(1, "second"), (None, "base"), (None, "fresh")]
    assert [row.state for row in shown.rows] == ["done", "done", "queued"]


def test_without_judgments_runs_wait_unranked(database: Database, tmp_path: Path) -> None:
    """A board of a task that has no qrels lists its runs as waiting."""
    build.task(database, tmp_path, judgments=None)
    build.run(database, tmp_path, BEST)
    shown = _board(database)
    assert (shown.basis, _ranks(shown), shown.rows[0].state) == (None, [(None, "run")], "waiting")


def test_any_measure_with_a_direction_ranks(database: Database, tmp_path: Path) -> None:
    """Aliases name columns too; what is no column or has no better and worse is refused with a sentence."""
    build.task(database, tmp_path, measures=("RR", "AP", "NumRet"))
    build.run(database, tmp_path, BEST, "top")
    build.run(database, tmp_path, HALF, "half")
    build.drain(database)
    assert _board(database, measure="map").sorted_by == "AP"
    with pytest.raises(UnknownMeasure, match="not on this board"):
        _board(database, measure="P@10")
    with pytest.raises(UnknownMeasure, match="has no direction"):
        _board(database, measure="NumRet")


def test_an_earlier_edition_stays_as_it_was(database: Database, tmp_path: Path) -> None:
    """After a new revision the old board is still there, with its scores and without later runs."""
    build.task(database, tmp_path, measures=("RR",))
    build.run(database, tmp_path, HALF, "first")
    build.drain(database)
    before = _board(database)
    build.revise(database, tmp_path, {"1": {"x": 1}, "2": {"x": 1}, "3": {"x": 1}})
    building = _board(database)
    assert building.rescoring is not None
    assert (building.rescoring.done, building.rescoring.total, building.basis) == (0, 1, before.basis)
    build.drain(database)
    build.run(database, tmp_path, BEST, "later")
    build.drain(database)
    old = _board(database, edition=1)
    assert (old.rows, old.basis and old.basis.is_current) == (before.rows, False)
    assert _board(database).rows[0].scores == {"RR": 1.0}
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, 1, "found to be wrong since")
    assert _board(database, edition=1).rows == old.rows
    assert [row.run for row in _board(database).rows] == ["later"]
    with pytest.raises(NotFound, match="no edition 9"):
        _board(database, edition=9)


def test_scores_are_the_services_doubles(database: Database, tmp_path: Path) -> None:
    """JSON has exactly the promised keys, and doubles that survive it."""
    build.task(database, tmp_path, measures=("AP", "RR"))
    build.run(database, tmp_path, HALF, "half", team_name="Lab")
    build.drain(database)
    found = tables.board_facts(_board(database))
    assert {"task", "revision", "topics", "primary", "measures", "rows"} <= found.keys()
    (row,) = found["rows"]
    assert (row["rank"], row["run"], row["team"], row["state"]) == (1, "half", "Lab", "done")
    assert row["scores"] == {"AP": (1 / 4 + 1 / 2 + 1 / 4) / 3, "RR": 0.5}


def _blind(database: Database, folder: Path, visibility: str = "blind") -> None:
    """A task of ten topics with two teams' runs, scored."""
    names = [str(number) for number in range(1, 11)]
    judgments = {name: {"a": 1, "b": 0} for name in names}
    build.task(
        database,
        folder,
        topics=names,
        judgments=judgments,
        measures=("RR", "Judged@10"),
        visibility=visibility,
    )
    deep = [f"d{number:02}" for number in range(12)]
    for number, team in enumerate(("One", "Two")):
        placed = {name: [*deep[: int(name) % 3 + number], "a", *deep[9:]] for name in names}
        padded = {
            name: [*docnos, *(f"p{extra:02}" for extra in range(12))] for name, docnos in placed.items()
        }
        build.run(database, folder, padded, f"run-{team}", team_name=team)
    build.drain(database)


def test_a_blind_board_shows_rounded_means_of_public_topics_only(database: Database, tmp_path: Path) -> None:
    """Five of ten topics, three decimals, no Judged@10, whoever asks; the organiser sees all."""
    _blind(database, tmp_path)
    shown = _board(database)
    assert shown.basis is not None
    assert (shown.basis.topics, shown.basis.revision_sha256) == (5, "")
    assert [each.key for each in shown.measures] == ["RR"]
    assert all(round(row.scores["RR"] or 0, 3) == row.scores["RR"] for row in shown.rows)
    with pytest.raises(UnknownMeasure, match="not on this board"):
        _board(database, measure="Judged@10")
    organiser = _board(database, OPERATOR)
    assert organiser.basis is not None
    assert (organiser.basis.topics, len(organiser.measures)) == (10, 2)


def test_a_blind_run_shows_no_topic_and_no_grade(database: Database, tmp_path: Path) -> None:
    """A team sees its own rankings without grades, and nobody else's; no per-topic score, no judgment."""
    _blind(database, tmp_path)
    member = Viewer(account_id=1, team_ids=frozenset({build.team(database, "One")}))
    with database.read() as session:
        own = measures.whole_run(session, member, 1, RunChoice())
        assert (own.topics.topics, own.origin.provenance is not None) == ((), True)
        assert measures.whole_run(session, ANONYMOUS, 1, RunChoice()).origin.provenance is None
        ranking = rankings.ranking_page(session, member, 1, "1")
        assert {row.grade for row in ranking.rows} == {None}
        assert ranking.missed == ()
        with pytest.raises(NotFound):
            rankings.ranking_page(session, member, 2, "1")
        topic = topic_pages.topic_page(session, member, "t", "1")
        assert (topic.documents.rows, topic.documents.grades, topic.scores) == ((), (), ())
        listed = lists.topic_list(session, member, "t")
        assert {(row.judged, row.difficulty, row.grades) for row in listed.topics} == {(None, None, ())}


@pytest.mark.dialect
def test_a_sealed_task_shows_a_team_that_its_run_is_valid(database: Database, tmp_path: Path) -> None:
    """No score and no other team's run until the close; then everything."""
    _blind(database, tmp_path, "sealed")
    member = Viewer(account_id=1, team_ids=frozenset({build.team(database, "One")}))
    assert _board(database).rows == ()
    own = _board(database, member)
    assert [(row.run, row.state, row.scores) for row in own.rows] == [("run-One", "valid", {"RR": None})]
    with database.read() as session:
        with pytest.raises(NotFound):
            run.run_page(session, member, 2)
        assert run.run_page(session, member, 1).measures == ()
    _close(database)
    with database.read() as session:
        (front,) = landing.landing(session, ANONYMOUS)
    assert (front.runs, front.leader and front.leader.run) == (2, "run-One")
    opened = _board(database)
    assert opened.basis is not None
    assert (len(opened.rows), opened.basis.topics, opened.rows[0].rank) == (2, 10, 1)


@pytest.mark.dialect
def test_a_draft_is_known_to_its_organisers_only(database: Database, tmp_path: Path) -> None:
    """Everybody else is told there is no such task."""
    build.task(database, tmp_path, publish=False)
    with database.write() as session:
        account_id = accounts.create(session, "Olga", is_organiser=True)
        task_id = session.query(Task).one().id
        session.add(TaskRole(task_id=task_id, account_id=account_id, role="organiser"))
    with database.read() as session:
        olga = policy.viewer_of(session, account_id, "Olga", True)
        assert board.board(session, olga, "t").is_draft
        for stranger in (ANONYMOUS, Viewer(account_id=99, is_organiser=True)):
            with pytest.raises(NotFound, match="no task 't'"):
                board.board(session, stranger, "t")


def test_a_ranking_stands_in_trec_evals_order_with_its_grades(database: Database, tmp_path: Path) -> None:
    """Ties go by document id descending; grades and missed documents are those of the revision."""
    build.task(database, tmp_path, judgments={"1": {"a": 2, "b": 0, "z": 1}}, measures=("AP",))
    path = tmp_path / "tied.txt"
    path.write_text("".join(f"1 Q0 {docno} 1 5 tied\n" for docno in ("a", "b", "c")))
    submission = build.submit(database, path)
    assert submission.run_id is not None
    build.drain(database)
    with database.read() as session:
        page = rankings.ranking_page(session, ANONYMOUS, submission.run_id, "1")
        assert [(row.rank, row.docno, row.grade) for row in page.rows] == [
            (1, "c", None),
            (2, "b", 0),
            (3, "a", 2),
        ]
        assert [(each.docno, each.grade) for each in page.missed] == [("z", 1)]
        assert rankings.ranking_page(session, ANONYMOUS, submission.run_id, "2").total == 0
        with pytest.raises(NotFound, match="no topic"):
            rankings.ranking_page(session, ANONYMOUS, submission.run_id, "9")


def test_a_run_page_has_ranks_topics_and_where_they_come_from(database: Database, tmp_path: Path) -> None:
    """Every measure with its place, every topic with its scores, file and revision by their digests."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    build.run(database, tmp_path, BEST, "top")
    run_id = build.run(database, tmp_path, HALF, "half")
    build.drain(database)
    with database.read() as session:
        found = measures.whole_run(session, ANONYMOUS, run_id, RunChoice())
    assert next((each.column.key, each.value, each.rank, each.best) for each in found.page.measures) == (
        "RR",
        0.5,
        2,
        1.0,
    )
    assert next((each.topic_id, each.scores) for each in found.topics.topics) == ("1", (0.5, 0.25))
    provenance, basis = found.origin.provenance, found.page.basis
    assert provenance is not None
    assert basis is not None
    assert len(provenance.sha256) == len(basis.revision_sha256) == 64
