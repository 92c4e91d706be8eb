"""Worked examples of lecture texts, each recomputed through the public interface.

The cases lie beside the real runs and qrels: what a text asks, its input, and the value its own
definition gives, to six digits.
"""

import dataclasses
import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from leaderboard.measures import curves
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import Judged, Judgments
from leaderboard.measures.richer_examples import judged
from leaderboard.pooling.clicks import preferences
from leaderboard.pooling.methods import method, pool
from leaderboard.stats.orders import top_lists

Case = dict[str, Any]

TOLERANCE = 5e-7 + 1e-12
CASES = 168

MEASURES = {
    ("ap", ()): "AP",
    ("ap_envelope", ()): "APEnvelope",
    ("ap_lower_bound", ("judged_depth",)): "APlast",
    ("ap_retrieved", ()): "APRetrieved",
    ("ap_trapezoid", ()): "APTrapezoid",
    ("ap_trapezoid", ("points", "start")): "APTrapezoid",
    ("ap_trapezoid_points", ()): "APTrapezoidPoints",
    ("ap_trapezoid_points", ("start",)): "APTrapezoidPoints",
    ("ap_upper_bound", ("judged_depth",)): "APnext",
    ("accuracy", ()): "SetAccuracy",
    ("auc_roc", ("closed_list",)): "ROCAUC",
    ("auc_roc", ("unretrieved",)): "ROCAUC",
    ("cg", ("n",)): "CG@{n}",
    ("dcg_exp", ("log",)): "DCG(dcg='exp-{log}')",
    ("dcg_jk", ("base", "n")): "DCG(dcg='jk')@{n}",
    ("dice", ()): "SetDice",
    ("div@k", ("k", "lambda", "pairs")): "Div(max_rel=2,lam={lambda},pairs='{pairs}')@{k}",
    ("f1", ()): "SetF",
    ("f_alpha", ("alpha",)): "FAlpha(alpha={alpha})",
    ("f_beta", ("alpha", "beta")): "SetF(beta={beta})",
    ("f_beta", ("beta",)): "SetF(beta={beta})",
    ("f_macro", ()): "SetF",
    ("f_micro", ()): "MicroF",
    ("f_of_macro_pr", ()): "FOfMeans",
    ("fallout", ()): "SetFallout",
    ("gmap", ("floor",)): "GMAP",
    ("iap", ("levels", "step")): "IAP(step={step})",
    ("iap", ("step",)): "IAP(step={step})",
    ("iap11", ()): "IAP11Exact",
    ("iap11_from_levels", ()): "IAP11Exact",
    ("idcg_exp", ("log",)): "IDCG(dcg='exp-{log}')",
    ("idcg_jk", ("base", "n")): "IDCG(dcg='jk')@{n}",
    ("iprec_at_recall", ("levels",)): "IPrecExact@{levels}",
    ("iprec_at_recall", ("recall",)): "IPrecExact@{recall}",
    ("log_discount", ("base",)): "DCG(dcg='jk')",
    ("map", ()): "AP",
    ("mapi", ("step",)): "MAPI(step={step})",
    ("mrr", ("threshold",)): "MRR{threshold}",
    ("ndcg_exp", ("discount", "gain", "n")): "nDCG(dcg='exp-log2')@{n}",
    ("ndcg_exp", ("ideal",)): "nDCG(dcg='exp-log2',ideal='{ideal}')",
    ("ndcg_jk", ("base", "ideal", "n")): "nDCG(dcg='jk')@{n}",
    ("ndcg_jk", ("base", "n")): "nDCG(dcg='jk')@{n}",
    ("ndcg_linear", ("discount", "n")): "nDCG@{n}",
    ("p@i", ()): "P@{rank}",
    ("p@k", ("k",)): "P@{k}",
    ("p@k_max", ("k",)): "PCeiling@{k}",
    ("precision_macro", ()): "SetP",
    ("precision_micro", ()): "MicroP",
    ("recall@i", ()): "R@{rank}",
    ("recall_macro", ()): "SetR",
    ("recall_micro", ()): "MicroR",
    ("rprec", ()): "Rprec",
    ("rr", ()): "RR",
    ("search_length", ("variant",)): "SearchLength{variant}",
    ("set_p", ()): "SetP",
    ("set_recall", ()): "SetR",
}
"""Name in the cases and the parameters it comes with -> name of ours, its parameters filled in."""

VALUES = {"variant": {"rank": "", "cooper": "Cooper"}, "threshold": {None: "", 10: "@10"}}
"""Values of parameters that are written differently here."""


