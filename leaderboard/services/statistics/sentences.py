"""What a standing says, in sentences."""

from collections.abc import Sequence

import numpy as np

from leaderboard.services.statistics.standings import RankedRun, Standing
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.tables.words import counted

MANY_TOPICS = 1000
"""From here on nearly every difference passes a test, and its size says more."""
SMALL_EFFECT = 0.2
"""Cohen's bound of a small d (Statistical Power Analysis for the Behavioral Sciences, 1988, section 2.2)."""


def sentences(
    standing: Standing, ranked: Sequence[RankedRun], ranked_by: str, digits: int, of: str = ""
) -> tuple[str, ...]:
    """What a board says above its table of the ranked runs, which come in the board's order.

    of: which runs they are, such as ` of the group students`, where they are not all of the task's.
    """
    lines = [_verdict(standing, ranked, ranked_by, digits, of)]
    if standing.pairs and standing.topics > 1:
        lines.append(_pairs(standing))
        if standing.table.reachable:
            lines += [_neighbours(standing, ranked), _sizes(standing)]
    return tuple(filter(None, lines))


def leaders(ranked: Sequence[RankedRun], ranked_by: str, digits: int, sign: int) -> str:
    """Name the first of the ranked runs, which come in the board's order, with their value."""
    first = [run.name for run in ranked if run.value == ranked[0].value]
    names = f"{', '.join(first[:-1])} and {first[-1]}" if len(first) > 1 else first[0]
    return f"{'Lowest' if sign < 0 else 'Highest'} {ranked_by}: {names} ({ranked[0].value:.{digits}f})."


def _verdict(standing: Standing, ranked: Sequence[RankedRun], ranked_by: str, digits: int, of: str) -> str:
    leader = leaders(ranked, ranked_by, digits, standing.sign)
    if len(ranked) == 1:
        return f"{leader} It is the only ranked run{of}, so there is nothing to compare it with."
    if standing.topics == 1:
        return f"{leader} With one topic no test can tell runs apart."
    if standing.verdicts.too_few:
        too_few = too_few_topics(f"{len(ranked):,} runs{of}", standing.topics, standing.topics_to_order)
        if not standing.table.difference.any():
            same = f"All {len(ranked):,} runs{of} have the same {ranked_by}"
            return f"{same}, {ranked[0].value:.{digits}f}. {too_few}"
        return f"{leader} {too_few}"
    best, like_these = standing.may_be_best, f"on topics like these {standing.topics:,}"
    if best == 1:
        return f"{leader} It is the best of {len(ranked):,} runs{of} {like_these}, with 95% confidence."
    return f"{leader} {best:,} of {len(ranked):,} runs{of} may be the best {like_these} (dots)."


def too_few_topics(runs: str, topics: int, needed: int | None, noun: str = "topic") -> str:
    """Say that topics do not order runs, and how many would be needed to tell the first and last apart.

    noun: what is too few, such as members of a suite.

    >>> too_few_topics("11 runs", 12, 40)
    '12 topics are too few to order these 11 runs; about 40 would be needed.'
    """
    these = f"{counted(topics, noun)} {'is' if topics == 1 else 'are'} too few to order these {runs}"
    if topics == 1:
        return f"{these}."
    if needed is None:
        return f"{these}; more {noun}s like these would not help."
    return f"{these}; about {needed:,} would be needed."


def undecided_pair(topics: int, needed: int | None) -> str:
    """Say how many topics would decide a pair that these do not; empty for one topic, which shows no spread.

    >>> undecided_pair(12, 40)
    'About 40 topics like these 12 would decide it with 80% power, if the difference is what it seems.'
    """
    if topics == 1:
        return ""
    if needed is None:
        return f"More topics like these {topics:,} would not help."
    return (
        f"About {needed:,} topics like these {topics:,} would decide it with 80% power, if the difference is "
        "what it seems."
    )


def needed_words(needed: int | None, units: int, noun: str = "topic") -> str:
    """As undecided_pair, in the words of a cell; noun: what would be drawn anew.

    >>> needed_words(40, 12), needed_words(None, 12)
    ('about 40 topics', 'more would not help')
    """
    if units == 1:
        return ""
    return "more would not help" if needed is None else f"about {counted(needed, noun)}"


def _pairs(standing: Standing) -> str:
    title = standing.method.title
    if not standing.table.reachable:
        return (
            f"This test ({title}) cannot tell any pair apart here, whatever the scores: "
            "the smallest p it can give is too large. The paired t test can."
        )
    if standing.pairs == 1:
        return f"The two {'can' if standing.told_apart else 'cannot'} be told apart ({title})."
    share = standing.told_apart / standing.pairs
    return (
        f"Of {standing.pairs:,} pairs {standing.told_apart:,} ({share:.0%}) can be told apart ({title}). "
        f"{'Counts' if standing.verdicts.too_few else 'Dots, counts'} and rank ranges hold all at once "
        "with 95% confidence."
    )


def _neighbours(standing: Standing, ranked: Sequence[RankedRun]) -> str:
    if len(ranked) < 3:
        return ""
    if standing.verdicts.too_few and not standing.told_apart:
        return ""
    real = standing.neighbours_told_apart([run.run_id for run in ranked])
    if real == 0:
        return "No run can be told apart from its neighbour: read the rank as an order, not a distance."
    if real == len(ranked) - 1:
        return "Every run can be told apart from its neighbours."
    return (
        f"{real:,} of {len(ranked) - 1:,} neighbouring pairs can be told apart: "
        "between the others, read the rank as an order, not a distance."
    )


def _sizes(standing: Standing) -> str:
    """With thousands of topics, how many of the differences that pass are small all the same."""
    if standing.topics < MANY_TOPICS or not standing.told_apart:
        return ""
    passed = standing.verdicts.signs[pairs(len(standing.run_ids))] != 0
    small = int(np.count_nonzero(passed & (np.abs(standing.effects) < SMALL_EFFECT)))
    return (
        f"With {standing.topics:,} topics even tiny differences pass a test: {small:,} of the "
        f"{standing.told_apart:,} that do are small (effect size d_z below {SMALL_EFFECT})."
    )
