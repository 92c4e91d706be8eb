"""The board of people and machine, against people's own scores and against the estimates by hand."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import update

from leaderboard.core import policy
from leaderboard.core.policy import ANONYMOUS, OPERATOR, Viewer
from leaderboard.db.engine import Database
from leaderboard.db.tables import Phase, Qrels, Run
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.page import combined
from leaderboard.judging.page.combined import CombinedChoice, CombinedPage, combined_page
from leaderboard.runs.ops import withdrawals
from leaderboard.scoring.ops.evaluations.shown import shown_edition
from leaderboard.stats.combined import measures
from leaderboard.stats.combined.labels import Labels
from leaderboard.stats.combined.whole_topics import WholeTopics, believed, estimates, pair_table
from leaderboard.stats.pairs.methods import all_pairs, method
from leaderboard.stats.standing import verdicts
from tests.make import sampled
from tests.make.copies import built_once


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> list[int]:
    """The runs of a task that a machine judged."""
    return sampled.task(database, tmp_path)


def page(
    database: Database,
    measure: str = "P@3",
    order: str = "combined",
    viewer: Viewer = OPERATOR,
    **options: int,
) -> CombinedPage:
    """The page of the newest sample."""
    with database.read() as session:
        choice = CombinedChoice(measure, options.get("number"), order)
        return combined_page(session, viewer, "t", choice)


def test_with_everything_judged_it_is_the_board_by_people(database: Database, runs: list[int]) -> None:
    """Scores, intervals and verdicts are those of people's labels; the machine's own stand beside them."""
    sampled.judge(database, sampled.draw(database, 1.0))
    found = page(database)
    assert found.refused == ()
    assert found.board is not None
    scores = np.array(
        [
            [
                sum(sampled.by_people(topic, docno) >= 1 for docno in sampled.ranking(run, topic)[:3]) / 3
                for topic in sampled.TOPICS
            ]
            for run in range(len(sampled.TEAMS))
        ]
    )
    said = verdicts(all_pairs(scores, method("t+holm"), seed=1))
    rows = {row.run_id: row for row in found.board.rows}
    for at, run_id in enumerate(runs):
        row = rows[run_id]
        assert row.place is not None
        assert row.score == pytest.approx(scores[at].mean())
        assert row.people == pytest.approx(scores[at].mean())
        assert (row.place.rank_low, row.place.rank_high) == (said.rank_low[at], said.rank_high[at])
        assert (row.place.beats, row.place.best_set) == (said.beats[at], said.may_be_best[at])
        if (scores[at] == scores[at][0]).all():
            assert (row.low, row.high) == (None, None)
        else:
            half = 2.0595385527532946 * scores[at].std(ddof=1) / np.sqrt(26)
            assert row.high is not None
            assert (row.high - row.score) == pytest.approx(half)
        machine = [
            sum(sampled.by_machine(topic, docno) >= 1 for docno in sampled.ranking(at, topic)[:3]) / 3
            for topic in sampled.TOPICS
        ]
        assert row.machine == pytest.approx(np.mean(machine))
    assert next(row.name for row in found.board.rows) == "run0"
    assert found.board.plan is not None
    assert found.board.plan.plan.all_judged.documents == 0


def test_of_a_sample_it_is_the_estimate(database: Database, runs: list[int]) -> None:
    """The labels put together here, by hand, give the same scores; without the machine other ones."""
    number = sampled.draw(database, 0.5)
    sampled.judge(database, number)
    with database.read() as session:
        documents = pools.documents_of(session, OPERATOR, "t", number)
    rows = [
        (at, sampled.by_machine(topic, row.docno), row)
        for at, (topic, found) in enumerate(documents.items())
        for row in sorted(found, key=lambda row: row.docno)
    ]
    labels = Labels(
        topic=np.array([at for at, _, _ in rows]),
        machine=np.array([grade for _, grade, _ in rows]),
        people=np.array(
            [
                sampled.by_people(sampled.TOPICS[at], row.docno) if row.grade is None else -1
                for at, _, row in rows
            ]
        ),
        probability=np.array([row.probability for _, _, row in rows]),
        topics=26,
    )
    rankings = np.array(
        [
            [
                [8 * at + sampled.DOCNOS.index(docno) for docno in sampled.ranking(run, topic)]
                for at, topic in enumerate(sampled.TOPICS)
            ]
            for run in range(len(sampled.TEAMS))
        ]
    )
    for key, scores in (
        ("P@3", measures.precision(labels, rankings, cutoff=3)),
        ("RR", measures.reciprocal_rank(labels, rankings)),
    ):
        found = page(database, key)
        assert found.board is not None, found.refused
        by_run = {row.run_id: row for row in found.board.rows}
        assert [by_run[run].score for run in runs] == pytest.approx(scores.mean(axis=1).tolist())
        assert by_run[runs[0]].people != pytest.approx(by_run[runs[0]].score)
    assert {row.name for row in found.board.teams} == set(sampled.TEAMS)
    assert (found.board.plan, found.board.top) == (None, 10)


def test_the_machines_board_has_no_verdicts(database: Database, runs: list[int]) -> None:
    """It says nothing of people; the people's board is in its own order."""
    sampled.judge(database, sampled.draw(database, 0.6))
    machine = page(database, order="machine").board
    people = page(database, order="people").board
    assert machine is not None
    assert people is not None
    assert [row.machine_rank for row in machine.rows] == sorted(row.machine_rank for row in machine.rows)
    assert {row.place for row in machine.rows} == {None}
    assert [row.people_rank for row in people.rows] == sorted(row.people_rank for row in people.rows)
    assert all(row.place is not None for row in people.rows)


