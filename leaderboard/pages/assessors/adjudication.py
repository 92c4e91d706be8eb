"""Documents that the assessors of a pool disagree on: the list, and one of them to decide on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.errors import Invalid, NotFound
from leaderboard.pages.judging import DocumentReading, ReadDocument
from leaderboard.services import judging
from leaderboard.services.assessors import log
from leaderboard.services.assessors.log import JudgedPool, PoolFacts
from leaderboard.services.judging import WHOSE, GivenLabel, grades_of
from leaderboard.services.policy import Viewer
from leaderboard.services.tasks import scored_topics
from leaderboard.tables.record import Column, Files, Place, Table, columns_from
from leaderboard.tables.words import counted

SHOWN = {
    "open": "not decided yet",
    "decided": "decided",
    "skipped": "skipped by everybody",
    "all": "all of these",
}
"""Which documents are listed, by the name in an address, and how a form calls them."""
ORDERS = {"topic": "topic", "distance": "distance of the grades, widest first"}


@dataclass(frozen=True, slots=True)
class AdjudicationChoice:
    """Which documents an organiser asks to see."""

    shown: str = "open"
    order: str = "topic"
    topic_id: str = ""
    whose: str = "human"


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
        return tuple(label.grade for label in self.labels if label.grade is not None)

    @property
    def distance(self) -> int:
        """How far the highest grade is above the lowest."""
        return max(self.grades) - min(self.grades) if self.grades else 0

    def crosses(self, level: int) -> bool:
        """Whether the assessors differ in whether it is relevant at all."""
        return bool(self.grades) and min(self.grades) < level <= max(self.grades)

    @property
    def kind(self) -> str:
        """Which of SHOWN it is."""
        if self.decision is not None:
            return "decided"
        return "open" if self.grades else "skipped"


@dataclass(frozen=True, slots=True)
class AdjudicationPage:
    """A pool's disagreements, those asked for, and how many there are of each kind."""

    pool: PoolFacts
    wish: AdjudicationChoice
    rows: tuple[Disagreement, ...]
    counts: dict[str, int]
    machines: bool


@dataclass(frozen=True, slots=True)
class AdjudicationCase:
    """One document to decide on: its topic, its text, what the assessors said."""

    pool: PoolFacts
    wish: AdjudicationChoice
    disagreement: Disagreement
    topic: Topic
    document: ReadDocument
    place: int
    """Of this document among those of the list, from 1; 0 where it is no longer in it."""
    total: int
    next: tuple[str, str] | None
    """Topic and docno of the one after it."""
    before: tuple[str, str] | None


def adjudication_page(
    session: Session, viewer: Viewer, slug: str, number: int, wish: AdjudicationChoice
) -> AdjudicationPage:
    """The documents of a pool that need a decision or have one.

    Raises Invalid for a wish that cannot be, NotFound, SignInNeeded or Forbidden unless the viewer
    organises the task.
    """
    _check(wish)
    _, pool = log.judged_pool(session, viewer, slug, number)
    return _page(pool, wish)


def case(
    session: Session,
    viewer: Viewer,
    slug: str,
    number: int,
    wish: AdjudicationChoice,
    topic_id: str,
    docno: str,
) -> AdjudicationCase:
    """One document with its text; raises NotFound where no assessor has a label of it."""
    _check(wish)
    task, pool = log.judged_pool(session, viewer, slug, number)
    labels = judging.by_place(pool.labels_of(wish.whose)).get((topic_id, docno))
    if not labels:
        raise NotFound(f"Nobody has judged document {docno!r} for topic {topic_id!r} in pool {number}.")
    topic = scored_topics.find_topic(session, task, topic_id)
    decision = pool.decided().get((topic_id, docno))
    listed = [(row.topic_id, row.docno) for row in _page(pool, wish).rows]
    place = listed.index((topic_id, docno)) + 1 if (topic_id, docno) in listed else 0
    reading = DocumentReading.of(session, task, [docno], topic.title, topic.description)
    return AdjudicationCase(
        pool=pool.facts,
        wish=wish,
        disagreement=Disagreement(topic_id, topic.title, docno, tuple(labels), decision),
        topic=topic,
        document=reading.document(docno),
        place=place,
        total=len(listed),
        next=_after(listed, place),
        before=listed[place - 2] if place > 1 else None,
    )


def facts(page: AdjudicationPage) -> dict[str, Any]:
    """The documents listed as plain values."""
    return {
        "task": page.pool.slug,
        "pool": page.pool.number,
        "labels_of": page.wish.whose,
        "shown": page.wish.shown,
        "counts": page.counts,
        "documents": [
            {
                "topic": row.topic_id,
                "docno": row.docno,
                "labels": [
                    {"assessor": label.assessor, "grade": label.grade, "note": label.note}
                    for label in row.labels
                ],
                "decided": row.decision.grade if row.decision else None,
                "decided_by": row.decision.assessor if row.decision else None,
            }
            for row in page.rows
        ],
    }


