"""Preferences between documents from clicks on a ranking.

Rules of Joachims, Optimizing Search Engines Using Clickthrough Data, KDD 2002, and of Joachims, Granka,
Pan, Hembrooke and Gay, Accurately Interpreting Clickthrough Data as Implicit Feedback, SIGIR 2005.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

Rule = Literal[
    "click > skip above",
    "last click > skip above",
    "click > skip previous",
    "click > no-click next",
    "click > no click",
]
Session = tuple[Sequence[str], Sequence[int]]
"""The documents shown, in rank order, and for each whether it was clicked: 1 or 0."""

_RULES: dict[Rule, Callable[[Any, Any, Any], Any]] = {
    "click > skip above": lambda clicked, other, _: other < clicked,
    "last click > skip above": lambda clicked, other, last: (other < clicked) & (clicked == last),
    "click > skip previous": lambda clicked, other, _: other == clicked - 1,
    "click > no-click next": lambda clicked, other, _: other == clicked + 1,
    "click > no click": lambda clicked, other, _: other != clicked,
}
"""Whether a clicked rank is preferred to an unclicked one, given the last clicked rank; also for arrays."""

_PAIRS_AT_ONCE = 2_000_000
"""Pairs of a click and another document to process at once."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A set of rules for reading clicks."""

    key: str
    title: str
    explanation: str
    rules: tuple[Rule, ...]


READINGS: dict[str, Reading] = {
    rule.key: rule
    for rule in (
        Reading(
            "skip-above",
            "skip above",
            "A clicked document is preferred to every document above it that was not clicked.",
            ("click > skip above",),
        ),
        Reading(
            "last-click",
            "last click",
            "Only the last clicked document is preferred to every document above it that was not clicked.",
            ("last click > skip above",),
        ),
        Reading(
            "skip-above-and-next",
            "skip above and next",
            "As skip above; a clicked document is also preferred to an unclicked one just below it.",
            ("click > skip above", "click > no-click next"),
        ),
        Reading(
            "every-non-click",
            "every non-click",
            "A clicked document is preferred to every unclicked one, even lower ones possibly never seen.",
            ("click > no click",),
        ),
    )
}
"""Available sets of rules; the first is the default."""


class Sessions(NamedTuple):
    """The sessions of one topic: documents by rank, and clicks."""

    starts: IntArray
    """(sessions + 1,) start of each session's documents in the arrays below."""
    documents: IntArray
    """(shown,) index of each document shown, into any list of documents."""
    ranks: IntArray
    """(shown,) from 1; a session's ranks differ from each other but may have gaps."""
    clicked: BoolArray
    """(shown,)"""
    last: IntArray
    """(sessions,) the rank clicked last; 0 without a click."""
    users: IntArray
    """(sessions,) number of the session's user; -1 if unknown."""


class Counts(NamedTuple):
    """Counts of preferences: one row per pair with a preference in any session."""

    first: IntArray
    second: IntArray
    """Indices of the two documents, first < second."""
    for_first: IntArray
    for_second: IntArray
    """Number of sessions or users that prefer each of the two."""


def preferences(
    documents: Sequence[str], clicks: Sequence[int], rules: Iterable[Rule]
) -> list[tuple[str, str]]:
    """The pairs (better, worse) by any of the rules in one session, by rank of the better, then worse.

    documents: those shown, in rank order; clicks: 1 for each clicked one, else 0. The last click
    is taken to be the lowest, because the order in time is unknown. `click > no click` prefers a
    clicked document to every other, including those below the last click, which may never have been
    seen; the other rules model the reader's attention.

    >>> preferences(["d1", "d2", "d3"], [0, 1, 0], ["click > skip above"])
    [('d2', 'd1')]
    """
    tests = [_RULES[rule] for rule in rules]
    clicked = [place for place, click in enumerate(clicks) if click]
    others = [place for place, _ in enumerate(documents) if place not in set(clicked)]
    return [
        (documents[better], documents[worse])
        for better in clicked
        for worse in others
        if any(test(better, worse, clicked[-1]) for test in tests)
    ]


