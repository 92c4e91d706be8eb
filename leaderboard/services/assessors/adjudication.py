"""Documents that assessors of a pool disagree on, and the grade that an adjudicator decides."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessment, Assessor, Collection, Pool, Task
from leaderboard.errors import Closed, Conflict, Invalid, NotFound, Problem
from leaderboard.services import audit, collections
from leaderboard.services.accounts import names
from leaderboard.services.assessors import judged_pools, links
from leaderboard.services.assessors.judged_pools import WHOSE, GivenLabel, JudgedPool, PoolFacts
from leaderboard.services.assessors.log import KEY_CHARACTERS, NOTE_CHARACTERS
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import grade_scales, topics
from leaderboard.trec.documents.marking import Piece, marked, terms

SHOWN = {
    "open": "not decided yet",
    "decided": "decided",
    "skipped": "skipped by everybody",
    "all": "all of these",
}
"""Which documents are listed, by the name in an address, and how a form calls them."""
ORDERS = {"topic": "topic", "distance": "distance of the grades, widest first"}


@dataclass(frozen=True, slots=True)
class Wish:
    """Which documents an organiser asks to see."""

    shown: str = "open"
    order: str = "topic"
    topic_id: str = ""
    whose: str = "human"


@dataclass(frozen=True, slots=True)
class Decision:
    """An adjudicator's grade of a document; key is chosen by the form, so that it is stored once."""

    topic_id: str
    docno: str
    grade: int
    note: str
    key: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A document with different grades, or one that nobody would grade."""

    topic_id: str
    topic: str
    docno: str
    labels: tuple[GivenLabel, ...]
    decision: GivenLabel | None

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades given, in the order of the labels."""
        return tuple(each.grade for each in self.labels if each.grade is not None)

    @property
    def distance(self) -> int:
        """Between the highest and the lowest grade."""
        return max(self.grades) - min(self.grades) if self.grades else 0

    def crosses(self, level: int) -> bool:
        """Whether the assessors differ in whether it is relevant at all."""
        return bool(self.grades) and min(self.grades) < level <= max(self.grades)


@dataclass(frozen=True, slots=True)
class AdjudicationPage:
    """A pool's disagreements, those asked for, and how many there are of each kind."""

    pool: PoolFacts
    wish: Wish
    rows: tuple[Disagreement, ...]
    counts: dict[str, int]
    machines: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One document to decide on: its topic, its text, what the assessors said."""

    pool: PoolFacts
    wish: Wish
    found: Disagreement
    description: str
    narrative: str
    heading: tuple[Piece, ...]
    text: tuple[Piece, ...]
    """Empty where the document is not stored."""
    link: str
    place: int
    """Of this document among those of the list, from 1; 0 where it is not in it any more."""
    total: int
    next: tuple[str, str] | None
    """Topic and docno of the one after it."""
    before: tuple[str, str] | None


def adjudication_page(
    session: Session, viewer: Viewer, slug: str, number: int, wish: Wish
) -> AdjudicationPage:
    """The documents of a pool that need a decision or have one.

    Raises Invalid for a wish that cannot be, NotFound, SignInNeeded or Forbidden unless the viewer
    organises the task.
    """
    _check(wish)
    _, pool = judged_pools.judged_pool(session, viewer, slug, number)
    return _page(pool, wish)


def case(
    session: Session, viewer: Viewer, slug: str, number: int, wish: Wish, topic_id: str, docno: str
) -> Case:
    """One document with its text; raises NotFound where no assessor has a label of it."""
    _check(wish)
    task, pool = judged_pools.judged_pool(session, viewer, slug, number)
    page = _page(pool, wish)
    labels = judged_pools.by_document(pool.labels_of(wish.whose)).get((topic_id, docno))
    if not labels:
        raise NotFound(f"Nobody has judged document {docno!r} for topic {topic_id!r} in pool {number}.")
    topic = topics.find(session, task, topic_id)
    found = Disagreement(topic_id, topic.title, docno, tuple(labels), pool.decided().get((topic_id, docno)))
    listed = [(row.topic_id, row.docno) for row in page.rows]
    place = listed.index((topic_id, docno)) + 1 if (topic_id, docno) in listed else 0
    others = [each for each in listed if each != (topic_id, docno)]
    collection = session.get_one(Collection, task.collection_id)
    document = collections.texts(session, collection.id, [docno]).get(docno)
    wanted = terms(topic.title, topic.description)
    return Case(
        pool=pool.facts,
        wish=wish,
        found=found,
        description=topic.description,
        narrative=topic.narrative,
        heading=marked(document.title, wanted) if document else (),
        text=marked(document.text, wanted) if document else (),
        link=collections.link(collection.link_template, docno),
        place=place,
        total=len(listed),
        next=_after(listed, place, others),
        before=listed[place - 2] if place > 1 else None,
    )


def decide(session: Session, viewer: Viewer, slug: str, number: int, made: Decision) -> bool:
    """Store the viewer's decision as an adjudicator's label; whether it is new: a key is stored once.

    Raises Invalid for a grade that the task does not have, a bad key or note, NotFound for a document
    that nobody judged, Closed for a pool that is still a draft.
    """
    task, pool = links.own_pool(session, viewer, slug, number)
    _check_decision(task, pool, made)
    topic_id, docno = made.topic_id, made.docno
    judged = select(Assessment.id).where(
        Assessment.pool_id == pool.id, Assessment.topic_id == topic_id, Assessment.docno == docno
    )
    if session.scalar(judged.limit(1)) is None:
        raise NotFound(f"Nobody has judged document {docno!r} for topic {topic_id!r} in pool {number}.")
    adjudicator = _adjudicator(session, viewer, task)
    known = select(Assessment.id).where(Assessment.assessor_id == adjudicator.id, Assessment.key == made.key)
    if session.scalar(known) is not None:
        return False
    at = now(session)
    session.add(
        Assessment(
            pool_id=pool.id,
            topic_id=topic_id,
            docno=docno,
            assessor_id=adjudicator.id,
            grade=made.grade,
            note=made.note.strip(),
            saved_at=at,
            sent_at=at,
            key=made.key,
        )
    )
    session.flush()
    return True


def undo(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[str, str]:
    """Take back the viewer's last decision in a pool; its topic and docno. Raises NotFound for none."""
    task, pool = links.own_pool(session, viewer, slug, number)
    adjudicator = _adjudicator(session, viewer, task)
    last = session.scalar(
        select(Assessment)
        .where(
            Assessment.assessor_id == adjudicator.id,
            Assessment.pool_id == pool.id,
            Assessment.undone.is_(False),
        )
        .order_by(Assessment.saved_at.desc(), Assessment.id.desc())
        .limit(1)
    )
    if last is None:
        raise NotFound("You have decided on nothing in this pool that could be taken back.")
    last.undone = True
    session.flush()
    return last.topic_id, last.docno


