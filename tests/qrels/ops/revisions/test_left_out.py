"""Revisions that leave documents out by topic, and residual rounds: the same numbers as offline."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select

from leaderboard.boards.ops import board
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Evaluation, Qrels, QrelsRevision, Run
from leaderboard.errors import Conflict, Invalid
from leaderboard.judging.ops.pools import previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.page.revisions import rank_changes
from leaderboard.qrels.page.revisions import revision as revision_files
from leaderboard.scoring.ops.qrels import files as qrels
from leaderboard.scoring.ops.qrels import left_out
from leaderboard.scoring.ops.qrels.files import newest
from leaderboard.scoring.ops.qrels.left_out import RevisionLeftOut
from leaderboard.tasks.ops import organise
from leaderboard.tasks.ops.organise import TaskCopy
from leaderboard.trec.qrels.preferences import PreferenceJudgments
from leaderboard.trec.scores.scoring import Inputs, Options, Scorer
from tests.make import build

MEASURES = ("P@2", "RR", "AP", "nDCG@10", "Bpref", "Judged@10", "NumRet")
RANKING = {"1": ["d1", "d2", "d3", "d4"], "2": ["e1", "e2"], "3": ["f1"]}
OTHER = {"1": ["d4", "d1", "d3"], "2": ["e2", "x", "e1"], "3": ["f2", "f1"]}
JUDGED = {"1": {"d1": 0, "d2": 0, "d3": 1}, "2": {"e1": 1, "e2": 0}, "3": {"f1": 0}}


def _task(database: Database, folder: Path, **options: Any) -> None:
    build.task(database, folder, measures=MEASURES, primary="AP", judgments=JUDGED, **options)
    build.run(database, folder, RANKING, "one")
    build.run(database, folder, OTHER, "two")
    build.drain(database)


def _file(folder: Path, text: str, name: str = "left-out.txt") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def _keep(database: Database, leaving_out: RevisionLeftOut | None, judgments: Path | None = None) -> str:
    prepared = qrels.prepare(judgments) if judgments is not None else None
    with database.write() as session:
        return revisions.keep_draft(session, OPERATOR, "t", prepared, "a note", left_out=leaving_out)


def _publish(database: Database, leaving_out: RevisionLeftOut | None, judgments: Path | None = None) -> int:
    token = _keep(database, leaving_out, judgments)
    with database.write() as session:
        number = revisions.publish(session, OPERATOR, "t", token).number
    build.drain(database)
    return number


def _by_topic(database: Database, name: str) -> dict[str, list[float]]:
    """Measure -> a run's scores by topic under the newest revision."""
    with database.read() as session:
        revision = newest(session, 1)
        assert revision is not None
        rows = session.execute(
            select(Evaluation.measure, Evaluation.scores)
            .join(Run, Run.id == Evaluation.run_id)
            .where(Run.name == name, Evaluation.revision_id == revision.id)
        )
        return {measure: values.tolist() for measure, values in rows}


@pytest.mark.dialect
def test_documents_are_left_out_before_ranks_are_counted(database: Database, tmp_path: Path) -> None:
    """d1 d2 d3 d4 with d1 left out and d3 relevant: P@2 is 1/2, the reciprocal rank 1/2."""
    _task(database, tmp_path)
    assert _publish(database, revisions.read_left_out(_file(tmp_path, "1 d1\n"))) == 2
    found = _by_topic(database, "one")
    assert (found["P@2"][0], found["RR"][0], found["NumRet"][0]) == (0.5, 0.5, 3)


@pytest.mark.dialect
@pytest.mark.parametrize("listed", ["1 d1\n1 d4\n2 x\n3 N/A\n", "1 0 d2 0\n2 0 e2 1\n3 0 f1 0\n"])
def test_scores_are_those_of_the_command_on_the_same_files(
    database: Database, tmp_path: Path, listed: str
) -> None:
    """Every measure, topic by topic, to the last bit; a list of documents, and judgments of before."""
    _task(database, tmp_path)
    left = _file(tmp_path, listed)
    judged = build.qrels_file(tmp_path, JUDGED)
    _publish(database, revisions.read_left_out(left))
    scorer = Scorer(Inputs(judged, left_out=(left,)), Options(MEASURES))
    for name, rankings in (("one", RANKING), ("two", OTHER)):
        report = scorer.scores(build.run_file(tmp_path, rankings, name))
        offline = {measure.key: np.asarray(column).tolist() for measure, column in report.scores.items()}
        assert _by_topic(database, name) == offline


def test_leaving_out_what_no_run_has_changes_nothing(database: Database, tmp_path: Path) -> None:
    """Documents that are neither judged nor in any run."""
    _task(database, tmp_path)
    before = {name: _by_topic(database, name) for name in ("one", "two")}
    _publish(database, revisions.read_left_out(_file(tmp_path, "1 z1\n2 z2\n3 z3\n")))
    assert {name: _by_topic(database, name) for name in ("one", "two")} == before


