"""Expected reciprocal rank, against its definition and against gdeval."""

import shutil

import pytest
from hypothesis import given

from leaderboard.measures.grammar import parse
from tests.measures.rankings import Grades, Topic, drawn, scored


def expected(ranking: Grades, max_rel: int, cutoff: int) -> float:
    """The definition, rank by rank."""
    total, reached = 0.0, 1.0
    for rank, grade in enumerate(ranking[:cutoff], start=1):
        satisfied = (2.0 ** min(max(grade or 0, 0), max_rel) - 1) / 2.0**max_rel
        total += satisfied * reached / rank
        reached *= 1 - satisfied
    return total


@given(drawn())
def test_it_is_the_definition(topic: Topic) -> None:
    """Scores and their normalised form are what the sum over all ranks gives."""
    positive = sorted(
        (grade for grade in (*topic.ranking, *topic.missed) if grade and grade > 0), reverse=True
    )
    for max_rel, cutoff in ((4, 5), (3, 20), (1, 100)):
        err = expected(topic.ranking, max_rel, cutoff)
        best = expected(positive, max_rel, cutoff)
        assert parse(f"ERR(max_rel={max_rel})@{cutoff}").compute(scored(topic))[0] == err
        normalised = parse(f"nERR(max_rel={max_rel})@{cutoff}").compute(scored(topic))[0]
        assert normalised == (err / best if best else 0.0)


def test_the_scale_is_stated_and_not_read_off_the_grades() -> None:
    """Grade 3 at rank 1 satisfies 7 of 16 on the default scale to 4, 7 of 8 on one to 3."""
    topic = scored(Topic((3,)))
    assert parse("ERR@20").compute(topic).tolist() == [0.4375]
    assert parse("ERR(max_rel=3)@20").compute(topic).tolist() == [0.875]


def test_a_grade_above_the_scale_counts_as_its_highest() -> None:
    """No grade satisfies more readers than there are."""
    assert parse("ERR(max_rel=2)").compute(scored(Topic((9, 1)))).tolist() == [0.75 + 0.25 * 0.25 / 2]


def test_the_ideal_ranking_has_a_normalised_score_of_one() -> None:
    """All judged documents by descending grade, at any cut-off."""
    topic = scored(Topic((3, 2, 1, 1, 0)))
    assert parse("nERR").compute(topic).tolist() == [1.0]
    assert parse("nERR@2").compute(topic).tolist() == [1.0]


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval is a Perl script, and there is no Perl")
def test_it_agrees_with_gdeval() -> None:
    """The five decimals gdeval prints, through ir_measures, on rankings without ties."""
    ir_measures = pytest.importorskip("ir_measures")
    topics = {"1": (2, None, 4, 0, -1, 3, 1), "2": (None, 0, 1), "3": (4, 4, 4, 1, 0, 2)}
    qrels = [
        ir_measures.Qrel(topic, f"d{rank}", grade)
        for topic, ranking in topics.items()
        for rank, grade in enumerate(ranking)
        if grade is not None
    ]
    run = [
        ir_measures.ScoredDoc(topic, f"d{rank}", -float(rank))
        for topic, ranking in topics.items()
        for rank in range(len(ranking))
    ]
    theirs = {
        score.query_id: score.value for score in ir_measures.iter_calc([ir_measures.ERR @ 5], qrels, run)
    }
    ours = parse("ERR@5").compute(scored(*(Topic(ranking) for ranking in topics.values())))
    assert ours.tolist() == pytest.approx([theirs[topic] for topic in topics], abs=5e-6)
