"""What a comparison of several runs says, in sentences, and why it cannot say more."""

from collections.abc import Sequence

import numpy as np

from leaderboard.pages.scores.table import ScoreTable
from leaderboard.services.statistics.requests import Waiting
from leaderboard.services.statistics.standings import ALPHA, Standing
from leaderboard.stats.pairs.baseline import AgainstBaseline
from leaderboard.stats.pairs.condensed import pairs
from leaderboard.stats.pairs.methods import BOTH_IN_ONE

MANY_TOPICS = 1000
"""From here on effect sizes say more than p."""
MOST_NAMED = 5


def remarks(
    table: ScoreTable, standing: Standing | Waiting, baseline: int | None, against: AgainstBaseline | None
) -> tuple[str, ...]:
    """The sentences above a comparison, its runs in the order of the table; fewer while it waits."""
    said = [_one_topic(table)]
    if isinstance(standing, Standing):
        if against is not None and baseline is not None:
            said.append(_against(table, standing, against))
        said.append(_pairs(standing))
        said += [*_alike(table, standing), _many_topics(table, standing)]
    return tuple(filter(None, said))


def _one_topic(table: ScoreTable) -> str:
    if len(table.topics) > 1:
        return ""
    return "With one topic no test can tell runs apart, and a difference has no interval."


def _title(standing: Standing) -> str:
    drawn = f", {standing.table.resamples:,} resamples" if standing.table.resamples else ""
    return f"{standing.method.title}{drawn}, {ALPHA:.0%}"


def _pairs(standing: Standing) -> str:
    if standing.topics == 1:
        return ""
    title = _title(standing)
    if not standing.table.reachable:
        return (
            f"This test ({title}) cannot tell any pair apart here, whatever the scores: the smallest p it "
            "can give on these topics is too large for so many pairs. The paired t test can."
        )
    if standing.pairs == 1:
        return f"The two {'can' if standing.told_apart else 'cannot'} be told apart ({title})."
    share = standing.told_apart / standing.pairs
    return f"Of {standing.pairs:,} pairs {standing.told_apart:,} ({share:.0%}) can be told apart ({title})."


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
    every = standing.method.correction.name in BOTH_IN_ONE
    over = (
        f"{standing.pairs:,} pairs, as Tukey's corrects for all"
        if every
        else f"{standing.table.runs - 1:,} pairs"
    )
    return (
        f"Of the other {standing.table.runs - 1:,} runs {better:,} {_are(better)} better than {name} and "
        f"{worse:,} {_are(worse)} worse ({_title(standing)}, corrected over {over})."
    )


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _alike(table: ScoreTable, standing: Standing) -> list[str]:
    """Pairs whose differences have no spread: their t is 0 or without end, which needs a word."""
    if standing.topics == 1:
        return []
    flat = np.flatnonzero(standing.table.low == standing.table.high)
    first, second = pairs(standing.table.runs)
    names = [run.name for run in table.runs]
    same = [(names[first[at]], names[second[at]]) for at in flat if standing.table.difference[at] == 0]
    certain = [at for at in flat if standing.table.difference[at] != 0 and standing.table.p[at] == 0]
    shifted = [(names[first[at]], names[second[at]]) for at in certain]
    said = []
    if same:
        said.append(
            f"The same score on every topic: {_named(same)}. Nothing can tell them apart by this measure."
        )
    if shifted:
        said.append(
            f"The same difference on every topic: {_named(shifted)}. With no spread at all, t has no end and "
            "its p is 0."
        )
    return said


def _named(found: Sequence[tuple[str, str]]) -> str:
    named = [f"{one} and {two}" for one, two in found[:MOST_NAMED]]
    more = len(found) - len(named)
    return "; ".join([*named, *([f"and {more:,} more pairs"] if more else [])])


def _many_topics(table: ScoreTable, standing: Standing) -> str:
    if len(table.topics) < MANY_TOPICS or not standing.table.reachable:
        return ""
    return (
        f"With {len(table.topics):,} topics even tiny differences pass a test: read the differences and "
        "effect sizes first."
    )