def test_what_is_refused(database: Database, runs: list[int]) -> None:
    """Too few topics, too few of them for RR, too small a sample for nDCG; no board is shown then."""
    number = sampled.draw(database, 0.5)
    sampled.judge(database, number, sampled.TOPICS[:1])
    first = page(database)
    assert first.board is None
    assert any("topics are judged completely" in why for why in first.refused)
    sampled.judge(database, number, sampled.TOPICS[1:6], "Bob")
    assert page(database).board is not None
    assert "25 topics" in page(database, "RR").refused[0]
    assert "20 sampled documents per topic" in page(database, "nDCG@3").refused[0]
    for measure in ("Judged@3", "AP"):
        with pytest.raises(UnknownMeasure, match="choose P@3"):
            page(database, measure)


def test_who_sees_it(database: Database, runs: list[int]) -> None:
    """Others see what organisers show; organisers see all samples, and the page before there is any."""
    assert page(database).sample is None
    with pytest.raises(NotFound):
        page(database, viewer=ANONYMOUS)
    hidden = sampled.draw(database, 0.3)
    shown = sampled.draw(database, 0.5, is_shown=True)
    sampled.judge(database, shown)
    assert page(database).samples == (shown, hidden)
    seen = page(database, viewer=ANONYMOUS)
    assert (seen.samples, seen.basis is not None and seen.basis.is_combined) == ((shown,), True)
    assert page(database, number=hidden).board is None
    with pytest.raises(NotFound):
        page(database, viewer=ANONYMOUS, number=hidden)


def test_a_sealed_task_shows_none(database: Database, runs: list[int]) -> None:
    """Whatever organisers show: while scores are held back, so is what people and machine say of them."""
    sampled.judge(database, sampled.draw(database, 0.5, is_shown=True))
    with database.write() as session:
        session.execute(update(Phase).values(visibility="sealed"))
    with pytest.raises(NotFound):
        page(database, viewer=ANONYMOUS)
    assert page(database).board is not None
    with database.read() as session:
        task, access = policy.visible_task(session, ANONYMOUS, "t")
        assert shown_edition(session, task, access).basis is None


def test_its_tables_and_facts(database: Database, runs: list[int]) -> None:
    """All that a number depends on is with it: sample, seed, revision, labels."""
    number = sampled.draw(database, 0.5)
    sampled.judge(database, number)
    found = combined.combined_facts(page(database))
    sample = found["sample"]
    assert (sample["pool"], sample["share"], sample["seed"], sample["revision"]) == (number, 0.5, 1, 1)
    assert len(sample["labels_sha256"]) == len(sample["revision_sha256"]) == 64
    assert next(row["run"] for row in found["runs"]) == "run0"
    assert {"low", "high", "beats", "machine", "people", "move", "outside"} <= set(found["runs"][0])
    assert [row["team"] for row in found["teams"]]
    assert found["plan"]["first"] == "run0"


