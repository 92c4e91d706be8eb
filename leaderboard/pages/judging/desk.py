"""What is left to do at a desk, topic by topic, and the links that lead to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from leaderboard.services.judging.links import PersonalLink
from leaderboard.tables.record import Column, Shown, Table, columns_from


@dataclass(frozen=True, slots=True)
class DeskTopic:
    """A topic as its assessor's list shows it; items: labels asked for, or 1 where nuggets are written."""

    number: int
    """Of the pool or round."""
    topic_id: Annotated[str, Shown(key="topic")]
    title: str
    items: Annotated[int, Shown("Of")]
    done: int

    @property
    def left(self) -> int:
        """What is still to be done."""
        return max(self.items - self.done, 0)


@dataclass(frozen=True, slots=True)
class DeskPart:
    """A pool or a round in which an assessor has something to do."""

    topics: tuple[DeskTopic, ...]

    @property
    def items(self) -> int:
        """All that is asked for."""
        return sum(topic.items for topic in self.topics)

    @property
    def done(self) -> int:
        """How much of it is done."""
        return sum(min(topic.done, topic.items) for topic in self.topics)

    @property
    def next_topic(self) -> DeskTopic | None:
        """The first topic with something left."""
        return next((topic for topic in self.topics if topic.left), None)


def topics_table(part: DeskPart, done: str, caption: str) -> Table[DeskTopic]:
    """An assessor's topics; done: what is counted, as its head says it."""
    columns = columns_from(
        DeskTopic,
        "topic_id",
        Column("done", lambda row: row.done, done, digits=0),
        "items",
        Column("progress", lambda row: row.done, "Progress"),
    )
    return Table("topics", caption, columns, part.topics)


def links_table(links: Sequence[PersonalLink]) -> Table[PersonalLink]:
    """New personal links, for the one page that shows them."""
    caption = "One link an assessor; it works until it is revoked"
    return Table("links", caption, columns_from(PersonalLink, "name token"), links)
