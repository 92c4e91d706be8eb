"""From assessors' labels to one grade a document: pure rules over the events of assessing."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, TypeVar

RuleKey = Literal["single", "majority", "last", "mean", "max", "adjudicated"]
Ties = Literal["lower", "higher", "open"]
"""What majority makes of grades that equally many gave: the lower, the higher, or nothing yet."""


class Label(Protocol):
    """One event: an assessor's grade of one document."""

    @property
    def topic_id(self) -> str:
        """Which topic."""

    @property
    def docno(self) -> str:
        """Which document."""

    @property
    def assessor(self) -> str:
        """Who judged."""

    @property
    def grade(self) -> int | None:
        """None where the document was skipped."""

    @property
    def saved_at(self) -> datetime:
        """Of equal moments the later in the log is the later."""


AnyLabel = TypeVar("AnyLabel", bound=Label)


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
    """Judged documents that the rule leaves without a grade: an adjudicator must decide."""
    disagreed: tuple[tuple[str, str], ...]
    """Documents whose assessors, adjudicators apart, gave different grades, settled or not."""
    skipped: tuple[tuple[str, str], ...]
    """Documents shown to assessors that none of them graded."""


RULES: dict[RuleKey, Rule] = {
    rule.key: rule
    for rule in (
        Rule("single", "first assessor", "The label of the first assessor; others only show agreement."),
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


def in_force(events: Iterable[AnyLabel]) -> list[AnyLabel]:
    """The last label of each assessor of each document, oldest first; none where that was a skip.

    Of labels that were undone the caller has left out the events.
    """
    last = {(label.topic_id, label.docno, label.assessor): label for label in _by_time(events)}
    return _by_time(label for label in last.values() if label.grade is not None)


def settle(
    events: Iterable[Label], rule: RuleKey, *, adjudicators: Collection[str] = (), ties: Ties = "lower"
) -> Settled:
    """One grade a document by a rule of RULES.

    adjudicators: assessors whose label decides where the rule is adjudicated; by the other rules they
    count as everybody does. ties is for majority alone. A document whose only assessor skipped it has
    no grade and is not open. mean rounds halves up: 0 and 1 make 1.
    """
    log = _by_time(events)
    began: dict[tuple[str, str, str], int] = {}
    for place, label in enumerate(log):
        if label.grade is not None:
            began.setdefault((label.topic_id, label.docno, label.assessor), place)
    labels: dict[tuple[str, str], list[tuple[str, int]]] = {}
    in_order = in_force(log)
    if rule == "single":
        in_order.sort(key=lambda label: began[label.topic_id, label.docno, label.assessor])
    for label in in_order:
        if label.grade is not None:
            labels.setdefault((label.topic_id, label.docno), []).append((label.assessor, label.grade))
    grades: dict[tuple[str, str], int] = {}
    still_open, disagreed = [], []
    for document, given in sorted(labels.items()):
        if len({grade for assessor, grade in given if assessor not in adjudicators}) > 1:
            disagreed.append(document)
        grade = _settled(rule, given, adjudicators, ties)
        if grade is None:
            still_open.append(document)
        else:
            grades[document] = grade
    skipped = {(label.topic_id, label.docno) for label in log} - labels.keys()
    return Settled(grades, tuple(still_open), tuple(disagreed), tuple(sorted(skipped)))


def _by_time(events: Iterable[AnyLabel]) -> list[AnyLabel]:
    return sorted(events, key=lambda label: label.saved_at)


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
