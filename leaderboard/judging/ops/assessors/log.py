"""Event log of pools: labels by assessors, and decisions by adjudicators on disagreements."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Annotated, Any, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core.actions import Action
from leaderboard.core.policy import Scope, Viewer
from leaderboard.db.engine import now
from leaderboard.db.tables import Assessment, Assessor, Assignment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import Closed, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.judging import GivenLabel, Judge, JudgedLabels, judges_of
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.memory import keep_by
from leaderboard.scoring.ops import setting_values
from leaderboard.scoring.ops.setting_values import Grade
from leaderboard.tables.record import Place, Shown
from leaderboard.zones import Moment

EVENTS_A_MINUTE = 900
"""Limit per assessor: far above human pace, enough for a day's work after a lost connection."""
PLACE = ("pool_id", "topic_id", "docno")
"""Identifies the target of an event."""
LONGEST = timedelta(days=60)
"""Maximum age of a judgment on arrival."""


_KEY = Field(
    title="Key",
    help="Chosen by you, so that a repeated request is stored once.",
    longest=judging.KEY_CHARACTERS,
)


@dataclass(frozen=True, slots=True)
class SentLabel:
    """A judgment as submitted; shown_at and saved_at are used for the pace."""

    key: Annotated[str, _KEY]
    docno: Annotated[str, Field(title="Document", help="The document's identifier.", longest=2**16)]
    grade: Annotated[int | None, Field(title="Grade", help="Null skips the document.", least=-99, most=99)]
    note: Annotated[
        str, Field(title="Note", help="Why, in your own words.", longest=judging.NOTE_CHARACTERS)
    ] = ""
    shown_at: Annotated[Moment | None, Field(title="Shown at", help="When the document was shown.")] = None
    saved_at: Annotated[Moment | None, Field(title="Saved at", help="When your device saved it.")] = None
    sent_at: Annotated[
        Moment | None,
        Field(title="Sent at", help="The time now by the same clock, so that a wrong clock does not matter."),
    ] = None
    undone: Annotated[
        bool, Field(title="Withdrawn", help="Whether this withdraws the earlier judgment of the document.")
    ] = False


@dataclass(frozen=True, slots=True)
class CheckedLabel:
    """A checked judgment, with its pool and topic."""

    assessor_id: int
    pool_id: int
    topic_id: str
    sent: SentLabel


class Label(NamedTuple):
    """The label in force of one assessor for one document."""

    topic_id: str
    docno: str
    assessor_id: int
    grade: int | None
    """None if skipped."""
    note: str
    saved_at: datetime
    seconds: float | None
    key: str


def check(session: Session, token: str, number: int, topic_id: str, sent: SentLabel) -> CheckedLabel:
    """Check that a judgment may be stored; needs only a reading session.

    Raises NotFound for an invalid link, a topic of another assessor or a document outside the
    pool, Closed if the pool accepts no judgments, Invalid for an invalid key, grade or note.
    """
    row = session.execute(
        select(Assessor.id.label("assessor_id"), Pool, Task, PoolTopic.body)
        .select_from(Assessor)
        .join(Pool, (Pool.task_id == Assessor.task_id) & (Pool.number == number))
        .join(Task, Task.id == Pool.task_id)
        .join(Assignment, (Assignment.pool_id == Pool.id) & (Assignment.assessor_id == Assessor.id))
        .join(PoolTopic, (PoolTopic.pool_id == Pool.id) & (PoolTopic.topic_id == Assignment.topic_id))
        .where(judging.is_link(session, token), PoolTopic.topic_id == topic_id)
    ).one_or_none()
    if row is None:
        assessor_and_pool(session, token, number)
        raise NotFound(f"Topic {topic_id} is not assigned to you.")
    assessor_id, pool, task, body = row
    require_open(pool)
    if all(document.docno != sent.docno for document in previews.unpack(body)):
        raise NotFound(f"Document {sent.docno} is not in the pool of topic {topic_id}.")
    return CheckedLabel(assessor_id, pool.id, topic_id, _tidy(sent, setting_values.grades_of_scale(task)))


def assessor_and_pool(session: Session, token: str, number: int) -> tuple[Assessor, Pool]:
    """The assessor of a link and the pool; raises NotFound if nothing in it is assigned to them."""
    assessor = judging.by_token(session, token)
    pool = session.scalar(
        select(Pool)
        .join(Assignment, Assignment.pool_id == Pool.id)
        .where(Pool.task_id == assessor.task_id, Pool.number == number, Assignment.assessor_id == assessor.id)
        .limit(1)
    )
    if pool is None:
        raise NotFound(f"No documents are assigned to you in pool {number}.")
    return assessor, pool


