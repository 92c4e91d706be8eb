"""What an assessor has to do in rounds of labelling: found by the link, never more than was shared."""

from dataclasses import dataclass
from functools import cached_property

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, LabellingRound, LabellingShare, LabellingTopic, Task
from leaderboard.errors import NotFound
from leaderboard.services.judging import links
from leaderboard.services.labelling.items import KINDS, OPEN, LabelItem, RoundKind, shared


@dataclass(frozen=True, eq=False)
class TopicDesk:
    """An assessor at one topic of a round."""

    here: LabellingRound
    topic: LabellingTopic
    share: LabellingShare
    decides: bool = False
    """Whether it is an adjudicator's, who decides in closed rounds too."""

    @property
    def assessor_id(self) -> int:
        """Whose desk it is."""
        return self.share.assessor_id

    @cached_property
    def shared(self) -> dict[str, LabelItem]:
        """What the assessor labels by name, in order."""
        return shared(self.here, self.topic, self.share)


@dataclass(frozen=True, eq=False)
class RoundDesk:
    """An assessor in a round: the topics in byte order."""

    assessor: Assessor
    task: Task
    here: LabellingRound
    topics: tuple[TopicDesk, ...]

    @property
    def kind(self) -> RoundKind:
        """What is made."""
        return KINDS[self.here.kind]

    @property
    def is_open(self) -> bool:
        """Whether the round takes labels."""
        return self.here.state == OPEN


def of_link(
    session: Session, token: str, number: int | None = None, topic_id: str | None = None
) -> tuple[RoundDesk, ...]:
    """The rounds, or those of a number, in which the assessor of a link has something, or has the topic.

    Raises NotFound for a dead link.
    """
    assessor = links.by_token(session, token)
    task = session.get_one(Task, assessor.task_id)
    query = (
        select(LabellingRound, LabellingTopic, LabellingShare)
        .join(LabellingTopic, LabellingTopic.round_id == LabellingRound.id)
        .join(
            LabellingShare,
            (LabellingShare.round_id == LabellingRound.id)
            & (LabellingShare.topic_id == LabellingTopic.topic_id),
        )
        .where(LabellingRound.task_id == task.id, LabellingShare.assessor_id == assessor.id)
        .order_by(LabellingRound.number, LabellingTopic.topic_id)
    )
    if number is not None:
        query = query.where(LabellingRound.number == number)
    if topic_id is not None:
        query = query.where(LabellingTopic.topic_id == topic_id)
    rounds: dict[LabellingRound, list[TopicDesk]] = {}
    for here, topic, share in session.execute(query):
        rounds.setdefault(here, []).append(TopicDesk(here, topic, share))
    return tuple(RoundDesk(assessor, task, here, tuple(topics)) for here, topics in rounds.items())


def round_desk(session: Session, token: str, number: int) -> RoundDesk:
    """The assessor's desk in one round; raises NotFound where there is nothing of theirs in it."""
    for found in of_link(session, token, number):
        return found
    raise NotFound(f"There is nothing for you to label in round {number}.")


def topic_desk(session: Session, token: str, number: int, topic_id: str) -> tuple[RoundDesk, TopicDesk]:
    """The assessor's desk at one topic; raises NotFound for any that is not the assessor's."""
    for found in of_link(session, token, number, topic_id):
        return found, found.topics[0]
    round_desk(session, token, number)
    raise NotFound(f"Topic {topic_id} is not among the topics you are asked to label.")
