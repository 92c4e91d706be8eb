"""Phases: what each takes, scores and shows; that none tells of another; dates that move with a reason."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from leaderboard import zones
from leaderboard.boards.ops import board
from leaderboard.boards.page import view
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Phase, TaskChange, TopicSet
from leaderboard.errors import Closed, Conflict, Invalid, NotFound, OverQuota
from leaderboard.qrels.page import reveal
from leaderboard.qrels.page.topics import topic
from leaderboard.runs.ops import limits
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.page.head import seen_run
from leaderboard.tasks.ops import organise, phases
from leaderboard.tasks.ops.phases import PhasePlan
from leaderboard.tasks.page import landing
from leaderboard.tasks.page import phases as pages
from tests.make import build, people

TOPICS = [str(number) for number in range(1, 9)]
JUDGED = {topic_id: {"a": 1, "b": 0} for topic_id in TOPICS}
DAY = timedelta(days=1)
TRAINING = PhasePlan(name="training", topics="list", topic_list="1 2")
TEST = PhasePlan(name="test", topics="list", topic_list="3, 4 5 6", visibility="sealed")


def _ranking(good: str, topics: list[str]) -> dict[str, list[str]]:
    """The relevant document first for the topics named in good, second for the others."""
    return {topic_id: ["a", "x"] if topic_id in good else ["x", "a"] for topic_id in topics}


def _add(database: Database, plan: PhasePlan) -> None:
    with database.write() as session:
        phases.add(session, OPERATOR, "t", plan)


def _season(database: Database, folder: Path) -> dict[str, int]:
    """A task with an open training, a sealed test, late runs without ranks; its runs by name."""
    build.task(database, folder, topics=TOPICS, judgments=JUDGED, measures=("RR", "AP"))
    _change(database, "main", TRAINING)
    _add(database, TEST)
    _add(
        database,
        PhasePlan(name="late", topics="list", topic_list="3 4 5 6", visibility="sealed", ranked=False),
    )
    sent = {
        "tuned": ("training", "12"),
        "trained": ("training", "1"),
        "tested": ("test", "345"),
        "after": ("late", "3456"),
    }
    runs = {
        name: build.run(
            database,
            folder,
            _ranking(good, ["1", "2"] if phase == "training" else ["3", "4", "5", "6"]),
            name,
            team_name=f"Team {name}",
            run_request=RunRequest(name, phase=phase),
        )
        for name, (phase, good) in sent.items()
    }
    build.drain(database)
    return runs


def _change(database: Database, name: str, plan: PhasePlan, reason: str = "") -> None:
    with database.write() as session:
        phases.change(session, OPERATOR, "t", name, plan, reason)


def _board(database: Database, viewer: Viewer, phase: str = "") -> board.Board:
    with database.read() as session:
        return board.board(session, Viewer(phase=phase) if viewer is ANONYMOUS else viewer, "t")


def _set(database: Database, name: str, **changes: Any) -> None:
    with database.write() as session:
        phase = session.scalars(select(Phase).where(Phase.name == name)).one()
        for key, value in changes.items():
            setattr(phase, key, value)


def test_each_board_has_the_runs_and_topics_of_its_phase(database: Database, tmp_path: Path) -> None:
    """The last ranked phase is shown; a sealed one has no score; late runs have no rank."""
    runs = _season(database, tmp_path)
    training = _board(database, ANONYMOUS, "training")
    assert [(row.run, row.rank, row.scores["RR"]) for row in training.rows] == [
        ("tuned", 1, 1.0),
        ("trained", 2, 0.75),
    ]
    assert training.basis is not None
    assert (training.basis.phase, training.basis.topics) == ("training", 2)
    shown = _board(database, ANONYMOUS)
    assert (shown.access.phase, shown.rows, shown.basis) == ("test", (), None)
    _set(database, "test", closes_at=datetime.now(UTC) - DAY)
    _set(database, "late", closes_at=datetime.now(UTC) - DAY)
    shown = _board(database, ANONYMOUS)
    assert [(row.run_id, row.rank, row.scores["RR"]) for row in shown.rows] == [(runs["tested"], 1, 0.875)]
    late = _board(database, ANONYMOUS, "late")
    assert [(row.run, row.rank, row.scores["RR"]) for row in late.rows] == [("after", None, 1.0)]
    with pytest.raises(NotFound, match="its phases are training, test, late"):
        _board(database, ANONYMOUS, "final")


def test_an_open_phase_tells_nothing_of_a_sealed_one(database: Database, tmp_path: Path) -> None:
    """While one phase is hidden no page of the task shows a judgment, a score by topic, a leader."""
    runs = _season(database, tmp_path)
    training = _board(database, ANONYMOUS, "training").access
    assert (training.means, training.details, training.decimals) == (True, False, 3)
    assert "test, late" in training.why
    with database.read() as session:
        for topic_id in ("1", "3"):
            page = topic.topic_page(session, Viewer(phase="training"), "t", topic_id)
            assert (page.documents.total, page.documents.rows, page.scores) == (0, (), ()), topic_id
        assert seen_run(session, ANONYMOUS, runs["tuned"]).access.details is False
        for hidden in ("tested", "after"):
            with pytest.raises(NotFound):
                seen_run(session, ANONYMOUS, runs[hidden])
        (row,) = landing.landing(session, ANONYMOUS)
        assert (row.leader, row.revision) == (None, None)


def test_a_phase_stays_sealed_after_its_close_until_the_button(database: Database, tmp_path: Path) -> None:
    """Or until its date; the close alone shows nothing."""
    _season(database, tmp_path)
    yesterday = datetime.now(UTC) - DAY
    with database.write() as session, pytest.raises(Conflict, match="still accepts runs"):
        phases.reveal(session, OPERATOR, "t", "test")
    _set(database, "late", closes_at=yesterday)
    _set(database, "test", closes_at=yesterday, at_close="sealed")
    assert not _board(database, ANONYMOUS).access.means
    _set(database, "test", reveal_at=datetime.now(UTC) + DAY)
    assert "until 20" in _board(database, ANONYMOUS).access.why
    with database.write() as session:
        phases.reveal(session, OPERATOR, "t", "test")
    assert [row.run for row in _board(database, ANONYMOUS).rows] == ["tested"]
    with database.read() as session:
        assert (
            session.scalars(select(TaskChange.what).order_by(TaskChange.id.desc())).first()
            == "scores of test"
        )


def test_a_blind_phase_shows_means_over_the_public_part_of_its_topics(
    database: Database, tmp_path: Path
) -> None:
    """Half of its own topics, not of the task's; the same half when the phase is saved again."""
    build.task(database, tmp_path, topics=TOPICS, judgments=JUDGED, measures=("RR",))
    plan = PhasePlan(name="blind", topics="half", seed="s", visibility="blind")
    _change(database, "main", plan)
    seen = _board(database, ANONYMOUS).access
    assert (seen.topic_set, seen.means, seen.details) == ("blind (public)", True, False)
    with database.read() as session:
        sets = {row.name: row.topics for row in session.scalars(select(TopicSet))}
    assert len(sets["blind"] or ()) == 4
    assert set(sets["blind (public)"] or ()) < set(sets["blind"] or ())
    _change(database, "blind", plan)
    with database.read() as session:
        assert {row.name: row.topics for row in session.scalars(select(TopicSet))} == sets


