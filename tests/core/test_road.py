"""From files to scores: tasks, uploads, evaluation, revisions, at the level of services."""

import gzip
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import undefer

from leaderboard.accounts.ops import accounts
from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import (
    Edition,
    Entry,
    Evaluation,
    EvaluationMean,
    Job,
    RankingBlock,
    Run,
    UploadChunk,
)
from leaderboard.errors import Closed, Conflict, Forbidden, NotFound, OverQuota
from leaderboard.runs.ops import limits, prepare, uploads, withdrawals
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.ops.uploads import Delivery
from leaderboard.runs.page.upload import upload_page
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.qrels.lines import Origin
from leaderboard.settings import Settings
from leaderboard.tasks.ops import drafts, organise
from leaderboard.worker import Evaluator
from tests.make import build
from tests.make.revised import revise

pytestmark = pytest.mark.dialect

GOOD = {"1": ["a", "c", "x"], "2": ["d", "a"], "3": ["x", "e", "f"]}


def _count(database: Database, table: type) -> int:
    with database.read() as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def _means(database: Database, run_id: int) -> dict[str, float]:
    """Measure -> mean of a run in the shown edition."""
    with database.read() as session:
        edition = session.scalars(select(Edition).where(Edition.state == "current")).one()
        rows = session.execute(
            select(Evaluation.measure, EvaluationMean.mean)
            .join(EvaluationMean, EvaluationMean.evaluation_id == Evaluation.id)
            .where(Evaluation.run_id == run_id, Evaluation.revision_id == edition.revision_id)
        )
        return {row.measure: row.mean for row in rows}


def test_an_accepted_run_is_stored_and_scored(database: Database, tmp_path: Path) -> None:
    """A run becomes rows: upload with report, rankings, one evaluation a measure, means over the topics."""
    build.task(database, tmp_path, measures=("AP", "RR", "P@2"))
    run_id = build.run(database, tmp_path, GOOD)
    assert build.drain(database) == 1
    means = _means(database, run_id)
    # AP: (1 + 1)/2, 1/1, (1/2 + 2/3)/2; RR: 1, 1, 1/2; P@2: 1, 1/2, 1/2.
    assert means["AP"] == pytest.approx((1 + 1 + (1 / 2 + 2 / 3) / 2) / 3)
    assert means["RR"] == pytest.approx((1 + 1 + 1 / 2) / 3)
    assert means["P@2"] == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)
    with database.read() as session:
        scores = session.scalars(
            select(Evaluation).where(Evaluation.measure == "RR").options(undefer(Evaluation.scores))
        ).one()
        assert scores.scores.tolist() == [1.0, 1.0, 0.5]
        assert queue.run_states(session, [run_id])[run_id].state == "done"


def test_a_rejected_file_leaves_its_report_and_nothing_else(database: Database, tmp_path: Path) -> None:
    """No run, ranking, evaluation, job or file is kept of a rejected upload that no fix mends, only why."""
    build.task(database, tmp_path)
    path = tmp_path / "run"
    path.write_text("1 Q0 a 1 much tag\n")
    submission = build.submit(database, path)
    assert (submission.state, submission.run_id) == ("rejected", None)
    for table in (Run, RankingBlock, Evaluation, Job, UploadChunk, Entry):
        assert _count(database, table) == 0, table
    with database.read() as session:
        page = upload_page(session, OPERATOR, submission.upload_id)
    assert page.upload.state == "rejected"
    assert page.report is not None
    assert any(problem.value == "much" for problem in page.report.problems)


def test_the_file_comes_back_byte_for_byte(database: Database, tmp_path: Path) -> None:
    """What was sent is kept as it was sent, compressed files too."""
    build.task(database, tmp_path)
    path = tmp_path / "mine.run.gz"
    path.write_bytes(gzip.compress(build.run_file(tmp_path, GOOD).read_bytes()))
    submission = build.submit(database, path, run_request=RunRequest("mine"))
    with database.read() as session:
        name, sha256, size = uploads.stored(session, submission.upload_id)
    assert (name, sha256, size) == ("mine.run.gz", prepare.digest(path), path.stat().st_size)
    with StoredFile(database, submission.upload_id).open() as back:
        assert back.read() == path.read_bytes()