def evidence(
    sessions: Iterable[Session], rules: Sequence[Rule], *, least: int = 1
) -> dict[tuple[str, str], int]:
    """Number of sessions of one topic that show each preference (better, worse), if at least `least` do.

    Both directions of a pair can be kept, because readers differ. Sorted by docnos.

    >>> evidence([(["a", "b"], [0, 1]), (["a", "b"], [0, 1])], ["click > skip above"], least=2)
    {('b', 'a'): 2}
    """
    counts = Counter(pair for session in sessions for pair in preferences(*session, rules))
    return {pair: count for pair, count in sorted(counts.items()) if count >= least}


def count_preferences(sessions: Sessions, rules: Sequence[Rule], *, by_user: bool = False) -> Counts:
    """Number of sessions of a topic that show each preference, in both directions; pairs sorted by index.

    by_user: count a user once per direction of a pair, regardless of sessions; sessions of an
    unknown user count individually.

    >>> def row(*values): return np.array(values)
    >>> shown = Sessions(row(0, 2), row(4, 7), row(1, 2), row(0, 1) > 0, row(2), row(-1))
    >>> [column.tolist() for column in count_preferences(shown, ["click > skip above"])]
    [[4], [7], [0], [1]]
    """
    width = int(sessions.documents.max(initial=0)) + 1
    # Each unknown user gets a separate number.
    known_users = int(sessions.users.max(initial=-1)) + 1
    users = np.where(sessions.users < 0, known_users + np.arange(sessions.users.size), sessions.users)
    votes: list[IntArray] = [np.empty((3, 0), dtype=np.int64)]
    for better, worse, session in _pairs(sessions, rules):
        pair = np.minimum(better, worse) * width + np.maximum(better, worse)
        voter = users[session] if by_user else np.zeros_like(session)
        votes.append(_counted(2 * pair + (better > worse), voter))
    key, voter, count = np.concatenate(votes, axis=1)
    if by_user:
        key, voter, _ = _counted(key, voter)
        count = np.ones_like(key)
    pairs, place = np.unique(key >> 1, return_inverse=True)
    both = np.zeros((2, pairs.size), dtype=np.int64)
    np.add.at(both, (key & 1, place), count)
    return Counts(pairs // width, pairs % width, both[0], both[1])


def _counted(key: IntArray, voter: IntArray) -> IntArray:
    """Each combination of key and voter, with its count: (3, distinct)."""
    keys, code = np.unique(key, return_inverse=True)
    voters = int(voter.max(initial=0)) + 1
    both, count = np.unique(code * voters + voter, return_counts=True)
    return np.stack([keys[both // voters], both % voters, count])


def _pairs(sessions: Sessions, rules: Sequence[Rule]) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Better document, worse document and session of every preference, in batches."""
    sizes = np.diff(sessions.starts)
    session_of = np.repeat(np.arange(sizes.size), sizes)
    clicks = np.flatnonzero(sessions.clicked)
    ends = np.cumsum(sizes[session_of[clicks]])
    begin = 0
    while begin < clicks.size:
        done = int(ends[begin - 1]) if begin else 0
        end = max(begin + 1, int(np.searchsorted(ends, done + _PAIRS_AT_ONCE, side="right")))
        part = clicks[begin:end]
        begin = end
        session = session_of[part]
        clicked = np.repeat(part, sizes[session])
        step = np.arange(clicked.size) - np.repeat(np.cumsum(sizes[session]) - sizes[session], sizes[session])
        other = sessions.starts[session_of[clicked]] + step
        ranks = sessions.ranks[clicked], sessions.ranks[other], sessions.last[session_of[clicked]]
        chosen = np.zeros(clicked.size, dtype=np.bool_)
        for rule in rules:
            chosen |= _RULES[rule](*ranks)
        chosen &= ~sessions.clicked[other]
        yield (
            sessions.documents[clicked[chosen]],
            sessions.documents[other[chosen]],
            session_of[clicked[chosen]],
        )
