"""One topic as plain values, and its tables: what every run got, its judged documents, these by grade."""

from typing import Any

from leaderboard.pages.topics.documents import FoundDocument, GradeCount
from leaderboard.pages.topics.run_scores import RunScore
from leaderboard.pages.topics.topic import TopicPage
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import computed_as
from leaderboard.tables.record import Column, Files, Place, Table, columns_from


def facts(page: TopicPage) -> dict[str, Any]:
    """The topic as plain values at full precision."""
    keys = [measure.key for measure in page.measures]
    return {
        "task": page.slug,
        "topic": page.topic_id,
        "title": page.title,
        "description": page.description,
        "narrative": page.narrative,
        "subtopics": list(page.subtopics),
        "revision": page.basis.revision if page.basis else None,
        "measure": page.measure.key if page.measure else None,
        "judgments": {row.docno: row.grade for row in page.documents.rows},
        "documents": [
            {
                "docno": row.docno,
                "grade": row.grade,
                "runs": row.runs,
                "teams": row.teams,
                "best_rank": row.best,
                "best_run": row.best_run,
                "only_team": row.only_team or None,
            }
            for row in page.documents.rows
        ],
        "rows": [
            {
                "run": row.name,
                "run_id": row.run_id,
                "team": row.team,
                "rank": row.rank,
                **({"relevant": row.relevant, "first": row.first} if page.takes == "rankings" else {}),
                "scores": dict(zip(keys, row.scores, strict=True)),
            }
            for row in page.scores
        ],
    }


def scores_table(page: TopicPage) -> Table[RunScore]:
    """Every run's scores on the topic."""
    return Table(
        f"{page.slug}-{page.topic_id}",
        _caption(page),
        columns_from(
            RunScore,
            "rank name run_id team",
            *(_score(page, measure, at) for at, measure in enumerate(page.measures)),
            *(_FOUND if page.takes == "rankings" else ()),
        ),
        page.scores,
    )


def documents_table(page: TopicPage) -> Table[FoundDocument]:
    """The judged documents of the kind that was chosen."""
    return Table(
        f"{page.slug}-{page.topic_id}-documents",
        f"Judged documents of topic {page.topic_id} of {page.task}{_under(page)}.",
        columns_from(
            FoundDocument,
            "grade docno runs teams best best_run",
            Column("only_team", lambda row: row.only_team or None, shown=Place.DATA),
        ),
        page.documents.rows,
    )


def grades_table(page: TopicPage) -> Table[GradeCount]:
    """How many documents there are at each grade, and how many of them the runs found."""
    by_team = Place.EVERYWHERE if page.documents.teams > 1 else Place.DATA
    return Table(
        f"{page.slug}-{page.topic_id}-grades",
        f"Judged documents of topic {page.topic_id} of {page.task} by grade{_under(page)}.",
        columns_from(
            GradeCount,
            "grade documents share",
            _found(page, "near", "In a top 10", "in the top 10 of some run"),
            _found(page, "far", "In a top 100", "in the top 100 of some run"),
            _found(page, "found", "Found at all"),
            _found(page, "alone", "By one team only", shown=by_team),
            _found(page, "missed", "By nobody"),
        ),
        page.documents.grades,
    )


_FOUND: tuple[Column[RunScore], ...] = (
    Column("relevant", lambda row: row.relevant, "Found", digits=0),
    Column(
        "first relevant",
        lambda row: row.first,
        "First at",
        digits=0,
        title="rank of the first relevant document",
    ),
)
FILES = Files(
    facts=facts, tables={"scores": scores_table, "documents": documents_table, "grades": grades_table}
)


def _score(page: TopicPage, measure: MeasureColumn, at: int) -> Column[RunScore]:
    return Column(
        measure.key,
        lambda row: row.scores[at],
        measure.short,
        digits=measure.digits,
        title=measure.title,
        group="sorted by" if measure == page.measure else "measure",
    )


def _found(
    page: TopicPage, key: str, head: str, title: str = "", shown: Place = Place.EVERYWHERE
) -> Column[GradeCount]:
    """A count that is known once a run is scored."""
    are_scored = bool(page.documents.runs)
    return Column(
        key, lambda row: getattr(row, key) if are_scored else None, head, digits=0, title=title, shown=shown
    )


def _under(page: TopicPage) -> str:
    return f", {page.basis.qrels}" if page.basis else ""


def _caption(page: TopicPage) -> str:
    name = f"topic {page.topic_id} of {page.task}"
    if page.basis is None or page.measure is None:
        return f"Runs on {name}: no scores are shown."
    return (
        f"Scores on {name} under {page.basis.qrels}{computed_as(page.basis.dialect)}, "
        f"in the order of {page.measure.key}."
    )
