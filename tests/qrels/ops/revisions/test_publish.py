"""Revisions: graded, of subtopics, of preferences, with distractors; what is never mixed; drafts."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select

from leaderboard.boards.ops import board
from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Edition, Evaluation, Qrels, QrelsRevision
from leaderboard.errors import Conflict, Invalid, NotFound
from leaderboard.measures.grammar import parse
from leaderboard.qrels.ops import revisions
from leaderboard.qrels.page.revisions import lists
from leaderboard.qrels.page.revisions import revision as revision_files
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.lines import Origin
from leaderboard.trec.qrels.align import align
from leaderboard.trec.qrels.compiling import compile_qrels
from leaderboard.trec.qrels.preferences import PreferenceJudgments
from leaderboard.trec.qrels.qrels import Qrels as ReadQrels
from leaderboard.trec.runs.runs import Ranking
from tests.make import build
from tests.make.revised import BETTER, FIRST, graded, revise, scores, settle, task


def test_published_judgments_switch_the_board_when_all_runs_are_scored(
    database: Database, tmp_path: Path
) -> None:
    """The board shows the revision before until the last job, then the new one."""
    task(database, tmp_path)
    before = scores(database, "AP")
    with database.write() as session:
        made = settle(session, graded(BETTER))
    assert (made.number, made.jobs, made.topics) == (2, 2, 3)
    assert scores(database, "AP") == before
    build.drain(database)
    after = scores(database, "AP")
    assert after["second"] is not None
    assert after["first"] is not None
    assert after["second"] > after["first"]
    with database.read() as session:
        page = revision_files.revision_page(session, OPERATOR, "t", 2)
        assert page.ranks is not None
        assert [(row.run.name, row.old_rank, row.new_rank) for row in page.ranks.rows] == [
            ("second", 2, 1),
            ("first", 1, 2),
        ]
        assert (page.ranks.tau, page.ranks.tau_ap) == (-1.0, -1.0)
        assert page.ranks.rows[0].old == before["second"]
        first = revision_files.revision_page(session, OPERATOR, "t", 1)
        assert first.ranks is None
        assert "the first revision of the board" in first.why_no_ranks
        again = board.board(session, ANONYMOUS, "t", edition=1)
        assert {row.run: row.scores["AP"] for row in again.rows} == before


def test_merged_judgments_go_before_those_that_were_there(database: Database, tmp_path: Path) -> None:
    """merge keeps what the newest revision says of other documents; replace does not."""
    task(database, tmp_path)
    some = {"1": {b"a": 0, b"q": 1}}
    with database.write() as session:
        made = settle(session, some, mode="merge")
    assert (made.change.added, made.change.changed, made.change.removed) == (1, 1, 0)
    with database.write() as session:
        made = settle(session, some)
    assert (made.judgments, made.topics) == (2, 1)
    assert made.change.topics_lost == ("2", "3")
    with pytest.raises(Invalid, match="replace the newest"), database.write() as session:
        settle(session, some, mode="mix")


def test_machine_judgments_are_kept_in_a_line_of_their_own(database: Database, tmp_path: Path) -> None:
    """They are refused beside human ones, and fine under another name, where no score rests on them."""
    task(database, tmp_path)
    by = Origin("machine", "judge-1")
    with pytest.raises(Conflict, match="separate judgment series"), database.write() as session:
        settle(session, graded(BETTER), by=by)
    with database.write() as session:
        made = settle(session, graded(BETTER), by=by, line="judge-1")
    assert (made.number, made.jobs, made.line) == (1, 0, "judge-1")
    with database.read() as session:
        found = lists.revision_list(session, ANONYMOUS, "t")
        assert [row.number for row in found.rows] == [1]
        assert [(each.name, each.origin, each.origin_name) for each in found.lines] == [
            ("judge-1", "machine", "judge-1")
        ]
        text = revision_files.of_line(session, ANONYMOUS, "t", found.lines[0].id, 1)
    assert text.splitlines()[:2] == ["1 0 a 0", "1 0 x 2"]
    with pytest.raises(Conflict, match="never mixed"), database.write() as session:
        settle(session, graded(BETTER), by=Origin("human"), line="judge-1")


@pytest.mark.dialect
def test_subtopics_and_preferences_stand_beside_the_grades(database: Database, tmp_path: Path) -> None:
    """Each makes a revision of the board's line too, and measures that need them get the same as evaluate."""
    task(database, tmp_path)
    subtopics = {"1": {"1": {b"a": 1}, "2": {b"x": 1}}, "2": {"1": {b"d": 1, b"y": 1}}}
    pairs = {"1": {(b"x", b"a"): 2.0, (b"a", b"q"): 1.0}}
    with database.write() as session:
        made = revise(session, files.of_subtopics(subtopics, "aspects"))
        assert (made.number, made.judgments) == (2, 4)
        made = revisions.publish_preferences(session, OPERATOR, "t", pairs, "clicks", origin="click")
        assert (made.number, made.judgments, made.topics) == (3, 2, 1)
        with pytest.raises(Conflict, match="already exist"):
            revisions.publish_preferences(session, OPERATOR, "t", pairs, "clicks", origin="click")
        board_measures.choose(session, OPERATOR, "t", ["AP", "alpha_nDCG@5", "Compat", "RPref"], "AP")
    build.drain(database)
    known = graded(build.JUDGMENTS)
    by_topic = {topic: dict(grades) for topic, grades in known.items()}
    by_topic["1"][b"x"] = by_topic["1"][b"q"] = by_topic["2"][b"y"] = -1
    compiled = compile_qrels(
        ReadQrels(by_topic, "subtopic", subtopics={k: dict(v) for k, v in subtopics.items()}),
        PreferenceJudgments({"1": {"": pairs["1"]}}),
    )
    with database.read() as session:
        edition = session.scalars(select(Edition).where(Edition.state == "current")).one()
        assert set(edition.companions or {}) == {"subtopic", "preference"}
        run_id = next(row.run_id for row in board.board(session, OPERATOR, "t").rows if row.run == "first")
        rankings = [
            Ranking(topic, np.array(docnos, "S1"), -np.arange(len(docnos), dtype=np.float64))
            for topic, docnos in FIRST.items()
        ]
        judged = align(rankings, compiled, dialect=10)
        for each in session.scalars(
            select(Evaluation).where(
                Evaluation.run_id == run_id, Evaluation.revision_id == edition.revision_id
            )
        ):
            assert each.scores.tolist() == parse(each.measure).compute(judged).tolist(), each.measure
        page = revision_files.revision_page(session, OPERATOR, "t", 3)
        assert [(kind, found.total.added) for kind, found in page.companions] == [("preference", 2)]
        assert page.changes.total.added == 0
        text = revision_files.of_revision(session, ANONYMOUS, "t", 3, "preferences")
        assert text == "1 a q 1\n1 x a 2\n"
        assert revision_files.of_revision(session, ANONYMOUS, "t", 3, "subtopics").startswith("1 1 a 1\n")
        with pytest.raises(NotFound, match="no preferences"):
            revision_files.of_revision(session, ANONYMOUS, "t", 2, "preferences")
        shas = session.scalars(select(QrelsRevision.sha256).join(Qrels).where(Qrels.name == files.MAIN)).all()
        assert len(set(shas)) == 3


