"""Names of measures: what is understood, what it is called afterwards, and what is refused how."""

import math

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from leaderboard.errors import UnknownMeasure
from leaderboard.measures.binding import BoundMeasure, bind, with_level
from leaderboard.measures.grammar import parse
from leaderboard.measures.record import Measure, Parameter, Value
from leaderboard.measures.registry import MEASURES
from leaderboard.measures.trec_names import trec_name


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("nDCG@10", "nDCG@10"),
        (" nDCG@10 ", "nDCG@10"),
        ("AP", "AP"),
        ("AP()", "AP"),
        ("AP(rel=1)", "AP"),
        ("AP(rel=2)@100", "AP(rel=2)@100"),
        ("AP(cutoff=100, rel=2)", "AP(rel=2)@100"),
        ("SetF(beta=1)", "SetF"),
        ("SetF(beta=0.5,rel=2)", "SetF(rel=2,beta=0.5)"),
        ("MAP@100", "AP@100"),
        ("MRR@10", "RR@10"),
        ("NDCG", "nDCG"),
        ("Precision@5", "P@5"),
        ("Recall@5", "R@5"),
        ("BPref", "Bpref"),
        ("RPrec", "Rprec"),
        ("NumRelRet", "NumRelRet"),
        ("NumRet(rel=1)", "NumRelRet"),
        ("NumRet(rel=2)", "NumRelRet(rel=2)"),
        ("map", "AP"),
        ("map_cut_100", "AP@100"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("P_10", "P@10"),
        ("recall_1000", "R@1000"),
        ("recip_rank", "RR"),
        ("bpref", "Bpref"),
        ("set_P", "SetP"),
        ("set_recall", "SetR"),
        ("set_F", "SetF"),
        ("set_F_0.25", "SetF(beta=0.5)"),
        ("success_5", "Success@5"),
        ("num_ret", "NumRet"),
        ("num_rel", "NumRel"),
        ("num_rel_ret", "NumRelRet"),
        ("Judged@10", "Judged@10"),
        ("IPrec@0.1", "IPrec@0.1"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("11pt_avg", "IAP11"),
        ("11pt_avg_.2,.5,.80", "IAP3"),
        ("11pt_avg_.25,.5,.75", "IAP3(points='quartiles')"),
        ("Rprec_mult_0.20", "Rprec(mult=0.2)"),
        ("Rprec_mult_1.00", "Rprec(mult=1)"),
        ("gm_map", "GMAP"),
        ("gm_bpref", "GMBpref"),
        ("infAP", "infAP"),
        ("relative_P_5", "RelP@5"),
        ("set_relative_P", "SetP(relative=True)"),
        ("set_map", "SetAP"),
        ("utility", "Utility"),
        ("utility_2,-1,0,0", "Utility(p1=2)"),
        ("utility_1.0,-1.0,.5,0.0", "Utility(p3=0.5)"),
        ("binG", "binG"),
        ("G_1=3", "G(gains={1:3})"),
        ("ndcg_1=3,2=9,4=4.5", "nDCG(gains={1:3,2:9,4:4.5})"),
        ("ndcg_rel", "nDCGrel"),
        ("Rndcg", "RnDCG"),
        ("rbp", "RBPtrec"),
        ("rbp_p=0.8", "RBPtrec(p=0.8)"),
        ("rbp_resid_p=0.5", "RBPtrecResid(p=0.5)"),
        ("unj_5", "Unj@5"),
        ("relstring", "RelString@10"),
        ("relstring_20", "RelString@20"),
        ("num_q", "NumQ"),
        ("num_nonrel_judged_ret", "NumNonrelJudgedRet"),
        ("AP(judged_only=True)@5", "AP(judged_only=True)@5"),
    ],
)
def test_names_and_aliases_have_one_canonical_key(text: str, key: str) -> None:
    """Every spelling of a measure leads to one key, which leads to itself."""
    assert parse(text).key == key
    assert parse(key).key == key
    assert parse(text) == parse(key)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nDCG@0", "must be a whole number from 1 to 999999999, not 0"),
        ("P@0", "must be a whole number from 1 to 999999999, not 0"),
        ("P_0", "must be a whole number from 1 to 999999999, not 0"),
        ("Judged@0", "must be a whole number from 1"),
        ("P(rel=0)@5", "parameter rel of P must be a whole number from 1 to 999999999, not 0"),
        ("P@-5", "must be a whole number from 1 to 999999999, not -5"),
        ("P@5.5", "must be a whole number from 1 to 999999999, not '5.5'"),
        ("P@", "must be a whole number"),
        ("P@١", "must be a whole number"),
        ("P@" + "9" * 5000, "must be a whole number"),
        ("P", "P needs its cut-off (after @): write P@10"),
        ("SetF(beta=0)", "must be a number from 0.01 to 100, not 0"),
        ("SetF(beta=nan)", "must be a number from 0.01 to 100, not 'nan'"),
        ("SetF(beta=1e999)", "must be a number from 0.01 to 100, not inf"),
        ("set_F_0", "must be a number from 0.01 to 100, not 0"),
        ("nDCG(rel=2)", "nDCG has no parameter 'rel'; it takes only the parameter "),
        ("IPrec@2", "must be a number from 0 to 1, not 2"),
        ("IPrec", "IPrec needs its cut-off (after @)"),
        (
            "nDCG(gains={1:-1})",
            "must be gains from 0 to 999999999 of grades from 0 up, like {1:1,2:3.5}, not {1:-1}",
        ),
        ("Rprec_mult_0", "must be a number from 0.01 to 1000, not 0"),
        ("IAP3(points=four)", "must be one of 'trec', 'quartiles', not 'four'"),
        ("NumRet(p=1)", "NumRet has no parameter 'p'; it takes none"),
        ("NumRet(rel=0)", "The parameter rel of NumRelRet must be"),
        ("NumRet@5", "NumRet takes no cut-off"),
        ("P(rel=1,rel=2)@5", "P is given rel twice"),
        ("P(cutoff=5)@5", "P is given cutoff twice"),
        ("P(rel)@5", "'rel' in P(...) must read key=value"),
        ("P(rel=1,)@5", "must read key=value"),
        ("ndgc@10", "There is no measure 'ndgc@10'; did you mean nDCG@10?"),
        ("p@10", "did you mean P@10?"),
        ("rprec", "did you mean Rprec?"),
        ("Judgd@10", "did you mean Judged@10?"),
        ("zzz", "There is no measure 'zzz'; the list of measures shows those there are."),
        ("", "'' is not a measure's name"),
        ("nDCG@10@5", "is not a measure's name"),
        ("AP(", "is not a measure's name"),
    ],
)
def test_what_is_wrong_with_a_name_is_said(text: str, message: str) -> None:
    """A name that cannot be used is refused with a sentence that says what would do."""
    with pytest.raises(UnknownMeasure) as caught:
        parse(text)
    assert message in caught.value.message
    assert len(caught.value.message) < 200