def test_a_blind_phase_of_an_open_task_shows_at_its_close_how_runs_moved(
    database: Database, tmp_path: Path
) -> None:
    """The board and the page of moves go by the phase, not by the task; an open phase has no such page."""
    build.task(database, tmp_path, topics=TOPICS, judgments=JUDGED, measures=("RR",))
    _add(database, PhasePlan(name="blind", topics="half", seed="s", visibility="blind"))
    with database.read() as session:
        scored = session.scalars(select(TopicSet.topics).where(TopicSet.name == "blind")).one() or []
    ranking = {topic_id: [*(f"x{place}" for place in range(9)), "a"] for topic_id in scored}
    build.run(database, tmp_path, ranking, "r", run_request=RunRequest("r", phase="blind"))
    build.drain(database)
    _set(database, "blind", closes_at=datetime.now(UTC) - DAY)
    shown = _board(database, ANONYMOUS, "blind")
    assert (shown.visibility, _board(database, ANONYMOUS, "main").visibility) == ("blind", "open")
    with database.read() as session:
        assert list(view.public_places(session, shown)) == [row.run_id for row in shown.rows]
        assert reveal.reveal_page(session, Viewer(phase="blind"), "t").hidden_topics == 2
        with pytest.raises(NotFound, match="no public and hidden topics"):
            reveal.reveal_page(session, Viewer(phase="main"), "t")


