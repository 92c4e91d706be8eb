"""Adjudication pages of a pool: the list of disagreements, and one document to decide."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Topic
from leaderboard.errors import Invalid, NotFound
from leaderboard.judging.ops import judging
from leaderboard.judging.ops.assessors import log
from leaderboard.judging.ops.assessors.log import JudgedPool, PoolFacts
from leaderboard.judging.ops.judging import WHOSE, GivenLabel, grades_of
from leaderboard.judging.page.judging import DocumentReading, ReadDocument
from leaderboard.scoring.ops import scored_topics
from leaderboard.tables.record import Column, Files, Place, Table, columns_from, counted

SHOWN = {"open": "not decided yet", "decided": "decided", "skipped": "skipped by all assessors", "all": "all"}
"""Filter of documents by its name in addresses -> label in forms."""
ORDERS = {"topic": "topic", "distance": "distance between grades, largest first"}


@dataclass(frozen=True, slots=True)
class AdjudicationChoice:
    """The organiser's filter and order of the list."""

    shown: str = "open"
    order: str = "topic"
    topic_id: str = ""
    whose: str = "human"


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A document with different grades, or without a grade from any assessor."""

    topic_id: str
    topic: str
    docno: str
    labels: tuple[GivenLabel, ...]
    decision: GivenLabel | None

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades, in the order of the labels."""
        return tuple(label.grade for label in self.labels if label.grade is not None)

    @property
    def distance(self) -> int:
        """Difference between the highest and lowest grade."""
        return max(self.grades) - min(self.grades) if self.grades else 0

    def crosses(self, level: int) -> bool:
        """Whether the assessors differ on relevance."""
        return bool(self.grades) and min(self.grades) < level <= max(self.grades)

    @property
    def kind(self) -> str:
        """Its key in SHOWN."""
        if self.decision is not None:
            return "decided"
        return "open" if self.grades else "skipped"


@dataclass(frozen=True, slots=True)
class AdjudicationPage:
    """A pool's disagreements, those selected, and the number of each kind."""

    pool: PoolFacts
    choice: AdjudicationChoice
    rows: tuple[Disagreement, ...]
    counts: dict[str, int]
    machines: bool


@dataclass(frozen=True, slots=True)
class AdjudicationCase:
    """A document to decide: its topic, text and labels."""

    pool: PoolFacts
    choice: AdjudicationChoice
    disagreement: Disagreement
    topic: Topic
    document: ReadDocument
    place: int
    """Its position in the list, from 1; 0 if it is no longer in it."""
    total: int
    next: tuple[str, str] | None
    """Topic and docno of the next one."""
    before: tuple[str, str] | None


def adjudication_page(
    session: Session, viewer: Viewer, slug: str, number: int, choice: AdjudicationChoice
) -> AdjudicationPage:
    """The documents of a pool that need a decision or have one.

    Raises Invalid for an invalid filter, NotFound, SignInNeeded or Forbidden unless the viewer
    organises the task.
    """
    _check(choice)
    _, pool = log.judged_pool(session, viewer, slug, number)
    return _page(pool, choice)


def case(
    session: Session,
    viewer: Viewer,
    slug: str,
    number: int,
    choice: AdjudicationChoice,
    topic_id: str,
    docno: str,
) -> AdjudicationCase:
    """One document with its text; raises NotFound if no assessor labelled it."""
    _check(choice)
    task, pool = log.judged_pool(session, viewer, slug, number)
    labels = judging.by_place(pool.labels_of(choice.whose)).get((topic_id, docno))
    if not labels:
        raise NotFound(f"Document {docno!r} has no judgment for topic {topic_id!r} in pool {number}.")
    topic = scored_topics.find_topic(session, task, topic_id)
    decision = pool.decided().get((topic_id, docno))
    listed = [(row.topic_id, row.docno) for row in _page(pool, choice).rows]
    place = listed.index((topic_id, docno)) + 1 if (topic_id, docno) in listed else 0
    reading = DocumentReading.of(session, task, [docno], topic.title, topic.description)
    return AdjudicationCase(
        pool=pool.facts,
        choice=choice,
        disagreement=Disagreement(topic_id, topic.title, docno, tuple(labels), decision),
        topic=topic,
        document=reading.document(docno),
        place=place,
        total=len(listed),
        next=_after(listed, place),
        before=listed[place - 2] if place > 1 else None,
    )


def facts(page: AdjudicationPage) -> dict[str, Any]:
    """The listed documents as plain values."""
    return {
        "task": page.pool.slug,
        "pool": page.pool.number,
        "labels_of": page.choice.whose,
        "shown": page.choice.shown,
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
    """The listed documents, one row per label."""
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
    """The listed documents, one row each."""
    columns: list[Column[Disagreement]] = [
        Column("docno", lambda row: row.docno, "Document"),
        Column("topic", lambda row: row.topic_id, "Topic"),
        Column("grades", lambda row: ", ".join(map(str, row.grades)), "Grades"),
        Column("apart", lambda row: row.distance if row.grades else None, "Difference", digits=0),
        Column("decided", _decided, "Decided"),
        Column("decided_by", _decided_by, "By", shown=~Place.PAGE),
    ]
    return Table(f"{_name(page)}-documents", _caption(page), columns, page.rows)


def case_table(case: AdjudicationCase) -> Table[GivenLabel]:
    """The assessors' labels of the document, followed by the adjudicator's."""
    columns = columns_from(GivenLabel, "assessor grade note")
    decision = case.disagreement.decision
    caption = f"Labels of this document; relevant from grade {case.pool.level}"
    rows = [*case.disagreement.labels, *([decision] if decision else [])]
    return Table("labels", caption, columns, rows)


FILES = Files(facts=facts, tables={"labels": labels_table, "documents": documents_table})


def _name(page: AdjudicationPage) -> str:
    return f"{page.pool.name}-adjudication"


def _caption(page: AdjudicationPage) -> str:
    documents = counted(len(page.rows), "document")
    return f"{documents} ({SHOWN[page.choice.shown]}), relevant from grade {page.pool.level}"


def _decided(document: Disagreement) -> int | None:
    return document.decision.grade if document.decision else None


def _decided_by(document: Disagreement) -> str | None:
    return document.decision.assessor if document.decision else None


def _check(choice: AdjudicationChoice) -> None:
    for value, allowed in ((choice.shown, SHOWN), (choice.order, ORDERS), (choice.whose, WHOSE)):
        if value not in allowed:
            raise Invalid(f"{value[:20]!r} is not one of {', '.join(allowed)}.")


def _page(pool: JudgedPool, choice: AdjudicationChoice) -> AdjudicationPage:
    position = {topic.topic_id: place for place, topic in enumerate(pool.facts.topics)}
    documents = sorted(
        (row for row in _disagreements(pool, choice.whose) if choice.topic_id in ("", row.topic_id)),
        key=lambda row: (position.get(row.topic_id, len(position)), row.docno.encode()),
    )
    rows = [row for row in documents if choice.shown in ("all", row.kind)]
    if choice.order == "distance":
        rows.sort(key=lambda row: (-row.crosses(pool.facts.level), -row.distance))
    kinds = [row.kind for row in documents]
    return AdjudicationPage(
        pool=pool.facts,
        choice=choice,
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
    """The document after a position of the list, cyclically; at position 0 the first."""
    if place and place < len(listed):
        return listed[place]
    return listed[0] if listed and place != 1 else None
