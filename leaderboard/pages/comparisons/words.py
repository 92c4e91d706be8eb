"""What a comparison says, in sentences, and why it cannot say more; how p and intervals are written."""

from collections.abc import Sequence

import numpy as np

from leaderboard.pages.scores.table import ScoreTable
from leaderboard.services.statistics.requests import WaitingResult
from leaderboard.services.statistics.standings import Standing
from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.corrections import LEVEL
from leaderboard.stats.pairs.methods import BOTH_IN_ONE

MANY_TOPICS = 1000
"""From here on effect sizes say more than p."""
MOST_NAMED = 5


def remarks(
    table: ScoreTable,
    standing: Standing | WaitingResult,
    baseline: int | None,
    against: AgainstBaseline | None,
) -> tuple[str, ...]:
    """The sentences above a comparison, its runs in the order of the table; fewer while it waits."""
    sentences = [_one_topic(table)]
    if isinstance(standing, Standing):
        if against is not None and baseline is not None:
            sentences.append(_against(table, standing, against))
        sentences.append(_pairs(standing))
        sentences += [*_alike(table, standing), _many_topics(table, standing)]
    return tuple(filter(None, sentences))


def short_p(p: float) -> str:
    """A p to three places, never as the 0 it is not.

    >>> short_p(0.0123), short_p(1e-9), short_p(0.0), short_p(1.0)
    ('.012', '< .001', '0', '1')
    """
    if p in (0, 1):
        return f"{p:.0f}"
    return "< .001" if p < 0.0005 else f"{p:.3f}".removeprefix("0")


def span(low: float | None, high: float | None, digits: int) -> str | None:
    """The ends of an interval of a difference; None where it has none."""
    return None if low is None or high is None else f"{low:+.{digits}f} to {high:+.{digits}f}"


def _one_topic(table: ScoreTable) -> str:
    if len(table.topics) > 1:
        return ""
    return "With one topic no test can tell runs apart, and a difference has no interval."


def _title(standing: Standing) -> str:
    drawn = f", {standing.table.resamples:,} resamples" if standing.table.resamples else ""
    return f"{standing.method.title}{drawn}, {LEVEL:.1%}"


def _pairs(standing: Standing) -> str:
    if standing.topics == 1:
        return ""
    title = _title(standing)
    if not standing.table.reachable:
        return (
            f"This test ({title}) cannot tell any pair apart here, whatever the scores: the smallest p it "
            "can give on these topics is too large for so many pairs. The paired t test can."
        )
    told_apart = int(np.count_nonzero(standing.signs > 0))
    if standing.pairs == 1:
        return f"The two {'can' if told_apart else 'cannot'} be told apart ({title})."
    share = told_apart / standing.pairs
    return f"Of {standing.pairs:,} pairs {told_apart:,} ({share:.0%}) can be told apart ({title})."


def _against(table: ScoreTable, standing: Standing, against: AgainstBaseline) -> str:
    if standing.topics == 1 or standing.pairs == 1:
        return ""
    name = table.runs[against.baseline].name
    if not against.reachable:
        return (
            f"This test ({_title(standing)}) cannot tell any run apart from {name}, whatever the scores. "
            "The paired t test can."
        )
    better, worse = (int(np.count_nonzero(against.verdicts == sign)) for sign in (1, -1))
    over = f"{standing.table.runs - 1:,} pairs"
    if standing.method.correction.name in BOTH_IN_ONE:
        over = f"{standing.pairs:,} pairs, as Tukey's corrects for all"
    return (
        f"Of the other {standing.table.runs - 1:,} runs {better:,} {_are(better)} better than {name} and "
        f"{worse:,} {_are(worse)} worse ({_title(standing)}, corrected over {over})."
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _alike(table: ScoreTable, standing: Standing) -> list[str]:
    """Pairs whose differences have no spread: their t is 0 or infinite, which has to be explained."""
    if standing.topics == 1:
        return []
    flat = np.flatnonzero(standing.table.low == standing.table.high)
    first, second = pairs(standing.table.runs)
    names = [run.name for run in table.runs]
    same = [(names[first[at]], names[second[at]]) for at in flat if standing.table.difference[at] == 0]
    certain = [at for at in flat if standing.table.difference[at] != 0 and standing.table.p[at] == 0]
    shifted = [(names[first[at]], names[second[at]]) for at in certain]
    sentences = []
    if same:
        sentences.append(
            f"The same score on every topic: {_named(same)}. Nothing can tell them apart by this measure."
        )
    if shifted:
        sentences.append(
            f"The same difference on every topic: {_named(shifted)}. With no spread at all, t is infinite "
            "and its p is 0."
        )
    return sentences


def _named(pairs_of_runs: Sequence[tuple[str, str]]) -> str:
    named = [f"{one} and {two}" for one, two in pairs_of_runs[:MOST_NAMED]]
    more = len(pairs_of_runs) - len(named)
    return "; ".join([*named, *([f"and {more:,} more pairs"] if more else [])])


def _many_topics(table: ScoreTable, standing: Standing) -> str:
    if len(table.topics) < MANY_TOPICS or not standing.table.reachable:
        return ""
    return (
        f"With {len(table.topics):,} topics even tiny differences pass a test: read the differences and "
        "effect sizes first."
    )
