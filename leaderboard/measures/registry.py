"""The table of all measures, in the order they are shown."""

from leaderboard.measures.average_precision import AP, YAAP
from leaderboard.measures.averaging import F_OF_MEANS, MICRO_F, MICRO_P, MICRO_R
from leaderboard.measures.bounds.missed import AP_LAST, AP_NEXT
from leaderboard.measures.bounds.ndcg import NDCG_MAX, NDCG_MIN
from leaderboard.measures.bounds.scores import AP_MAX, AP_MIN, P_MAX, RR_MAX
from leaderboard.measures.bpref import BPREF
from leaderboard.measures.classification import SET_ACCURACY, SET_DICE, SET_FALLOUT, SET_SPECIFICITY
from leaderboard.measures.compatibility import COMPAT
from leaderboard.measures.coverage import (
    HITS,
    JUDGED,
    NUM_NONREL_JUDGED_RET,
    NUM_Q,
    NUM_REL,
    NUM_REL_RET,
    NUM_RET,
    UNJ,
)
from leaderboard.measures.cwl import BPM, INSQ, INST, SDCG
from leaderboard.measures.discounted_gain import CG, DCG, IDCG
from leaderboard.measures.diversity.at_k import DIVERSITY
from leaderboard.measures.diversity.intent_aware import AP_IA, D_NDCG, D_SHARP_NDCG, NDCG_IA, P_IA, ST_RECALL
from leaderboard.measures.diversity.novelty import ALPHA_DCG, ALPHA_NDCG, ERR_IA, NERR_IA, NNRBP, NRBP
from leaderboard.measures.exact_recall import (
    EXACT_ELEVEN_POINTS,
    INTERPOLATED_AVERAGE,
    INTERPOLATED_PRECISION,
)
from leaderboard.measures.expected_reciprocal_rank import ERR, NERR
from leaderboard.measures.f_measures import BEST_F, BEST_F_RANK, F_ALPHA, F_AT
from leaderboard.measures.geometric import GM_BPREF, GMAP
from leaderboard.measures.graded_gain import BIN_G, NDCG_REL, Q_MEASURE, R_NDCG, G
from leaderboard.measures.inferred import INF_AP
from leaderboard.measures.interpolated import IAP3, IAP11, IPREC
from leaderboard.measures.ndcg import NDCG
from leaderboard.measures.near_err import NERR8, NERR9, NERR10, NERR11
from leaderboard.measures.precision import REL_P, RPREC, SUCCESS, P
from leaderboard.measures.precision_recall_area import (
    AP_ENVELOPE,
    AP_RETRIEVED,
    AP_TRAPEZOID,
    AP_TRAPEZOID_POINTS,
)
from leaderboard.measures.preferences.at_rank import AP_PREF, P_PREF, R_PREF, W_PREF
from leaderboard.measures.preferences.fulfilled import (
    NUM_PREFS,
    NUM_PREFS_FUL,
    PREFS_AVG_JG,
    PREFS_PAIR,
    PREFS_SIMP,
)
from leaderboard.measures.rank_biased import GRADED_RBP, RBP, RBP_RESIDUAL
from leaderboard.measures.recall import R
from leaderboard.measures.recall_points import BREAK_EVEN, HIGHEST_PRECISION, PRECISION_AT_RECALL
from leaderboard.measures.reciprocal_rank import RR
from leaderboard.measures.record import Measure
from leaderboard.measures.roc import EQUAL_ERROR_RATE, PAIRWISE_ACCURACY, ROC_AREA
from leaderboard.measures.search_length import SEARCH_LENGTH, SEARCH_LENGTH_COOPER
from leaderboard.measures.sets import SET_AP, SET_F, SET_P, SET_R
from leaderboard.measures.trec_eval.rbp import RBP_TREC, RBP_TREC_RESIDUAL
from leaderboard.measures.trec_eval.relstring import REL_STRING
from leaderboard.measures.utility import UTILITY

MEASURES: tuple[Measure, ...] = (
    NDCG,
    DCG,
    IDCG,
    CG,
    NDCG_REL,
    R_NDCG,
    G,
    BIN_G,
    Q_MEASURE,
    AP,
    YAAP,
    AP_RETRIEVED,
    AP_TRAPEZOID,
    AP_TRAPEZOID_POINTS,
    AP_ENVELOPE,
    GMAP,
    INF_AP,
    RR,
    SEARCH_LENGTH,
    SEARCH_LENGTH_COOPER,
    P,
    REL_P,
    R,
    F_AT,
    F_ALPHA,
    BEST_F,
    RPREC,
    BREAK_EVEN,
    SUCCESS,
    IPREC,
    IAP11,
    IAP3,
    INTERPOLATED_PRECISION,
    INTERPOLATED_AVERAGE,
    EXACT_ELEVEN_POINTS,
    PRECISION_AT_RECALL,
    BPREF,
    GM_BPREF,
    SET_P,
    SET_R,
    SET_F,
    SET_DICE,
    F_OF_MEANS,
    MICRO_P,
    MICRO_R,
    MICRO_F,
    SET_FALLOUT,
    SET_SPECIFICITY,
    SET_ACCURACY,
    ROC_AREA,
    EQUAL_ERROR_RATE,
    PAIRWISE_ACCURACY,
    SET_AP,
    UTILITY,
    ERR,
    NERR,
    RBP,
    GRADED_RBP,
    RBP_TREC,
    SDCG,
    INSQ,
    INST,
    BPM,
    NERR8,
    NERR9,
    NERR10,
    NERR11,
    COMPAT,
    ALPHA_NDCG,
    ALPHA_DCG,
    ERR_IA,
    NERR_IA,
    NRBP,
    NNRBP,
    ST_RECALL,
    P_IA,
    AP_IA,
    NDCG_IA,
    D_NDCG,
    D_SHARP_NDCG,
    DIVERSITY,
    PREFS_SIMP,
    PREFS_PAIR,
    PREFS_AVG_JG,
    P_PREF,
    R_PREF,
    W_PREF,
    AP_PREF,
    NUM_PREFS,
    NUM_PREFS_FUL,
    P_MAX,
    RR_MAX,
    AP_MIN,
    AP_MAX,
    NDCG_MIN,
    NDCG_MAX,
    AP_NEXT,
    AP_LAST,
    RBP_RESIDUAL,
    RBP_TREC_RESIDUAL,
    REL_STRING,
    HIGHEST_PRECISION,
    BEST_F_RANK,
    JUDGED,
    UNJ,
    NUM_Q,
    NUM_RET,
    NUM_REL,
    NUM_REL_RET,
    HITS,
    NUM_NONREL_JUDGED_RET,
)

NAMES: dict[str, Measure] = {
    name: measure for measure in MEASURES for name in (measure.name, *measure.aliases)
}
"""Every name and alias of the grammar; trec_eval's names are in `trec_names`."""

OF_PARAMETER = {("NumRet", "rel"): NUM_REL_RET}
"""Names of ir_measures that, given this parameter, are another measure here."""