def _delivery(path: Path, team_id: int) -> Delivery:
    """A file that is checked later."""
    file, run_request = prepare.unchecked(path, path.name), RunRequest(path.stem)
    return Delivery(sender=OPERATOR, slug="t", team_id=team_id, file=file, run_request=run_request)


def test_a_large_file_is_received_first_and_checked_by_the_evaluator(
    database: Database, tmp_path: Path
) -> None:
    """A stored upload waits as queued, then becomes a run, or a rejection whose file is dropped."""
    build.task(database, tmp_path)
    good, bad = build.run_file(tmp_path, GOOD, "good"), tmp_path / "bad"
    bad.write_text("1 Q0 a 1 much tag\n")
    team_id = build.team(database)
    with database.write() as session:
        one, two = (uploads.receive(session, _delivery(path, team_id)) for path in (good, bad))
    with database.read() as session:
        waiting = upload_page(session, OPERATOR, two.upload_id)
        assert (waiting.upload.state, waiting.progress.state, waiting.progress.position) == (
            "received",
            "queued",
            2,
        )
    assert build.drain(database) == 3
    with database.read() as session:
        accepted = upload_page(session, OPERATOR, one.upload_id)
        rejected = upload_page(session, OPERATOR, two.upload_id)
        assert (accepted.upload.state, rejected.upload.state, rejected.run_id) == (
            "accepted",
            "rejected",
            None,
        )
        assert accepted.run_id is not None
        assert queue.run_states(session, [accepted.run_id])[accepted.run_id].state == "done"
        kept = set(session.scalars(select(UploadChunk.upload_id)))
        assert kept == {one.upload_id}


def test_a_large_file_is_scored_while_it_is_checked(database: Database, tmp_path: Path) -> None:
    """The scores are there with the run, the same that a run checked at once gets from its evaluation."""
    build.task(database, tmp_path)
    path = build.run_file(tmp_path, GOOD, "large")
    team_id = build.team(database)
    with database.write() as session:
        uploads.receive(session, _delivery(path, team_id))
    assert Evaluator(database, Settings()).work()
    with database.read() as session:
        one = session.scalars(select(Evaluation).options(undefer(Evaluation.scores))).all()
        scored = {each.measure: each.scores.tolist() for each in one}
        states = queue.run_states(session, [each.run_id for each in one])
    assert len(scored) > 2
    assert {state.state for state in states.values()} == {"queued"}
    build.submit(database, path, run_request=RunRequest("small"))
    assert build.drain(database) == 2
    with database.read() as session:
        rows = session.scalars(select(Evaluation).options(undefer(Evaluation.scores))).all()
        assert len(rows) == 2 * len(scored)
        assert all(row.scores.tolist() == scored[row.measure] for row in rows)


def test_sending_the_same_form_twice_makes_one_run(database: Database, tmp_path: Path) -> None:
    """An idempotency key seen before gives the first answer; with another file it is a conflict."""
    build.task(database, tmp_path)
    path = build.run_file(tmp_path, GOOD)
    first = build.submit(database, path, key="k")
    again = build.submit(database, path, key="k")
    assert (first.upload_id, first.run_id) == (again.upload_id, again.run_id)
    other = build.run_file(tmp_path, {"1": ["a"]}, "other")
    with pytest.raises(Conflict, match="another file"):
        build.submit(database, other, key="k")
    assert _count(database, Run) == 1


