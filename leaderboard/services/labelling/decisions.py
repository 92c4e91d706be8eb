"""What an adjudicator decides where assessors of a round differ: labels, or a list of nuggets of a topic."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessor, LabellingRound, LabellingShare, LabellingTopic, WrittenNugget
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.services import judging
from leaderboard.services.judging import KEY_CHARACTERS, adjudicator_of
from leaderboard.services.labelling import labels, rounds
from leaderboard.services.labelling.labels import (
    NUGGETS,
    LabelItem,
    SentItemLabel,
    TopicDesk,
    name_of,
    of_answer,
    require_open,
)
from leaderboard.services.policy import Viewer
from leaderboard.trec.answers.record import folded

VITAL, OKAY = "vital", "okay"
IMPORTANCES = {VITAL: "must be in a good answer", OKAY: "may be in it"}
NUGGET_CHARACTERS = 500
MOST_NUGGETS = 200
"""Of one assessor and topic, those that were taken out included: the list is one page."""
ACTS_A_MINUTE = 120


class SentNugget(NamedTuple):
    """A nugget as a form sends it; key is the form's, so that it is written once."""

    text: str
    importance: str
    key: str = ""


def written_nuggets(
    session: Session, round_id: int, topic_id: str | None = None, assessor_id: int | None = None
) -> Sequence[WrittenNugget]:
    """All nuggets of a round, of one topic or of one assessor, in the order they were written in."""
    query = select(WrittenNugget).where(WrittenNugget.round_id == round_id)
    if topic_id is not None:
        query = query.where(WrittenNugget.topic_id == topic_id)
    if assessor_id is not None:
        query = query.where(WrittenNugget.assessor_id == assessor_id)
    return session.scalars(query.order_by(WrittenNugget.id)).all()


def stands(nugget: WrittenNugget) -> bool:
    """Whether a nugget counts: neither merged into another nor taken out."""
    return nugget.into_id is None and not nugget.is_out


def write_nugget(session: Session, desk: TopicDesk, sent: SentNugget) -> None:
    """Write a nugget, once however often it is sent.

    Raises Closed where the round is closed or the assessor is done, Invalid for a bad text or importance,
    Conflict where the assessor has this text already, OverQuota.
    """
    _begin(session, desk)
    text = _checked(sent)
    if judging.key_problems(sent.key):
        raise Invalid("This nugget cannot be written: open the page again.")
    if _of_key(session, desk.assessor_id, sent.key) is not None:
        return
    mine = _mine(session, desk)
    if len(mine) >= MOST_NUGGETS:
        raise Conflict(f"A topic has {MOST_NUGGETS} nuggets at most; change or merge some.")
    _require_new(mine, text)
    add_nugget(session, desk, text, sent.importance, sent.key)


def add_nugget(session: Session, desk: TopicDesk, text: str, importance: str, key: str) -> None:
    """Store a nugget; one that came under the same key at this very moment is the same."""
    row = WrittenNugget(
        round_id=desk.here.id,
        topic_id=desk.topic.topic_id,
        assessor_id=desk.assessor_id,
        text=text,
        importance=importance,
        saved_at=now(session),
        key=key,
    )
    judging.store_lines(session, row)


def rewrite_nugget(session: Session, desk: TopicDesk, nugget_id: int, sent: SentNugget) -> None:
    """Give a nugget another text or importance; raises as `write_nugget`, and NotFound."""
    _begin(session, desk)
    text, mine = _checked(sent), _mine(session, desk)
    nugget = _one(mine, nugget_id)
    _require_new([other for other in mine if other is not nugget], text)
    nugget.text, nugget.importance = text, sent.importance


def merge_nuggets(session: Session, desk: TopicDesk, nugget_ids: Sequence[int]) -> None:
    """Make one nugget of several: the first keeps its text, and is vital where any is.

    Raises as `write_nugget`, Invalid for fewer than two, NotFound.
    """
    _begin(session, desk)
    mine = _mine(session, desk)
    chosen = sorted({_one(mine, nugget_id) for nugget_id in nugget_ids}, key=lambda nugget: nugget.id)
    if len(chosen) < 2:
        problem = Problem("must be two or more.", "Tick those that say the same.", field="nugget")
        raise Invalid("Nothing was merged.", [problem])
    first, *others = chosen
    if any(nugget.importance == VITAL for nugget in others):
        first.importance = VITAL
    for nugget in others:
        nugget.into_id = first.id