def values_of(parameter: Parameter) -> st.SearchStrategy[Value]:
    """Any value the parameter may have."""
    numbers = st.floats(parameter.low, parameter.high)
    if parameter.kind == "gains":
        gains = st.dictionaries(st.integers(0, 999), numbers, min_size=1, max_size=5)
        return gains.map(lambda pairs: tuple(sorted(pairs.items())))
    if parameter.kind == "levels":
        levels = st.lists(st.floats(0, 1).map(abs), min_size=1, max_size=5, unique=True)
        return levels.map(lambda numbers: tuple(sorted(numbers)))
    if parameter.kind == "boolean":
        return st.booleans()
    if parameter.kind == "choice":
        return st.sampled_from(parameter.choices)
    return st.integers(int(parameter.low), int(parameter.high)) if parameter.kind == "integer" else numbers


@st.composite
def bound_measures(draw: st.DrawFn) -> BoundMeasure:
    """Any registered measure with any permitted parameters."""
    measure: Measure = draw(st.sampled_from(MEASURES))
    chosen = [parameter for parameter in measure.parameters if parameter.required or draw(st.booleans())]
    values = {parameter.name: draw(values_of(parameter)) for parameter in chosen}
    whole = {
        parameter.name: values.get(parameter.name, parameter.default) for parameter in measure.parameters
    }
    low, high = whole.get("min_rel"), whole.get("max_rel")
    assume(not isinstance(low, int) or not isinstance(high, int) or low < high)
    return bind(measure, values)


@given(bound_measures())
def test_every_key_reads_back_as_the_same_measure(bound: BoundMeasure) -> None:
    """parse and key are inverses for every measure and every permitted value."""
    again = parse(bound.key)
    assert again == bound
    assert again.key == bound.key
    assert dict(again.params) == dict(bound.params)


