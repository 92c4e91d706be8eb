"""What an adjudicator decides where assessors of a round differ: labels, or a list of nuggets of a topic."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessor, LabellingRound, LabellingShare, LabellingTopic
from leaderboard.errors import Conflict, NotFound
from leaderboard.services.judging import links
from leaderboard.services.judging.links import adjudicator_of
from leaderboard.services.judging.log import KEY_CHARACTERS
from leaderboard.services.labelling import labels, nuggets, rounds
from leaderboard.services.labelling.desks import TopicDesk
from leaderboard.services.labelling.items import NUGGETS, LabelItem, name_of, of_answer
from leaderboard.services.labelling.labels import SentItemLabel
from leaderboard.services.policy import Viewer


def decide(session: Session, viewer: Viewer, slug: str, number: int, sent: SentItemLabel) -> None:
    """Store the viewer's label of an item, which decides; a later one replaces it.

    Raises NotFound for an item that the round does not have, and as `labels.store`.
    """
    task, here = rounds.own_round(session, viewer, slug, number)
    item = find_item(session, here, sent.item)
    labels.store(session, here, adjudicator_of(session, viewer, task).id, item, sent)


def find_item(session: Session, here: LabellingRound, name: str) -> LabelItem:
    """The item of a round by its name; raises NotFound."""
    for topic in rounds.topics_of(session, here.id):
        for answer in topic.answers:
            for item in of_answer(topic.topic_id, answer):
                if name_of(here.secret, item) == name:
                    return item
    raise NotFound(f"Round {here.number} has no such item.")


def begin(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> None:
    """Start a list of nuggets that decides, from all that assessors of a topic wrote; texts alike are one.

    Raises Conflict where it was begun already, and for a round of another kind.
    """
    task, here = rounds.own_round(session, viewer, slug, number)
    lock_row(session, LabellingRound, here.id)
    topic = _topic(session, here, topic_id)
    if decision_desk(session, here, topic_id) is not None:
        raise Conflict("The list that decides was begun already.")
    share = LabellingShare(
        round_id=here.id, topic_id=topic_id, assessor_id=adjudicator_of(session, viewer, task).id
    )
    session.add(share)
    session.flush()
    desk = TopicDesk(here, topic, share, decides=True)
    importance: dict[str, str] = {}
    for one in filter(nuggets.stands, nuggets.written(session, here.id, topic_id)):
        if importance.get(one.text) != nuggets.VITAL:
            importance[one.text] = one.importance
    at = now(session).isoformat()
    for place, (text, of) in enumerate(importance.items()):
        nuggets.add(session, desk, text, of, f"{here.id}-{topic_id}-{at}-{place}"[-KEY_CHARACTERS:])


def decision_desk(session: Session, here: LabellingRound, topic_id: str) -> TopicDesk | None:
    """Where the list of nuggets that decides is made; None where nobody has begun it."""
    topic = _topic(session, here, topic_id)
    share = session.scalar(
        select(LabellingShare)
        .join(Assessor, Assessor.id == LabellingShare.assessor_id)
        .where(
            LabellingShare.round_id == here.id,
            LabellingShare.topic_id == topic_id,
            Assessor.role == links.ADJUDICATOR,
        )
    )
    return None if share is None else TopicDesk(here, topic, share, decides=True)


def own_decision_desk(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> TopicDesk:
    """As `decision_desk`, for who may change it; raises Conflict where nobody has begun."""
    _, here = rounds.own_round(session, viewer, slug, number)
    desk = decision_desk(session, here, topic_id)
    if desk is None:
        raise Conflict("Begin the list that decides first.")
    return desk


def _topic(session: Session, here: LabellingRound, topic_id: str) -> LabellingTopic:
    topic = session.get(LabellingTopic, (here.id, topic_id))
    if topic is None or here.kind != NUGGETS:
        raise NotFound(f"Round {here.number} makes no nuggets of topic {topic_id}.")
    return topic
