"""Cumulated, discounted and normalised gain in their published forms."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.measures.discounted_gain import FORMS
from leaderboard.measures.grammar import parse
from tests.measures.rankings import Grades, Topic, drawn, scored
from tests.measures.worked_examples import worked_examples

TERMS: dict[str, Callable[[float, int], float]] = {
    "log2": lambda grade, rank: grade / math.log2(1 + rank),
    "exp-log2": lambda grade, rank: (2**grade - 1) / math.log2(1 + rank),
    "exp-ln": lambda grade, rank: (2**grade - 1) / math.log(1 + rank),
    "exp-log10": lambda grade, rank: (2**grade - 1) / math.log10(1 + rank),
    "jk": lambda grade, rank: grade / math.log2(rank) if rank >= 2 else grade,
    "jk-log10": lambda grade, rank: grade / math.log10(rank) if rank >= 10 else grade,
}
"""What a grade at a rank adds, as published."""


def by_definition(grades: Grades, form: str, cutoff: int) -> float:
    """The sum of the terms of the top ranks."""
    top = enumerate(grades[:cutoff], start=1)
    return math.fsum(TERMS[form](max(grade or 0, 0), rank) for rank, grade in top)


@given(drawn(), st.sampled_from(sorted(TERMS)), st.sampled_from([1, 2, 9, 10, 11, 100]))
def test_every_form_is_the_published_sum(topic: Topic, form: str, cutoff: int) -> None:
    """DCG, IDCG and nDCG with both ideals, rank by rank."""
    judged = scored(topic)
    best = sorted((max(grade or 0, 0) for grade in (*topic.ranking, *topic.missed)), reverse=True)
    reordered = sorted((max(grade or 0, 0) for grade in topic.ranking), reverse=True)
    gain, ideal, own_ideal = (
        by_definition(ranking, form, cutoff) for ranking in (topic.ranking, best, reordered)
    )
    for name, value in (
        (f"DCG(dcg={form!r})@{cutoff}", gain),
        (f"IDCG(dcg={form!r})@{cutoff}", ideal),
        (f"nDCG(dcg={form!r})@{cutoff}", gain / ideal if ideal else 0.0),
        (f"nDCG(dcg={form!r},ideal='retrieved')@{cutoff}", gain / own_ideal if own_ideal else 0.0),
    ):
        assert parse(name).compute(judged)[0] == pytest.approx(value, rel=1e-14), name


def test_every_form_is_tested() -> None:
    """No form without its published sum above."""
    assert set(FORMS) == set(TERMS)


def test_gains_come_before_the_power_of_two() -> None:
    """Grade 2 gaining 3 adds 2^3 - 1 at rank 1 in the exponential form."""
    judged = scored(Topic((2,)))
    assert parse("DCG(gains={2:3})").compute(judged).tolist() == [3.0]
    assert parse("DCG(dcg='exp-log2',gains={2:3})").compute(judged).tolist() == [7.0]
    assert parse("IDCG(dcg='exp-log2',gains={2:3})").compute(judged).tolist() == [7.0]
    assert parse("nDCG(dcg='exp-log2',gains={2:3,0:1})@1").compute(scored(Topic((0, 2))))[0] == 1 / 7


def test_grades_beyond_doubles_still_have_a_score() -> None:
    """2 to the power of a grade of 5,000 would be infinite; it gains as much as one of 1,000."""
    judged = scored(Topic((5000, 1), (1000,)))
    assert parse("DCG(dcg='exp-log2')@1").compute(judged).tolist() == [2.0**1000 - 1]
    assert 0 < parse("nDCG(dcg='exp-log2')").compute(judged)[0] <= 1


def test_cumulated_gain_does_not_see_the_order() -> None:
    """3 2 3 0 1 and 3 3 0 2 1 add up to the same 9, negative grades to nothing."""
    assert parse("CG").compute(scored(Topic((3, 2, 3, 0, 1)), Topic((3, 3, 0, 2, 1)))).tolist() == [9.0, 9.0]
    assert parse("CG@2").compute(scored(Topic((-2, 1, 5)))).tolist() == [1.0]


FORM_OF = {"dcg_jk": "jk", "dg_jk": "jk", "idcg_jk": "jk", "ndcg_jk": "jk", "ndcg_linear": "log2"}
NAME_OF = {"dcg": "DCG", "dg": "DCG", "idcg": "IDCG", "ndcg": "nDCG"}
IN_TEXTS = ("cg", "dcg_exp", "idcg_exp", "ndcg_exp", *FORM_OF)


def names_of(case: dict[str, Any]) -> list[str]:
    """The names of the measures a worked example has values of, one for each cut-off it asks for."""
    parameters, length = case["parameters"], len(case["input"]["gains"])
    cutoffs = range(1, length + 1) if isinstance(case["expected"], list) else [parameters.get("n", length)]
    if case["measure"] == "cg":
        return [f"CG@{cutoff}" for cutoff in cutoffs]
    kind = case["measure"].partition("_")[0]
    form = FORM_OF.get(case["measure"], f"exp-{parameters.get('log', 'log2')}")
    ideal = ",ideal='retrieved'" if parameters.get("ideal") == "retrieved" else ""
    cut = [f"@{cutoff}" for cutoff in cutoffs] if kind != "ndcg" or "n" in parameters else [""]
    return [f"{NAME_OF[kind]}(dcg={form!r}{ideal}){at}" for at in cut]


def test_worked_examples_of_lecture_texts(shared_data: Path) -> None:
    """Every value of the examples, to the six digits they were worked out to."""
    cases = worked_examples(shared_data, IN_TEXTS)
    assert len(cases) == 26
    for case in cases:
        judged = scored(
            Topic(tuple(case["input"]["gains"]), tuple(case["input"].get("unretrieved_grades", ())))
        )
        values = [float(parse(name).compute(judged)[0]) for name in names_of(case)]
        if case["measure"] == "dg_jk":
            values = [after - before for before, after in zip([0.0, *values], values, strict=False)]
        expected = case["expected"] if isinstance(case["expected"], list) else [case["expected"]]
        assert values == pytest.approx(expected, abs=6e-7), case["id"]
