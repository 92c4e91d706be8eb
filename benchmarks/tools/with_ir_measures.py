"""The 26 values by ir_measures, whose own readers and choice of provider are used: QRELS RUN..."""

import sys

import ir_measures
from ir_measures import AP, RR, Bpref, IPrec, P, R, Rprec, nDCG

from benchmarks import values
from benchmarks.tools.printing import print_run

NAMES = {
    AP: "map",
    nDCG: "ndcg",
    RR: "recip_rank",
    Rprec: "Rprec",
    Bpref: "bpref",
    **{P @ cutoff: f"P_{cutoff}" for cutoff in values.CUTOFFS},
    **{R @ cutoff: f"recall_{cutoff}" for cutoff in values.RECALL_CUTOFFS},
    **{nDCG @ cutoff: f"ndcg_cut_{cutoff}" for cutoff in values.CUTOFFS},
    **{IPrec @ recall: f"iprec_at_recall_{recall:.2f}" for recall in values.RECALLS},
}


def main(qrels: str, runs: list[str]) -> None:
    """Read, score and print every run."""
    evaluator = ir_measures.evaluator(list(NAMES), list(ir_measures.read_trec_qrels(qrels)))
    for path in runs:
        scores: dict[str, dict[str, float]] = {name: {} for name in NAMES.values()}
        for score in evaluator.iter_calc(ir_measures.read_trec_run(path)):
            scores[NAMES[score.measure]][score.query_id] = score.value
        print_run(scores)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
