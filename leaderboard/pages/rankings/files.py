"""One run's ranking for one topic as JSON, CSV and LaTeX."""

from typing import Any

from leaderboard.pages.rankings.ranking import RankedDocument, RankingPage
from leaderboard.pages.topics.judgments import Finders

RUNNING = ("precision", "recall", "average_precision", "ndcg")


def as_json(page: RankingPage) -> dict[str, Any]:
    """The ranking as plain values at full precision."""
    return {
        "task": page.slug,
        "run": page.run,
        "run_id": page.run_id,
        "topic": page.topic_id,
        "revision": page.basis.revision if page.basis else None,
        "dialect": page.dialect,
        "level": page.level,
        "scores": {column.key: value for column, value in page.scores},
        "relevant": page.relevant_known if page.is_judged else None,
        "ties": {"groups": page.ties.groups, "documents": page.ties.documents},
        "documents": [_document(row) for row in page.rows],
        "missed": [{"docno": each.docno, "grade": each.grade, **_found(each.found)} for each in page.missed],
    }


def table(page: RankingPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the ranking, for CSV."""
    header = ["rank", "docno", "score", "grade", "title", *RUNNING, "runs", "best_rank", "best_run"]
    return header, [
        [
            *(row.rank, row.docno, row.score, row.grade, row.title),
            *_running(row).values(),
            *_found(row.found).values(),
        ]
        for row in page.rows
    ]


def latex(page: RankingPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the ranking as it is printed: without columns that have nothing to say."""
    if not page.is_judged:
        return ["rank", "document", "score"], [[row.rank, row.docno, row.score] for row in page.rows]
    rows = [[row.rank, row.grade, row.docno, *_running(row).values()] for row in page.rows]
    return ["rank", "grade", "document", "P", "R", "AP", "nDCG"], rows


def caption(page: RankingPage) -> str:
    """What the printed ranking shows and rests on."""
    shown = f"{len(page.rows):,} of {page.total:,} documents" if page.rows else "No document"
    parts = [
        f"{shown} of run {page.run} for topic {page.topic_id} of {page.task}, by score, ties by document id "
        f"descending (trec_eval {page.dialect})."
    ]
    if page.is_judged and page.basis is not None:
        parts.append(
            f"P, R, AP and nDCG are those of the ranking cut at each rank, under qrels revision "
            f"{page.basis.revision}, relevant from grade {page.level}; a dash is not judged."
        )
    return " ".join(parts)


def _document(row: RankedDocument) -> dict[str, Any]:
    return {
        "rank": row.rank,
        "docno": row.docno,
        "score": row.score,
        "grade": row.grade,
        "tied": [row.tie.first, row.tie.last] if row.tie else None,
        **_running(row),
        **_found(row.found),
    }


def _running(row: RankedDocument) -> dict[str, float | None]:
    return {key: getattr(row.running, key) if row.running else None for key in RUNNING}


def _found(found: Finders | None) -> dict[str, Any]:
    """How many runs have a document and where it is highest; nothing for what is not judged."""
    if found is None:
        return {"runs": None, "best_rank": None, "best_run": None}
    return {"runs": found.runs, "best_rank": found.best or None, "best_run": found.best_run or None}
