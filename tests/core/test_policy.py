"""What each kind of viewer sees of open, blind and sealed tasks, before and after the close."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.boards.ops.board import Board
from leaderboard.boards.page.tables import board_facts, board_table
from leaderboard.core import policy
from leaderboard.core.phase_rules import PhaseRule
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Entry, Phase, Task, TaskRole
from leaderboard.errors import Forbidden, NotFound, SignInNeeded, UnknownMeasure
from leaderboard.qrels.page.topics import topic as topic_pages
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.page import measures, run
from leaderboard.runs.page.measures import RunChoice, WholeRun
from leaderboard.runs.page.rankings import ranking as rankings
from tests.make import build, people

TOPICS = tuple(str(number) for number in range(1, 11))
FILLERS = tuple(f"d{number:02}" for number in range(60))
LAB = "Lab"


def _placed(rank: int) -> dict[str, list[str]]:
    """A run that has the one relevant document of every topic at this rank."""
    return {topic: [*FILLERS[: rank - 1], "rel", *FILLERS[rank - 1 :]] for topic in TOPICS}


def _task(database: Database, folder: Path, visibility: str, *ranks: int) -> list[int]:
    """A task and one run of a team of its own for every rank, scored; the runs' ids."""
    build.task(
        database,
        folder,
        topics=TOPICS,
        judgments={topic: {"rel": 1, "d00": 0} for topic in TOPICS},
        measures=("RR", "NumRelRet", "Judged@10"),
        visibility=visibility,
    )
    ids = [
        build.run(database, folder, _placed(rank), f"r{place}", team_name=f"Team {place}")
        for place, rank in enumerate(ranks)
    ]
    build.drain(database)
    return ids


def _member(database: Database, team: str) -> Viewer:
    return Viewer(account_id=1, team_ids=frozenset({build.team(database, team)}))


def _board(database: Database, viewer: Viewer = ANONYMOUS, measure: str | None = None) -> Board:
    with database.read() as session:
        return board.board(session, viewer, "t", measure)


def _set_close(database: Database, *offsets: float | None) -> None:
    """Give the task one phase for every offset in seconds from now; None never closes."""
    with database.write() as session:
        task_id = session.scalars(select(Task.id)).one()
        for place, offset in enumerate(offsets):
            closes = None if offset is None else now(session) + timedelta(seconds=offset)
            if place:
                session.add(Phase(task_id=task_id, name=f"phase {place}", closes_at=closes))
            else:
                session.execute(update(Phase).values(closes_at=closes))


def _phase_rule(**others: Any) -> PhaseRule:
    rule = PhaseRule(
        id=1,
        name="main",
        visibility="open",
        topic_set="all",
        is_ranked=True,
        opens_at=None,
        closes_at=None,
        stays_sealed=False,
        reveal_at=None,
    )
    return replace(rule, **others)


@pytest.mark.parametrize(
    ("visibility", "closed", "means", "topic_set", "decimals", "details"),
    [
        ("open", False, True, "all", None, True),
        ("open", True, True, "all", None, True),
        ("blind", False, True, "public", 3, False),
        ("blind", True, True, "all", None, True),
        ("sealed", False, False, "public", 3, False),
        ("sealed", True, True, "all", None, True),
    ],
)
def test_access_follows_visibility_and_close(
    visibility: str, closed: bool, means: bool, topic_set: str, decimals: int | None, details: bool
) -> None:
    """Nothing is held back of open or closed tasks; organisers and the operator always see all."""
    task = Task(id=7, visibility=visibility)
    now = datetime.now(UTC)
    phase = _phase_rule(visibility=visibility, closes_at=now - timedelta(days=1) if closed else None)
    hidden = () if phase.is_shown(now) else (phase,)
    seen = policy.access(
        Viewer(account_id=1, is_organiser=True, organises=frozenset({8})), task, phase, hidden
    )
    assert (seen.means, seen.topic_set, seen.decimals, seen.details) == (means, topic_set, decimals, details)
    assert (seen.organises, bool(seen.why)) == (False, not details)
    assert seen.hides("Judged@10") is not details
    assert not seen.hides("RR@10")
    for organiser in (OPERATOR, Viewer(account_id=1, organises=frozenset({7}))):
        assert policy.access(organiser, task, phase, hidden).details


