"""Preferences between documents from clicks on a ranking.

Rules of Joachims, Optimizing Search Engines Using Clickthrough Data, KDD 2002, and of Joachims, Granka,
Pan, Hembrooke and Gay, Accurately Interpreting Clickthrough Data as Implicit Feedback, SIGIR 2005.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Literal

Rule = Literal[
    "click > skip above",
    "last click > skip above",
    "click > skip previous",
    "click > no-click next",
    "click > no click",
]
Session = tuple[Sequence[str], Sequence[int]]
"""The documents shown, in rank order, and for each whether it was clicked: 1 or 0."""

_RULES: dict[Rule, Callable[[int, int, int], bool]] = {
    "click > skip above": lambda clicked, other, _: other < clicked,
    "last click > skip above": lambda clicked, other, last: other < clicked == last,
    "click > skip previous": lambda clicked, other, _: other == clicked - 1,
    "click > no-click next": lambda clicked, other, _: other == clicked + 1,
    "click > no click": lambda *_: True,
}
"""Whether a clicked place is preferred to one not clicked, given the lowest clicked place."""


def preferences(
    documents: Sequence[str], clicks: Sequence[int], rules: Iterable[Rule]
) -> list[tuple[str, str]]:
    """The pairs (better, worse) any of the rules sees in one session, by rank of the better, then worse.

    documents: those shown, in rank order; clicks: 1 for each that was clicked, else 0. The last click
    is taken to be the lowest, since the order in time is not known. `click > no click` prefers a
    clicked document to every other, also to those below the last click, which may never have been
    seen: the reader's attention is what the other rules are about.

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
    """How many sessions of one topic show each preference (better, worse), if at least `least` do.

    Both directions of a pair can be kept: readers differ. Sorted by docnos.

    >>> evidence([(["a", "b"], [0, 1]), (["a", "b"], [0, 1])], ["click > skip above"], least=2)
    {('b', 'a'): 2}
    """
    counts = Counter(pair for session in sessions for pair in preferences(*session, rules))
    return {pair: count for pair, count in sorted(counts.items()) if count >= least}
