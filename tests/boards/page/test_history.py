"""The history of a board, and the board as of a moment."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import update

from leaderboard.boards.ops import board
from leaderboard.boards.page import history
from leaderboard.boards.page.history import History
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Phase, Run, Task
from leaderboard.errors import Invalid, NotFound
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.tables.latex import latex_text
from tests.make import build
from tests.make.copies import built_once

BEST = {"1": ["a", "c"], "2": ["d"], "3": ["e", "f"]}
HALF = {"1": ["x", "a"], "2": ["x", "d"], "3": ["x", "e"]}


def _day(day: int) -> datetime:
    return datetime(2026, 3, day, 12, tzinfo=UTC)


@pytest.fixture
@built_once
def site(database: Database, tmp_path: Path) -> None:
    """Two editions, from 1 and 5 March; runs of 1, 3 and 6 March, the first withdrawn on 4 March."""
    build.task(database, tmp_path, measures=("RR", "AP"))
    build.run(database, tmp_path, BEST, "best")
    build.run(database, tmp_path, HALF, "half")
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"x": 1}, "2": {"x": 1}, "3": {"a": 1}})
    build.drain(database)
    build.run(database, tmp_path, HALF, "late", team_name="Other")
    build.run(database, tmp_path, HALF, "base", team_name="Other", run_request=RunRequest("base", "baseline"))
    build.drain(database)
    with database.write() as session:
        for number, (start, end) in {1: (_day(1), _day(5)), 2: (_day(5), None)}.items():
            changed = update(Edition).where(Edition.number == number)
            session.execute(changed.values(shown_from=start, shown_to=end))
        for name, sent, gone in (
            ("best", 1, _day(4)),
            ("half", 3, None),
            ("late", 6, None),
            ("base", 6, None),
        ):
            changed_run = update(Run).where(Run.name == name)
            session.execute(changed_run.values(created_at=_day(sent), withdrawn_at=gone))


def _history(database: Database, viewer: Viewer = ANONYMOUS) -> History:
    with database.read() as session:
        return history.history(session, viewer, "t")


def _at(database: Database, moment: datetime) -> list[tuple[int | None, str, float | None]]:
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t", at=moment)
    return [(row.rank, row.run, row.scores["RR"]) for row in shown.rows]


@pytest.mark.usefixtures("site")
def test_a_board_of_a_moment_has_its_runs_and_its_edition(database: Database) -> None:
    """Withdrawn later counts as there, sent later as not; scores are those of the edition of then."""
    assert _at(database, _day(1)) == [(1, "best", 1.0)]
    assert _at(database, _day(3)) == [(1, "best", 1.0), (2, "half", 0.5)]
    assert _at(database, _day(4)) == [(1, "half", 0.5)]
    assert [each[1] for each in _at(database, _day(5))] == ["half"]
    assert [(rank, run) for rank, run, _ in _at(database, _day(7))] == [
        (1, "half"),
        (1, "late"),
        (None, "base"),
    ]
    with database.read() as session:
        shown = board.board(session, ANONYMOUS, "t", at=_day(4))
    assert shown.basis is not None
    assert (shown.basis.edition, shown.rescoring, shown.at) == (1, None, _day(4))


@pytest.mark.usefixtures("site")
def test_before_the_first_edition_there_is_no_board(database: Database) -> None:
    """The refusal says from when on there is one; an edition and a moment together are refused."""
    with pytest.raises(NotFound, match="its first edition dates from 2026-03-01 12:00 UTC"):
        _at(database, _day(1).replace(hour=11))
    with database.read() as session, pytest.raises(Invalid, match="either an edition or a date"):
        board.board(session, ANONYMOUS, "t", edition=1, at=_day(3))


@pytest.mark.usefixtures("site")
def test_each_edition_has_the_runs_and_the_leader_of_its_end(database: Database) -> None:
    """A run withdrawn before the end leads no more; equal leaders are counted; baselines lead nothing."""
    newest, oldest = _history(database).editions
    assert (oldest.runs, oldest.shown_from, oldest.shown_to) == (1, _day(1), _day(5))
    assert oldest.leader is not None
    assert (oldest.leader.run, oldest.leader.value, oldest.leader.tied) == ("half", 0.5, 1)
    assert oldest.changes == ("The first edition, under qrels revision 1.",)
    assert (newest.runs, newest.shown_to) == (3, None)
    assert newest.leader is not None
    assert (newest.leader.run, newest.leader.measure, newest.leader.tied) == ("half", "RR", 2)
    assert newest.leader.value == (1 + 1 + 0) / 3
    assert newest.changes == ("Qrels revision 2: a note.",)


@pytest.mark.usefixtures("site")
def test_every_day_counts_what_came_and_went(database: Database) -> None:
    """Newest first, with the number of runs at the end of the day."""
    days = _history(database).days
    seen = [
        (each.day.day, [run.name for run in each.added], [run.name for run in each.withdrawn], each.runs)
        for each in days
    ]
    assert seen == [
        (6, ["late", "base"], [], 3),
        (4, [], ["best"], 1),
        (3, ["half"], [], 2),
        (1, ["best"], [], 1),
    ]


@pytest.mark.usefixtures("site")
@pytest.mark.dialect
def test_changes_of_measures_dialect_and_topics_are_said(database: Database) -> None:
    """Each in a sentence of its own; nothing changed means that all was scored again."""
    with database.write() as session:
        first = session.query(Edition).filter_by(number=1).one()
        second = session.query(Edition).filter_by(number=2).one()
        first.dialect, first.primary_measure = 9, "P@5"
        first.measures = [{"key": "P@5", "version": 1}, {"key": "AP", "version": 0}]
        first.topic_sets = {**first.topic_sets, "all": {**first.topic_sets["all"], "topics": ["1"]}}
        second.revision_id = first.revision_id
    assert _history(database).editions[0].changes == (
        "3 topics instead of 1.",
        "New measures: RR.",
        "Removed measures: P@5.",
        "Redefined measures: AP.",
        "Ranked by RR instead of P@5.",
        "Computed as in trec_eval 10 instead of 9.",
    )
    with database.write() as session:
        first = session.query(Edition).filter_by(number=1).one()
        second = session.query(Edition).filter_by(number=2).one()
        for name in ("dialect", "primary_measure", "measures", "topic_sets"):
            setattr(first, name, getattr(second, name))
    assert _history(database).editions[0].changes == ("All runs were scored again.",)


@pytest.mark.usefixtures("site")
def test_of_a_sealed_board_there_is_no_history(database: Database) -> None:
    """No edition, no day, no snapshot, no board of a moment, until it closes; its organisers see all."""
    with database.write() as session:
        session.execute(update(Task).values(visibility="sealed"))
    found = _history(database)
    assert (found.editions, found.days, found.snapshots) == ((), (), ())
    assert "sealed" in found.access.why
    with pytest.raises(NotFound, match=r"^No earlier board of Task t is available\.$"):
        _at(database, _day(3))
    assert len(_history(database, OPERATOR).editions) == 2
    with database.write() as session:
        session.execute(update(Phase).values(closes_at=_day(7)))
    assert len(_history(database).editions) == 2


@pytest.mark.usefixtures("site")
def test_a_blind_board_tells_the_leader_as_it_prints_the_scores(database: Database, tmp_path: Path) -> None:
    """Rounded to three decimals over the public topics, and no word of hidden measures."""
    build.task(
        database,
        tmp_path,
        "b",
        visibility="blind",
        topics=[str(number) for number in range(1, 7)],
        judgments={str(number): {"a": 1} for number in range(1, 7)},
        measures=("RR", "Judged@10"),
    )
    deep = [f"d{number:02}" for number in range(12)]
    ranking = {str(number): [*deep[:3], "a", *deep[3:]] for number in range(1, 7)}
    build.run(database, tmp_path, {**ranking, "1": ["a", *deep]}, "one", slug="b", team_name="One")
    build.run(database, tmp_path, {**ranking, "2": ["a", *deep]}, "two", slug="b", team_name="Two")
    build.drain(database)
    with database.read() as session:
        leader = history.history(session, ANONYMOUS, "b").editions[0].leader
        best = board.board(session, ANONYMOUS, "b").rows[0]
    assert leader is not None
    assert (leader.run, leader.value, leader.digits) == (best.run, best.scores["RR"], 3)


@pytest.mark.usefixtures("site")
def test_the_files_say_what_the_page_says(database: Database) -> None:
    """JSON and CSV hold the same cells; what is printed has fewer."""
    found = _history(database)
    facts, (header, rows) = history.facts(found), history.table(found).data()
    assert [list(each.values()) for each in facts["editions"]] == rows
    assert [row[header.index("score")] for row in rows] == [2 / 3, 0.5]
    assert facts["days"][1] == {"day": "2026-03-04", "added": [], "withdrawn": ["best"], "runs": 1}
    printed = latex_text(history.table(found))
    assert r"1 & 2026-03-01 & 1 & 3 & 1 & half & RR & 0.5000 \\" in printed
    assert r"2 & 2026-03-05 & 2 & 3 & 3 & half & RR & 0.6667 \\" in printed
