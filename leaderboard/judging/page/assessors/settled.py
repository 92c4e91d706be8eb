"""Settled judgments of a pool, as tables and files."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, NamedTuple

from leaderboard.errors import NotFound
from leaderboard.judging.ops.assessors.settle import BLANKS, OPEN, UNJUDGED, SettledPool
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

COLUMNS = ("", "probability", "stratum", "both")
"""Extra columns after the grade in a TREC file of a sampled pool."""


class DocumentFate(NamedTuple):
    """Outcome of a group of documents of a pool, with its size."""

    kind: Annotated[str, Shown(key="documents")]
    documents: Annotated[int, Shown("How many", key="count")]
    fate: Annotated[str, Shown("Result")]


class SettledJudgment(NamedTuple):
    """A settled judgment; stratum and probability from the pool, if the document is in it."""

    topic_id: Annotated[str, Shown(key="topic")]
    docno: Annotated[str, Shown("Document")]
    grade: int
    stratum: str
    probability: float | None


class GradeCount(NamedTuple):
    """Number of judgments with a grade."""

    grade: int
    judgments: int
    share: float


def facts(settled: SettledPool) -> dict[str, Any]:
    """The settled judgments as plain values."""
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
    """Outcomes of the pool's documents."""
    choice, counts = settled.choice, settled.counts
    used = "reused" if choice.reused else "left out"
    undrawn = "grade −1: pooled, not judged" if choice.reused else "left out"
    rows = [
        DocumentFate("settled by the rule", counts.settled, "judged"),
        DocumentFate("undecided: the rule gives no grade", counts.open, OPEN[choice.open]),
        DocumentFate("skipped by all assessors who saw them", counts.skipped, BLANKS[choice.skipped]),
        DocumentFate("not judged yet", counts.unjudged, BLANKS[choice.unjudged]),
        DocumentFate("judged earlier", counts.reused, used),
        DocumentFate("not drawn in the sample", counts.undrawn, undrawn),
    ]
    caption = f"Documents of the pool: {len(settled.documents):,}"
    return Table(
        f"{settled.pool.name}-documents",
        caption,
        columns_from(DocumentFate, "kind documents fate"),
        [row for row in rows if row.documents],
    )


def grades_table(settled: SettledPool) -> Table[GradeCount]:
    """Number of judgments by grade."""
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

    columns: extra columns after the grade: `stratum`, `probability` (of inclusion), `both`, or
    none. With them, documents left out by the sample are included with grade -1. Raises NotFound for others.
    """
    if columns not in COLUMNS:
        raise NotFound(
            f"The extra columns of a qrels file must be one of {', '.join(filter(None, COLUMNS))}."
        )
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