def _check(wish: Wish) -> None:
    for value, known in ((wish.shown, SHOWN), (wish.order, ORDERS), (wish.whose, WHOSE)):
        if value not in known:
            raise Invalid(f"{value[:20]!r} is none of {', '.join(known)}.")


def _check_decision(task: Task, pool: Pool, made: Decision) -> None:
    if pool.state == "draft":
        raise Closed("Judging has not begun yet, so there is nothing to decide.")
    problems = []
    grades = grade_scales.grades(task)
    if made.grade not in grades:
        rule = f"must be one of {', '.join(map(str, sorted(grades)))}."
        problems.append(Problem(rule, field="grade", value=str(made.grade)))
    if not made.key.isprintable() or not 1 <= len(made.key) <= KEY_CHARACTERS:
        problems.append(Problem(f"must be 1 to {KEY_CHARACTERS} characters.", field="key"))
    if len(made.note) > NOTE_CHARACTERS:
        rule = f"may have at most {NOTE_CHARACTERS:,} characters."
        problems.append(Problem(rule, "Shorten it.", field="note"))
    if problems:
        raise Invalid("This decision cannot be stored.", problems)


def _page(pool: JudgedPool, wish: Wish) -> AdjudicationPage:
    position = {each.topic_id: place for place, each in enumerate(pool.facts.topics)}
    found = sorted(
        (each for each in _disagreements(pool, wish.whose) if wish.topic_id in ("", each.topic_id)),
        key=lambda each: (position.get(each.topic_id, len(position)), each.docno.encode()),
    )
    kinds = [_kind(each) for each in found]
    rows = [each for each, kind in zip(found, kinds, strict=True) if wish.shown in ("all", kind)]
    if wish.order == "distance":
        rows.sort(key=lambda each: (-each.crosses(pool.facts.level), -each.distance))
    counts = {kind: kinds.count(kind) for kind in SHOWN}
    machines = any(each.is_machine for each in pool.judges)
    return AdjudicationPage(pool.facts, wish, tuple(rows), {**counts, "all": len(found)}, machines)


def _kind(found: Disagreement) -> str:
    if found.decision is not None:
        return "decided"
    return "open" if found.grades else "skipped"


def _disagreements(pool: JudgedPool, whose: str) -> list[Disagreement]:
    titles = {each.topic_id: each.title for each in pool.facts.topics}
    decided = pool.decided()
    found = []
    for (topic_id, docno), labels in judged_pools.by_document(pool.labels_of(whose)).items():
        grades = {each.grade for each in labels if each.grade is not None}
        decision = decided.get((topic_id, docno))
        if len(grades) != 1 or decision is not None:
            title = titles.get(topic_id, "")
            found.append(Disagreement(topic_id, title, docno, tuple(labels), decision))
    return found


def _after(
    listed: Sequence[tuple[str, str]], place: int, others: Sequence[tuple[str, str]]
) -> tuple[str, str] | None:
    """The one after a place, at the end the first again; the first where the place is none."""
    if place and place < len(listed):
        return listed[place]
    return others[0] if others else None


def _adjudicator(session: Session, viewer: Viewer, task: Task) -> Assessor:
    """The assessor whose labels are the viewer's decisions, made at the first one; it has no link."""
    name = f"{viewer.name or 'operator'} (adjudicator)"
    lock_row(session, Task, task.id)
    same = (
        each
        for each in links.of_task(session, task.id)
        if names.canonical(each.name) == names.canonical(name)
    )
    found = next(same, None)
    if found is None:
        found = Assessor(task_id=task.id, name=name, role=links.ADJUDICATOR, created_at=now(session))
        session.add(found)
        session.flush()
        audit.record(session, viewer, "assessor.add", f"assessor:{found.id}", task=task.slug, name=name)
    if found.role != links.ADJUDICATOR:
        raise Conflict(f"{name} is an assessor of this task; decisions need a name of their own.")
    return found
