"""What is meant by the names of measures: families, names for many at once, and what is refused how."""

from collections.abc import Sequence

import pytest

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.registry import MEASURES
from leaderboard.measures.richer_examples import judged
from leaderboard.measures.selection import select


def keys(names: Sequence[str], dialect: int = 10) -> list[str]:
    """The keys of the measures that names stand for."""
    return [bound.key for bound in select(names, dialect)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("map", ["AP"]),
        ("P.5,10", ["P@5", "P@10"]),
        ("P.5, 10 ", ["P@5", "P@10"]),
        ("P@5", ["P@5"]),
        ("P_5", ["P@5"]),
        ("ndcg_cut.10,20", ["nDCG@10", "nDCG@20"]),
        ("success", ["Success@1", "Success@5", "Success@10"]),
        ("set_F.0.25", ["SetF(beta=0.5)"]),
        ("set_F", ["SetF"]),
        ("utility.1,-1,0,0", ["Utility"]),
        ("utility.2.0,-1,0,.5", ["Utility(p1=2,p4=0.5)"]),
        ("gm_map", ["GMAP"]),
        ("rbp.0.5", ["RBPtrec(p=0.5)"]),
        ("rbp.p=0.5", ["RBPtrec(p=0.5)"]),
        ("rbp_resid.p=0.5", ["RBPtrecResid(p=0.5)"]),
        ("ndcg.1=3.5,2=9", ["nDCG(gains={1:3.5,2:9})"]),
        ("Rndcg.1=2", ["RnDCG(gains={1:2})"]),
        ("relstring.20", ["RelString@20"]),
        ("relstring", ["RelString@10"]),
        ("11pt_avg.0.2,0.5,0.8", ["IAP3"]),
        ("Rprec_mult.0.5", ["Rprec(mult=0.5)"]),
        ("IPrec@0.1", ["IPrec@0.1"]),
        ("SetF(beta=0.5)", ["SetF(beta=0.5)"]),
        ("RBP(p=0.5)", ["RBP(p=0.5)"]),
        ("runid", []),
        (" nDCG@10 ", ["nDCG@10"]),
    ],
)
def test_names_stand_for_measures(name: str, expected: list[str]) -> None:
    """Names of the grammar, trec_eval's, and its families with and without parameters."""
    assert keys([name]) == expected


def test_a_family_alone_has_trec_evals_cut_offs() -> None:
    """P means P_5 to P_1000, iprec_at_recall the eleven levels."""
    assert keys(["P"]) == [f"P@{cutoff}" for cutoff in (5, 10, 15, 20, 30, 100, 200, 500, 1000)]
    assert keys(["iprec_at_recall"]) == [
        "IPrec@0",
        "IPrec@0.1",
        "IPrec@0.2",
        "IPrec@0.3",
        "IPrec@0.4",
        "IPrec@0.5",
        "IPrec@0.6",
        "IPrec@0.7",
        "IPrec@0.8",
        "IPrec@0.9",
        "IPrec@1",
    ]


def test_nothing_named_is_official() -> None:
    """trec_eval without -m: 9 measures, 11 levels of recall, 9 cut-offs."""
    assert keys([]) == keys(["official"])
    assert len(keys([])) == 9 + 11 + 9


def test_set_is_of_the_retrieved_set() -> None:
    """-m set: counts, utility, and precision, recall and F of all that was retrieved."""
    assert keys(["set"]) == [
        "NumQ",
        "NumRet",
        "NumRel",
        "NumRelRet",
        "Utility",
        "SetP",
        "SetP(relative=True)",
        "SetR",
        "SetAP",
        "SetF",
    ]


def test_version_9_has_no_measures_of_what_is_unjudged() -> None:
    """all_trec of trec_eval 9 lacks rbp, its residual and three unj."""
    newer = set(keys(["all_trec"], 10)) - set(keys(["all_trec"], 9))
    assert newer == {"RBPtrec", "RBPtrecResid", "Unj@5", "Unj@10", "Unj@20"}
    assert set(keys(["all_trec"], 9)) < set(keys(["all_trec"], 10))
    assert keys(["rbp"], 9) == ["RBPtrec"]