def test_a_taken_or_odd_name_is_a_problem_of_the_report(database: Database, tmp_path: Path) -> None:
    """A run's name must be new in the task and plain; the report says so and offers a way."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, GOOD)
    taken = build.submit(database, build.run_file(tmp_path, GOOD))
    odd = build.submit(database, build.run_file(tmp_path, GOOD), run_request=RunRequest("my run!"))
    assert taken.report is not None
    assert odd.report is not None
    assert "name of another run" in str(taken.report.problems[0])
    assert "For example my-run." in str(odd.report.problems[0])


def test_a_near_copy_of_an_own_run_is_warned_about(database: Database, tmp_path: Path) -> None:
    """The same top documents as an earlier run of the team are pointed out, those of others are not."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, GOOD, "first")
    same = build.submit(database, build.run_file(tmp_path, GOOD, "second"))
    other = build.submit(database, build.run_file(tmp_path, GOOD, "third"), team_name="Others")
    assert same.report is not None
    assert other.report is not None
    assert any("the same as those of your run first" in str(each) for each in same.report.warnings)
    assert not any("your run" in str(each) for each in other.report.warnings)


def test_runs_wait_for_judgments_and_the_first_revision_scores_them_all(
    database: Database, tmp_path: Path
) -> None:
    """Without qrels runs are accepted and wait; the first revision queues every one of them."""
    build.task(database, tmp_path, judgments=None)
    ids = [build.run(database, tmp_path, GOOD, name) for name in ("one", "two")]
    with database.read() as session:
        states = queue.run_states(session, ids)
    assert [states[each].state for each in ids] == ["waiting", "waiting"]
    revision = build.revise(database, tmp_path, build.JUDGMENTS)
    assert (revision.number, revision.jobs) == (1, 2)
    assert build.drain(database) == 2
    assert _means(database, ids[0]).keys() == {"AP", "nDCG@10", "P@10", "R@1000", "Judged@10"}


def test_the_board_switches_only_when_every_run_is_scored(database: Database, tmp_path: Path) -> None:
    """Under a new revision the old edition stays current until the last job is done."""
    build.task(database, tmp_path)
    for name in ("one", "two"):
        build.run(database, tmp_path, GOOD, name)
    build.drain(database)
    revision = build.revise(database, tmp_path, {"1": {"a": 1}, "2": {"d": 1, "zz": 2}})
    assert (revision.change.added, revision.change.changed, revision.change.removed) == (1, 1, 5)
    assert revision.change.topics_lost == ("3",)
    evaluator_seen = []
    for _ in range(2):
        with database.read() as session:
            evaluator_seen.append(session.scalar(select(Edition.number).where(Edition.state == "current")))
        assert Evaluator(database, Settings()).work()
    assert evaluator_seen == [1, 1]
    with database.read() as session:
        assert session.scalar(select(Edition.number).where(Edition.state == "current")) == 2
        assert session.scalar(select(Edition.state).where(Edition.number == 1)) == "past"


def test_a_failed_job_blocks_the_switch_until_it_is_retried_or_the_run_withdrawn(
    database: Database, tmp_path: Path
) -> None:
    """A run that cannot be scored keeps the old board up; withdrawing it lets the board switch."""
    build.task(database, tmp_path)
    ids = [build.run(database, tmp_path, GOOD, name) for name in ("one", "two")]
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"a": 1}})
    with database.write() as session:
        held = queue.claim(session, "here:1", Settings())
        assert held is not None
        queue.fail(session, held, "It broke.", again=False)
    build.drain(database)
    with database.read() as session:
        assert session.scalar(select(Edition.number).where(Edition.state == "current")) == 1
        state = queue.run_states(session, ids)[held.subject_id]
        assert (state.state, state.message) == ("failed", "It broke.")
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, held.subject_id, "cannot be scored")
    with database.read() as session:
        assert session.scalar(select(Edition.number).where(Edition.state == "current")) == 2


def test_the_same_judgments_are_not_a_new_revision(database: Database, tmp_path: Path) -> None:
    """Uploading the newest revision again adds nothing."""
    build.task(database, tmp_path)
    with pytest.raises(Conflict, match="identical to revision 1"):
        build.revise(database, tmp_path, build.JUDGMENTS)


