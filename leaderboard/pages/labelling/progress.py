"""How far a round of labelling is, by assessor and by topic."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from sqlalchemy.orm import Session

from leaderboard.db.tables import LabellingShare, WrittenNugget
from leaderboard.services.labelling import nuggets
from leaderboard.services.labelling.items import size
from leaderboard.services.labelling.kinds import NUGGETS, UNSURE
from leaderboard.services.labelling.labels import GivenItemLabel
from leaderboard.services.labelling.settled import RoundLabels
from leaderboard.tables.record import Shown


@dataclass(frozen=True, slots=True)
class AssessorProgress:
    """One assessor's work in a round: labels, or topics where nuggets are written."""

    name: Annotated[str, Shown(key="assessor")]
    topics: int
    asked: Annotated[int, Shown("Of")]
    done: int
    unsure: int
    """Labels that say that the assessor could not."""
    written: int
    """Nuggets that count."""
    last_at: datetime | None


@dataclass(frozen=True, slots=True)
class TopicProgress:
    """A topic of a round: what was asked of its assessors together, and where they differ."""

    topic_id: Annotated[str, Shown(key="topic")]
    assessors: str
    asked: Annotated[int, Shown("Of")]
    done: int
    twice: Annotated[int, Shown("Made twice")]
    """Items with the labels of two assessors; 1 where two wrote nuggets."""
    disagreements: Annotated[int, Shown("Differ")]
    open: Annotated[int, Shown("Undecided")]
    """Of them those without a decision."""


def written_of(session: Session, made: RoundLabels) -> tuple[WrittenNugget, ...]:
    """The nuggets of a round that count; of other kinds of rounds nothing is read."""
    if made.here.kind != NUGGETS:
        return ()
    return tuple(filter(nuggets.stands, nuggets.written(session, made.here.id)))


def by_assessor(made: RoundLabels, written: Sequence[WrittenNugget]) -> tuple[AssessorProgress, ...]:
    """Every assessor of the round but those who decide, by name."""
    asked = Counter[int]()
    for share in made.shares:
        asked[share.assessor_id] += _asked(made, share)
    topics = Counter(share.assessor_id for share in made.shares)
    given = {one.id: [label for label in made.given if label.assessor_id == one.id] for one in made.assessors}
    own = {one.id: [nugget for nugget in written if nugget.assessor_id == one.id] for one in made.assessors}
    return tuple(
        AssessorProgress(
            name=one.name,
            topics=topics[one.id],
            asked=asked[one.id],
            done=len(given[one.id])
            + sum(_is_done(share) for share in made.shares if share.assessor_id == one.id),
            unsure=sum(label.label == UNSURE for label in given[one.id]),
            written=len(own[one.id]),
            last_at=max(_moments(given[one.id], own[one.id]), default=None),
        )
        for one in made.assessors
        if not one.is_adjudicator
    )


def by_topic(
    made: RoundLabels, open_topics: Sequence[str], open_items: Counter[str]
) -> tuple[TopicProgress, ...]:
    """Every topic; open_topics: those whose lists of nuggets differ, open_items: undecided items by topic."""
    names = {one.id: one.name for one in made.assessors if not one.is_adjudicator}
    found = []
    given = Counter(one.item.topic_id for one in made.given if one.assessor_id in names)
    twice, differing = Counter[str](), Counter[str]()
    for item, labels in made.by_item.items():
        said = {label for assessor, label in labels.items() if assessor in names and label != UNSURE}
        twice[item.topic_id] += sum(assessor in names for assessor in labels) > 1
        differing[item.topic_id] += len(said) > 1
    for topic_id in made.topics:
        shares = [share for share in made.shares if share.topic_id == topic_id and share.assessor_id in names]
        is_open = topic_id in open_topics
        found.append(
            TopicProgress(
                topic_id=topic_id,
                assessors=", ".join(names[share.assessor_id] for share in shares),
                asked=sum(_asked(made, share) for share in shares),
                done=given[topic_id] + sum(map(_is_done, shares)),
                twice=twice[topic_id] or int(made.here.kind == NUGGETS and len(shares) > 1),
                disagreements=differing[topic_id] or int(is_open),
                open=open_items[topic_id] or int(is_open),
            )
        )
    return tuple(found)


def _asked(made: RoundLabels, share: LabellingShare) -> int:
    """What an assessor is asked for a topic: labels, or one list of nuggets."""
    if made.here.kind == NUGGETS:
        return 1
    return size(made.here, made.topics[share.topic_id], share)


def _moments(given: Sequence[GivenItemLabel], own: Sequence[WrittenNugget]) -> list[datetime]:
    return [*(label.saved_at for label in given), *(nugget.saved_at for nugget in own)]


def _is_done(share: LabellingShare) -> bool:
    return share.done_at is not None