@pytest.mark.dialect
@pytest.mark.parametrize(
    ("offsets", "closed"),
    [
        ((None,), False),
        ((60,), False),
        ((-1,), True),
        ((-1, None), False),
        ((-1, 60), False),
        ((-9, -1), True),
    ],
)
def test_a_task_is_closed_when_its_last_phase_is(
    database: Database, tmp_path: Path, offsets: tuple[float | None, ...], closed: bool
) -> None:
    """Every phase must have a closing time that has passed."""
    build.task(database, tmp_path)
    _set_close(database, *offsets)
    with database.read() as session:
        assert policy.is_closed(session, session.scalars(select(Task.id)).one()) is closed


def test_means_are_rounded_before_runs_are_ranked(database: Database, tmp_path: Path) -> None:
    """Runs that differ in the fourth decimal tie in a blind task and stand by name: order tells no more."""
    _task(database, tmp_path, "blind", 48, 47)
    blind, full = _board(database), _board(database, OPERATOR)
    assert [(row.rank, row.run, row.scores["RR"]) for row in blind.rows] == [
        (1, "r0", 0.021),
        (1, "r1", 0.021),
    ]
    assert [(row.rank, row.run) for row in full.rows] == [(1, "r1"), (2, "r0")]


def _whole(session: Session, viewer: Viewer, run_id: int) -> WholeRun:
    return measures.whole_run(session, viewer, run_id, RunChoice())


def test_how_much_is_judged_is_held_back_even_when_asked_for(database: Database, tmp_path: Path) -> None:
    """No Judged@k in a blind board's columns, scores, JSON or CSV, and it cannot be sorted by."""
    _task(database, tmp_path, "blind", 3)
    shown = _board(database)
    found, (header, _) = board_facts(shown), board_table(shown).data()
    assert (found["measures"], list(found["rows"][0]["scores"])) == (["RR", "NumRelRet"],) * 2
    assert header[:8] == ["rank", "run", "run_id", "team", "kind", "RR", "NumRelRet", "state"]
    assert "Judged@10" in board_table(_board(database, OPERATOR)).data()[0]
    with pytest.raises(
        UnknownMeasure, match="Judged@10 is not on this board; its measures are RR, NumRelRet"
    ):
        _board(database, measure="Judged@10")


def test_a_blind_runs_json_and_csv_hold_no_topic(database: Database, tmp_path: Path) -> None:
    """Neither its team nor others get per-topic scores, digests or unrounded means in any form."""
    (run_id,) = _task(database, tmp_path, "blind", 3)
    for viewer in (ANONYMOUS, _member(database, "Team 0")):
        with database.read() as session:
            shown = _whole(session, viewer, run_id)
        found, (_, rows) = measures.whole_facts(shown), measures.WHOLE_FILES.table(shown, "topics").data()
        assert found["scores"] == {"RR": 0.333, "NumRelRet": 5.0}
        assert (found["per_topic"], found["topics"]) == ({}, 5)
        assert rows == [["all", 0.333, 5.0]]
        assert shown.page.basis is not None
        assert shown.page.basis.revision_sha256 == ""


@pytest.mark.dialect
def test_the_close_opens_a_blind_task(database: Database, tmp_path: Path) -> None:
    """Afterwards anybody sees all topics, full precision, judgments, and others' rankings with grades."""
    (run_id,) = _task(database, tmp_path, "blind", 3)
    with database.read() as session, pytest.raises(NotFound):
        rankings.ranking_page(session, ANONYMOUS, run_id, "1")
    _set_close(database, -1)
    shown = _board(database)
    assert shown.basis is not None
    assert (shown.basis.topics, shown.rows[0].scores["NumRelRet"], shown.access.why) == (10, 10.0, "")
    # Rows of two sessions are two objects.
    assert shown == replace(_board(database, OPERATOR), access=policy.OPEN_ACCESS, of=shown.of)
    with database.read() as session:
        assert len(_whole(session, ANONYMOUS, run_id).topics.topics) == 10
        ranking = rankings.ranking_page(session, ANONYMOUS, run_id, "1")
        assert [row.grade for row in ranking.rows[:3]] == [0, None, 1]
        topic = topic_pages.topic_page(session, ANONYMOUS, "t", "1")
        assert [each.docno for each in topic.documents.rows] == ["rel", "d00"]


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_the_tasks_organiser_sees_all_and_anothers_does_not(
    database: Database, tmp_path: Path, visibility: str
) -> None:
    """The role is the task's, not the account's: another organiser account sees what visitors see."""
    one, _ = _task(database, tmp_path, visibility, 4, 8)
    olga, otto = (people.account(database, name, is_organiser=True) for name in ("Olga", "Otto"))
    with database.write() as session:
        task_id = session.scalars(select(Task.id)).one()
        session.add(TaskRole(task_id=task_id, account_id=olga, role="organiser"))
    mine, foreign = (_board(database, people.viewer(database, each)) for each in (olga, otto))
    assert [row.scores["RR"] for row in mine.rows] == [1 / 4, 1 / 8]
    assert foreign == replace(_board(database), of=foreign.of)
    with database.read() as session:
        assert len(_whole(session, policy.viewer_of(session, olga, "", True), one).topics.topics) == 10


