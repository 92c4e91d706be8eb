"""Measures of the C/W/L family, against a rank-by-rank reading of their definitions."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.grammar import parse
from tests.measures.rankings import Grades, Topic, drawn, scored

Continue = Callable[[int, list[float]], float]
"""C(i) of a rank i, given the gains of all ranks."""


def utility(gains: list[float], going_on: Continue) -> float:
    """The sum of weight times gain over the given ranks, W(i + 1) = W(i) · C(i), sum of W = 1."""
    weights = [1.0]
    for rank in range(1, len(gains)):
        weights.append(weights[-1] * going_on(rank, gains))
    return math.fsum(w * g for w, g in zip(weights, gains, strict=True)) / math.fsum(weights)


def inst(T: float) -> Continue:
    """Inverse squares of what is left to find."""
    return lambda rank, gains: (1 - 1 / (rank + T + (T - math.fsum(gains[:rank])))) ** 2


def insq(T: float) -> Continue:
    """Inverse squares of the rank."""
    return lambda rank, _: (1 - 1 / (rank + 2 * T)) ** 2


def bpm(T: float, k: int) -> Continue:
    """On until T is found or k ranks are seen."""
    return lambda rank, gains: float(round(math.fsum(gains[:rank]), 9) < T and rank < k)


def satisfied(other: Continue) -> Continue:
    """A reader who stops in proportion to the gain of the document, and for another reason."""
    return lambda rank, gains: other(rank, gains) * (1 - gains[rank - 1])


CASES: dict[str, Continue] = {
    "INST(max_rel=4,depth=60)": inst(1.0),
    "INST(max_rel=4,T=0.5,depth=60)": inst(0.5),
    "INST(max_rel=4,T=3.5,depth=60)": inst(3.5),
    "INSQ(max_rel=4,depth=60)": insq(1.0),
    "INSQ(max_rel=4,T=2,depth=60)": insq(2.0),
    "SDCG(max_rel=4)@12": lambda rank, _: math.log(rank + 1) / math.log(rank + 2) if rank < 12 else 0.0,
    "BPM(max_rel=4)@12": bpm(1.0, 12),
    "BPM(max_rel=4,T=2.5)@12": bpm(2.5, 12),
    "NERR8(max_rel=4)@12": satisfied(lambda rank, _: float(rank < 12)),
    "NERR9(max_rel=4)@12": satisfied(lambda rank, _: rank / (rank + 1) if rank < 12 else 0.0),
    "NERR10(max_rel=4,depth=60)": satisfied(lambda rank, _: 0.9),
    "NERR11(max_rel=4,T=2,depth=60)": satisfied(insq(2.0)),
}


def scaled(ranking: Grades, highest: int, ranks: int) -> list[float]:
    """Gains on a scale from 0 to 1, 0 for the ranks below the ranking."""
    gains = [min(max(grade or 0, 0) / highest, 1.0) for grade in ranking[:ranks]]
    return gains + [0.0] * (ranks - len(gains))


@given(drawn(longest=70))
def test_scores_are_those_of_the_definition(topic: Topic) -> None:
    """Closed forms from find to find give what weights worked out rank by rank give."""
    gains = scaled(topic.ranking, 4, 60)
    for name, going_on in CASES.items():
        score = parse(name).compute(scored(topic))[0]
        assert score == pytest.approx(utility(gains, going_on), abs=1e-12), name


@pytest.mark.parametrize(
    ("name", "going_on"),
    [
        ("INST(max_rel=4)", inst(1.0)),
        ("INSQ(max_rel=4)", insq(1.0)),
        ("NERR11(max_rel=4)", satisfied(insq(1.0))),
        ("NERR10(max_rel=4)", satisfied(lambda rank, _: 0.9)),
    ],
)
def test_without_a_depth_the_weights_have_no_end(name: str, going_on: Continue) -> None:
    """The score is the limit of ever greater depths, within one percent at 1,000."""
    topic = Topic((None, 2, 0, 1, None, 1, -1))
    endless = parse(name).compute(scored(topic))[0]
    short, deep = (utility(scaled(topic.ranking, 4, depth), going_on) for depth in (10, 1000))
    assert short > deep > endless - 1e-15
    assert deep == pytest.approx(endless, rel=0.01)
    by_depth = parse(name.replace(")", ",depth=100000)")).compute(scored(topic))[0]
    assert by_depth == pytest.approx(endless, rel=1e-4)


def test_known_value_of_inst() -> None:
    """T = 1, found at ranks 1 and 3: the weights are 1, 1/4, 1/9, then 4/9 of 1/9, 1/16, 1/25, ..."""
    total = 1 + 1 / 4 + 1 / 9 + 4 / 9 * (math.pi**2 / 6 - 1 - 1 / 4)
    score = parse("INST(max_rel=1)").compute(scored(Topic((1, 0, 1))))[0]
    assert score == pytest.approx((1 + 1 / 9) / total, abs=1e-15)


def test_gains_met_exactly_stop_the_bejeweled_player() -> None:
    """Six grades of 1 on a scale to 3 make 2, although six doubles of 1/3 add up to less."""
    topic = scored(Topic((1,) * 6 + (0,) * 10))
    assert parse("BPM(max_rel=3,T=2)@12").compute(topic).tolist() == [pytest.approx(1 / 3)]


def test_grades_outside_the_scale_count_as_its_ends() -> None:
    """On a scale of 1 to 3, grade 1 gains nothing, 9 gains 1, negative ones nothing."""
    topic = scored(Topic((1, 9, -2, 2)))
    assert parse("SDCG(max_rel=3,min_rel=1)@4").compute(topic)[0] == pytest.approx(
        (1 / math.log2(3) + 0.5 / math.log2(5)) / (1 + 1 / math.log2(3) + 1 / 2 + 1 / math.log2(5))
    )


@pytest.mark.parametrize("name", ["INST(max_rel=2,min_rel=2)", "gRBP(max_rel=1,min_rel=3)"])
def test_a_scale_without_a_step_is_refused(name: str) -> None:
    """min_rel must be below max_rel; the error says what to fix."""
    with pytest.raises(UnknownMeasure, match="min_rel must be below max_rel"):
        parse(name)


def test_the_highest_grade_must_be_given() -> None:
    """A scale is never read off the judgments."""
    with pytest.raises(UnknownMeasure, match="INST needs its parameter max_rel"):
        parse("INST")


def test_it_agrees_with_cwl_eval() -> None:
    """cwl_eval's numbers, through ir_measures, at its depth of 1,000 and on rankings without ties."""
    ir_measures = pytest.importorskip("ir_measures")
    pytest.importorskip("cwl")
    topics = {"1": (2, None, 3, 0, -1, 3, 1) * 9, "2": (None, 0, 1), "3": (4, 4, 1, 0, 2, None) * 30}
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
    names = {
        "RBP(rel=2,p=0.9)": "RBP(rel=2,p=0.9)",
        "INST(T=1.0,min_rel=0,max_rel=4)": "INST(max_rel=4,depth=1000)",
        "INSQ(T=2.5,min_rel=1,max_rel=4)": "INSQ(T=2.5,min_rel=1,max_rel=4,depth=1000)",
        "SDCG(max_rel=4)@20": "SDCG(max_rel=4)@20",
        "BPM(T=2.0,max_rel=4)@30": "BPM(T=2.0,max_rel=4)@30",
        "NERR8(max_rel=4)@20": "NERR8(max_rel=4)@20",
        "NERR9(max_rel=4)@20": "NERR9(max_rel=4)@20",
        "NERR10(max_rel=4)": "NERR10(max_rel=4,depth=1000)",
        "NERR11(T=1.0,max_rel=4)": "NERR11(max_rel=4,depth=1000)",
    }
    judged = scored(*(Topic(ranking) for ranking in topics.values()))
    for theirs, ours in names.items():
        measure = ir_measures.parse_measure(theirs)
        by_topic = {score.query_id: score.value for score in ir_measures.iter_calc([measure], qrels, run)}
        scores = parse(ours).compute(judged).tolist()
        assert scores == pytest.approx([by_topic[topic] for topic in topics], abs=1e-12), ours