@pytest.fixture(scope="session")
def cases(shared_data: Path) -> list[Case]:
    """All worked examples; skips where they are absent."""
    path = shared_data.parent / "formulas" / "seed-cases.json"
    if not path.is_file():
        pytest.skip(f"no worked examples at {path}")
    found: list[Case] = json.loads(path.read_text(encoding="utf-8"))
    return found


def kind_of(case: Case) -> tuple[str, tuple[str, ...]]:
    """What the table of measures knows a case by."""
    return case["measure"], tuple(sorted(case["parameters"]))


def agrees(ours: Any, expected: Any) -> bool:
    """Whether a value, or every value of a list, is the expected one to six digits."""
    if isinstance(expected, dict):
        return ours.keys() == expected.keys() and all(
            agrees(ours[key], value) for key, value in expected.items()
        )
    if isinstance(expected, list):
        return len(ours) == len(expected) and all(map(agrees, ours, expected))
    if isinstance(expected, float):
        return abs(ours - expected) <= TOLERANCE
    return type(ours) is type(expected) and ours == expected


def by_topic(*topics: Judged) -> Judged:
    """Runs of one topic each as one run of all."""
    grades = [topic.judgments.grades for topic in topics]
    starts = np.cumsum([0, *map(len, grades)])
    names = tuple(str(place) for place, _ in enumerate(topics))
    judgments = Judgments(names, np.concatenate(grades), starts)
    return Judged(
        judgments,
        np.repeat(np.arange(len(topics)), [len(topic.rank) for topic in topics]),
        np.concatenate([topic.rank for topic in topics]),
        np.concatenate([topic.document + start for topic, start in zip(topics, starts, strict=False)]),
        np.concatenate([topic.retrieved for topic in topics]),
    )


def counted(found: int, retrieved: int, relevant: int, collection_size: int | None = None) -> Judged:
    """A topic with so many relevant documents retrieved, at the top."""
    hits = dict.fromkeys(range(1, found + 1), 1)
    missed = [1] * (relevant - found)
    return judged(hits, missed=missed, retrieved=retrieved, collection_size=collection_size)


def ranked(text: str, total: int | None = None, collection_size: int | None = None) -> Judged:
    """A ranking written as R and N."""
    marks = text.split()
    hits = {rank: int(mark == "R") for rank, mark in enumerate(marks, start=1)}
    missed = [1] * ((total or 0) - marks.count("R"))
    return judged(hits, missed=missed, collection_size=collection_size)


def with_rates(precision: float, recall: float) -> Judged:
    """The smallest retrieved set of that precision and recall."""
    p, r = Fraction(str(precision)), Fraction(str(recall))
    found = math.lcm(p.numerator, r.numerator)
    return counted(found, int(found / p), int(found / r))