def test_a_sealed_run_exists_for_its_team_only(database: Database, tmp_path: Path) -> None:
    """Others are told what they are told of a run that never was, withdrawn or not."""
    own, other = _task(database, tmp_path, "sealed", 3, 5)
    member = _member(database, "Team 0")
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, other, "a mistake")
    with database.read() as session:
        for viewer, run_id in ((member, other), (ANONYMOUS, own), (member, 999)):
            for read in (run.run_page, policy.visible_run):
                with pytest.raises(NotFound, match=f"^There is no run {run_id}\\.$"):
                    read(session, viewer, run_id)
        found = measures.whole_facts(_whole(session, member, own))
    assert (found["state"], found["scores"], found["per_topic"], found["revision"]) == ("valid", {}, {}, None)


def test_the_states_of_a_sealed_run_are_one_word(database: Database, tmp_path: Path) -> None:
    """Queued, scored: the team reads `valid` all the time, so that it cannot tell when judgments came."""
    build.task(database, tmp_path, judgments=None, visibility="sealed")
    run_id = build.run(database, tmp_path, {"1": ["a"]}, team_name=LAB)
    member, states = _member(database, LAB), []
    for step in ("waiting", "queued", "done"):
        if step == "queued":
            build.revise(database, tmp_path, build.JUDGMENTS)
        if step == "done":
            build.drain(database)
        with database.read() as session:
            states.append(
                (run.run_page(session, member, run_id).state, board_facts(_board(database, member)))
            )
    assert states[0] == states[1] == states[2]
    assert states[0][0].state == "valid"


def test_a_draft_and_its_runs_are_unknown_to_others(database: Database, tmp_path: Path) -> None:
    """A run of a task that is not published is not found, even by number."""
    (run_id,) = _task(database, tmp_path, "open", 3)
    with database.write() as session:
        session.execute(update(Task).values(published_at=None))
    with database.read() as session:
        for viewer in (ANONYMOUS, Viewer(account_id=1, is_organiser=True)):
            with pytest.raises(NotFound):
                policy.visible_run(session, viewer, run_id)
            with pytest.raises(NotFound):
                policy.visible_task(session, viewer, "t")
        assert policy.visible_run(session, OPERATOR, run_id)[0].id == run_id


@pytest.mark.dialect
@pytest.mark.parametrize(("reveal", "shown"), [(None, "Team X"), (3600, "Team X"), (-1, "Team 0")])
def test_a_pseudonym_stands_until_its_reveal_date(
    database: Database, tmp_path: Path, reveal: float | None, shown: str
) -> None:
    """Others read the pseudonym on every page; the team itself and the organisers read the name."""
    (run_id,) = _task(database, tmp_path, "open", 3)
    with database.write() as session:
        at = _later(now(session), reveal)
        session.execute(update(Entry).values(pseudonym="Team X", reveal_at=at))
        session.execute(update(Task).values(naming="team"))
    for viewer, name in ((ANONYMOUS, shown), (_member(database, "Team 0"), "Team 0"), (OPERATOR, "Team 0")):
        with database.read() as session:
            names = {
                board.board(session, viewer, "t").rows[0].team,
                run.run_page(session, viewer, run_id).team,
                topic_pages.topic_page(session, viewer, "t", "1").scores[0].team,
                rankings.ranking_page(session, viewer, run_id, "1").team,
            }
        assert names == {name}


def _later(at: datetime, seconds: float | None) -> datetime | None:
    return None if seconds is None else at + timedelta(seconds=seconds)


def test_refusals_tell_visitors_to_sign_in_and_others_why(database: Database, tmp_path: Path) -> None:
    """A visitor may become the right person, somebody signed in learns who may."""
    build.task(database, tmp_path)
    with database.read() as session:
        task, _ = policy.visible_task(session, ANONYMOUS, "t")
    stranger = Viewer(account_id=1)
    with pytest.raises(SignInNeeded):
        policy.require_organiser(ANONYMOUS, task)
    with pytest.raises(Forbidden, match="Only organisers of Task t"):
        policy.require_organiser(stranger, task)
    with pytest.raises(SignInNeeded):
        policy.require_creator(ANONYMOUS)
    with pytest.raises(Forbidden, match="Only organiser accounts"):
        policy.require_creator(stranger)