def require_open(pool: Pool) -> None:
    """Raise Closed unless the pool accepts judgments."""
    if pool.state == "draft":
        raise Closed("Judging has not started yet.")
    if pool.state == "closed":
        raise Closed("The organisers have closed this pool; it accepts no more judgments.")


def save(session: Session, checked: CheckedLabel) -> bool:
    """Store a judgment or its withdrawal; return whether it is new. Repeated requests are stored once.

    The order of arrival does not matter: the judgment decided last is in force, and a withdrawn one stays
    withdrawn even if it is sent again. Raises OverQuota, NotFound if the link has been revoked, Conflict if
    another judgment has the key.
    """
    judging.spend(session, "judge", checked.assessor_id, EVENTS_A_MINUTE)
    if session.scalar(select(Assessor.token_sha256).where(Assessor.id == checked.assessor_id)) is None:
        raise NotFound(judging.DEAD_LINK)
    same, another = (*PLACE, "grade"), "This key was already used for another judgment."
    return judging.store_lines(session, _row(session, checked), same, another)


def undo_last(session: Session, token: str, number: int, topic_id: str) -> str | None:
    """Withdraw the assessor's last judgment on a topic; return its document, None if absent."""
    assessor, pool = assessor_and_pool(session, token, number)
    require_open(pool)
    of_topic = Assessment.pool_id == pool.id, Assessment.topic_id == topic_id
    last = judging.undo_last(session, Assessment, *of_topic, Assessment.assessor_id == assessor.id)
    return last.docno if last is not None else None


_BY_LINK: dict[str, Any] = {
    "is_public": True,
    "scopes": (),
    "may": lambda session, _, token: judging.by_token(session, token),
}
ACTIONS = (
    Action(
        name="judge",
        summary="Judge a document",
        more="A repeated request with the same key is stored once.",
        path="/judge/<token>/pools/<id:number>/topics/<topic:topic_id>",
        form="/judge/<token>/<id:number>/<topic:topic_id>",
        record=SentLabel,
        plan=lambda session, _, *label: check(session, *label),
        act=lambda session, _, token, number, topic_id, checked, sent: save(session, checked),
        done=lambda _, is_new: "stored" if is_new else "judgment already stored",
        status=201,
        **_BY_LINK,
    ),
    Action(
        name="undo_judgment",
        summary="Withdraw the last judgment on a topic",
        path="/judge/<token>/pools/<id:number>/topics/<topic:topic_id>/undo",
        form="/judge/<token>/<id:number>/<topic:topic_id>/undo",
        act=lambda session, _, *topic: undo_last(session, *topic),
        done=lambda _, docno: f"judgment of {docno} withdrawn" if docno else "nothing to withdraw",
        **_BY_LINK,
    ),
)


def in_force(
    session: Session,
    pool_id: int,
    *,
    topic_id: str | None = None,
    assessor_ids: Collection[int] | None = None,
) -> tuple[Label, ...]:
    """The labels in force of a pool, one topic or some assessors: for each assessor and document the
    last judgment that was not withdrawn; sorted by topic, document and assessor.

    A grade of None means that the assessor skipped the document, also after judging it before.
    """
    where = [Assessment.pool_id == pool_id]
    if topic_id is not None:
        where.append(Assessment.topic_id == topic_id)
    if assessor_ids is not None:
        where.append(Assessment.assessor_id.in_(assessor_ids))
    labels = judging.in_force(session, Assessment, Label, lambda label: label[:3], *where)
    return tuple(sorted(labels, key=lambda label: label[:3]))


def _row(session: Session, checked: CheckedLabel) -> Assessment:
    sent, at = checked.sent, now(session)
    saved_at, seconds = _moments(sent, at)
    return Assessment(
        pool_id=checked.pool_id,
        topic_id=checked.topic_id,
        docno=sent.docno,
        assessor_id=checked.assessor_id,
        grade=sent.grade,
        note=sent.note,
        shown_at=None if seconds is None else saved_at - timedelta(seconds=seconds),
        saved_at=saved_at,
        sent_at=at,
        seconds=seconds,
        key=sent.key,
        undone=sent.undone,
    )


