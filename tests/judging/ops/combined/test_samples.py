"""Samples of a machine's judgments: what is drawn, that they grow, who may draw and show them."""

from pathlib import Path

import numpy as np
import pytest
from sqlalchemy import select, update

from leaderboard.core.policy import ANONYMOUS, OPERATOR
from leaderboard.db.engine import Database
from leaderboard.db.tables import Pool, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, SignInNeeded
from leaderboard.judging.ops import combined
from leaderboard.judging.ops.combined import JudgedSample, judged_sample
from leaderboard.judging.ops.pools import pools
from leaderboard.measures.judged import UNJUDGED
from leaderboard.stats.combined.sample import inclusion, uniform, weights
from tests.make import build, judged, sampled
from tests.make import pools as made_pools
from tests.make.copies import built_once


@pytest.fixture
@built_once
def runs(database: Database, tmp_path: Path) -> list[int]:
    """The runs of a task that a machine judged."""
    return sampled.task(database, tmp_path)


def _sample(database: Database, number: int) -> JudgedSample:
    with database.read() as session:
        task = session.scalars(select(Task)).one()
        return judged_sample(session, task, combined.find_sample(session, task, number))


def _grades(database: Database, number: int) -> dict[tuple[str, str], int | None]:
    with database.read() as session:
        found = pools.documents_of(session, OPERATOR, "t", number)
    return {(topic, row.docno): row.grade for topic, rows in found.items() for row in rows}


def test_a_sample_opens_on_the_machines_scale(database: Database, tmp_path: Path) -> None:
    """A machine that grades up to 3, a task without names of grades: people are not left with 0 and 1."""
    grades = {topic: {docno: ord(docno) % 4 for docno in sampled.DOCNOS} for topic in sampled.TOPICS}
    made = {"origin": "machine", "origin_name": "model-1", "measures": sampled.MEASURES}
    build.task(database, tmp_path, topics=sampled.TOPICS, judgments=grades, **made)
    for run in range(3):
        rankings = {topic: sampled.ranking(run, topic) for topic in sampled.TOPICS}
        build.run(database, tmp_path, rankings, f"run{run}")
    build.drain(database)
    with database.write() as session:
        number = combined.draw_sample(session, OPERATOR, "t", 0.4)
    with (
        database.write() as session,
        pytest.raises(Conflict, match="grades up to 3, but .* can only give 0, 1"),
    ):
        pools.change(session, OPERATOR, "t", number, pools.OPEN, without_texts=True)
    with database.write() as session:
        pools.change(session, OPERATOR, "t", number, pools.OPEN, without_texts=True, highest_grade=3)
    topic, (docno, *_) = next(iter(sampled.drawn(database, number).items()))
    judged.judge(database, judged.assessor(database, "Ada"), topic, {docno: 3})
    with database.read() as session:
        task = session.scalars(select(Task)).one()
        pool = combined.find_sample(session, task, number)
        assert combined.people_grades(session, task, pool).judged == {(topic, docno): 3}


def test_every_document_is_drawn_with_its_own_probability(database: Database, runs: list[int]) -> None:
    """The probabilities are those of the runs' tops, their mean the share; the digest decides."""
    number = sampled.draw(database, 0.4, seed=3)
    with database.read() as session:
        documents = pools.documents_of(session, OPERATOR, "t", number)
    weight = [
        weights(
            np.array(
                [
                    [sampled.ranking(run, topic).index(docno) + 1 for docno in sampled.DOCNOS]
                    for run in range(len(sampled.TEAMS))
                ]
            )
        )
        for topic in sampled.TOPICS
    ]
    chances = inclusion(np.concatenate(weight), 0.4)
    assert chances.mean() == pytest.approx(0.4)
    expected = dict(
        zip(
            ((topic, docno) for topic in sampled.TOPICS for docno in sampled.DOCNOS),
            chances.tolist(),
            strict=True,
        )
    )
    for topic, rows in documents.items():
        for row in rows:
            assert row.probability == pytest.approx(expected[topic, row.docno])
            is_drawn = uniform(3, topic, row.docno) < row.probability
            assert row.grade == (None if is_drawn else UNJUDGED)
            assert row.priority == 0


def test_a_larger_sample_takes_over_what_was_judged(database: Database, runs: list[int]) -> None:
    """It contains the smaller one; with another seed or of a new revision nothing is taken over."""
    first = sampled.draw(database, 0.3)
    sampled.judge(database, first, sampled.TOPICS[:5])
    small, large = _grades(database, first), _grades(database, sampled.draw(database, 0.6))
    drawn = {place for place, grade in small.items() if grade is None}
    for place in drawn:
        judged = place[0] in sampled.TOPICS[:5]
        assert large[place] == (sampled.by_people(*place) if judged else None)
    assert sum(grade != UNJUDGED for grade in large.values()) > len(drawn)
    other = _grades(database, sampled.draw(database, 0.6, seed=2))
    assert set(other.values()) == {None, UNJUDGED}


