"""The evaluator with pytrec_eval's signature gives what pytrec_eval gives."""

import math

import pytest
import pytrec_eval

import leaderboard as lb

QRELS = {"q1": {"a": 1, "b": 0, "c": 3}, "q2": {"c": 1, "d": -1}, "q3": {}}
RUN = {"q1": {"c": 1.0, "z": 2.0, "a": 0.5}, "q2": {"d": 2.0, "c": 1.0}, "elsewhere": {"a": 1.0}}
EXTRA = {"runid", "relstring"}
"""Names under which pytrec_eval gives 0 because they stand for text."""


@pytest.mark.parametrize(
    "measures",
    [
        {"map", "ndcg_cut.10"},
        {"ndcg_cut_10", "P_5", "P.10", "recip_rank"},
        ["P"],
        ["P_5,10", "recall.5,10"],
        ["official"],
        ["iprec_at_recall_0.10"],
        pytrec_eval.supported_measures - EXTRA,
    ],
    ids=lambda measures: " ".join(sorted(measures)),
)
@pytest.mark.parametrize("level", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_names_and_values_are_pytrec_evals(measures: set[str], level: int, judged_only: bool) -> None:
    """To the last bit; where no judged document is left it has nan for interpolated precision, here 0."""
    theirs = pytrec_eval.RelevanceEvaluator(QRELS, measures, level, judged_only).evaluate(RUN)
    ours = lb.RelevanceEvaluator(QRELS, measures, level, judged_only).evaluate(RUN)
    assert ours == {
        topic: {
            name: 0.0 if math.isnan(value) else value for name, value in scores.items() if name not in EXTRA
        }
        for topic, scores in theirs.items()
    }


@pytest.mark.parametrize(
    "run",
    [{}, {"q1": {}}, {"q1": {}, "q2": {"c": 1}}, {"elsewhere": {"a": 1.0}}, {"q3": {"a": 1.0}}],
    ids=str,
)
def test_topics_that_are_missing_are_pytrec_evals(run: dict[str, dict[str, float]]) -> None:
    """Only topics that both have are there; one without documents has the scores of an empty ranking."""
    measures = {"map", "num_ret", "ndcg_cut.10"}
    theirs = pytrec_eval.RelevanceEvaluator(QRELS, measures).evaluate(run)
    assert lb.RelevanceEvaluator(QRELS, measures).evaluate(run) == theirs


def test_an_evaluator_takes_many_runs_and_what_was_read() -> None:
    """One evaluator, any number of runs; the grammar's names too."""
    evaluator = lb.RelevanceEvaluator(lb.read_qrels(QRELS), {"nDCG@10", "RR"})
    expected = lb.RelevanceEvaluator(QRELS, ["ndcg_cut_10", "recip_rank"]).evaluate(RUN)
    assert evaluator.evaluate(RUN) == evaluator.evaluate(lb.read_run(RUN)) == expected
    with pytest.raises(lb.Invalid, match="no measure 'mapp'"):
        lb.RelevanceEvaluator(QRELS, {"mapp"})
    with pytest.raises(lb.Invalid, match="not finite"):
        evaluator.evaluate({"q1": {"a": math.inf}})


def test_topics_of_a_run_that_was_read_are_those_that_are_judged() -> None:
    """As of dictionaries: a topic that only the run has is left out."""
    evaluator = lb.RelevanceEvaluator(QRELS, {"map"})
    read = lb.read_run(RUN)
    assert evaluator.evaluate(read).keys() == evaluator.evaluate(RUN).keys() == {"q1", "q2"}