def test_a_run_goes_to_the_phase_that_is_open(database: Database, tmp_path: Path) -> None:
    """One open phase needs no name, several do; kinds, topics and dates are those of the phase."""
    build.task(database, tmp_path, topics=TOPICS, judgments=JUDGED)
    captain = people.account(database, "Nina")
    team = people.team(database, "Nina's", captain)
    at = datetime.now(UTC)
    _change(database, "main", PhasePlan(name="main", closes_at=at + DAY))
    _add(
        database,
        PhasePlan(name="next", opens_at=at + DAY, kinds=("unofficial",), topics="list", topic_list="3"),
    )
    nina = people.viewer(database, captain)

    def taken(phase: str = "") -> str:
        with database.read() as session:
            return limits.rules_for(session, nina, "t", team, phase).checks.topics[0]

    assert taken() == "1"
    with pytest.raises(Closed, match="The phase next of Task t opens at"):
        taken("next")
    _set(database, "next", opens_at=None)
    with pytest.raises(Invalid, match="choose one of them: main or next"):
        taken()
    assert taken("next") == "3"
    with database.write() as session, pytest.raises(Invalid, match="accepts unofficial runs, not official"):
        limits.admit(session, nina, "t", team, RunRequest("r", phase="next"))
    _set(database, "main", closes_at=at - DAY)
    assert taken() == "3"
    _set(database, "next", closes_at=at - DAY / 2)
    with pytest.raises(Closed, match="no longer accepts runs: next closed"):
        taken()


def test_limits_count_by_phase_and_an_account_may_have_its_own(database: Database, tmp_path: Path) -> None:
    """What was sent to one phase is not missing in another; an account has its limit over all its teams."""
    build.task(database, tmp_path, topics=TOPICS, judgments=JUDGED)
    captain = people.account(database, "Nina")
    teams = [people.team(database, name, captain) for name in ("One", "Two")]
    nina = people.viewer(database, captain)
    _change(database, "main", PhasePlan(name="main", runs_in_all=2, account_runs_in_all=3))
    _add(database, PhasePlan(name="other", runs_in_all=1))

    def send(team: str, name: str, phase: str = "main") -> None:
        run_request = RunRequest(name, phase=phase)
        build.run(
            database,
            tmp_path,
            _ranking("1", TOPICS),
            name,
            team_name=team,
            viewer=nina,
            run_request=run_request,
        )

    for team, name in (("One", "a"), ("One", "b"), ("Two", "c")):
        send(team, name)
    with pytest.raises(OverQuota, match="together used all 3 runs of the phase main"):
        send("Two", "d")
    with database.read() as session:
        assert limits.admission_quota(session, nina, "t", teams[1], "main").left_in_all == 0
        assert limits.admission_quota(session, nina, "t", teams[1], "other").left_in_all == 1
    send("Two", "e", "other")
    assert "including withdrawn ones" in limits.RULE


def test_a_deadline_moves_with_a_reason_and_is_told(database: Database, tmp_path: Path) -> None:
    """By hand or by the hours of an outage; a first date needs no reason."""
    build.task(database, tmp_path)
    closes = datetime(2031, 11, 30, 23, 59, tzinfo=UTC)
    _change(database, "main", PhasePlan(name="main", closes_at=closes))
    with pytest.raises(Invalid, match="Enter a reason for moving the deadline"):
        _change(database, "main", PhasePlan(name="main", closes_at=closes + DAY))
    with database.write() as session, pytest.raises(Invalid, match="Enter a reason"):
        organise.set_dates(session, OPERATOR, "t", (None, None))
    _change(database, "main", PhasePlan(name="main", closes_at=closes + DAY), "Many asked.")
    with database.write() as session:
        assert phases.extend(session, OPERATOR, "t", 5, "The site was away.") == 1
    with database.read() as session:
        assert session.scalars(select(Phase.closes_at)).one() == closes + DAY + timedelta(hours=5)
        told = session.execute(select(TaskChange.what, TaskChange.after, TaskChange.reason)).all()
    assert told[-1] == ("dates of main", "from no limit until 2031-12-02 04:59 UTC", "The site was away.")
    _set(database, "main", closes_at=datetime.now(UTC) - timedelta(hours=1), visibility="sealed")
    with database.write() as session, pytest.raises(Conflict, match="No phase"):
        phases.extend(session, OPERATOR, "t", 5, "The site was away.")
    for hours, why in ((0, "x"), (745, "x"), (5, " ")):
        with database.write() as session, pytest.raises(Invalid):
            phases.extend(session, OPERATOR, "t", hours, why)


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (PhasePlan(name=""), "1 to 40 characters"),
        (PhasePlan(name="a/b"), "without /"),
        (PhasePlan(name="MAIN"), "already has a phase MAIN"),
        (PhasePlan(name="x", zone="Mars/Olympus"), "is not a time zone"),
        (PhasePlan(name="x", topics="list", topic_list="1 77"), "do not exist in this task"),
        (PhasePlan(name="x", topics="list"), "at least one topic"),
        (PhasePlan(name="x", topics="some"), "from the lists"),
        (PhasePlan(name="x", visibility="shy"), "open, blind or sealed"),
        (PhasePlan(name="x", runs_per_day=0), "whole number of at least 1"),
        (
            PhasePlan(
                name="x",
                opens_at=datetime(2031, 1, 2, tzinfo=UTC),
                closes_at=datetime(2031, 1, 1, tzinfo=UTC),
            ),
            "before it opens",
        ),
    ],
)
def test_a_plan_that_cannot_be_is_refused(
    database: Database, tmp_path: Path, plan: PhasePlan, words: str
) -> None:
    """With the rule that it breaks; nothing is stored of it."""
    build.task(database, tmp_path)
    with pytest.raises((Invalid, Conflict), match=words):
        _add(database, plan)
    with database.read() as session:
        assert session.scalars(select(Phase.name)).all() == ["main"]


