"""Order of a ranking, the two dialects, and the reduction of a run to its judged hits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged
from leaderboard.trec.qrels.align import align, compile_judgments, order
from leaderboard.trec.runs.fingerprints import RankingDigest
from leaderboard.trec.runs.runs import Ranking, block_of

pytestmark = pytest.mark.usefixtures("each_kernel")


def ranking(topic: str, entries: dict[bytes, float]) -> Ranking:
    """A ranking of docno -> score in the order of the file."""
    return Ranking(topic, np.array(list(entries)), np.array(list(entries.values()), dtype=np.float64))


def ordered(entries: dict[bytes, float], dialect: int = 10) -> list[bytes]:
    """The docnos of a ranking, best first."""
    one = ranking("1", entries)
    return [bytes(docno) for docno in one.docnos[order(one, dialect)]]


def order_differs(one: Ranking) -> bool:
    """Whether the dialects order the ranking's documents differently."""
    digest = RankingDigest()
    digest.add(block_of([one]))
    return digest.differs


def score_of(name: str, judged: Judged) -> float:
    """The measure's mean."""
    return parse(name).aggregate(parse(name).compute(judged))


def test_scores_decide_whatever_the_order_of_the_file() -> None:
    """A ranking is ordered by score descending; its lines may come in any order."""
    assert ordered({b"a": 1.0, b"b": 3.0, b"c": -2.0, b"d": 2.0}) == [b"b", b"d", b"a", b"c"]


def test_ties_go_by_docno_descending() -> None:
    """Equal scores are ordered by docno, the larger first, as trec_eval does."""
    assert ordered({b"d1": 1.0, b"d3": 1.0, b"d2": 1.0}) == [b"d3", b"d2", b"d1"]


def test_docnos_compare_as_bytes() -> None:
    """Docnos are bytes: "9" is above "10", lower case above upper, UTF-8 bytes above ASCII, `#` is a byte."""
    tied = dict.fromkeys([b"10", b"9", b"#1", b"A", b"a", "é".encode(), b"9a"], 0.5)
    assert ordered(tied) == ["é".encode(), b"a", b"A", b"9a", b"9", b"10", b"#1"]


def test_positive_and_negative_zero_are_the_same_score() -> None:
    """0 and -0 tie, so the docno decides."""
    assert ordered({b"a": 0.0, b"b": -0.0}) == [b"b", b"a"]


def test_scores_equal_in_32_bits_only_tie_in_dialect_9() -> None:
    """16777217 and 16777216 are one 32-bit score: RR is 1 in dialect 9 and 1/2 in dialect 10."""
    one = ranking("1", {b"a": 16777217.0, b"b": 16777216.0})
    compiled = compile_judgments({"1": {b"b": 1}})
    assert score_of("RR", align([one], compiled, dialect=9)) == 1.0
    assert score_of("RR", align([one], compiled, dialect=10)) == 0.5
    assert order_differs(one)


def test_scores_beyond_32_bits_are_infinite_in_dialect_9() -> None:
    """Scores too large for 32 bits tie at infinity in dialect 9, without a warning."""
    assert ordered({b"a": 2e300, b"b": 1e300}, dialect=9) == [b"b", b"a"]
    assert ordered({b"a": 2e300, b"b": 1e300}, dialect=10) == [b"a", b"b"]


def test_a_ranking_apart_in_32_bits_too_is_not_flagged() -> None:
    """Scores that differ in 32 bits give one order in both dialects."""
    assert not order_differs(ranking("1", {b"a": 0.1, b"b": 0.2, b"c": 0.2}))


def test_hits_are_the_documents_in_the_qrels_with_rank_and_grade() -> None:
    """Only documents of the qrels are kept, negative grades too, ascending by topic, then rank."""
    rankings = [
        ranking("9", {b"x": 3.0, b"a": 2.0}),
        ranking("10", {b"c": 1.0, b"y": 2.0, b"b": 3.0}),
        ranking("unjudged", {b"a": 1.0}),
    ]
    compiled = compile_judgments({"9": {b"a": 2}, "10": {b"b": -1, b"c": 1, b"z": 3}, "8": {b"a": 1}})
    judged = align(rankings, compiled, dialect=10)
    assert judged.judgments.topics == ("10", "8", "9")
    assert judged.topic.tolist() == [0, 0, 2]
    assert judged.rank.tolist() == [1, 3, 2]
    assert judged.grade.tolist() == [-1, 1, 2]
    assert judged.retrieved.tolist() == [3, 0, 2]


def test_depth_keeps_the_best_documents() -> None:
    """With a depth, hits and the number retrieved stop there, after ordering."""
    one = ranking("1", {b"a": 1.0, b"b": 2.0, b"c": 3.0})
    judged = align([one], compile_judgments({"1": {b"a": 1, b"b": 2}}), dialect=10, depth=2)
    assert (judged.rank.tolist(), judged.grade.tolist(), judged.retrieved.tolist()) == ([2], [2], [2])


def test_topics_come_in_byte_order_and_without_judgments_not_at_all() -> None:
    """Topic order is string order ("10" before "9"), and an empty topic is left out."""
    compiled = compile_judgments({"9": {b"a": 1}, "é": {b"a": 1}, "10": {b"a": 1}, "z": {b"a": 1}, "0": {}})
    assert compiled.judgments.topics == ("10", "9", "z", "é")


def test_a_topic_that_comes_twice_is_a_fault() -> None:
    """Two rankings of one topic would overwrite each other, so they are refused."""
    one = ranking("1", {b"a": 1.0})
    with pytest.raises(ValueError, match="comes twice"):
        align([one, one], compile_judgments({"1": {b"a": 1}}), dialect=10)


def test_rankings_are_consumed_one_at_a_time() -> None:
    """A generator of rankings will do, and a run without any scores every topic 0."""
    compiled = compile_judgments({"1": {b"a": 1}, "2": {b"a": 1}})
    judged = align((ranking(topic, {b"a": 1.0}) for topic in ("2", "1")), compiled, dialect=10)
    assert score_of("AP", judged) == 1.0
    assert score_of("AP", align(iter(()), compiled, dialect=10)) == 0.0


entries = st.dictionaries(
    st.binary(min_size=1, max_size=4).filter(lambda docno: not docno.endswith(b"\0")),
    st.sampled_from([0.0, -1.5, 2.0, 16777216.0, 16777217.0, 1e300]) | st.floats(-1e6, 1e6),
    min_size=1,
    max_size=30,
)


@given(entries, st.sampled_from([9, 10]))
def test_order_is_that_of_sorting_by_score_and_docno(scores: dict[bytes, float], dialect: int) -> None:
    """Any ranking is ordered as sorting (score, docno) pairs descending orders it."""

    def compared(score: float) -> float:
        with np.errstate(over="ignore"):
            return score if dialect == 10 else float(np.float32(score))

    expected = sorted(scores, key=lambda docno: (compared(scores[docno]), docno), reverse=True)
    assert ordered(scores, dialect) == expected