def with_levels(levels: list[float], precisions: list[float]) -> Judged:
    """A ranking of 1,000 relevant documents whose interpolated precision at the levels is as given."""
    total, ranks = 1000, [1]
    for level, text in zip(levels[1:], map(str, precisions[1:]), strict=True):
        p, least = Fraction(text), int(Fraction(str(level)) * total)
        found = -(-least // p.numerator) * p.numerator
        # The last so many ranks are relevant, so precision rises up to here and is lower before.
        ranks += range(int(found / p) - (found - len(ranks)) + 1, int(found / p) + 1)
    return judged(dict.fromkeys(ranks, 1))


def with_dissimilarities(relevance: list[float], dissimilarity: dict[str, float]) -> Judged:
    """A ranking a, b, c ... of documents with the given dissimilarities."""
    matrix = np.zeros((len(relevance), len(relevance)))
    for pair, value in dissimilarity.items():
        row, column = (ord(name) - ord("a") for name in pair.split(","))
        matrix[row, column] = matrix[column, row] = value
    hits = {rank: int(2 * value) for rank, value in enumerate(relevance, start=1)}
    return dataclasses.replace(judged(hits), dissimilarity=(matrix,))


INPUTS: dict[tuple[str, ...], Callable[..., Judged]] = {
    ("ranking",): lambda ranking: ranked(ranking),
    ("ranking", "total_relevant"): lambda ranking, total_relevant: ranked(ranking, total_relevant),
    ("collection_size", "ranking", "total_relevant"): lambda ranking, total_relevant, collection_size: ranked(
        ranking, total_relevant, collection_size
    ),
    ("rankings", "total_relevant"): lambda rankings, total_relevant: by_topic(
        *map(ranked, rankings, total_relevant)
    ),
    ("gains",): lambda gains: judged(dict(enumerate(gains, start=1))),
    ("gains", "unretrieved_grades"): lambda gains, unretrieved_grades: judged(
        dict(enumerate(gains, start=1)), missed=unretrieved_grades
    ),
    ("precision", "recall"): with_rates,
    ("fn", "fp", "tn", "tp"): lambda tp, fp, fn, tn: counted(tp, tp + fp, tp + fn, tp + fp + fn + tn),
    ("queries",): lambda queries: by_topic(
        *(counted(each["hits"], each["retrieved"], each["relevant"]) for each in queries)
    ),
    ("first_relevant_ranks",): lambda first_relevant_ranks: by_topic(
        *(judged({rank: 1}) if rank else judged({}, missed=[1]) for rank in first_relevant_ranks)
    ),
    ("intersection", "relevant", "retrieved"): lambda intersection, relevant, retrieved: counted(
        intersection, retrieved, relevant
    ),
    ("interpolated_precision", "levels"): lambda levels, interpolated_precision: with_levels(
        levels, interpolated_precision
    ),
    ("dissimilarity", "relevance"): with_dissimilarities,
    ("total_relevant",): lambda total_relevant: counted(0, 0, total_relevant),
    ("rank",): lambda rank: judged({rank: 1}),
}
"""The fields of a case's input -> the run they describe."""


def run_of(case: Case) -> Judged:
    """The run a case describes."""
    return INPUTS[tuple(sorted(case["input"]))](**case["input"])


def score(name: str, run: Judged) -> float:
    """A measure's number for all topics of a run."""
    measure = parse(name)
    return measure.aggregate(measure.compute(run), measure.parts(run))


def measured(case: Case) -> float | list[float]:
    """What the measure of a case gives: one number, or one for each value of a parameter."""
    template = MEASURES[kind_of(case)]
    given = {
        name: VALUES[name].get(value, value) if name in VALUES else value
        for name, value in case["parameters"].items()
    }
    lists = {
        "n": range(1, 11) if given.get("n") == "1..10" else None,
        "levels": given.get("levels") if "{levels}" in template else None,
        "rank": range(1, len(case["expected"]) + 1) if "{rank}" in template else None,
    }
    several = {name: values for name, values in lists.items() if values}
    if not several:
        return score(template.format(**given), run_of(case))
    name, values = next(iter(several.items()))
    return [score(template.format(**{**given, name: value}), run_of(case)) for value in values]


def relevance_of(case: Case) -> tuple[curves.Relevance, int]:
    """The relevance at every rank of a case's run, and how many documents are relevant."""
    run = run_of(case)
    return curves.relevance(run, 0), int(run.judgments.relevant(1)[0])


def better(case: Case) -> str:
    """The system whose ranking has the higher AP."""
    systems = {name: text for name, text in case["input"].items() if name != "total_relevant"}
    total = case["input"]["total_relevant"]
    return max(systems, key=lambda name: score("AP", ranked(systems[name], total)))


def gains_by_rank(case: Case) -> list[float]:
    """The discounted gain of every rank: the growth of DCG."""
    run = run_of(case)
    sums = [0.0, *(score(f"DCG(dcg='jk')@{rank}", run) for rank in range(1, len(case["expected"]) + 1))]
    return [float(growth) for growth in np.diff(sums)]


def roc(case: Case) -> dict[str, list[float]]:
    """The points of the ROC curve."""
    tpr, fpr = curves.roc(*relevance_of(case), case["input"]["collection_size"])
    return {"tpr": tpr.tolist(), "fpr": fpr.tolist()}


def clicked(case: Case) -> list[str]:
    """The preferences that clicks show."""
    rules = case["parameters"]["rule"].split(" + ")
    pairs = preferences(case["input"]["docs"], case["input"]["clicks"], rules)
    return [f"{above}>{below}" for above, below in pairs]


def bound_errors(case: Case) -> dict[str, float]:
    """How far AP lies from its value with missed documents next, and last."""
    run = run_of(case)
    reference = score("APRetrieved" if "divisor 6" in case["parameters"]["reference"] else "AP", run)
    upper, lower = score("APnext", run) - reference, score("APlast", run) - reference
    return {"upper_minus_e": upper, "lower_minus_e": lower, "max_abs": max(abs(upper), abs(lower))}


def compared(function: Callable[[Any, Any, int], float]) -> Callable[[Case], float]:
    """A comparison of the two rankings of a case."""
    return lambda case: function(case["input"]["pi1"], case["input"]["pi2"], case["parameters"]["k"])


def claims(case: Case) -> dict[str, bool]:
    """Whether the bounds between the two distances hold."""
    one, two = case["input"]["pi1"], case["input"]["pi2"]
    moved = top_lists.footrule_per_document(one, two, len(one))
    swapped = top_lists.kendall_per_pair(one, two, len(one))
    return {"FRDist >= K": moved >= swapped, "K >= FRDist/2": swapped >= moved / 2}


def pooled_to_depth(case: Case) -> list[str]:
    """The documents of a pool, sorted by name."""
    runs = list(case["input"]["runs"].values())
    docnos = sorted({docno for run in runs for docno in run})
    rankings = [np.array([docnos.index(docno) for docno in run]) for run in runs]
    pooled = pool(method({"name": "depth", "depth": case["parameters"]["k"]}), rankings)
    return sorted(docnos[document] for document in pooled.documents)


FUNCTIONS: dict[str, Callable[[Case], object]] = {
    "ap_bound_error": bound_errors,
    "better_by_ap": better,
    "break_even": lambda case: curves.break_even(*relevance_of(case)),
    "claim": claims,
    "click_preferences": clicked,
    "depth_pool": pooled_to_depth,
    "dg_jk": gains_by_rank,
    "footrule_slide": compared(top_lists.footrule_per_document),
    "kendall_slide": compared(top_lists.kendall_per_pair),
    "overlap@k": compared(top_lists.overlap),
    "p_at_recall_all": lambda case: curves.precisions_at_recall(
        *relevance_of(case), case["parameters"]["recall"]
    ).tolist(),
    "pr_points": lambda case: curves.points(*relevance_of(case)).tolist(),
    "roc_points": roc,
}
"""Name in the cases -> what computes it, where it is no measure of a run."""


def test_every_case_has_a_measure_or_a_function(cases: list[Case]) -> None:
    """None of the cases is passed over, and none is computed twice."""
    assert len({case["id"] for case in cases}) == CASES
    for case in cases:
        assert (kind_of(case) in MEASURES) != (case["measure"] in FUNCTIONS), case["id"]
    assert {kind_of(case) for case in cases} >= MEASURES.keys()
    assert {case["measure"] for case in cases} >= FUNCTIONS.keys()


@pytest.mark.parametrize("kind", MEASURES, ids=lambda kind: " ".join([kind[0], *kind[1]]))
def test_measures_give_what_the_texts_define(kind: tuple[str, tuple[str, ...]], cases: list[Case]) -> None:
    """Every case of a measure has its value to six digits."""
    for case in cases:
        if kind_of(case) == kind:
            ours = measured(case)
            assert agrees(ours, case["expected"]), (case["id"], ours, case["expected"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_give_what_the_texts_define(name: str, cases: list[Case]) -> None:
    """Every case of a curve, comparison, pool or click rule has its value to six digits."""
    for case in cases:
        if case["measure"] == name:
            ours = FUNCTIONS[name](case)
            assert agrees(ours, case["expected"]), (case["id"], ours, case["expected"])


def test_curves_have_the_precision_and_recall_of_every_rank(cases: list[Case]) -> None:
    """The columns printed in the texts are also those of the curves."""
    for case in cases:
        if case["measure"] == "p@i":
            assert agrees(curves.precision_by_rank(relevance_of(case)[0]).tolist(), case["expected"])
        if case["measure"] == "recall@i":
            assert agrees(curves.recall_by_rank(*relevance_of(case)).tolist(), case["expected"])


def test_the_interpolated_curve_has_the_precision_printed_for_its_levels(cases: list[Case]) -> None:
    """A ranking made for eleven printed precisions has them, so its 11-point average is theirs."""
    for case in cases:
        if case["measure"] == "iap11_from_levels":
            curve = curves.interpolated(*relevance_of(case), case["input"]["levels"])
            assert agrees(curve.tolist(), case["input"]["interpolated_precision"])


def test_the_break_even_measure_is_that_of_the_curve_or_zero(cases: list[Case]) -> None:
    """Where the texts have no break-even point, the measure scores 0."""
    for case in cases:
        if case["measure"] == "break_even":
            assert agrees(score("BreakEven", run_of(case)), case["expected"] or 0.0)


def test_precision_at_recall_is_that_of_the_first_rank(cases: list[Case]) -> None:
    """Of the several precisions the texts allow at a recall, the measure takes the first."""
    for case in cases:
        if case["measure"] == "p_at_recall_all":
            first = score(f"PAtRecall@{case['parameters']['recall']}", run_of(case))
            assert agrees(first, case["expected"][0])