def test_machine_judgments_are_never_mixed_with_human_ones(database: Database, tmp_path: Path) -> None:
    """A revision of another origin is refused."""
    build.task(database, tmp_path)
    prepared = files.prepare(build.qrels_file(tmp_path, {"1": {"a": 1}}))
    with pytest.raises(Conflict, match="never mixed"), database.write() as session:
        revise(session, prepared, by=Origin("machine"))


def test_a_revision_while_one_is_being_built_takes_its_place(database: Database, tmp_path: Path) -> None:
    """Only the newest revision's edition is built; the one before it is never shown."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, GOOD)
    build.drain(database)
    build.revise(database, tmp_path, {"1": {"a": 1}})
    build.revise(database, tmp_path, {"1": {"a": 2}})
    assert build.drain(database) == 1
    with database.read() as session:
        states = session.execute(select(Edition.number, Edition.state).order_by(Edition.number)).all()
    assert [tuple(each) for each in states] == [(1, "past"), (2, "past"), (3, "current")]


def test_two_evaluators_at_once_score_every_run_once(database: Database, tmp_path: Path) -> None:
    """Concurrent evaluators share the queue; every run gets one evaluation a measure."""
    build.task(database, tmp_path, measures=("AP",))
    for number in range(6):
        build.run(database, tmp_path, GOOD, f"r{number}")
    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(lambda _: build.drain(database), range(2)))
    assert sum(done) == 6
    assert _count(database, Evaluation) == 6


def test_only_members_submit_and_only_to_a_published_open_task(database: Database, tmp_path: Path) -> None:
    """Strangers are refused, drafts take no runs, and unknown tasks are not found."""
    build.task(database, tmp_path, publish=False)
    team_id = build.team(database)
    member = Viewer(account_id=1, team_ids=frozenset({team_id}))
    with database.read() as session:
        with pytest.raises(NotFound):
            limits.rules_for(session, member, "t", team_id)
        with pytest.raises(Closed, match="draft"):
            limits.rules_for(session, OPERATOR, "t", team_id)
    with database.write() as session:
        drafts.publish(session, OPERATOR, "t")
    with database.read() as session:
        assert limits.rules_for(session, member, "t", team_id).checks.topics == build.TOPICS
        for missing in (team_id, team_id + 1):
            with pytest.raises(NotFound, match=f"not in team {missing}"):
                limits.rules_for(session, Viewer(account_id=2), "t", missing)
        with pytest.raises(Forbidden, match="Sign in"):
            limits.rules_for(session, ANONYMOUS, "t", team_id)


def test_a_blind_task_counts_runs_and_refuses_probes(database: Database, tmp_path: Path) -> None:
    """Five runs a day; a run of one shallow topic is a probe and is not scored."""
    topics = [str(number) for number in range(1, 11)]
    build.task(database, tmp_path, topics=topics, visibility="blind")
    member = Viewer(account_id=None, team_ids=frozenset({build.team(database)}), name="m")
    with database.write() as session:
        account = accounts.create(session, "member")
    member = Viewer(account_id=account, team_ids=member.team_ids)
    probe = build.submit(database, build.run_file(tmp_path, {"1": ["a"]}, "probe"), viewer=member)
    assert probe.state == "rejected"
    assert probe.report is not None
    assert "has 1 of 10 topics; a blind task requires at least 80%" in str(probe.report.problems[0])
    deep = {topic: [f"d{number}" for number in range(12)] for topic in topics}
    for number in range(5):
        build.run(database, tmp_path, deep, f"r{number}", viewer=member)
    with pytest.raises(OverQuota, match="runs for today"):
        build.submit(database, build.run_file(tmp_path, deep, "r6"), viewer=member)


def test_excluded_topics_leave_the_means(database: Database, tmp_path: Path) -> None:
    """A topic excluded with a reason does not count."""
    build.task(database, tmp_path, measures=("RR",), publish=False)
    with database.write() as session:
        organise.exclude_topic(session, OPERATOR, "t", "3", "no answer in the collection")
        drafts.publish(session, OPERATOR, "t")
    run_id = build.run(database, tmp_path, GOOD)
    build.drain(database)
    assert _means(database, run_id)["RR"] == 1.0