def labels_table(page: AdjudicationPage) -> Table[tuple[Disagreement, GivenLabel]]:
    """The documents listed, a row for each label of each."""
    columns: list[Column[tuple[Disagreement, GivenLabel]]] = [
        Column("topic", lambda row: row[0].topic_id, "Topic"),
        Column("docno", lambda row: row[0].docno, "Document"),
        Column("assessor", lambda row: row[1].assessor, "Assessor"),
        Column("origin", lambda row: row[1].judge.origin, "Origin"),
        Column("grade", lambda row: row[1].grade, "Grade", digits=0),
        Column("note", lambda row: row[1].note, "Note"),
        Column("decided", lambda row: _decided(row[0]), "Decided", digits=0),
        Column("decided_by", lambda row: _decided_by(row[0]), "By"),
    ]
    rows = [(document, label) for document in page.rows for label in document.labels]
    return Table(_name(page), _caption(page), columns, rows)


def documents_table(page: AdjudicationPage) -> Table[Disagreement]:
    """The documents listed, a row for each."""
    columns: list[Column[Disagreement]] = [
        Column("docno", lambda row: row.docno, "Document"),
        Column("topic", lambda row: row.topic_id, "Topic"),
        Column("grades", lambda row: ", ".join(map(str, row.grades)), "Grades"),
        Column("apart", lambda row: row.distance if row.grades else None, "Apart", digits=0),
        Column("decided", _decided, "Decided"),
        Column("decided_by", _decided_by, "By", shown=~Place.PAGE),
    ]
    return Table(f"{_name(page)}-documents", _caption(page), columns, page.rows)


def case_table(case: AdjudicationCase) -> Table[GivenLabel]:
    """What the assessors said of the document, and after them the adjudicator."""
    columns = columns_from(GivenLabel, "assessor grade note")
    decision = case.disagreement.decision
    caption = f"What the assessors said of this document; relevant from grade {case.pool.level}"
    rows = [*case.disagreement.labels, *([decision] if decision else [])]
    return Table("labels", caption, columns, rows)


FILES = Files(facts=facts, tables={"labels": labels_table, "documents": documents_table})


def _name(page: AdjudicationPage) -> str:
    return f"{page.pool.name}-adjudication"


def _caption(page: AdjudicationPage) -> str:
    documents = counted(len(page.rows), "document")
    return f"{documents} ({SHOWN[page.wish.shown]}), relevant from grade {page.pool.level}"


def _decided(document: Disagreement) -> int | None:
    return document.decision.grade if document.decision else None


def _decided_by(document: Disagreement) -> str | None:
    return document.decision.assessor if document.decision else None


def _check(wish: AdjudicationChoice) -> None:
    for value, known in ((wish.shown, SHOWN), (wish.order, ORDERS), (wish.whose, WHOSE)):
        if value not in known:
            raise Invalid(f"{value[:20]!r} is not one of {', '.join(known)}.")


def _page(pool: JudgedPool, wish: AdjudicationChoice) -> AdjudicationPage:
    position = {topic.topic_id: place for place, topic in enumerate(pool.facts.topics)}
    documents = sorted(
        (row for row in _disagreements(pool, wish.whose) if wish.topic_id in ("", row.topic_id)),
        key=lambda row: (position.get(row.topic_id, len(position)), row.docno.encode()),
    )
    rows = [row for row in documents if wish.shown in ("all", row.kind)]
    if wish.order == "distance":
        rows.sort(key=lambda row: (-row.crosses(pool.facts.level), -row.distance))
    kinds = [row.kind for row in documents]
    return AdjudicationPage(
        pool=pool.facts,
        wish=wish,
        rows=tuple(rows),
        counts={kind: kinds.count(kind) for kind in SHOWN} | {"all": len(documents)},
        machines=any(judge.is_machine for judge in pool.judges),
    )


def _disagreements(pool: JudgedPool, whose: str) -> list[Disagreement]:
    titles = {topic.topic_id: topic.title for topic in pool.facts.topics}
    decided = pool.decided()
    documents = []
    for (topic_id, docno), labels in judging.by_place(pool.labels_of(whose)).items():
        decision = decided.get((topic_id, docno))
        if len(grades_of(labels)) != 1 or decision is not None:
            title = titles.get(topic_id, "")
            documents.append(Disagreement(topic_id, title, docno, tuple(labels), decision))
    return documents


def _after(listed: Sequence[tuple[str, str]], place: int) -> tuple[str, str] | None:
    """The document after a place of the list, after the last one the first; at place 0 the first."""
    if place and place < len(listed):
        return listed[place]
    return listed[0] if listed and place != 1 else None
