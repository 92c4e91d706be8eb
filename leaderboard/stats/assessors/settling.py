"""From assessors' labels to one grade a document: pure rules over the events of assessing."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

RuleKey = Literal["single", "majority", "last", "mean", "max", "adjudicated"]
Ties = Literal["lower", "higher", "open"]
"""What majority makes of grades that equally many gave: the lower, the higher, or nothing yet."""


class Label(NamedTuple):
    """One event: an assessor's grade of one document; grade None where it was skipped."""

    topic: str
    docno: str
    assessor: str
    grade: int | None
    at: float
    """When, in seconds from any beginning; of equal times the later in the log is the later."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A way to settle on one grade."""

    key: RuleKey
    title: str
    question: str
    """What it does with documents that several assessors judged."""


@dataclass(frozen=True, slots=True)
class Settled:
    """The outcome of a rule, by (topic, docno), sorted."""

    grades: dict[tuple[str, str], int]
    open: tuple[tuple[str, str], ...]
    """Judged documents that the rule leaves without a grade: an assessor must decide."""
    disagreed: tuple[tuple[str, str], ...]
    """Documents whose assessors, adjudicators apart, gave different grades, settled or not."""
    skipped: tuple[tuple[str, str], ...]
    """Documents shown to assessors that none of them graded."""


RULES: dict[RuleKey, Rule] = {
    rule.key: rule
    for rule in (
        Rule(
            "single",
            "first assessor",
            "The label of the assessor who judged it first; others only show agreement.",
        ),
        Rule("majority", "majority", "The grade that most gave; of equally many the lower one."),
        Rule("last", "last label", "The label that was given last, by any assessor."),
        Rule("mean", "mean, rounded", "The mean of all labels, rounded to the nearest grade, halves up."),
        Rule("max", "highest", "The highest grade that any assessor gave."),
        Rule(
            "adjudicated",
            "adjudicated",
            "The adjudicator's grade; without one, what all assessors agree on, else none yet.",
        ),
    )
}


def in_force(events: Iterable[Label]) -> list[Label]:
    """The last label of each assessor of each document, oldest first; none where that was a skip.

    Of labels that were undone the caller has left out the events.

    >>> [label.grade for label in in_force([Label("1", "a", "x", 0, 1.0), Label("1", "a", "x", 2, 2.0)])]
    [2]
    """
    last = {(event.topic, event.docno, event.assessor): event for event in _by_time(events)}
    return _by_time(event for event in last.values() if event.grade is not None)


def settle(
    events: Iterable[Label], rule: RuleKey, *, adjudicators: Collection[str] = (), ties: Ties = "lower"
) -> Settled:
    """One grade a document by a rule of RULES.

    adjudicators: assessors whose label decides where the rule is adjudicated; by the other rules they
    count as all do. ties is for majority alone. A document whose only assessor skipped it has
    no grade and is not open. mean rounds halves up: 0 and 1 make 1.
    """
    log = _by_time(events)
    began: dict[tuple[str, str, str], int] = {}
    for place, event in enumerate(log):
        if event.grade is not None:
            began.setdefault((event.topic, event.docno, event.assessor), place)
    labels: dict[tuple[str, str], list[tuple[str, int]]] = {}
    in_order = in_force(log)
    if rule == "single":
        in_order.sort(key=lambda event: began[event.topic, event.docno, event.assessor])
    for event in in_order:
        if event.grade is not None:
            labels.setdefault((event.topic, event.docno), []).append((event.assessor, event.grade))
    grades: dict[tuple[str, str], int] = {}
    still_open, disagreed = [], []
    for document, given in sorted(labels.items()):
        if len({grade for assessor, grade in given if assessor not in adjudicators}) > 1:
            disagreed.append(document)
        decision = _settled(rule, given, adjudicators, ties)
        if decision is None:
            still_open.append(document)
        else:
            grades[document] = decision
    skipped = {(event.topic, event.docno) for event in log} - labels.keys()
    return Settled(grades, tuple(still_open), tuple(disagreed), tuple(sorted(skipped)))


def _by_time(events: Iterable[Label]) -> list[Label]:
    return sorted(events, key=lambda event: event.at)


def _settled(
    rule: RuleKey, given: Sequence[tuple[str, int]], adjudicators: Collection[str], ties: Ties
) -> int | None:
    """The grade of labels (assessor, grade), the oldest first."""
    if rule == "adjudicated":
        decided = [grade for assessor, grade in given if assessor in adjudicators]
        return decided[-1] if decided else _agreed([grade for _, grade in given])
    labels = [grade for _, grade in given]
    return majority(labels, ties) if rule == "majority" else _SIMPLE[rule](labels)


def majority(grades: Sequence[int], ties: Ties = "lower") -> int | None:
    """The grade given most often; None for a tie that stays open.

    >>> majority([0, 2, 2]), majority([0, 2]), majority([0, 2], "higher"), majority([0, 2], "open")
    (2, 0, 2, None)
    """
    counts = Counter(grades)
    most = max(counts.values())
    best = sorted(grade for grade, count in counts.items() if count == most)
    if len(best) > 1 and ties == "open":
        return None
    return best[-1] if ties == "higher" else best[0]


def rounded_mean(grades: Sequence[int]) -> int:
    """The mean as a whole number, halves up.

    >>> rounded_mean([0, 1]), rounded_mean([0, 0, 1]), rounded_mean([0, 3])
    (1, 0, 2)
    """
    return (2 * sum(grades) + len(grades)) // (2 * len(grades))


def _agreed(grades: Sequence[int]) -> int | None:
    return grades[0] if len(set(grades)) == 1 else None


_SIMPLE: dict[str, Callable[[Sequence[int]], int]] = {
    "single": lambda grades: grades[0],
    "last": lambda grades: grades[-1],
    "mean": rounded_mean,
    "max": max,
}
"""Rules that need no more than the grades, the oldest first."""
