"""The registry of measures of answers in display order, and the parser of their names.

>>> parse("V_strict").key, parse("SupportP(hard=1)").key, parse("f1_weighted_micro").key
("NuggetRecall(set='vital',strict=1)", 'SupportP(hard=1)', 'ArgueF1_micro(weighted=1)')
"""

from functools import lru_cache

from leaderboard.measures.answers.argue import (
    ARGUE_F1,
    ARGUE_F1_MICRO,
    CITATION_RELEVANCE,
    CITATION_RELEVANCE_MICRO,
    CITATION_SUPPORT,
    CITATION_SUPPORT_MICRO,
    SENTENCE_SUPPORT,
    SENTENCE_SUPPORT_MICRO,
)
from leaderboard.measures.answers.nuggets import NUGGET_COVERAGE, NUGGET_COVERAGE_MICRO, NUGGET_RECALL
from leaderboard.measures.answers.record import AnswerMeasure
from leaderboard.measures.answers.sizes import ANSWER_LENGTH, NUM_CITATIONS, NUM_SEGMENTS, NUM_UNCITED
from leaderboard.measures.answers.support import SUPPORT_P, SUPPORT_R
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import parse_among
from leaderboard.measures.record import Measure

MEASURES: tuple[AnswerMeasure, ...] = (
    NUGGET_RECALL,
    NUGGET_COVERAGE,
    NUGGET_COVERAGE_MICRO,
    SUPPORT_P,
    SUPPORT_R,
    SENTENCE_SUPPORT,
    SENTENCE_SUPPORT_MICRO,
    CITATION_SUPPORT,
    CITATION_SUPPORT_MICRO,
    CITATION_RELEVANCE,
    CITATION_RELEVANCE_MICRO,
    ARGUE_F1,
    ARGUE_F1_MICRO,
    ANSWER_LENGTH,
    NUM_SEGMENTS,
    NUM_CITATIONS,
    NUM_UNCITED,
)
NAMES: dict[str, AnswerMeasure] = {measure.name: measure for measure in MEASURES}
CALLED: dict[str, str] = {name: form for measure in MEASURES for name, form in measure.called}
"""Names elsewhere, in papers and programs, and the form that each is."""
_KNOWN: dict[str, Measure] = {**NAMES}


@lru_cache(1024)
def parse(text: str) -> BoundMeasure:
    """The measure of answers with a name; raises UnknownMeasure as that of rankings does."""
    text = text.strip()
    return parse_among(CALLED.get(text, text), _KNOWN, (*CALLED, *NAMES), "V_strict or SupportP(hard=1)")