def test_whole_topics_are_estimated_from_both(database: Database, runs: list[int]) -> None:
    """Thirteen topics that people judged to the end, and the machine's scores of all 26."""
    number = sampled.draw_topics(database, 13)
    sampled.judge(database, number)
    found = page(database)
    assert found.sample is not None
    assert found.board is not None, found.refused
    judged = [sampled.TOPICS.index(topic) for topic in found.sample.source.topics]
    assert len(judged) == 13
    people, machine = (
        np.array(
            [
                [
                    np.mean([by(topic, docno) >= 1 for docno in sampled.ranking(run, topic)[:3]])
                    for topic in topics
                ]
                for run in range(len(sampled.TEAMS))
            ]
        )
        for by, topics in (
            (sampled.by_people, found.sample.source.topics),
            (sampled.by_machine, sampled.TOPICS),
        )
    )
    scores = WholeTopics(people, machine, np.array(judged))
    share = believed(scores)
    made = estimates(scores, share)
    said = verdicts(pair_table(scores, share))
    assert 0 < share < 1
    assert found.board.believed == pytest.approx(share)
    rows = {row.run_id: row for row in found.board.rows}
    for at, run_id in enumerate(runs):
        row = rows[run_id]
        assert row.place is not None
        never_varies = (people[at] == people[at][0]).all() and (machine[at] == machine[at][0]).all()
        ends = (None, None) if never_varies else pytest.approx((made.low[at], made.high[at]))
        assert (row.low, row.high) == ends
        assert row.score == pytest.approx(made.mean[at])
        assert (row.machine, row.people) == pytest.approx((machine[at].mean(), people[at].mean()))
        assert (row.place.rank_low, row.place.beats) == (said.rank_low[at], said.beats[at])
    assert found.board.plan is not None
    assert found.board.plan.is_of_topics
    assert {row.name for row in found.board.teams} == set(sampled.TEAMS)
    facts = combined.combined_facts(found)
    assert (facts["sample"]["design"], facts["sample"]["share"]) == ("topics", 0.5)
    assert facts["plan"]["topics"] == 26
    alone = page(database, order="people").board
    assert alone is not None
    places = {row.run_id: row.place for row in alone.rows}
    by_people = verdicts(pair_table(scores, 0.0))
    assert [places[run] and places[run].beats for run in runs] == by_people.beats.tolist()


def test_whole_topics_that_are_too_few_are_refused(database: Database, runs: list[int]) -> None:
    """Fewer than ten, and fewer than 25 for RR, whatever else is there."""
    number = sampled.draw_topics(database, 12)
    with database.read() as session:
        topics = tuple(pools.documents_of(session, OPERATOR, "t", number))
    sampled.judge(database, number, topics[:9])
    assert page(database).refused == ("9 of 12 topics are judged completely. A board needs 10.",)
    sampled.judge(database, number, topics[9:], "Bob")
    assert page(database).board is not None
    assert "25 topics" in page(database, "RR").refused[0]
    assert page(database, "nDCG@3").board is not None


def test_favour_by_the_models_that_runs_declare(database: Database, runs: list[int]) -> None:
    """Two runs say which they use, one of them the judge's own."""
    with database.write() as session:
        for run, said in zip(runs, ("Model-1 and GPT-4o", "gpt-5", "none", "none", "none"), strict=True):
            session.execute(update(Run).where(Run.id == run).values(details={"form": {"llm": said}}))
    sampled.judge(database, sampled.draw(database, 0.6))
    found = page(database)
    assert found.board is not None
    models = {row.name: row for row in found.board.models}
    assert {name: row.runs for name, row in models.items()} == {"gpt": 2}
    with database.write() as session:
        session.execute(update(Qrels).values(origin_name="GPT 4.1"))
        session.execute(update(Run).where(Run.id == runs[2]).values(details={"form": {"llm": "Claude"}}))
    found = page(database)
    assert found.board is not None
    models = {row.name: row for row in found.board.models}
    assert {name: (row.runs, row.is_own) for name, row in models.items()} == {
        "gpt": (2, True),
        "claude": (1, False),
    }
    assert [row["model"] for row in combined.combined_facts(found)["models"]] == [
        row.name for row in found.board.models
    ]
    assert not any(row.favour.is_favoured for row in models.values())


def test_too_few_runs_of_others_for_favour(database: Database, runs: list[int]) -> None:
    """Of three runs of two teams none has three of others beside it."""
    with database.write() as session:
        for run in runs[3:]:
            withdrawals.withdraw(session, OPERATOR, run, "wrong file")
    sampled.judge(database, sampled.draw(database, 0.6))
    found = page(database)
    assert found.board is not None
    assert found.board.teams == ()
