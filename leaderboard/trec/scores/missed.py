"""Judged topics that a run misses, as trec_eval has them with -c: not always as empty rankings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import FloatArray, IntArray, Judged
from leaderboard.measures.trec_names import printed

_OF_ONE_DOCUMENT = frozenset({"relstring", "utility", "rbp_resid"})
"""Of these families, version 10 puts a missed topic right under their plain names only."""


@dataclass(frozen=True, eq=False)
class Missed:
    """What trec_eval prints of missed topics where that is not the score of an empty ranking.

    unprinted: (topics,) those without a line of their own; scores: of all topics, (topics,), for the
    measures that have others; num_rel: the number printed for all topics.
    """

    unprinted: NDArray[np.bool_]
    scores: dict[BoundMeasure, FloatArray]
    num_rel: int


def missed(
    judged: Judged,
    scores: Mapping[BoundMeasure, FloatArray],
    *,
    level: int,
    judged_only: bool = False,
    places: IntArray | None = None,
) -> Missed:
    """What trec_eval makes of the topics that a run misses.

    scores: as they are for empty rankings, (topics,); places: the topics that they are of, None for all.
    Version 9 prints no line for them and adds 0 to every sum; version 10 scores a ranking of one
    unjudged document instead and puts that right under some names. Whatever the level, both count as
    relevant over all topics what has a grade above 0. Source: trec_eval.c and m_num_rel.c of both.
    """
    chosen = np.arange(len(judged.judgments)) if places is None else places
    is_missed = judged.retrieved == 0
    stand_in = replace(judged, retrieved=np.where(is_missed, 1, judged.retrieved))
    others: dict[BoundMeasure, FloatArray] = {}
    for measure in scores if is_missed[chosen].any() else ():
        name = printed(measure, level)
        if name is None:
            continue
        if judged.dialect == 9:
            if not measure.measure.text:
                others[measure] = np.where(is_missed[chosen], 0.0, scores[measure])
        elif name.family.name in _OF_ONE_DOCUMENT and name.name != name.family.name:
            others[measure] = measure.compute(stand_in.condensed if judged_only else stand_in)[chosen]
    above_0 = judged.judgments.count(judged.judgments.grades > 0)
    unprinted = is_missed if judged.dialect == 9 else np.zeros_like(is_missed)
    return Missed(unprinted[chosen], others, int(above_0[chosen].sum()))