def test_topics_count_from_their_last_document_on(database: Database, runs: list[int]) -> None:
    """A topic with a document that waits is not done; one without any is done when all others are."""
    number = sampled.draw(database, 0.4)
    assert _sample(database, number).finished == 0
    sampled.judge(database, number, sampled.TOPICS[:7])
    sample = _sample(database, number)
    drawn = {topic for topic, waiting in sampled.drawn(database, number).items() if waiting}
    assert sample.source.topics == tuple(topic for topic in sampled.TOPICS[:7] if topic in drawn)
    assert (sample.topics, sample.documents, sample.machine) == (26, 208, "model-1")
    labels = sample.labels
    judged = labels.people[labels.is_judged & (labels.topic == 0)].tolist()
    assert judged == [
        sampled.by_people("01", docno)
        for docno in sampled.DOCNOS
        if _grades(database, number)["01", docno] is None
    ]
    assert labels.machine[labels.topic == 0].tolist() == [
        sampled.by_machine("01", docno) for docno in sampled.DOCNOS
    ]
    sampled.judge(database, number, sampled.TOPICS[7:], "Bob")
    assert _sample(database, number).source.topics == sampled.TOPICS


def test_what_cannot_be_drawn(database: Database, runs: list[int], tmp_path: Path) -> None:
    """Shares and seeds out of range, judgments by people, somebody else's task; no pool is left of it."""
    for share, seed in ((0.04, 1), (1.1, 1), (float("nan"), 1), (0.2, -1)):
        with pytest.raises(Invalid), database.write() as session:
            combined.draw_sample(session, OPERATOR, "t", share, seed=seed)
    with pytest.raises(SignInNeeded), database.write() as session:
        combined.draw_sample(session, ANONYMOUS, "t", 0.2)
    build.task(database, tmp_path, "people")
    with pytest.raises(Conflict, match="this task's leaderboard uses none"), database.write() as session:
        combined.draw_sample(session, OPERATOR, "people", 0.2)
    with database.read() as session:
        assert session.scalars(select(Pool)).all() == []


def test_only_samples_are_shown(database: Database, runs: list[int]) -> None:
    """Another pool has no combined board; showing twice keeps the first moment, hiding takes it back."""
    other = made_pools.pool(database, {"01": ["a"]})
    with pytest.raises(NotFound, match="not a sample"), database.write() as session:
        combined.show_sample(session, OPERATOR, "t", other, True)
    number = sampled.draw(database, 0.2, is_shown=True)
    moment = _sample(database, number).shown_at
    for is_shown in (True, False):
        with database.write() as session:
            combined.show_sample(session, OPERATOR, "t", number, is_shown)
        assert _sample(database, number).shown_at == (moment if is_shown else None)
    with pytest.raises(SignInNeeded), database.write() as session:
        combined.show_sample(session, ANONYMOUS, "t", number, True)


def test_whole_topics_are_drawn_by_chance_and_grow(database: Database, runs: list[int]) -> None:
    """All that the machine judged of each; more topics contain fewer, and what was judged is taken over."""
    few = sampled.draw_topics(database, 10)
    sampled.judge(database, few)
    many = sampled.draw_topics(database, 15)
    other = sampled.draw_topics(database, 10, seed=2)
    with database.read() as session:
        of_few, of_many, of_other = (
            pools.documents_of(session, OPERATOR, "t", number) for number in (few, many, other)
        )
    assert (len(of_few), len(of_many)) == (10, 15)
    assert of_few.keys() < of_many.keys()
    assert of_other.keys() != of_few.keys()
    assert all(len(rows) == len(sampled.DOCNOS) for rows in of_many.values())
    assert {row.probability for rows in of_many.values() for row in rows} == {1.0}
    sample = _sample(database, many)
    assert (sample.is_of_topics, sample.topics, sample.finished) == (True, 15, 10)
    assert (sample.share, len(sample.everything.topics)) == (pytest.approx(15 / 26), 26)
    assert (sample.documents, sample.drawn, sample.judged) == (26 * 8, 15 * 8, 10 * 8)


def test_which_topics_may_be_drawn(database: Database, runs: list[int]) -> None:
    """From ten to all that the machine judged, by organisers; nothing is stored else."""
    for count in (9, 27):
        with pytest.raises(Invalid, match="from 10 to 26"), database.write() as session:
            combined.draw_topics(session, OPERATOR, "t", count)
    with pytest.raises(SignInNeeded), database.write() as session:
        combined.draw_topics(session, ANONYMOUS, "t", 10)
    with database.write() as session:
        session.execute(
            update(Topic).where(Topic.topic_id.in_(sampled.TOPICS[:20])).values(excluded="Too few.")
        )
    with pytest.raises(Conflict, match="judged only 6 scored topics"), database.write() as session:
        combined.draw_topics(session, OPERATOR, "t", 10)
    with database.read() as session:
        assert session.scalars(select(Pool)).all() == []
