"""Names of measures of any kind: of rankings, of answers, or of judges.

>>> parse("AP").key, parse("V_strict").key, parse("TopicTau").key
('AP', "NuggetRecall(set='vital',strict=1)", 'TopicTau')
"""

from functools import lru_cache
from typing import Literal

from leaderboard.errors import UnknownMeasure
from leaderboard.measures import grammar
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.record import Measure

Kind = Literal["rankings", "answers", "judges"]
"""Kind of run that a task accepts and its measures score."""


# As that of rankings: a page names each of its measures many times.
@lru_cache(1024)
def parse(text: str) -> BoundMeasure:
    """The measure with a name; one of rankings comes first. Raises UnknownMeasure as `grammar.parse`."""
    try:
        return grammar.parse(text)
    except UnknownMeasure as unknown:
        stem = text.strip().split("(")[0]
        from leaderboard.measures.answers import registry as answers

        if stem in answers.NAMES or stem in answers.CALLED:
            return answers.parse(text)
        from leaderboard.measures.judges import registry as judges

        if stem not in judges.NAMES:
            raise unknown
        return judges.parse(text)


def is_of_answers(measure: Measure) -> bool:
    """Whether a measure is computed from judged answers, not from judged rankings."""
    # Their record says on which judgments they rest; to import it would load their module.
    return hasattr(measure, "basis")


def kind_of(measure: Measure) -> Kind:
    """The kind of input of a measure.

    >>> kind_of(parse("TopicTau").measure), kind_of(parse("AP").measure)
    ('judges', 'rankings')
    """
    if is_of_answers(measure):
        return "answers"
    return "judges" if hasattr(measure, "agreement") else "rankings"