@given(st.text(max_size=30))
def test_any_text_is_a_measure_or_a_sentence(text: str) -> None:
    """No text makes the parser fail in any other way than with its own error."""
    try:
        bound = parse(text)
    except UnknownMeasure as error:
        sentence = error.message
    else:
        sentence = f"{bound.key} it is."
        assert parse(bound.key) == bound
    assert sentence.endswith((".", "?"))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("AP", "AP(rel=2)"),
        ("RR@10", "RR(rel=2)@10"),
        ("P_10", "P(rel=2)@10"),
        ("AP(rel=3)", "AP(rel=3)"),
        ("AP(rel=1)", "AP"),
        ("nDCG@10", "nDCG@10"),
        ("Judged@10", "Judged@10"),
        ("SetF(beta=2)", "SetF(rel=2,beta=2)"),
    ],
)
def test_a_tasks_level_becomes_rel_where_none_was_written(text: str, key: str) -> None:
    """The task's level sets rel, never over one written out, and never for nDCG."""
    assert with_level(parse(text), 2).key == key
    assert with_level(with_level(parse(text), 2), 3).key == key


@pytest.mark.parametrize(
    ("key", "level", "name"),
    [
        ("AP", 1, "map"),
        ("AP(rel=2)", 2, "map"),
        ("AP(rel=2)", 1, None),
        ("AP", 2, None),
        ("AP@100", 1, "map_cut_100"),
        ("nDCG@10", 2, "ndcg_cut_10"),
        ("SetF", 1, "set_F"),
        ("SetF(beta=0.5)", 1, "set_F_0.25"),
        ("RR@10", 1, None),
        ("Judged@10", 1, None),
        ("IPrec@0.1", 1, "iprec_at_recall_0.10"),
        ("Rprec(rel=2,mult=0.2)", 2, "Rprec_mult_0.20"),
        ("nDCG(gains={1:3,2:4.5})", 1, "ndcg_1=3,2=4.5"),
        ("nDCG(gains={1:3})@10", 1, None),
        ("Utility(p1=2)", 1, "utility_2,-1,0,0"),
        ("RBPtrec", 1, "rbp"),
        ("RBPtrec(p=0.5)", 1, "rbp_p=0.5"),
        ("SetP(relative=True)", 1, "set_relative_P"),
        ("RelString@10", 1, "relstring"),
        ("RelString@5", 1, "relstring_5"),
        ("IAP3(points='quartiles')", 1, "11pt_avg_0.25,0.5,0.75"),
        ("AP(judged_only=True)", 1, None),
    ],
)
def test_trec_evals_name_of_a_measure(key: str, level: int, name: str | None) -> None:
    """trec_eval's names do not show its -l, so a measure has one only at the level asked for."""
    assert trec_name(parse(key), level) == name


def test_set_f_of_trec_eval_has_the_square_of_beta() -> None:
    """trec_eval's x is beta squared: set_F_2 is F with beta the square root of 2."""
    assert parse("set_F_2").params["beta"] == math.sqrt(2)


@pytest.mark.parametrize(
    ("theirs", "key"),
    [
        ("mrr", "RR"),
        ("mrr@10", "RR@10"),
        ("map@100", "AP@100"),
        ("ndcg@10", "nDCG@10"),
        ("ndcg_at_10", "nDCG@10"),
        ("map_at_1000", "AP@1000"),
        ("precision_at_5", "P@5"),
        ("recall_at_100", "R@100"),
        ("recall_cap_at_10", "RelP@10"),
        ("R_cap@10", "RelP@10"),
        ("hit_rate@3", "Success@3"),
        ("hit_rate_at_3", "Success@3"),
        ("hits@20", "Hits@20"),
        ("hole@10", "Unj@10"),
        ("Hole@10", "Unj@10"),
        ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"),
        ("r_precision", "Rprec"),
        ("Q_measure", "Q"),
        ("Q(beta=10.0,gains={1:1,2:3})", "Q(beta=10,gains={1:1,2:3})"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
    ],
)
def test_names_of_ranx_beir_and_mteb(theirs: str, key: str) -> None:
    """Each stands for a measure here; trec_eval's own name with _at_ stays what it is."""
    assert parse(theirs).key == key
