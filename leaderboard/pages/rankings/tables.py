"""One run's ranking for one topic as plain values and as a table."""

from typing import Any

from leaderboard.pages.rankings.ranking import MissedDocument, RankedDocument, RankingPage
from leaderboard.pages.topics.judgments import finder_facts
from leaderboard.services.evaluations.shown import left_out_facts
from leaderboard.services.rankings.stored import PassedDocument
from leaderboard.tables.record import Column, Files, Place, Table, columns_from

RUNNING = {"precision": "P", "recall": "R", "average_precision": "AP", "ndcg": "nDCG"}
"""Running scores by their name in files, with their heads."""


def facts(page: RankingPage) -> dict[str, Any]:
    """The ranking as plain values at full precision."""
    return {
        "task": page.slug,
        "run": page.run,
        "run_id": page.run_id,
        "topic": page.topic_id,
        "revision": page.basis.revision if page.basis else None,
        **left_out_facts(page.basis),
        "dialect": page.dialect,
        "level": page.level,
        "scores": {column.key: value for column, value in page.scores},
        "relevant": page.relevant_known if page.is_judged else None,
        "ties": {"groups": page.ties.groups, "documents": page.ties.documents},
        "documents": [_document(row) for row in page.rows],
        **_left_out(page),
        "missed": [
            {"docno": row.docno, "grade": row.grade, **finder_facts(row.finders)} for row in page.missed
        ],
    }


def _left_out(page: RankingPage) -> dict[str, Any]:
    rows = [{"docno": row.docno, "score": row.score, "before": row.before} for row in page.left_out]
    return {"documents_left_out": rows} if rows else {}


def left_out_table(page: RankingPage) -> Table[PassedDocument]:
    """The documents of the run that are left out of the topic."""
    return Table(
        f"{page.run}-{page.topic_id}-left-out",
        f"Documents of run {page.run} that are left out of topic {page.topic_id} of {page.task}.",
        columns_from(PassedDocument),
        page.left_out,
    )


def table(page: RankingPage) -> Table[RankedDocument]:
    """The documents in order; readers get no column that has nothing to say."""
    judged = Place.EVERYWHERE if page.is_judged else Place.DATA
    printed = Place.PAGE if page.is_judged else Place.PAGE | Place.PRINT
    return Table(
        f"{page.run}-{page.topic_id}",
        _caption(page),
        columns_from(
            RankedDocument,
            "rank",
            Column("grade", lambda row: row.grade, "Grade", shown=judged & ~Place.DATA),
            "docno score grade title",
            *(_running(key, head, judged) for key, head in RUNNING.items()),
            Column("found", lambda row: row.finders, "Runs", shown=judged & Place.PAGE),
            *(_finders(key) for key in ("runs", "best_rank", "best_run")),
            Column("score", lambda row: row.score, "Score", digits=4, shown=printed),
        ),
        page.rows,
    )


def missed_table(page: RankingPage) -> Table[MissedDocument]:
    """The relevant documents that the run does not have."""
    return Table(
        f"{page.run}-{page.topic_id}-missed",
        (
            f"{len(page.missed):,} of {page.missed_total:,} relevant documents for topic {page.topic_id} of "
            f"{page.task} that run {page.run} does not have."
        ),
        columns_from(
            MissedDocument,
            "grade docno finders",
            *(_missed_by(key) for key in ("runs", "best_rank", "best_run")),
        ),
        page.missed,
    )


FILES = Files(facts=facts, tables={"ranking": table, "missed": missed_table, "left_out": left_out_table})


def _running(key: str, head: str, where: Place) -> Column[RankedDocument]:
    return Column(
        key,
        lambda row: getattr(row.running, key) if row.running else None,
        head,
        digits=4,
        shown=where,
        group="running",
    )


def _finders(key: str) -> Column[RankedDocument]:
    return Column(key, lambda row: finder_facts(row.finders)[key], shown=Place.DATA)


def _missed_by(key: str) -> Column[MissedDocument]:
    head = key.replace("_", " ").capitalize()
    return Column(key, lambda row: finder_facts(row.finders)[key], head, shown=~Place.PAGE)


def _document(row: RankedDocument) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "docno": row.docno,
        "score": row.score,
        "grade": row.grade,
        "tied": [row.tie.first, row.tie.last] if row.tie else None,
        **{key: getattr(row.running, key) if row.running else None for key in RUNNING},
        **finder_facts(row.finders),
    }


def _caption(page: RankingPage) -> str:
    shown = f"{len(page.rows):,} of {page.total:,} documents" if page.rows else "No document"
    parts = [
        f"{shown} of run {page.run} for topic {page.topic_id} of {page.task}, by score, ties by document id "
        f"descending (trec_eval {page.dialect})."
    ]
    if page.is_judged and page.basis is not None:
        parts.append(
            f"P, R, AP and nDCG are those of the ranking cut at each rank, under "
            f"{page.basis.qrels}, relevant from grade {page.level}; a dash is not judged."
        )
    return " ".join(parts)
