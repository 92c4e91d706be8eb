"""Judgments of subtopics as arrays."""

import numpy as np

from leaderboard.measures.grammar import parse
from leaderboard.trec.qrels.align import align
from leaderboard.trec.qrels.compiling import compile_qrels, subtopics_of
from leaderboard.trec.qrels.qrels import read_qrels
from leaderboard.trec.runs.runs import Ranking
from tests.trec.conftest import Written

QRELS = """\
9 1 b 0
9 1 a 1
9 10 a 2
9 2 c 1
9 x b 1
10 1 a 1
"""


def _ranking(topic: str, docnos: str) -> Ranking:
    return Ranking(topic, np.array([docno.encode() for docno in docnos]), -np.arange(float(len(docnos))))


def test_subtopics_follow_documents_and_numbers_their_value(written: Written) -> None:
    """Topics in byte order, documents in that of docnos, subtopics 1, 2, 10 and then x."""
    judgments = compile_qrels(read_qrels(written(QRELS))).judgments
    subtopics = judgments.subtopics
    assert subtopics is not None
    assert judgments.topics == ("10", "9")
    assert judgments.grades.tolist() == [1, 2, 1, 1]
    assert subtopics.document.tolist() == [0, 1, 1, 2, 2, 3]
    assert subtopics.subtopic.tolist() == [0, 0, 2, 0, 3, 1]
    assert subtopics.grade.tolist() == [1, 1, 2, 0, 1, 1]
    assert subtopics.count.tolist() == [1, 4]


def test_topics_and_documents_can_be_fewer() -> None:
    """Topics that are not judged in a revision are left out, those without subtopics have none."""
    by_topic = {"1": {"a": {b"d": 1}}, "2": {"a": {b"e": 1}}}
    made = subtopics_of(by_topic, ["2", "3"], np.array([0, 1, 2]), [[b"e"], [b"f"]])
    assert made.document.tolist() == [0]
    assert made.count.tolist() == [1, 0]
    none = subtopics_of({}, [], np.array([0]), [])
    assert none.document.dtype == np.int64
    assert len(none.document) == len(none.count) == 0


def test_graded_qrels_have_no_subtopics(written: Written) -> None:
    """One subtopic a topic is what graded qrels look like."""
    assert compile_qrels(read_qrels(written("1 0 a 1\n2 0 b 1\n"))).judgments.subtopics is None


def test_a_file_is_scored_by_subtopics_and_by_documents(written: Written) -> None:
    """In topic 9, a is relevant to 1 and 10, b to x, c to 2; a's own grade is the higher of two."""
    run = align(
        [_ranking("9", "cxa"), _ranking("10", "a")], compile_qrels(read_qrels(written(QRELS))), dialect=10
    )
    assert parse("StRecall").compute(run).tolist() == [1.0, 0.75]
    assert parse("P_IA@2").compute(run).tolist() == [0.5, 1 / 8]
    assert parse("P(rel=2)@3").compute(run).tolist() == [0.0, 1 / 3]
