"""The 26 values that every tool of the comparison computes, by trec_eval's names."""

CUTOFFS = (5, 10, 20, 100)
RECALL_CUTOFFS = (100, 1000)
RECALLS = tuple(tenth / 10 for tenth in range(11))
COUNT = 26


def _listed(numbers: tuple[int, ...]) -> str:
    return ",".join(map(str, numbers))


MEASURES = (
    "map",
    f"P.{_listed(CUTOFFS)}",
    f"recall.{_listed(RECALL_CUTOFFS)}",
    "ndcg",
    f"ndcg_cut.{_listed(CUTOFFS)}",
    "recip_rank",
    "Rprec",
    "bpref",
    "iprec_at_recall",
)
"""What comes after `-m` in trec_eval and in `leaderboard evaluate`."""

NAMES = (
    "map",
    "ndcg",
    "recip_rank",
    "Rprec",
    "bpref",
    *(f"P_{cutoff}" for cutoff in CUTOFFS),
    *(f"recall_{cutoff}" for cutoff in RECALL_CUTOFFS),
    *(f"ndcg_cut_{cutoff}" for cutoff in CUTOFFS),
    *(f"iprec_at_recall_{recall:.2f}" for recall in RECALLS),
)
"""What they print, value by value."""
