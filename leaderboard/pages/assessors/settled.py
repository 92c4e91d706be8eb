"""What the labels of a pool come to by a rule, as tables and as files."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, NamedTuple

from leaderboard.errors import NotFound
from leaderboard.services.assessors.settle import BLANKS, OPEN, UNJUDGED, SettledPool
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

COLUMNS = ("", "probability", "stratum", "both")
"""What stands behind the grade in a TREC file of a sampled pool."""


class DocumentFate(NamedTuple):
    """What becomes of some documents of a pool, and how many they are."""

    kind: Annotated[str, Shown(key="documents")]
    documents: Annotated[int, Shown("How many", key="count")]
    fate: Annotated[str, Shown("What becomes of them")]


class SettledJudgment(NamedTuple):
    """A settled judgment; stratum and probability are those of the pool, where the document is in it."""

    topic_id: Annotated[str, Shown(key="topic")]
    docno: Annotated[str, Shown("Document")]
    grade: int
    stratum: str
    probability: float | None


class GradeCount(NamedTuple):
    """How many judgments have a grade."""

    grade: int
    judgments: int
    share: float


def facts(settled: SettledPool) -> dict[str, Any]:
    """What the labels come to as plain values."""
    return {
        "task": settled.pool.slug,
        "pool": settled.pool.number,
        "choice": asdict(settled.choice),
        "line": settled.line,
        "judgments": settled.size,
        "grades": {str(grade): count for grade, count in settled.grades.items()},
        "documents": asdict(settled.counts),
        "revision": settled.before,
        "change": asdict(settled.change),
    }


def judgments_table(settled: SettledPool) -> Table[SettledJudgment]:
    """Every settled judgment, in byte order of topics and documents."""
    columns = columns_from(SettledJudgment, "topic_id docno grade stratum probability")
    rows = [
        _graded(settled, topic, docno.decode(), grade)
        for topic, grades in settled.judgments.items()
        for docno, grade in grades.items()
    ]
    caption = f"Settled judgments of pool {settled.pool.number} of {settled.pool.task}"
    return Table(f"{settled.pool.name}-judgments", caption, columns, rows)


def fates_table(settled: SettledPool) -> Table[DocumentFate]:
    """What becomes of the documents of the pool."""
    choice, counts = settled.choice, settled.counts
    used = "used again" if choice.reused else "left out"
    undrawn = "grade −1: pooled, not judged" if choice.reused else "left out"
    rows = [
        DocumentFate("settled by the rule", counts.settled, "judged"),
        DocumentFate("open: the rule gives no grade", counts.open, OPEN[choice.open]),
        DocumentFate("skipped by all who saw them", counts.skipped, BLANKS[choice.skipped]),
        DocumentFate("not judged yet", counts.unjudged, BLANKS[choice.unjudged]),
        DocumentFate("with an earlier judgment", counts.reused, used),
        DocumentFate("not drawn by the sample", counts.undrawn, undrawn),
    ]
    caption = f"Documents of the pool: {len(settled.documents):,}"
    return Table(
        f"{settled.pool.name}-documents",
        caption,
        columns_from(DocumentFate, "kind documents fate"),
        [row for row in rows if row.documents],
    )


def grades_table(settled: SettledPool) -> Table[GradeCount]:
    """How many judgments have each grade."""
    names = settled.pool.grade_names
    columns: list[Column[GradeCount]] = [
        Column("grade", lambda row: row.grade, "Grade"),
        Column("name", lambda row: names.get(row.grade, ""), "Name", shown=~Place.PAGE),
        Column("judgments", lambda row: row.judgments, "Judgments", digits=0),
        Column("share", lambda row: row.share, "Share", digits=4),
    ]
    rows = [GradeCount(grade, count, count / settled.size) for grade, count in settled.grades.items()]
    caption = f"Judgments by grade: {settled.size:,}"
    return Table(f"{settled.pool.name}-grades", caption, columns, rows)


FILES = Files(
    facts=facts, tables={"judgments": judgments_table, "documents": fates_table, "grades": grades_table}
)


def qrels_lines(settled: SettledPool, columns: str = "") -> Iterator[str]:
    """The settled judgments as lines of a TREC qrels file, in byte order of topics and documents.

    columns: what stands behind the grade: `stratum`, `probability` (of coming into the pool), `both`, or
    nothing. Then documents that the sample left out are there with grade -1. Raises NotFound for another.
    """
    if columns not in COLUMNS:
        raise NotFound(f"A qrels file may have columns {', '.join(filter(None, COLUMNS))} besides.")
    grades = {
        (topic, docno.decode()): grade
        for topic, judged in settled.judgments.items()
        for docno, grade in judged.items()
    }
    if columns:
        left_out = (place for place, document in settled.documents.items() if document.grade == UNJUDGED)
        grades = {**dict.fromkeys(left_out, UNJUDGED), **grades}
    for (topic, docno), grade in sorted(grades.items(), key=lambda item: [part.encode() for part in item[0]]):
        yield f"{topic} 0 {docno} {grade}{_behind(settled, topic, docno, columns)}\n"


def _behind(settled: SettledPool, topic: str, docno: str, columns: str) -> str:
    document = settled.documents.get((topic, docno))
    if not columns or document is None:
        return ""
    stratum, probability = f" {document.stratum or '-'}", f" {document.probability!r}"
    return {"stratum": stratum, "probability": probability, "both": stratum + probability}[columns]


def _graded(settled: SettledPool, topic: str, docno: str, grade: int) -> SettledJudgment:
    document = settled.documents.get((topic, docno))
    if document is None:
        return SettledJudgment(topic, docno, grade, "", None)
    return SettledJudgment(topic, docno, grade, document.stratum, document.probability)