def take_out(session: Session, desk: TopicDesk, nugget_id: int) -> None:
    """Let a nugget count no more; it can be put back. Raises as `write_nugget`, NotFound."""
    _begin(session, desk)
    _one(_mine(session, desk), nugget_id).is_out = True


def put_back(session: Session, desk: TopicDesk, nugget_id: int) -> None:
    """Let a nugget that was merged or taken out stand by itself again; raises as `write_nugget`, NotFound."""
    _begin(session, desk)
    mine = _mine(session, desk)
    nugget = next((one for one in mine if one.id == nugget_id and not stands(one)), None)
    if nugget is None:
        raise NotFound("This nugget is neither merged nor taken out.")
    _require_new(mine, nugget.text)
    nugget.into_id, nugget.is_out = None, False


def finish_nuggets(session: Session, desk: TopicDesk, *, is_done: bool) -> None:
    """Say that the nuggets of the topic are complete, or not yet; raises Closed, Conflict without any."""
    _require_open(desk)
    if is_done and not any(map(stands, _mine(session, desk))):
        raise Conflict("There is no nugget of this topic yet; write at least one.")
    share = session.get_one(
        LabellingShare, (desk.here.id, desk.topic.topic_id, desk.assessor_id), populate_existing=True
    )
    share.done_at = now(session) if is_done else None


def _begin(session: Session, desk: TopicDesk) -> None:
    """What holds of every change: the round is open, the topic not done, nobody else changes it now."""
    _require_open(desk)
    if desk.share.done_at is not None:
        raise Conflict("You said that this topic is done; take that back to change its nuggets.")
    judging.spend(session, "nugget", desk.assessor_id, ACTS_A_MINUTE)
    # Two tabs at once could write one text twice.
    lock_row(session, LabellingRound, desk.here.id)


def _require_open(desk: TopicDesk) -> None:
    if not desk.decides:
        require_open(desk.here)


def _mine(session: Session, desk: TopicDesk) -> Sequence[WrittenNugget]:
    return written_nuggets(session, desk.here.id, desk.topic.topic_id, desk.assessor_id)


def _one(mine: Sequence[WrittenNugget], nugget_id: int) -> WrittenNugget:
    found = next((nugget for nugget in mine if nugget.id == nugget_id and stands(nugget)), None)
    if found is None:
        raise NotFound("There is no such nugget among yours of this topic.")
    return found


def _of_key(session: Session, assessor_id: int, key: str) -> WrittenNugget | None:
    return session.scalar(
        select(WrittenNugget).where(WrittenNugget.assessor_id == assessor_id, WrittenNugget.key == key)
    )


def _checked(sent: SentNugget) -> str:
    """The text with blanks folded; raises Invalid."""
    text, problems = folded(sent.text), []
    if not 1 <= len(text) <= NUGGET_CHARACTERS:
        rule = f"must have 1 to {NUGGET_CHARACTERS} characters."
        problems.append(Problem(rule, "Write one fact in a sentence.", field="text"))
    if sent.importance not in IMPORTANCES:
        problems.append(Problem("must be vital or okay.", "Press one of the two.", field="importance"))
    if problems:
        raise Invalid("This nugget cannot be written.", problems)
    return text


def _require_new(mine: Sequence[WrittenNugget], text: str) -> None:
    if any(stands(nugget) and nugget.text == text for nugget in mine):
        raise Conflict("You have a nugget with this text already.")


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
    for one in filter(stands, written_nuggets(session, here.id, topic_id)):
        if importance.get(one.text) != VITAL:
            importance[one.text] = one.importance
    at = now(session).isoformat()
    for place, (text, of) in enumerate(importance.items()):
        add_nugget(session, desk, text, of, f"{here.id}-{topic_id}-{at}-{place}"[-KEY_CHARACTERS:])


def decision_desk(session: Session, here: LabellingRound, topic_id: str) -> TopicDesk | None:
    """Where the list of nuggets that decides is made; None where nobody has begun it."""
    topic = _topic(session, here, topic_id)
    share = session.scalar(
        select(LabellingShare)
        .join(Assessor, Assessor.id == LabellingShare.assessor_id)
        .where(
            LabellingShare.round_id == here.id,
            LabellingShare.topic_id == topic_id,
            Assessor.role == judging.ADJUDICATOR,
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
