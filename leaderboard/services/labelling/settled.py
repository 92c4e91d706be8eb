"""From what assessors made in a round to one label an item, or one list of nuggets a topic."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, LabellingRound, LabellingShare, LabellingTopic, WrittenNugget
from leaderboard.errors import Invalid
from leaderboard.services.assessors import links
from leaderboard.services.labelling import labels, nuggets, rounds
from leaderboard.services.labelling.items import LabelItem, of_answer
from leaderboard.services.labelling.kinds import UNSURE
from leaderboard.services.labelling.labels import GivenItemLabel
from leaderboard.stats.assessors.settling import RULES, settle
from leaderboard.trec.nuggets.sets import Nugget

USUAL = "adjudicated"


@dataclass(frozen=True, slots=True)
class RoundAssessor:
    """Somebody who made something in a round, or was asked to."""

    id: int
    name: str
    is_adjudicator: bool


@dataclass(frozen=True, eq=False)
class RoundLabels:
    """A round with all that was labelled in it; assessors by name, adjudicators last."""

    here: LabellingRound
    topics: Mapping[str, LabellingTopic]
    shares: tuple[LabellingShare, ...]
    assessors: tuple[RoundAssessor, ...]
    given: tuple[GivenItemLabel, ...]

    @cached_property
    def items(self) -> tuple[LabelItem, ...]:
        """All that there is to be labelled."""
        return tuple(
            item
            for topic in self.topics.values()
            for answer in topic.answers
            for item in of_answer(topic.topic_id, answer)
        )

    @cached_property
    def adjudicators(self) -> frozenset[int]:
        """The ids of those whose labels decide."""
        return frozenset(one.id for one in self.assessors if one.is_adjudicator)

    @cached_property
    def by_item(self) -> dict[LabelItem, dict[int, int]]:
        """Item -> assessor -> label in force."""
        found: dict[LabelItem, dict[int, int]] = {}
        for one in self.given:
            found.setdefault(one.item, {})[one.assessor_id] = one.label
        return found

    @property
    def undecided(self) -> tuple[LabelItem, ...]:
        """Items that assessors label differently and nobody decided on, in their order."""
        deciding = self.adjudicators
        return tuple(
            item
            for item, labels in sorted(self.by_item.items())
            if deciding.isdisjoint(labels) and len(set(labels.values()) - {UNSURE}) > 1
        )


@dataclass(frozen=True)
class SettledLabels:
    """One label an item by a rule; the others are open, which an adjudicator decides, or nobody could say."""

    rule: str
    labels: Mapping[LabelItem, int]
    open: tuple[LabelItem, ...]
    unsure: tuple[LabelItem, ...]
    left: int
    """Items without any label."""


@dataclass(frozen=True)
class SettledNuggets:
    """One list of nuggets a topic: of the adjudicator, of the one who wrote, or that all wrote alike."""

    topics: Mapping[str, tuple[Nugget, ...]]
    open: tuple[str, ...]
    """Topics that two assessors wrote differing lists of, and nobody decided."""
    left: tuple[str, ...]
    """Topics that somebody is not done with."""


def round_labels(session: Session, here: LabellingRound) -> RoundLabels:
    """All of a round; a few statements."""
    of_task = Assessor.task_id == here.task_id
    rows = session.execute(select(Assessor.id, Assessor.name, Assessor.role).where(of_task)).all()
    given, shares = labels.in_force(session, here.id), tuple(rounds.shares_of(session, here.id))
    there = {one.assessor_id for one in given} | {share.assessor_id for share in shares}
    people = [
        RoundAssessor(row.id, row.name, row.role == links.ADJUDICATOR) for row in rows if row.id in there
    ]
    return RoundLabels(
        here=here,
        topics={topic.topic_id: topic for topic in rounds.topics_of(session, here.id)},
        shares=shares,
        assessors=tuple(sorted(people, key=lambda one: (one.is_adjudicator, one.name, one.id))),
        given=given,
    )


@dataclass(frozen=True, slots=True)
class _Event:
    """A label as rules of settling read it."""

    topic_id: str
    docno: str
    assessor: str
    grade: int | None
    saved_at: datetime


def settled_labels(made: RoundLabels, rule: str = USUAL) -> SettledLabels:
    """One label an item by one of the rules for grades; raises Invalid for another rule.

    Who could not say counts as having skipped the item.
    """
    if rule not in RULES:
        raise Invalid(f"Labels are settled by one of {', '.join(RULES)}, not {rule[:20]!r}.")
    by_name = {str(at): item for at, item in enumerate(made.items)}
    place = {item: name for name, item in by_name.items()}
    events = [
        _Event(
            topic_id=one.item.topic_id,
            docno=place[one.item],
            assessor=str(one.assessor_id),
            grade=None if one.label == UNSURE else one.label,
            saved_at=one.saved_at,
        )
        for one in made.given
        if one.item in place
    ]
    found = settle(events, RULES[rule].key, adjudicators={str(one) for one in made.adjudicators})
    return SettledLabels(
        rule=rule,
        labels={by_name[name]: label for (_, name), label in found.grades.items()},
        open=tuple(by_name[name] for _, name in found.open),
        unsure=tuple(by_name[name] for _, name in found.skipped),
        left=len(place) - len({event.docno for event in events}),
    )


def settled_nuggets(session: Session, made: RoundLabels) -> SettledNuggets:
    """One list of nuggets a topic, where all who have it are done; one statement."""
    lists: dict[tuple[str, int], list[WrittenNugget]] = {}
    for one in nuggets.written(session, made.here.id):
        if nuggets.stands(one):
            lists.setdefault((one.topic_id, one.assessor_id), []).append(one)
    topics, still_open, left = {}, [], []
    for topic_id in made.topics:
        shares = [share for share in made.shares if share.topic_id == topic_id]
        decided = [share for share in shares if share.assessor_id in made.adjudicators and share.done_at]
        asked = decided[-1:] or [share for share in shares if share.assessor_id not in made.adjudicators]
        found = [_listed(lists.get((topic_id, share.assessor_id), [])) for share in asked]
        if any(share.done_at is None for share in asked):
            left.append(topic_id)
        elif any(set(one) != set(found[0]) for one in found):
            still_open.append(topic_id)
        else:
            topics[topic_id] = found[0]
    return SettledNuggets(topics, tuple(still_open), tuple(left))


def _listed(written: list[WrittenNugget]) -> tuple[Nugget, ...]:
    """The nuggets of a list, vital ones first."""
    ordered = sorted(written, key=lambda one: (one.importance != nuggets.VITAL, one.id))
    return tuple(Nugget(one.text, "vital" if one.importance == nuggets.VITAL else "okay") for one in ordered)
