"""Topics that are not judged: rules count what is scored, and nothing tells which that is unasked."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from leaderboard.core.policy import ALL_TOPICS, ANONYMOUS, OPERATOR, Viewer, access_of
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Task, Topic, TopicSet
from leaderboard.errors import Conflict, Forbidden
from leaderboard.runs.ops import limits, prepare
from leaderboard.scoring.ops import scored_topics
from leaderboard.tasks.ops import drafts
from leaderboard.trec.read.lines import Limits
from leaderboard.trec.runs.check import Report
from tests.make import build

TOPICS = tuple(str(number) for number in range(1, 26))
JUDGED = TOPICS[::3]
JUDGMENTS = {topic: {"a": 1, "b": 0} for topic in JUDGED}


def _task(database: Database, folder: Path, visibility: str, *, publish: bool = True) -> None:
    build.task(database, folder, judgments=JUDGMENTS, topics=TOPICS, visibility=visibility, publish=publish)


def _score_judged(database: Database, viewer: Viewer = OPERATOR) -> int:
    with database.write() as session:
        return scored_topics.score_judged(session, viewer, "t")


def _report(database: Database, folder: Path, topics: tuple[str, ...] = JUDGED) -> Report:
    """The report of a run that has these topics, ten documents deep."""
    path = build.run_file(folder, {topic: list("abcdefghij") for topic in topics})
    team_id = build.team(database)
    with database.read() as session:
        rules = limits.rules_for(session, OPERATOR, "t", team_id)
    return prepare.prepare(path, path.name, rules, Limits()).report


def test_a_run_of_the_judged_topics_is_whole_where_these_are_scored(
    database: Database, tmp_path: Path
) -> None:
    """Blind: refused while all topics count, accepted without a warning once the judged ones are scored."""
    _task(database, tmp_path, "blind", publish=False)
    assert _score_judged(database) == len(TOPICS) - len(JUDGED)
    with database.write() as session:
        drafts.publish(session, OPERATOR, "t")
        public = session.scalars(select(TopicSet.topics).where(TopicSet.name == "public")).one()
    assert public is not None
    assert set(public) < set(JUDGED)
    assert len(public) == (len(JUDGED) + 1) // 2
    whole = _report(database, tmp_path)
    assert (whole.problems, whole.warnings) == ((), ())
    assert _report(database, tmp_path, TOPICS).warnings == ()
    half = _report(database, tmp_path, tuple(topic for topic in TOPICS if topic not in JUDGED[:4]))
    assert "has 5 of 9 scored topics; a blind task requires at least 80%." in str(half.problems[0])


def test_an_open_task_counts_its_judged_topics_unasked(database: Database, tmp_path: Path) -> None:
    """Everybody sees there which topics are judged: a run is warned of those alone, with any others."""
    _task(database, tmp_path, "open")
    assert _report(database, tmp_path).warnings == ()
    assert _report(database, tmp_path, TOPICS).warnings == ()
    assert "no documents for 1 topic (1)" in str(_report(database, tmp_path, JUDGED[1:]).warnings[0])


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_rules_do_not_tell_what_is_judged_before_the_organiser_does(
    visibility: str, database: Database, tmp_path: Path
) -> None:
    """Other judgments and other reasons for leaving topics out change no report and no page."""
    _task(database, tmp_path, visibility)
    before = _report(database, tmp_path)
    assert str(before).count("topics") > 0
    with database.write() as session:
        session.scalars(select(Topic).where(Topic.topic_id == "1")).one().excluded = "Nothing is relevant."
    build.revise(database, tmp_path, {"1": {"a": 1}, "2": {"a": 1}})
    assert _report(database, tmp_path) == before
    with database.read() as session:
        seen = access_of(session, ANONYMOUS, session.scalars(select(Task)).one())
    assert scored_topics.why_left_out("Nothing is relevant.", seen) == ""
    assert scored_topics.why_left_out("Nothing is relevant.", replace(seen, details=True)) != ""
    assert scored_topics.why_left_out(scored_topics.NOT_JUDGED, seen) != ""


def test_judgments_that_come_later_count_once_taken_back(database: Database, tmp_path: Path) -> None:
    """A revision of more topics changes no mean by itself; pressed again, an edition with them is built."""
    _task(database, tmp_path, "open")
    _score_judged(database)
    build.revise(database, tmp_path, {**JUDGMENTS, "2": {"a": 1}})
    build.drain(database)
    assert _counted(database) == set(JUDGED)
    _score_judged(database)
    assert _counted(database) == {*JUDGED, "2"}
    with database.write() as session:
        scored_topics.score_all(session, OPERATOR, "t")
        assert not session.scalars(select(Topic).where(Topic.excluded != "")).all()


def test_only_organisers_choose_and_only_of_judgments(database: Database, tmp_path: Path) -> None:
    """Others are refused, and a task without judgments has nothing to choose by."""
    build.task(database, tmp_path, judgments=None)
    with pytest.raises(Conflict, match="No topic of this task has judgments yet"):
        _score_judged(database)
    with pytest.raises(Forbidden):
        _score_judged(database, Viewer(account_id=9))


def _counted(database: Database) -> set[str]:
    with database.read() as session:
        newest = session.scalars(select(Edition).order_by(Edition.number.desc())).first()
        assert newest is not None
        return set(newest.topic_sets[ALL_TOPICS]["topics"])
