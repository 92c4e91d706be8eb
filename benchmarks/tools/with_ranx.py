"""15 of the 26 values by ranx, which has no precision at recall points: QRELS RUN..."""

import sys

from ranx import Qrels, Run, evaluate

from benchmarks import values
from benchmarks.tools.printing import print_run

NAMES = {
    "map": "map",
    "ndcg": "ndcg",
    "mrr": "recip_rank",
    "r-precision": "Rprec",
    "bpref": "bpref",
    **{f"precision@{cutoff}": f"P_{cutoff}" for cutoff in values.CUTOFFS},
    **{f"recall@{cutoff}": f"recall_{cutoff}" for cutoff in values.RECALL_CUTOFFS},
    **{f"ndcg@{cutoff}": f"ndcg_cut_{cutoff}" for cutoff in values.CUTOFFS},
}


def main(qrels: str, runs: list[str]) -> None:
    """Read, score and print every run."""
    judgments = Qrels.from_file(qrels)
    for path in runs:
        run = Run.from_file(path)
        evaluate(judgments, run, list(NAMES))
        print_run({name: dict(run.scores[measure]) for measure, name in NAMES.items()})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