def _moments(sent: SentLabel, at: datetime) -> tuple[datetime, float | None]:
    """Decision time by the server's clock, and time taken; `at` is the server's current time."""
    seconds = None
    if sent.saved_at is not None and sent.shown_at is not None:
        seconds = min(max((sent.saved_at - sent.shown_at).total_seconds(), 0.0), LONGEST.total_seconds())
    if sent.saved_at is None:
        return at, seconds
    age = (sent.sent_at or at) - sent.saved_at
    return at - min(max(age, timedelta(0)), LONGEST), seconds


def _tidy(sent: SentLabel, grades: Collection[int]) -> SentLabel:
    problems = judging.key_problems(sent.key, "Generate a random key for each judgment.")
    if sent.grade is not None and sent.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}, or empty to skip."
        problems.append(Problem(rule, "", field="grade", value=str(sent.grade)))
    problems += judging.note_problems(sent.note)
    if problems:
        raise Invalid("This judgment cannot be stored.", problems)
    return replace(sent, note=sent.note.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """An adjudicator's grade of a document; the form chooses the key, so that it is stored once."""

    topic: Annotated[str, Field(title="Topic")]
    docno: Annotated[str, Field(title="Document")]
    grade: Annotated[int, Field(title="Grade", least=-99, most=99)]
    note: Annotated[str, Field(title="Reason", rows=2, longest=judging.NOTE_CHARACTERS)] = ""
    key: Annotated[str, _KEY]


def decide(session: Session, viewer: Viewer, slug: str, number: int, decision: Decision) -> bool:
    """Store the viewer's decision as an adjudicator's label; return whether it is new.

    Raises Invalid for a grade that the task does not have or an invalid key or note, NotFound for an unjudged
    document, Closed for a draft pool.
    """
    task, pool = pools.own_pool(session, viewer, slug, number)
    _check_decision(task, pool, decision)
    topic_id, docno = decision.topic, decision.docno
    judged = select(Assessment.id).where(
        Assessment.pool_id == pool.id, Assessment.topic_id == topic_id, Assessment.docno == docno
    )
    if session.scalar(judged.limit(1)) is None:
        raise NotFound(f"Document {docno!r} has no judgment for topic {topic_id!r} in pool {number}.")
    adjudicator, at = judging.adjudicator_of(session, viewer, task), now(session)
    event = Assessment(
        pool_id=pool.id,
        topic_id=topic_id,
        docno=docno,
        assessor_id=adjudicator.id,
        grade=decision.grade,
        note=decision.note.strip(),
        saved_at=at,
        sent_at=at,
        key=decision.key,
    )
    return judging.store_lines(session, event)


def undo(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[str, str]:
    """Undo the viewer's last decision in a pool; return its topic and docno. Raises NotFound if none."""
    task, pool = pools.own_pool(session, viewer, slug, number)
    own = Assessment.assessor_id == judging.adjudicator_of(session, viewer, task).id
    last = judging.undo_last(session, Assessment, own, Assessment.pool_id == pool.id)
    if last is None:
        raise NotFound("You have no decision in this pool to undo.")
    return last.topic_id, last.docno


_DECIDING: dict[str, Any] = {
    "page": "adjudication.show",
    "scopes": (Scope.JUDGE, Scope.ORGANISE),
    "may": pools.own_pool,
}
DECISIONS = (
    Action(
        name="decide",
        summary="Decide on a document with different grades",
        path="/tasks/<slug>/pools/<id:number>/decisions",
        form="/tasks/<slug>/pools/<id:number>/adjudication/document",
        record=Decision,
        act=decide,
        done=lambda _, is_new: "decided" if is_new else "decision already stored",
        status=201,
        **_DECIDING,
    ),
    Action(
        name="undo_decision",
        summary="Undo your last decision",
        path="/tasks/<slug>/pools/<id:number>/decisions/undo",
        form="/tasks/<slug>/pools/<id:number>/adjudication/undo",
        act=undo,
        done=lambda _, place: f"decision on {place[1]} for topic {place[0]} withdrawn",
        **_DECIDING,
    ),
)


def _check_decision(task: Task, pool: Pool, decision: Decision) -> None:
    if pool.state == "draft":
        raise Closed("Judging has not started yet, so there is nothing to decide.")
    problems = []
    grades = setting_values.grades_of_scale(task)
    if decision.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}."
        problems.append(Problem(rule, field="grade", value=str(decision.grade)))
    problems += [*judging.key_problems(decision.key), *judging.note_problems(decision.note)]
    if problems:
        raise Invalid("This decision cannot be stored.", problems)


@dataclass(frozen=True, slots=True)
class PoolFacts:
    """Facts shown on every page of a pool."""

    id: int
    task: str
    slug: str
    number: int
    state: str
    documents: int
    level: int
    scale: tuple[Grade, ...]
    grade_names: dict[int, str]
    topics: tuple["TopicOfPool", ...]
    """In the task's order."""

    @property
    def name(self) -> str:
        """Base name of its tables."""
        return f"{self.slug}-pool-{self.number}"

    @property
    def documents_of(self) -> dict[str, int]:
        """Topic -> documents to be judged."""
        return {topic.topic_id: topic.documents for topic in self.topics}

    @property
    def is_binary(self) -> bool:
        """Whether there are only two grades."""
        return len(self.scale) <= 2


@dataclass(frozen=True, slots=True)
class TopicOfPool:
    """One topic of a pool."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: Annotated[str, Shown(shown=~Place.PAGE)]
    documents: int
    """To be judged."""


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedPool(JudgedLabels):
    """A pool with all labels, by topic, document and assessor."""

    facts: PoolFacts


def judged_pool(
    session: Session, viewer: Viewer, slug: str, number: int, topic_id: str | None = None
) -> tuple[Task, JudgedPool]:
    """A pool of a task that the viewer organises, with all labels or those of one topic.

    Raises SignInNeeded, Forbidden or NotFound.
    """
    task, pool = pools.seen_pool(session, viewer, slug, number)
    facts = pool_facts(session, task, pool)
    judges = judges_of(session, task)
    adjudicators = tuple(judge for judge in judges if judge.is_adjudicator)
    others = tuple(judge for judge in judges if not judge.is_adjudicator)
    labels = _kept_labels(session, pool, others, _state(session, pool, others))
    decisions = _labels(session, pool.id, adjudicators) if adjudicators else ()
    if topic_id is not None:
        labels = tuple(label for label in labels if label.topic_id == topic_id)
        decisions = tuple(label for label in decisions if label.topic_id == topic_id)
    return task, JudgedPool(judges=judges, labels=labels, decisions=decisions, facts=facts)


def _state(session: Session, pool: Pool, judges: tuple[Judge, ...]) -> tuple[Any, ...]:
    """A value that changes whenever the labels of a pool change.

    The log of a pool only grows: events are never deleted and change in one way only, by a permanent
    withdrawal. So whenever a label comes or goes, the number of events or of withdrawn
    events rises, and neither ever falls: while both stay the same, so do the labels. The address of the
    database and the creation time distinguish pools with the same id, in two databases or one
    after the other.
    """
    events, undone = session.execute(
        select(func.count(), func.count().filter(Assessment.undone.is_(True))).where(
            Assessment.pool_id == pool.id, Assessment.assessor_id.in_([judge.id for judge in judges])
        )
    ).one()
    return str(session.get_bind().engine.url), pool.id, pool.created_at, events, undone, judges


# The lock is for the threads of the web server. Labels are read after they are counted, so cached labels
# may be newer than their counts, never older.
@keep_by(lambda *given: given[-1])
def _kept_labels(
    session: Session, pool: Pool, judges: tuple[Judge, ...], state: tuple[Any, ...]
) -> tuple[GivenLabel, ...]:
    return _labels(session, pool.id, judges)


def _labels(session: Session, pool_id: int, judges: tuple[Judge, ...]) -> tuple[GivenLabel, ...]:
    by_id = {judge.id: judge for judge in judges}
    return tuple(
        GivenLabel(
            label.topic_id,
            label.docno,
            by_id[label.assessor_id],
            label.grade,
            label.saved_at,
            label.note,
            label.seconds,
        )
        for label in in_force(session, pool_id, assessor_ids=list(by_id))
    )


def pool_facts(session: Session, task: Task, pool: Pool) -> PoolFacts:
    """Facts of the pool shown on every page."""
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.documents, Topic.title, Topic.position)
        .outerjoin(Topic, (Topic.topic_id == PoolTopic.topic_id) & (Topic.task_id == task.id))
        .where(PoolTopic.pool_id == pool.id)
    ).all()
    ordered = sorted(rows, key=lambda row: (row.position is None, row.position or 0, row.topic_id.encode()))
    scale = setting_values.grade_scale(task)
    return PoolFacts(
        id=pool.id,
        task=task.name,
        slug=task.slug,
        number=pool.number,
        state=pool.state,
        documents=sum(row.documents for row in rows),
        level=task.level,
        scale=scale,
        grade_names={grade.value: grade.name for grade in scale if grade.name},
        topics=tuple(TopicOfPool(row.topic_id, row.title or "", row.documents) for row in ordered),
    )
