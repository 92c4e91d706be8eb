"""The table of all measures, in the order they are shown."""

from leaderboard.measures.average_precision import AP
from leaderboard.measures.bpref import BPREF
from leaderboard.measures.coverage import JUDGED, NUM_REL, NUM_REL_RET, NUM_RET
from leaderboard.measures.ndcg import NDCG
from leaderboard.measures.precision import RPREC, SUCCESS, P
from leaderboard.measures.recall import R
from leaderboard.measures.reciprocal_rank import RR
from leaderboard.measures.record import Measure
from leaderboard.measures.sets import SET_F, SET_P, SET_R

MEASURES: tuple[Measure, ...] = (
    NDCG,
    AP,
    RR,
    P,
    R,
    RPREC,
    SUCCESS,
    BPREF,
    SET_P,
    SET_R,
    SET_F,
    JUDGED,
    NUM_RET,
    NUM_REL,
    NUM_REL_RET,
)

NAMES: dict[str, Measure] = {
    name: measure for measure in MEASURES for name in (measure.name, *measure.aliases)
}
"""Every name and alias of the grammar; trec_eval's names are in `trec_names`."""
