"""The measures there are, for programs to list."""

from leaderboard.measures.record import Measure
from leaderboard.measures.registry import MEASURES
from leaderboard.measures.selection import select


def measures(*names: str) -> tuple[Measure, ...]:
    """The measures with these names, each once, or all there are; each has name, title and formula.

    names: those of measures, or of groups such as official and all_trec. Raises UnknownMeasure.

    >>> [measure.title for measure in measures("map", "P.5,10")]
    ['Average precision (its mean is MAP)', 'Precision in the top k']
    """
    if not names:
        return MEASURES
    return tuple(dict.fromkeys(bound.measure for bound in select(names)))