def test_grades_of_documents_beside_the_judgments_change_no_graded_score(
    database: Database, tmp_path: Path
) -> None:
    """Topics that only preferences speak of are in no mean; AP stays as it was."""
    task(database, tmp_path)
    before = scores(database, "AP")
    with database.write() as session:
        revisions.publish_preferences(
            session, OPERATOR, "t", {"9": {(b"a", b"b"): 1.0}, "1": {(b"x", b"c"): 1.0}}, "p"
        )
    build.drain(database)
    assert scores(database, "AP") == before
    with database.read() as session:
        assert board.board(session, OPERATOR, "t").basis.topics == 3  # type: ignore[union-attr]


def test_a_measure_without_its_judgments_has_a_dash_and_a_sentence(
    database: Database, tmp_path: Path
) -> None:
    """A task may list measures whose judgments are still to come."""
    build.task(database, tmp_path, judgments=None, measures=("AP", "alpha_nDCG@5"), primary="AP")
    build.run(database, tmp_path, FIRST, "first")
    with database.write() as session:
        settle(session, graded(build.JUDGMENTS))
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, OPERATOR, "t")
        assert shown.rows[0].scores["alpha_nDCG@5"] is None
        assert shown.rows[0].scores["AP"] is not None
        assert any("has no subtopics" in sentence for sentence in shown.sentences)
    with database.write() as session:
        revise(session, files.of_subtopics({"1": {"1": {b"a": 1}, "2": {b"c": 1}}}, "aspects"))
    build.drain(database)
    with database.read() as session:
        shown = board.board(session, OPERATOR, "t")
        assert shown.rows[0].scores["alpha_nDCG@5"] is not None
        assert not any("has no subtopics" in sentence for sentence in shown.sentences)


