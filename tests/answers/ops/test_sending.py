"""A file of answers becomes a run with its answers, or a report and nothing else."""

from pathlib import Path

import pytest
from sqlalchemy import func, select

from leaderboard.answers.ops import answers as answers_services
from leaderboard.answers.page import answers as answers_pages
from leaderboard.core import kinds
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Answer as StoredAnswer
from leaderboard.db.tables import Evaluation, Job, RankingIndex, Run, Task, Topic, UploadChunk
from leaderboard.errors import Conflict, Invalid, UnknownMeasure
from leaderboard.judging.ops.pools import previews
from leaderboard.judging.ops.pools.previews import PoolPlan
from leaderboard.scoring.ops import run_facts as facts
from leaderboard.site.ops.checks import all_checks
from leaderboard.tasks.ops import drafts, organise, settings
from leaderboard.tasks.ops.drafts import TaskDraft
from leaderboard.tasks.ops.organise import TaskCopy
from leaderboard.trec.answers.dialects import DIALECTS
from leaderboard.trec.runs.fingerprints import similarity
from leaderboard.trec.topics.topics import read_topics
from tests.make import answered, build
from tests.make.damage import damage

pytestmark = pytest.mark.dialect


def test_a_task_of_answers_has_their_measures_and_no_settings_of_rankings(
    database: Database, tmp_path: Path
) -> None:
    """Its measures are those of answers; it has no depth to set, and rankings have no longest answer."""
    answered.task(database, tmp_path)
    build.task(database, tmp_path, "rankings")
    with database.write() as session:
        task = session.scalars(select(Task).where(Task.slug == "answers")).one()
        assert (task.kind, len(task.measures)) == ("answers", len(kinds.of("answers").usual_measures))
        assert task.primary_measure == task.measures[0] == "NuggetRecall(set='vital',strict=1)"
        settings.change_settings(
            session, OPERATOR, "answers", {"answer_limit": "5", "answer_dialects": "report rag24"}
        )
        assert task.answer_rules == {"limit": 5, "dialects": ["rag24", "report"]}
        settings.change_settings(session, OPERATOR, "answers", {"answer_limit": "", "answer_over": "cut"})
        assert task.answer_rules == {"dialects": ["rag24", "report"], "over": "cut"}
        with pytest.raises(Conflict, match="applies only to ranking tasks"):
            settings.change_settings(session, OPERATOR, "answers", {"depth": "10"})
        with pytest.raises(Conflict, match="applies only to answer tasks"):
            settings.change_settings(session, OPERATOR, "rankings", {"answer_limit": "5"})
        with pytest.raises(Invalid):
            settings.change_settings(session, OPERATOR, "answers", {"docno_pattern": "("})


def test_the_form_names_every_dialect() -> None:
    """Settings load no module of answers, and name the same dialects."""
    assert tuple(DIALECTS) == settings.ANSWER_DIALECTS


def test_a_draft_of_answers_takes_no_qrels_and_no_measure_of_rankings(
    database: Database, tmp_path: Path
) -> None:
    """Each is refused before anything is stored."""
    with pytest.raises(Invalid) as refused:
        build.task(database, tmp_path, "a", kind="answers")
    assert [problem.field for problem in refused.value.problems] == ["qrels"]
    with pytest.raises(UnknownMeasure):
        build.task(database, tmp_path, "a", kind="answers", judgments=None, measures=("AP",))


def test_an_accepted_file_is_a_run_with_its_answers(database: Database, tmp_path: Path) -> None:
    """Counts, digest and answers are stored, and no ranking; the order of lines does not matter."""
    answered.task(database, tmp_path)
    run_id = answered.run(database, tmp_path)
    backwards = dict(reversed(answered.TEXTS.items()))
    again = answered.submit(database, tmp_path, backwards, "again")
    build.drain(database)
    with database.read() as session:
        run, copy = session.get_one(Run, run_id), session.get_one(Run, again.run_id)
        assert (run.tag, run.topics, run.entries, run.deepest) == ("answered", 3, 4, 2)
        assert run.ranking_sha256 == copy.ranking_sha256
        assert similarity(run.sketch, copy.sketch) == 1.0
        assert session.scalar(select(func.count()).select_from(RankingIndex)) == 0
        assert session.scalars(select(Evaluation)).all() == []
        answers = {answer.topic: answer for answer in answers_services.of_run(session, run_id)}
    assert list(answers) == ["1", "2", "3"]
    assert [citation.docno for citation in answers["1"].segments[0].citations] == ["d4", "d9"]
    assert again.report is not None
    assert "the cited documents and segments are the same as those of your run answered" in str(
        again.report.warnings[0]
    )


def test_a_rejected_file_changes_nothing(database: Database, tmp_path: Path) -> None:
    """Its report names line, rule, value and remedy."""
    answered.task(database, tmp_path, rules={"limit": 3, "unit": "words", "over": "refuse"})
    texts = {**answered.TEXTS, "4": [("Too many words here.", ["d1"])]}
    submission = answered.submit(database, tmp_path, texts)
    assert submission.state == "rejected"
    assert submission.report is not None
    unknown = next(problem for problem in submission.report.problems if problem.value == "4")
    assert (unknown.line, unknown.rule) == (4, "The task does not have this topic.")
    assert unknown.remedy
    assert any("at most 3 are allowed" in problem.rule for problem in submission.report.problems)
    with database.read() as session:
        for table in (Run, StoredAnswer, UploadChunk, Job):
            assert session.scalar(select(func.count()).select_from(table)) == 0


