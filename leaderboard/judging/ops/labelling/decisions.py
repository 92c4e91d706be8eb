"""Adjudication of a round: decisions on labels, or the adjudicated nugget list of a topic."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessor, LabellingRound, LabellingShare, LabellingTopic, WrittenNugget
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.judging import KEY_CHARACTERS, adjudicator_of
from leaderboard.judging.ops.labelling import labels, rounds
from leaderboard.judging.ops.labelling.labels import (
    NUGGETS,
    LabelItem,
    SentItemLabel,
    TopicDesk,
    name_of,
    of_answer,
    require_open,
)
from leaderboard.trec.answers.record import folded

VITAL, OKAY = "vital", "okay"
IMPORTANCES = {VITAL: "a good answer must contain it", OKAY: "a good answer may contain it"}
NUGGET_CHARACTERS = 500
MOST_NUGGETS = 200
"""Limit per assessor and topic, including removed nuggets: the list is one page."""
ACTS_A_MINUTE = 120


class SentNugget(NamedTuple):
    """A submitted nugget; the form chooses the key, so that it is stored once."""

    text: str
    importance: str
    key: str = ""


def written_nuggets(
    session: Session, round_id: int, topic_id: str | None = None, assessor_id: int | None = None
) -> Sequence[WrittenNugget]:
    """All nuggets of a round, of one topic or of one assessor, in order of creation."""
    query = select(WrittenNugget).where(WrittenNugget.round_id == round_id)
    if topic_id is not None:
        query = query.where(WrittenNugget.topic_id == topic_id)
    if assessor_id is not None:
        query = query.where(WrittenNugget.assessor_id == assessor_id)
    return session.scalars(query.order_by(WrittenNugget.id)).all()


def stands(nugget: WrittenNugget) -> bool:
    """Whether a nugget counts: neither merged into another nor removed."""
    return nugget.into_id is None and not nugget.is_out


def write_nugget(session: Session, desk: TopicDesk, sent: SentNugget) -> None:
    """Add a nugget; repeated requests are stored once.

    Raises Closed if the round is closed or the list complete, Invalid for an invalid text or importance,
    Conflict if the assessor already has this text, OverQuota.
    """
    _begin(session, desk)
    text = _checked(sent)
    if judging.key_problems(sent.key):
        raise Invalid("This nugget cannot be added. Reload the page.")
    if _of_key(session, desk.assessor_id, sent.key) is not None:
        return
    mine = _mine(session, desk)
    if len(mine) >= MOST_NUGGETS:
        raise Conflict(f"A topic can have at most {MOST_NUGGETS} nuggets. Edit or merge some.")
    _require_new(mine, text)
    add_nugget(session, desk, text, sent.importance, sent.key)


def add_nugget(session: Session, desk: TopicDesk, text: str, importance: str, key: str) -> None:
    """Store a nugget; a simultaneous request with the same key is the same nugget."""
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
    """Change the text or importance of a nugget; raises as `write_nugget`, and NotFound."""
    _begin(session, desk)
    text, mine = _checked(sent), _mine(session, desk)
    nugget = _one(mine, nugget_id)
    _require_new([other for other in mine if other is not nugget], text)
    nugget.text, nugget.importance = text, sent.importance


def merge_nuggets(session: Session, desk: TopicDesk, nugget_ids: Sequence[int]) -> None:
    """Merge nuggets: the first keeps its text, and becomes vital if any is.

    Raises as `write_nugget`, Invalid for fewer than two, NotFound.
    """
    _begin(session, desk)
    mine = _mine(session, desk)
    chosen = sorted({_one(mine, nugget_id) for nugget_id in nugget_ids}, key=lambda nugget: nugget.id)
    if len(chosen) < 2:
        problem = Problem("must be two or more.", "Select two or more duplicate nuggets.", field="nugget")
        raise Invalid("No nuggets were merged.", [problem])
    first, *others = chosen
    if any(nugget.importance == VITAL for nugget in others):
        first.importance = VITAL
    for nugget in others:
        nugget.into_id = first.id


def take_out(session: Session, desk: TopicDesk, nugget_id: int) -> None:
    """Remove a nugget; it can be restored. Raises as `write_nugget`, NotFound."""
    _begin(session, desk)
    _one(_mine(session, desk), nugget_id).is_out = True


def put_back(session: Session, desk: TopicDesk, nugget_id: int) -> None:
    """Restore a merged or removed nugget; raises as `write_nugget`, NotFound."""
    _begin(session, desk)
    mine = _mine(session, desk)
    nugget = next((nugget for nugget in mine if nugget.id == nugget_id and not stands(nugget)), None)
    if nugget is None:
        raise NotFound("This nugget is neither merged nor removed.")
    _require_new(mine, nugget.text)
    nugget.into_id, nugget.is_out = None, False


def finish_nuggets(session: Session, desk: TopicDesk, *, is_done: bool) -> None:
    """Mark the nuggets of the topic as complete or not; raises Closed, Conflict without any."""
    _require_open(desk)
    if is_done and not any(map(stands, _mine(session, desk))):
        raise Conflict("This topic has no nuggets yet. Write at least one.")
    share = session.get_one(
        LabellingShare, (desk.here.id, desk.topic.topic_id, desk.assessor_id), populate_existing=True
    )
    share.done_at = now(session) if is_done else None


def _begin(session: Session, desk: TopicDesk) -> None:
    """Check every change: the round is open, the list is not complete; locks against simultaneous changes."""
    _require_open(desk)
    if desk.share.done_at is not None:
        raise Conflict("This list is marked as complete. Reopen it to change its nuggets.")
    judging.spend(session, "nugget", desk.assessor_id, ACTS_A_MINUTE)
    # Two tabs could otherwise add one text twice.
    lock_row(session, LabellingRound, desk.here.id)


def _require_open(desk: TopicDesk) -> None:
    if not desk.decides:
        require_open(desk.here)


def _mine(session: Session, desk: TopicDesk) -> Sequence[WrittenNugget]:
    return written_nuggets(session, desk.here.id, desk.topic.topic_id, desk.assessor_id)


def _one(mine: Sequence[WrittenNugget], nugget_id: int) -> WrittenNugget:
    nugget = next((nugget for nugget in mine if nugget.id == nugget_id and stands(nugget)), None)
    if nugget is None:
        raise NotFound("You have no such nugget on this topic.")
    return nugget


def _of_key(session: Session, assessor_id: int, key: str) -> WrittenNugget | None:
    return session.scalar(
        select(WrittenNugget).where(WrittenNugget.assessor_id == assessor_id, WrittenNugget.key == key)
    )


def _checked(sent: SentNugget) -> str:
    """The text with blanks folded; raises Invalid."""
    text, problems = folded(sent.text), []
    if not 1 <= len(text) <= NUGGET_CHARACTERS:
        rule = f"must have 1 to {NUGGET_CHARACTERS} characters."
        problems.append(Problem(rule, "Write one fact per sentence.", field="text"))
    if sent.importance not in IMPORTANCES:
        problems.append(
            Problem("must be vital or okay.", "Press one of the two buttons.", field="importance")
        )
    if problems:
        raise Invalid("This nugget cannot be added.", problems)
    return text


def _require_new(mine: Sequence[WrittenNugget], text: str) -> None:
    if any(stands(nugget) and nugget.text == text for nugget in mine):
        raise Conflict("You already have a nugget with this text.")


def decide(session: Session, viewer: Viewer, slug: str, number: int, sent: SentItemLabel) -> None:
    """Store the viewer's deciding label of an item; a later one replaces it.

    Raises NotFound for an item outside the round, and as `labels.store`.
    """
    task, labelling_round = rounds.own_round(session, viewer, slug, number)
    item = find_item(session, labelling_round, sent.item)
    labels.store(session, labelling_round, adjudicator_of(session, viewer, task).id, item, sent)


def find_item(session: Session, here: LabellingRound, name: str) -> LabelItem:
    """The item of a round by its name; raises NotFound."""
    for topic in rounds.topics_of(session, here.id):
        for answer in topic.answers:
            for item in of_answer(topic.topic_id, answer):
                if name_of(here.secret, item) == name:
                    return item
    raise NotFound(f"Round {here.number} has no such item.")


def begin(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> None:
    """Start the adjudicated list from all nuggets that assessors wrote on a topic; equal texts become one.

    Raises Conflict if it already exists, and for a round of another kind.
    """
    task, labelling_round = rounds.own_round(session, viewer, slug, number)
    lock_row(session, LabellingRound, labelling_round.id)
    topic = _topic(session, labelling_round, topic_id)
    if decision_desk(session, labelling_round, topic_id) is not None:
        raise Conflict("Adjudication has already started.")
    share = LabellingShare(
        round_id=labelling_round.id, topic_id=topic_id, assessor_id=adjudicator_of(session, viewer, task).id
    )
    session.add(share)
    session.flush()
    desk = TopicDesk(labelling_round, topic, share, decides=True)
    importance: dict[str, str] = {}
    for nugget in filter(stands, written_nuggets(session, labelling_round.id, topic_id)):
        if importance.get(nugget.text) != VITAL:
            importance[nugget.text] = nugget.importance
    at = now(session).isoformat()
    for place, (text, of) in enumerate(importance.items()):
        add_nugget(session, desk, text, of, f"{labelling_round.id}-{topic_id}-{at}-{place}"[-KEY_CHARACTERS:])


def decision_desk(session: Session, here: LabellingRound, topic_id: str) -> TopicDesk | None:
    """The desk of the adjudicated list; None if it was not started."""
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
    """As `decision_desk`, for those who may change it; raises Conflict if it was not started."""
    _, labelling_round = rounds.own_round(session, viewer, slug, number)
    desk = decision_desk(session, labelling_round, topic_id)
    if desk is None:
        raise Conflict("Start the adjudicated list first.")
    return desk


def _topic(session: Session, here: LabellingRound, topic_id: str) -> LabellingTopic:
    topic = session.get(LabellingTopic, (here.id, topic_id))
    if topic is None or here.kind != NUGGETS:
        raise NotFound(f"Round {here.number} does not cover nuggets of topic {topic_id}.")
    return topic
