"""What is left to do at a desk, topic by topic, and the links that lead to it."""

from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.services.judging.links import PersonalLink
from leaderboard.tables.record import Column, Place, Table


@dataclass(frozen=True, slots=True)
class DeskTopic:
    """A topic as its assessor's list shows it; items: labels asked for, or 1 where nuggets are written."""

    number: int
    """Of the pool or round."""
    topic_id: str
    title: str
    items: int
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
    columns: list[Column[DeskTopic]] = [
        Column(key="topic", head="Topic", value=lambda row: row.topic_id),
        Column(key="done", head=done, value=lambda row: row.done, digits=0),
        Column(key="items", head="Of", value=lambda row: row.items, digits=0),
        Column(key="progress", head="Progress", value=lambda row: row.done),
    ]
    return Table(name="topics", caption=caption, columns=columns, rows=part.topics)


def links_table(links: Sequence[PersonalLink]) -> Table[PersonalLink]:
    """New personal links, for the one page that shows them."""
    columns: list[Column[PersonalLink]] = [
        Column(key="name", head="Name", value=lambda link: link.name),
        Column(key="link", head="Link", value=lambda link: link.token, shown=Place.PAGE),
    ]
    caption = "One link an assessor; it works until it is revoked"
    return Table(name="links", caption=caption, columns=columns, rows=links)
