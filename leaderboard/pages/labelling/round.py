"""One round of labelling as its organisers see it: progress, agreement, what came of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations
from typing import Annotated, Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import WrittenNugget
from leaderboard.pages.labelling import progress
from leaderboard.pages.labelling.progress import AssessorProgress, TopicProgress
from leaderboard.services import policy
from leaderboard.services.labelling import files, rounds
from leaderboard.services.labelling.items import name_of
from leaderboard.services.labelling.kinds import KINDS, NUGGETS, UNSURE, RoundKind
from leaderboard.services.labelling.rounds import OPEN
from leaderboard.services.labelling.settled import (
    USUAL,
    RoundLabels,
    round_labels,
    settled_labels,
    settled_nuggets,
)
from leaderboard.services.policy import Viewer
from leaderboard.stats.assessors import agreement
from leaderboard.stats.assessors.agreement import Alpha, Kappa, Share
from leaderboard.tables.record import Shown


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two assessors on the items both labelled; kappa plain, and with labels that are close half agreeing."""

    first: str
    second: str
    items: int
    raw: Share
    plain: Kappa
    linear: Kappa


@dataclass(frozen=True, slots=True)
class ListAgreement:
    """Two assessors' lists of nuggets of one topic: how many each has, and how many texts are the same."""

    topic_id: Annotated[str, Shown(key="topic")]
    first: str
    second: str
    of_first: Annotated[int, Shown("Nuggets of the first")]
    of_second: Annotated[int, Shown("of the second")]
    same: Annotated[int, Shown("Same text")]


@dataclass(frozen=True, slots=True)
class SettledCount:
    """What a rule makes of the round: items or topics with an outcome, without one, not labelled yet."""

    settled: int
    open: int
    unsure: int
    left: int
    whole: int
    """Answers, or topics, that a revision would hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundPage:
    """All that organisers see of a round."""

    task: str
    slug: str
    number: int
    kind: RoundKind
    is_open: bool
    revision: int | None
    every_citation: bool
    twice: float
    guidelines: str
    created_at: datetime
    may_change: bool
    may_publish: bool
    assessors: tuple[AssessorProgress, ...]
    topics: tuple[TopicProgress, ...]
    alpha: Alpha | None
    """Of all labels, their order counting; None where nuggets are written."""
    pairs: tuple[PairAgreement, ...]
    lists: tuple[ListAgreement, ...]
    rule: str
    settled: SettledCount
    first_open: str | None
    """The name of the first item, or the topic, that waits for a decision."""

    @property
    def asked(self) -> int:
        """All that is asked for."""
        return sum(one.asked for one in self.assessors)

    @property
    def done(self) -> int:
        """How much of it is done."""
        return sum(one.done for one in self.assessors)

    @property
    def disagreements(self) -> int:
        """Items, or topics, on which assessors differ."""
        return sum(topic.disagreements for topic in self.topics)


def round_page(session: Session, viewer: Viewer, slug: str, number: int, rule: str = USUAL) -> RoundPage:
    """A round as it is now, settled by a rule; raises as `seen_round`, and Invalid for another rule."""
    task, here = rounds.seen_round(session, viewer, slug, number)
    made = round_labels(session, here)
    written = progress.written_of(session, made)
    is_written = here.kind == NUGGETS
    topics, items = _open(session, made)
    first_open = next(iter(topics if is_written else items), None)
    return RoundPage(
        task=task.name,
        slug=task.slug,
        number=number,
        kind=KINDS[here.kind],
        is_open=here.state == OPEN,
        revision=here.revision,
        every_citation=here.every_citation,
        twice=here.twice,
        guidelines=here.guidelines,
        created_at=here.created_at,
        may_change=policy.coordinates(viewer, task.id),
        may_publish=policy.organises(viewer, task.id),
        assessors=progress.by_assessor(made, written),
        topics=progress.by_topic(made, topics, Counter(items.values())),
        alpha=None if is_written else agreement.alpha(_ratings(made), "ordinal"),
        pairs=() if is_written else tuple(_pairs(made)),
        lists=tuple(_lists(made, written)),
        rule=rule,
        settled=_settled(session, made, rule),
        first_open=first_open,
    )


def _open(session: Session, made: RoundLabels) -> tuple[tuple[str, ...], dict[str, str]]:
    """Topics whose lists differ undecided; names of items that do, with their topics."""
    if made.here.kind == NUGGETS:
        return settled_nuggets(session, made).open, {}
    return (), {name_of(made.here.secret, item): item.topic_id for item in made.undecided}


def _settled(session: Session, made: RoundLabels, rule: str) -> SettledCount:
    if made.here.kind == NUGGETS:
        found = settled_nuggets(session, made)
        return SettledCount(len(found.topics), len(found.open), 0, len(found.left), len(found.topics))
    labels = settled_labels(made, rule)
    whole = len(files.cells(made, labels))
    return SettledCount(len(labels.labels), len(labels.open), len(labels.unsure), labels.left, whole)


def _ratings(made: RoundLabels) -> agreement.Ratings:
    """Labels of those who do not decide; who could not say gave none."""
    names = {one.id: one.name for one in made.assessors if not one.is_adjudicator}
    return agreement.ratings(
        (one.item.topic_id, " ".join(map(str, one.item[1:])), names[one.assessor_id], one.label)
        for one in made.given
        if one.assessor_id in names and one.label != UNSURE
    )


def _pairs(made: RoundLabels) -> Sequence[PairAgreement]:
    table = _ratings(made)
    found = []
    for first, second in combinations(range(len(table.assessors)), 2):
        one, other = agreement.pair(table, first, second)
        if one.size:
            confusion = agreement.confusion(one, other)
            found.append(
                PairAgreement(
                    first=table.assessors[first],
                    second=table.assessors[second],
                    items=int(one.size),
                    raw=agreement.raw(confusion),
                    plain=agreement.cohen(confusion),
                    linear=agreement.cohen(confusion, "linear"),
                )
            )
    return sorted(found, key=lambda pair: -pair.items)


def _lists(made: RoundLabels, written: Sequence[WrittenNugget]) -> Sequence[ListAgreement]:
    names = {one.id: one.name for one in made.assessors if not one.is_adjudicator}
    texts: dict[tuple[str, int], set[str]] = {}
    for one in written:
        texts.setdefault((one.topic_id, one.assessor_id), set()).add(one.text)
    found = []
    for topic_id in made.topics if made.here.kind == NUGGETS else ():
        people = [share.assessor_id for share in made.shares if share.topic_id == topic_id]
        for first, second in combinations([person for person in people if person in names], 2):
            own, others = texts.get((topic_id, first), set()), texts.get((topic_id, second), set())
            both = len(own & others)
            found.append(ListAgreement(topic_id, names[first], names[second], len(own), len(others), both))
    return found


def facts(page: RoundPage) -> dict[str, Any]:
    """The round in plain values."""
    settled = page.settled
    return {
        "task": page.slug,
        "round": page.number,
        "kind": page.kind.part,
        "open": page.is_open,
        "revision": page.revision,
        "every_citation": page.every_citation,
        "twice": page.twice,
        "asked": page.asked,
        "done": page.done,
        "disagreements": page.disagreements,
        "alpha": page.alpha.value if page.alpha else None,
        "rule": page.rule,
        "settled": {
            "settled": settled.settled,
            "open": settled.open,
            "unsure": settled.unsure,
            "left": settled.left,
            "whole": settled.whole,
        },
    }
