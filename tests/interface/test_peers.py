"""Other evaluators on real runs: equal to the last bit, or what differs and why."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytrec_eval

import leaderboard as lb

pytestmark = pytest.mark.trial

FOLDERS = ("robust03", "touche2020-beir", "tilde-dl19", "cast2021", "clef-tar2017")
TEXTS = {"runid", "relstring"}

By = dict[str, dict[str, Any]]


def _real(shared_data: Path, folder: str) -> Iterator[tuple[By, By, Path, Path]]:
    """Judgments and each run that can be read, as dictionaries, and their files."""
    for qrels in sorted((shared_data / folder).glob("qrels*.txt.gz")):
        judged = lb.read_qrels(qrels).to_dict()
        for path in sorted((shared_data / folder / "runs").glob("*.gz")):
            try:
                yield judged, lb.read_run(path).to_dict(), qrels, path
            except lb.Invalid:
                # One run has a document twice in a topic, at which the others stop too.
                assert path.name == "uos.sis.TMAL30Q_BM25.gz"


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_value_is_pytrec_evals(shared_data: Path, folder: str) -> None:
    """All measures of all runs, from the same dictionaries."""
    names = pytrec_eval.supported_measures - TEXTS
    runs = 0
    for qrels, run, *_ in _real(shared_data, folder):
        theirs = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        assert lb.RelevanceEvaluator(qrels, names).evaluate(run) == theirs
        runs += 1
    assert runs >= 1


@pytest.mark.parametrize("folder", FOLDERS)
def test_files_and_dictionaries_are_one(shared_data: Path, folder: str) -> None:
    """What is read by others' readers has the scores of the file, in both dialects."""
    for qrels, run, judged, path in _real(shared_data, folder):
        for dialect in (9, 10):
            from_file = lb.evaluate(judged, path, "all_trec", dialect=dialect)
            held = lb.evaluate(qrels, run, "all_trec", dialect=dialect)
            assert (from_file.mean, from_file.by_topic) == (held.mean, held.by_topic)
    with gzip.open(judged, "rt") as one, gzip.open(path, "rt") as other:
        assert lb.evaluate(one, other, "AP").mean == lb.evaluate(qrels, run, "AP").mean


OWN_ORDER = {"Judged@10", "RR@10"}
"""For which ir_measures has providers of its own that leave ties in the order given; pytrec_eval, and this
program, take docnos in descending order."""
ROUNDING = 1e-12
"""Sums in another order: the last bits may differ, no more. ranx also lets numba reorder operations."""
IR_MEASURES = (
    "AP", "AP@100", "AP(rel=2)", "nDCG", "nDCG@10", "nDCG(judged_only=True)@10", "P@5", "P(rel=2)@20",
    "R@100", "RR", "RR(rel=2)", "Rprec", "Bpref", "Success@5", "IPrec@0.1", "SetP", "SetR", "SetF", "SetAP",
    "infAP", "NumRet", "NumRet(rel=1)", "NumRel", "NumQ", "Judged@10", "RR@10", "nDCG(gains={1:2,2:5})@10",
)  # fmt: skip


@pytest.mark.parametrize("folder", ["touche2020-beir", "tilde-dl19"])
def test_every_value_is_that_of_ir_measures(shared_data: Path, folder: str) -> None:
    """Through its own providers and through this one, topic by topic and on average."""
    ir_measures = pytest.importorskip("ir_measures")
    measures = [ir_measures.parse_measure(name) for name in IR_MEASURES]
    provider = lb.use_in_ir_measures(first=False)
    for qrels, run, *_ in _real(shared_data, folder):
        # Asked for together, its nDCG takes the gains of another one, depending on the seed of hashes.
        theirs = [ir_measures.calc([measure], qrels, run) for measure in measures]
        ours = provider.calc(measures, qrels, run)
        tied = {topic for topic, scores in run.items() if len(set(scores.values())) < len(scores)}
        others = [value for each in theirs for value in each.per_query]
        assert _by_topic(ours.per_query, tied) == _by_topic(others, tied)
        # Its mean adds topics in whatever order they come.
        if not tied:
            means = {measure: mean for each in theirs for measure, mean in each.aggregated.items()}
            assert ours.aggregated == pytest.approx(means, abs=ROUNDING)


def _by_topic(metrics: Any, tied: set[str]) -> dict[tuple[str, str], float]:
    """Values by topic and measure; topics with ties lack the measures that order ties differently."""
    return {
        (each.query_id, str(each.measure)): each.value
        for each in metrics
        if each.query_id not in tied or str(each.measure) not in OWN_ORDER
    }


RANX = {
    "map": "AP", "map@100": "AP@100", "ndcg": "nDCG", "ndcg@10": "nDCG@10", "mrr": "RR", "mrr@10": "RR@10",
    "precision@5": "P@5", "recall@100": "R@100", "hits@10": "Hits@10", "hit_rate@5": "Success@5",
    "r-precision": "Rprec", "f1@10": "F@10", "ndcg_burges@10": "nDCG(dcg='exp-log2')@10",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::Warning:numba")
@pytest.mark.filterwarnings("ignore:unsafe cast")
@pytest.mark.parametrize("folder", ["robust03", "touche2020-beir", "tilde-dl19"])
def test_every_value_is_that_of_ranx(shared_data: Path, folder: str) -> None:
    """But in topics with ties, which it leaves in any order."""
    ranx = pytest.importorskip("ranx")
    compared = 0
    for qrels, run, *_ in _real(shared_data, folder):
        # It refuses grades below 0, and has a ranking for every judged topic and no other.
        judged = {topic: grades for topic, grades in qrels.items() if min(grades.values()) >= 0}
        untied = {
            topic: scores
            for topic, scores in run.items()
            if topic in judged and len(set(scores.values())) == len(scores)
        }
        judged = {topic: judged[topic] for topic in untied}
        if not judged:
            continue
        theirs = ranx.Run(untied)
        ranx.evaluate(ranx.Qrels(judged), theirs, list(RANX))
        ours = lb.evaluate(judged, untied, RANX.values()).by_topic
        for name, key in RANX.items():
            for topic, value in theirs.scores[name].items():
                assert ours[topic][key] == pytest.approx(value, abs=ROUNDING), (name, topic)
                compared += 1
    assert compared