def test_what_is_cut_is_kept_beside_what_counts(database: Database, tmp_path: Path) -> None:
    """A task that cuts keeps both, and says the limit it cut to."""
    answered.task(database, tmp_path, rules={"limit": 5, "unit": "words", "over": "cut"})
    submission = answered.submit(database, tmp_path)
    assert submission.run_id is not None
    assert submission.report is not None
    assert (submission.report.facts["cut"], submission.report.facts["limit"]) == (1, 5)
    with database.read() as session:
        answer = answers_services.of_topic(session, submission.run_id, "1")
        run = session.get_one(Run, submission.run_id)
    assert answer is not None
    assert (len(answer.segments), answer.cut_off[0].text) == (1, "It always did.")
    assert "It always did." in answer.line
    assert run.entries == 3


def test_a_blind_task_refuses_probes(database: Database, tmp_path: Path) -> None:
    """A file that answers a topic or two would tell how they are judged."""
    answered.task(database, tmp_path, visibility="blind")
    submission = answered.submit(database, tmp_path, {"1": answered.TEXTS["1"]})
    assert submission.report is not None
    assert "answers 1 of 3 topics" in submission.report.problems[-1].rule


def test_damaged_answers_are_found(database: Database, tmp_path: Path) -> None:
    """Whole ones are no damage; a turned bit is, by row and by run."""
    answered.task(database, tmp_path)
    answered.run(database, tmp_path)
    named = {
        check.name: check
        for check in all_checks()
        if check.name in ("answers", "runs of answers", "rankings")
    }
    counts = {name: len(check.places(database)) for name, check in named.items()}
    assert counts == {"answers": 3, "runs of answers": 1, "rankings": 0}

    def damaged() -> list[str]:
        return [
            name
            for name, check in named.items()
            for at in check.places(database)
            if check.damage(database, at)
        ]

    assert damaged() == []
    damage(database, StoredAnswer.body)
    assert set(damaged()) == {"answers", "runs of answers"}


def test_pools_of_rankings_are_refused(database: Database, tmp_path: Path) -> None:
    """Answers rank no documents; only what they cite can be pooled."""
    answered.task(database, tmp_path)
    answered.run(database, tmp_path)
    with database.read() as session, pytest.raises(Conflict, match="its pools are made from what they cite"):
        previews.preview(session, OPERATOR, "answers", PoolPlan({"name": "depth", "depth": 1}))


def test_a_topics_own_limit_overrides_the_tasks(database: Database, tmp_path: Path) -> None:
    """It comes with the topics file, is in the report, and a copy of the task has it too."""
    topics = tmp_path / "topics.jsonl"
    topics.write_text('{"narrative_id": 1, "title": "one", "limit": 3}\n{"id": "2", "title": "two"}\n')
    draft = TaskDraft(slug="answers", name="A", topics=topics, kind="answers")
    with database.write() as session:
        drafts.create(session, OPERATOR, drafts.prepare(draft))
        drafts.publish(session, OPERATOR, "answers")
        session.query(Task).update({"answer_rules": {"limit": 2, "unit": "words", "over": "refuse"}})
    texts = {"1": [("Three words here.", ["d1"])], "2": [("Two words.", ["d1"])]}
    sent = answered.submit(database, tmp_path, texts)
    assert sent.report is not None
    assert sent.run_id is not None, sent.report
    assert (sent.report.facts["limit"], sent.report.facts["limits"]) == (2, {"1": 3})
    with database.read() as session:
        shown = [
            answers_pages.answer_page(session, OPERATOR, sent.run_id, topic).limit for topic in ("1", "2")
        ]
    assert shown == [3, 2]
    refused = answered.submit(database, tmp_path, {**texts, "2": [("These are three.", ["d1"])]}, "longer")
    assert [problem.value for problem in refused.report.problems] == ["2"] if refused.report else False
    with database.write() as session:
        organise.clone(session, OPERATOR, "answers", TaskCopy("copy", "Copy", organise.NEWEST))
        limits = select(Topic.answer_limit).join(Task, Task.id == Topic.task_id).where(Task.slug == "copy")
        assert session.scalars(limits.order_by(Topic.position)).all() == [3, None]


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [("", "", 1), ('{"id": "0",\n"title": "none"}\n\n', "", 4), ("\n\n", "", 3), ("[\n", "]", None)],
)
def test_a_limit_that_is_not_a_number_is_refused(
    before: str, after: str, line: int | None, tmp_path: Path
) -> None:
    """With the line of its topic, which within an array is not known."""
    topics = tmp_path / "topics.jsonl"
    topics.write_text(f'{before}{{"id": "1", "title": "one", "limit": "long"}}\n{after}')
    with pytest.raises(Invalid) as refused:
        read_topics(topics)
    assert [(problem.line, problem.field) for problem in refused.value.problems] == [(line, "limit")]


def test_longevals_zip_is_a_run_with_its_metadata(database: Database, tmp_path: Path) -> None:
    """The answers are those of its lines, and the facts those of its metadata."""
    answered.task(database, tmp_path)
    path = answered.longeval_zip(tmp_path / "owls.zip")
    sent = build.submit(database, path, "answers")
    assert sent.run_id is not None, sent.report
    plain = answered.run(database, tmp_path, name="plain")
    with database.read() as session:
        run = session.get_one(Run, sent.run_id)
        known = {fact.key: fact.text for fact in facts.facts(run.details)}
        assert (known["type"], known["hardware"]) == ("automatic", "64 GB RAM")
        zipped, lines = (list(answers_services.of_run(session, run_id)) for run_id in (sent.run_id, plain))
        assert [one.segments for one in zipped] == [one.segments for one in lines]
