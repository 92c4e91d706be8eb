"""A topic whose nuggets are written: the answers to it, and the list; for assessors, and for who decides."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Assessor, LabellingRound, Topic, WrittenNugget
from leaderboard.errors import NotFound
from leaderboard.pages.labelling.shown import answers_of
from leaderboard.services.judging import links
from leaderboard.services.labelling import decisions, desks, nuggets, rounds
from leaderboard.services.labelling.desks import RoundDesk, TopicDesk
from leaderboard.services.labelling.items import in_order
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import topics


@dataclass(frozen=True, slots=True)
class NuggetRow:
    """A nugget of the list, and those that were merged into it."""

    id: int
    text: str
    importance: str
    merged: tuple["NuggetRow", ...] = ()


@dataclass(frozen=True, slots=True)
class NuggetList:
    """Nuggets that count, vital ones first; out: those that were taken out."""

    rows: tuple[NuggetRow, ...]
    out: tuple[NuggetRow, ...]
    is_done: bool

    @property
    def vital(self) -> int:
        """How many are vital."""
        return sum(row.importance == nuggets.VITAL for row in self.rows)


@dataclass(frozen=True, slots=True)
class ListByAssessor:
    """What one assessor wrote, for who decides."""

    assessor: str
    listed: NuggetList


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetPage:
    """A topic with the answers to it, each its segments' texts, and the list of who writes."""

    desk: RoundDesk
    topic: Topic
    answers: tuple[tuple[str, ...], ...]
    listed: NuggetList


@dataclass(frozen=True, slots=True, kw_only=True)
class NuggetDecision:
    """What assessors wrote of a topic, and the list that decides; None where it was not begun."""

    task: str
    slug: str
    number: int
    topic: Topic
    answers: tuple[tuple[str, ...], ...]
    lists: tuple[ListByAssessor, ...]
    listed: NuggetList | None


def nugget_page(session: Session, token: str, number: int, topic_id: str) -> NuggetPage:
    """A topic for its assessor; raises NotFound for a dead link or a topic of others."""
    desk, here = desks.topic_desk(session, token, number, topic_id)
    return NuggetPage(
        desk=desk,
        topic=topics.find(session, desk.task, topic_id),
        answers=_answers(session, here),
        listed=_list(session, here),
    )


def decision_page(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> NuggetDecision:
    """A topic for who decides; raises NotFound where no nuggets of it are made, and as `seen_round`."""
    task, here = rounds.seen_round(session, viewer, slug, number)
    own = decisions.decision_desk(session, here, topic_id)
    written = _desks(session, here, topic_id)
    return NuggetDecision(
        task=task.name,
        slug=task.slug,
        number=number,
        topic=topics.find(session, task, topic_id),
        answers=_answers(session, written[0][1]),
        lists=tuple(ListByAssessor(name, _list(session, desk)) for name, desk in written),
        listed=_list(session, own) if own is not None else None,
    )


def _desks(session: Session, here: LabellingRound, topic_id: str) -> list[tuple[str, TopicDesk]]:
    """Those who were asked to write nuggets of a topic, by name."""
    topic = next((one for one in rounds.topics_of(session, here.id) if one.topic_id == topic_id), None)
    if topic is None:
        raise NotFound(f"Round {here.number} has no topic {topic_id}.")
    shares = [share for share in rounds.shares_of(session, here.id) if share.topic_id == topic_id]
    people = [(session.get_one(Assessor, share.assessor_id), share) for share in shares]
    return [
        (person.name, TopicDesk(here, topic, share))
        for person, share in people
        if person.role == links.ASSESSOR
    ]


def _answers(session: Session, desk: TopicDesk) -> tuple[tuple[str, ...], ...]:
    order = {run_id: at for at, run_id in enumerate(in_order(desk.here, desk.topic, desk.assessor_id))}
    return tuple(answer.texts for answer in answers_of(session, desk.topic, order))


def _list(session: Session, desk: TopicDesk) -> NuggetList:
    written = nuggets.written(session, desk.here.id, desk.topic.topic_id, desk.assessor_id)
    rows = [_row(one, written) for one in written if nuggets.stands(one)]
    return NuggetList(
        rows=tuple(sorted(rows, key=lambda row: (row.importance != nuggets.VITAL, row.id))),
        out=tuple(_row(one, written) for one in written if one.is_out),
        is_done=desk.share.done_at is not None,
    )


def _row(nugget: WrittenNugget, written: Sequence[WrittenNugget]) -> NuggetRow:
    merged = tuple(_row(one, written) for one in written if one.into_id == nugget.id)
    return NuggetRow(nugget.id, nugget.text, nugget.importance, merged)