@pytest.mark.parametrize(
    ("listed", "line", "value", "rule"),
    [
        ("1 d1\n\n1 d3\n", 3, "d3", r"judged relevant to it \(grade 1\)"),
        ("1 d1\n9 d1\n", 2, "9", "no such topic"),
        ('{"id": "1", "excluded_ids": ["d3"]}\n', 1, "d3", "judged relevant"),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_line(
    database: Database, tmp_path: Path, listed: str, line: int, value: str, rule: str
) -> None:
    """A relevant document and an unknown topic; nothing is kept."""
    _task(database, tmp_path)
    with pytest.raises(Invalid, match=rule) as caught:
        _keep(database, revisions.read_left_out(_file(tmp_path, listed)))
    (problem,) = caught.value.problems
    assert (problem.line, problem.value) == (line, value)
    assert problem.remedy
    with database.read() as session:
        assert session.scalars(select(QrelsRevision.number)).all() == [1]


def test_the_list_is_part_of_the_revision_and_stays_until_it_is_dropped(
    database: Database, tmp_path: Path
) -> None:
    """Repetitions are counted, the same list is no new revision, other judgments keep it."""
    _task(database, tmp_path)
    leaving_out = revisions.read_left_out(_file(tmp_path, "1 d1\n1 d4\n1 d1\n"))
    token = _keep(database, leaving_out)
    with database.read() as session:
        change = rank_changes.preview(session, OPERATOR, "t", token).changes.left_out
        held = rank_changes.preview(session, OPERATOR, "t", token).left_out_of
    assert change is not None
    assert (change.before, change.after, change.topics, change.repeated) == (0, 2, (("1", 2),), 1)
    assert held is not None
    assert (held.runs, held.of, held.documents) == (2, 2, 4)
    _publish(database, leaving_out)
    with pytest.raises(Conflict, match="nothing was added"):
        _publish(database, revisions.read_left_out(_file(tmp_path, "1 d4\n1 d1\n")))
    more = build.qrels_file(tmp_path, {**JUDGED, "3": {"f1": 1}}, "more")
    assert _publish(database, None, more) == 3
    with database.read() as session:
        assert revision_files.of_revision(session, OPERATOR, "t", 3, "left_out") == "1 d1\n1 d4\n"
        first, second, third = session.scalars(
            select(QrelsRevision)
            .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
            .where(Qrels.name == "main")
            .order_by(QrelsRevision.number)
        ).all()
        assert len({first.sha256, second.sha256, third.sha256}) == 3
        assert second.packed == first.packed
        assert second.left_out == third.left_out
    assert _publish(database, revisions.read_left_out(None, drop=True)) == 4
    with database.read() as session:
        revision = newest(session, 1)
        assert revision is not None
        assert (revision.left_out, left_out.of_revision(revision).by_topic) == (None, {})


@pytest.mark.dialect
def test_a_residual_round_is_made_of_revisions(database: Database, tmp_path: Path) -> None:
    """What the earlier one judges is left out, by its docno of today; a topic with nothing new scores 0."""
    _task(database, tmp_path)
    later = {"1": {**JUDGED["1"], "d4": 2}, "2": {"E1": 1, "e2": 0, "x": 1}, "3": JUDGED["3"]}
    _publish(database, None, build.qrels_file(tmp_path, later, "later"))
    changed = _file(tmp_path, "e1 E1\n", "changed.txt")
    leaving_out = revisions.read_left_out(None, changed, earlier=(1,), later=2)
    token = _keep(database, leaving_out)
    with database.read() as session:
        page = rank_changes.preview(session, OPERATOR, "t", token)
        assert page.changes.without_relevant == ("3",)
        assert page.changes.left_out is not None
        assert (page.changes.left_out.after, page.changes.left_out.rounds) == (6, (1,))
    _publish(database, leaving_out)
    with database.read() as session:
        revision = newest(session, 1)
        assert revision is not None
        assert revision_files.of_revision(session, OPERATOR, "t", 3, "qrels") == (
            "1 0 d4 2\n2 0 x 1\n3 0 f1 -1\n"
        )
        assert left_out.of_revision(revision).by_topic["2"] == {b"E1", b"e2"}
    # Of topic 1 d4 alone is left in both runs; of topic 2 e1 is called otherwise now, so it stays.
    assert _by_topic(database, "one")["RR"] == [1.0, 0.0, 0.0]
    assert _by_topic(database, "two")["RR"] == [1.0, 1.0, 0.0]


def test_a_residual_round_of_judgments_that_are_sent(database: Database, tmp_path: Path) -> None:
    """Judgments of the round alone; those of all rounds are refused, as a document of before is relevant."""
    _task(database, tmp_path)
    leaving_out = revisions.read_left_out(None, earlier=(1,))
    with pytest.raises(Invalid, match="judgments of this round alone"):
        _keep(database, leaving_out, build.qrels_file(tmp_path, JUDGED, "all"))
    alone = build.qrels_file(tmp_path, {"1": {"d4": 1}, "2": {"x": 1}}, "alone")
    _publish(database, leaving_out, alone)
    assert _by_topic(database, "two")["P@2"] == [0.5, 0.5]
    earlier = build.qrels_file(tmp_path, JUDGED, "earlier")
    scorer = Scorer(Inputs(alone, left_out=(earlier,)), Options(MEASURES))
    report = scorer.scores(build.run_file(tmp_path, OTHER, "two"))
    offline = {measure.key: np.asarray(column).tolist() for measure, column in report.scores.items()}
    assert _by_topic(database, "two") == offline
    for numbers, later, rule in (((7,), None, "Revision 7 .* does not exist"), ((2,), 2, "both left out")):
        with pytest.raises(Invalid, match=rule):
            _keep(database, revisions.read_left_out(None, earlier=numbers, later=later))
    with pytest.raises(Invalid, match="not both"):
        _keep(database, revisions.read_left_out(_file(tmp_path, "1 d1\n"), earlier=(1,)))


def test_boards_say_what_is_left_out_and_where_all_judgments_are(database: Database, tmp_path: Path) -> None:
    """The words, the edition not to be compared with, and the same from the other side."""
    _task(database, tmp_path)
    _publish(
        database,
        revisions.read_left_out(None, earlier=(1,)),
        build.qrels_file(tmp_path, {"1": {"d4": 1}}, "r"),
    )
    with database.read() as session:
        now = board.board(session, ANONYMOUS, "t").basis
        then = board.board(session, ANONYMOUS, "t", edition=1).basis
    assert now is not None
    assert then is not None
    assert (now.left_out, now.unlike) == ("residual, 3 documents left out", 1)
    assert now.qrels == "qrels revision 2 (residual, 3 documents left out)"
    assert (then.left_out, then.unlike) == ("", 2)


def test_a_blind_board_does_not_say_how_many(database: Database, tmp_path: Path) -> None:
    """How many documents were judged before is told when judgments are."""
    build.task(database, tmp_path, visibility="blind", measures=("AP",), primary="AP", judgments=JUDGED)
    build.run(database, tmp_path, {topic: [f"d{rank}" for rank in range(12)] for topic in JUDGED}, "deep")
    build.drain(database)
    _publish(database, revisions.read_left_out(_file(tmp_path, "1 d1\n")))
    with database.read() as session:
        basis = board.board(session, ANONYMOUS, "t").basis
        assert basis is not None
        assert basis.left_out == "documents left out"
        assert basis.left_out_facts == {"documents": None, "residual": False}


def test_pools_close_up(database: Database, tmp_path: Path) -> None:
    """What is left out of a topic is not pooled, and makes room for the next document."""
    _task(database, tmp_path)
    _publish(database, revisions.read_left_out(_file(tmp_path, "1 d1\n1 d4\n")))
    with database.read() as session:
        plan = PoolPlan({"name": "depth", "depth": 1}, reuse=False)
        previews.check_plan(plan)
        made = previews.preview(session, OPERATOR, "t", plan)
    by_topic = {
        of.topic_id: sorted(of.tops.docno(int(place)) for place in of.pooled.documents) for of in made.pools
    }
    assert by_topic == {"1": ["d2", "d3"], "2": ["e1", "e2"], "3": ["f1", "f2"]}


def test_preferences_and_documents_left_out_exclude_each_other(database: Database, tmp_path: Path) -> None:
    """As offline: measures of preferences would need documents that are gone."""
    _task(database, tmp_path)
    _publish(database, revisions.read_left_out(_file(tmp_path, "1 d1\n")))
    preferences = qrels.of_preferences(PreferenceJudgments({"1": {"": {(b"d2", b"d3"): 1.0}}}), "p.txt")
    with database.write() as session:
        token = revisions.keep_draft(session, OPERATOR, "t", preferences, "prefs")
    with pytest.raises(Invalid, match="without preferences"), database.write() as session:
        revisions.publish(session, OPERATOR, "t", token)


def test_a_copy_of_a_task_leaves_out_the_same(database: Database, tmp_path: Path) -> None:
    """Its first revision has the list and the same scores."""
    _task(database, tmp_path)
    _publish(database, revisions.read_left_out(_file(tmp_path, "1 d1\n")))
    with database.write() as session:
        organise.clone(session, OPERATOR, "t", TaskCopy(slug="copy", name="A copy"))
    with database.read() as session:
        revision = newest(session, 2)
        assert revision is not None
        assert left_out.of_revision(revision).by_topic == {"1": frozenset({b"d1"})}
