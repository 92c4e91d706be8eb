"""Names of measures of either kind: of rankings, or of answers.

>>> parse("AP").key, parse("V_strict").key
('AP', "NuggetRecall(set='vital',strict=1)")
"""

from functools import lru_cache
from importlib import import_module

from leaderboard.errors import UnknownMeasure
from leaderboard.measures import grammar
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.record import Measure


# As that of rankings: a page names each of its measures many times.
@lru_cache(1024)
def parse(text: str) -> BoundMeasure:
    """The measure a name stands for; one of rankings goes first. Raises UnknownMeasure as `grammar.parse`."""
    try:
        return grammar.parse(text)
    except UnknownMeasure as unknown:
        # Where there are rankings only, no module of answers is ever loaded.
        registry = import_module("leaderboard.measures.answers.registry")
        stem = text.strip().split("(")[0]
        if stem not in registry.NAMES and stem not in registry.CALLED:
            raise unknown
        bound: BoundMeasure = registry.parse(text)
        return bound


def is_of_answers(measure: Measure) -> bool:
    """Whether a measure is computed from judged answers, not from judged rankings."""
    # Their record says on which judgments they rest; to import it would load their module.
    return hasattr(measure, "basis")