def test_a_measure_named_twice_comes_once() -> None:
    """In the order of the first mention."""
    assert keys(["P.10,5", "map", "P@5", "AP(rel=1)"]) == ["P@10", "P@5", "AP"]


def test_all_has_every_measure_whose_inputs_there_are() -> None:
    """Every record of the registry at least once, those that need more only where it is there."""
    everything = {"subtopics", "preferences", "collection size", "documents"}
    with_all = {bound.measure for bound in select(["all"], 10, everything)}
    assert with_all == set(MEASURES)
    plain = {bound.measure for bound in select(["all"])}
    assert plain == {measure for measure in MEASURES if measure.needs <= {"graded"}}
    assert set(keys(["all_trec"])) <= set(keys(["all"]))


def test_all_can_be_computed() -> None:
    """None of them asks for anything more."""
    for bound in select(["all"], 10, {"collection size"}, 3):
        scores = bound.compute(judged({1: 3, 4: 1}, missed=[0, 2], collection_size=50))
        assert scores.shape == (1,), bound.key


def test_all_takes_the_highest_grade_it_is_told() -> None:
    """Measures on a scale of grades are bound to it, within their range."""
    assert "gRBP(max_rel=3)" in [bound.key for bound in select(["all"], max_rel=3)]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("P.0", "The cut-off (after @) of P must be a whole number from 1 to 999999999, not 0."),
        ("P.5.5", "must be a whole number from 1 to 999999999, not 5.5."),
        ("P.", "'' cannot follow P; write P.5,10, for instance."),
        ("P.5,", "'5,' cannot follow P; write P.5,10, for instance."),
        ("P.x", "'x' cannot follow P; write P.5,10, for instance."),
        ("P.5,5", "P is given P@5 twice; give it once."),
        ("map.5", "trec_eval's map takes no parameters; write map."),
        ("utility.1,2", "'1,2' cannot follow utility; write utility.1,-1,0,0, for instance."),
        ("utility.1,-1,0,0,0", "'1,-1,0,0,0' cannot follow utility; write utility.1,-1,0,0"),
        ("ndcg.10", "'10' cannot follow ndcg; write ndcg.1=1,2=3.5, for instance."),
        ("ndcg.1=-3", "must be gains from 0 to 999999999 of grades from 0 up"),
        ("ndcg.1=1,1=2", "'1=1,1=2' cannot follow ndcg"),
        ("rbp.p=1", "parameter p of RBPtrec must be a number from 0.01 to 0.9999, not 1."),
        ("set_F.0", "must be a number from 0.01 to 100, not 0."),
        ("iprec_at_recall.1.5", "must be a number from 0 to 1, not 1.5."),
        ("11pt_avg.0.6,0.3", "must be numbers from 0 to 1, each above the one before, like {0.2,0.5,0.8}"),
        ("11pt_avg.0.3,x", "'0.3,x' cannot follow 11pt_avg; write 11pt_avg.0.2,0.5,0.8, for instance."),
        ("all_trec.5", "all_trec is a group of measures and takes no parameters; write all_trec."),
        ("all.5", "all is a group of measures and takes no parameters; write all."),
        ("all_prefs", "trec_eval's all_prefs cannot be selected: "),
        ("Prec", "There is no measure 'Prec'; did you mean "),
        ("zzz.5", "'zzz.5' is not a measure's name"),
        ("", "'' is not a measure's name"),
    ],
)
def test_what_cannot_be_selected_is_said(name: str, message: str) -> None:
    """A sentence with the range, the form, or what to write instead."""
    with pytest.raises(UnknownMeasure) as caught:
        select([name])
    assert message in caught.value.message
    assert caught.value.message.endswith((".", "?"))