@pytest.mark.dialect
def test_a_task_of_subtopic_qrels_ranks_by_a_measure_of_subtopics(database: Database, tmp_path: Path) -> None:
    """Where the board's own judgments are of subtopics, nothing stands beside them."""
    path = tmp_path / "subtopics.txt"
    path.write_text("1 1 a 1\n1 2 x 1\n2 1 y 1\n2 2 d 0\n")
    prepared = files.prepare(path, second="subtopics")
    build.task(database, tmp_path, judgments=None, measures=("alpha_nDCG@5", "AP"), primary="alpha_nDCG@5")
    build.run(database, tmp_path, FIRST, "first")
    with database.write() as session:
        revise(session, prepared)
    build.drain(database)
    assert scores(database, "alpha_nDCG@5")["first"] == pytest.approx(1.0)
    path.write_text("1 1 a 1\n1 2 x 0\n2 1 y 1\n2 2 d 0\n")
    with database.write() as session:
        made = revise(session, files.prepare(path, second="subtopics"))
    assert (made.number, made.change.changed) == (2, 1)
    with database.read() as session:
        revision = files.newest(session, 1)
        assert revision is not None
        assert files.companions(session, revision) == {}


@pytest.mark.dialect
def test_distractors_count_as_judged_and_are_part_of_the_digest(database: Database, tmp_path: Path) -> None:
    """Scores are those of the judgments written out; no row is made; they stay until they are dropped."""
    task(database, tmp_path)
    plain = scores(database, "Bpref")
    with database.write() as session:
        made = revise(session, revisions.unchanged(session, 1), distractors={b"x", b"y", b"z"})
    assert (made.number, made.judgments) == (2, 7)
    build.drain(database)
    ours = scores(database, "Bpref")
    assert ours != plain
    with database.read() as session:
        revision = files.newest(session, 1)
        assert revision is not None
        assert revision.distractors is not None
        sha256 = revision.sha256
        parent = session.get_one(QrelsRevision, revision.parent_id)
        assert parent.sha256 != sha256
        assert parent.packed == revision.packed
        text = revision_files.of_revision(session, OPERATOR, "t", 2, "distractors")
        assert text == "x\ny\nz\n"
    whole = {topic: {"x": 0, "y": 0, "z": 0, **grades} for topic, grades in build.JUDGMENTS.items()}
    with database.write() as session:
        revise(session, files.of_grades(graded(whole), "expanded"), distractors=())
    build.drain(database)
    assert scores(database, "Bpref") == ours
    with pytest.raises(Invalid, match=r"x \(topic 1, grade 2\)"), database.write() as session:
        revise(session, files.of_grades(graded(BETTER), "b"), distractors={b"x"})


def test_held_back_judgments_have_no_revisions_to_see(database: Database, tmp_path: Path) -> None:
    """In a blind task only organisers see revisions, their changes and their files."""
    build.task(database, tmp_path, visibility="blind")
    with database.read() as session:
        assert lists.revision_list(session, ANONYMOUS, "t").rows == ()
        for number in (1, 7):
            with pytest.raises(NotFound, match="when it closes"):
                revision_files.revision_page(session, ANONYMOUS, "t", number)
            with pytest.raises(NotFound, match="when it closes"):
                revision_files.of_revision(session, ANONYMOUS, "t", number, "qrels")
        assert revision_files.revision_page(session, OPERATOR, "t", 1).row.number == 1


@pytest.mark.dialect
def test_measures_of_a_board_can_be_changed(database: Database, tmp_path: Path) -> None:
    """A new edition has the new columns; the one before keeps its own; what cannot be is refused."""
    task(database, tmp_path)
    with database.write() as session:
        board_measures.choose(session, OPERATOR, "t", ["nDCG@5", "AP"], "nDCG@5")
        with pytest.raises(Conflict, match="already"):
            board_measures.choose(session, OPERATOR, "t", ["nDCG@5", "AP"], "nDCG@5")
        with pytest.raises(Invalid, match="needs subtopics"):
            board_measures.choose(session, OPERATOR, "t", ["alpha_nDCG@5"], "")
        with pytest.raises(Invalid, match="has no direction"):
            board_measures.choose(session, OPERATOR, "t", ["AP", "num_ret"], "num_ret")
    build.drain(database)
    with database.read() as session:
        now = board.board(session, OPERATOR, "t")
        assert [each.key for each in now.measures] == ["nDCG@5", "AP"]
        assert all(row.scores["nDCG@5"] is not None for row in now.rows)
        then = board.board(session, OPERATOR, "t", edition=1)
        assert [each.key for each in then.measures] == ["AP", "P@2", "Bpref"]


def test_preferences_need_grades_to_stand_beside(database: Database, tmp_path: Path) -> None:
    """A task without judgments has no board line yet."""
    build.task(database, tmp_path, judgments=None)
    with pytest.raises(Conflict, match="no graded judgments yet"), database.write() as session:
        revisions.publish_preferences(session, OPERATOR, "t", {"1": {(b"a", b"b"): 1.0}}, "p")
    with pytest.raises(Invalid, match="no preference"), database.write() as session:
        revisions.publish_preferences(session, OPERATOR, "t", {"1": {}}, "p")