def test_a_phase_with_runs_stays_and_keeps_its_topics(database: Database, tmp_path: Path) -> None:
    """It can be closed; one without runs goes with its set of topics."""
    _season(database, tmp_path)
    with pytest.raises(Conflict, match="its scored topics cannot be changed"):
        _change(database, "test", PhasePlan(name="test", topics="list", topic_list="3", visibility="sealed"))
    _add(database, PhasePlan(name="spare", topics="list", topic_list="7"))
    with database.write() as session:
        with pytest.raises(Conflict, match="test has submitted runs"):
            phases.remove(session, OPERATOR, "t", "test")
        phases.remove(session, OPERATOR, "t", "spare")
        assert "spare" not in session.scalars(select(TopicSet.name)).all()


def test_dates_are_written_in_their_zone_and_in_a_calendar(database: Database, tmp_path: Path) -> None:
    """AoE is twelve hours behind UTC; lines of the file are short, names escaped, events named for ever."""
    build.task(database, tmp_path, name="Söme, task; " + "long " * 20)
    closes = zones.read("2031-11-30T23:59", "Europe/Vienna", "closes")
    assert closes == datetime(2031, 11, 30, 22, 59, tzinfo=UTC)
    assert zones.written(closes, "AoE") == "2031-11-30T10:59"
    for text, zone in (("soon", "UTC"), ("2031-11-30", "Nowhere")):
        with pytest.raises(Invalid):
            zones.read(text, zone, "closes")
    _change(database, "main", PhasePlan(name="main", closes_at=closes, zone="Europe/Vienna"))
    with database.read() as session:
        text = pages.of_task(session, ANONYMOUS, "t", "https://example.org/tasks/{}/phases".format)
        strip = pages.strip(phases.of_task(session, 1), now(session))  # type: ignore[arg-type]
    lines = text.split("\r\n")
    assert all(len(line.encode()) <= 75 for line in lines)
    whole = text.replace("\r\n ", "")
    assert "DTSTART:20311130T225900Z" in whole
    assert "SUMMARY:Söme\\, task\\; long" in whole
    assert whole.count("BEGIN:VEVENT") == whole.count("UID:task1-phase1-closes@leaderboard") == 1
    assert [(row.words, row.at) for row in strip] == [("accepts runs until", closes)]
    assert strip[0].days > 1000


def test_scores_that_are_never_shown_are_warned_of(database: Database, tmp_path: Path) -> None:
    """Organisers read which phases lack a closing date, until they have one; nobody else does."""
    build.task(database, tmp_path, topics=TOPICS, judgments=JUDGED)

    def warning(viewer: Viewer) -> str:
        with database.read() as session:
            return pages.phases_page(session, viewer, "t").warning

    assert warning(OPERATOR) == ""
    _add(database, TEST)
    assert warning(OPERATOR) == "Without a closing date, scores would stay hidden forever. Set one for test."
    assert warning(ANONYMOUS) == ""
    with database.write() as session:
        session.execute(update(Phase).where(Phase.name == "test").values(closes_at=now(session) + DAY))
    assert warning(OPERATOR) == ""
