"""The agreement of a pool's assessors as JSON and as tables."""

from collections.abc import Callable
from typing import Any

from leaderboard.errors import NotFound
from leaderboard.pages.assessors.agreement import AgreementPage, PairAgreement
from leaderboard.pages.assessors.boards_by_assessor import BoardsByAssessor

Table = tuple[list[str], list[list[Any]]]


def as_json(page: AgreementPage) -> dict[str, Any]:
    """All of the page as plain values."""
    together = page.together
    return {
        "task": page.pool.slug,
        "pool": page.pool.number,
        "state": page.pool.state,
        "labels_of": page.whose,
        "topic": page.topic_id or None,
        "documents": page.pool.documents,
        "judged": together.judged,
        "judged_by_several": together.double,
        "disagreements": together.disagreements,
        "raw_agreement": together.raw.value,
        "overlap": together.overlap.value,
        "fleiss_kappa": together.fleiss.value,
        "fleiss_assessors": together.fleiss.assessors,
        "fleiss_documents": together.fleiss.documents,
        "krippendorff_alpha": {scale: found.value for scale, found in together.alphas.items()},
        **{name: _dicts(make(page)) for name, make in TABLES.items()},
    }


def table(page: AgreementPage, name: str) -> Table:
    """One of the page's tables as header and rows; raises NotFound for another name."""
    if name not in TABLES:
        raise NotFound(f"There is no table {name[:20]!r}; there are {', '.join(TABLES)}.")
    return TABLES[name](page)


def _pairs(page: AgreementPage) -> Table:
    header = [
        *("first", "second", "documents", "raw_agreement", "kappa", "kappa_low", "kappa_high"),
        *("linear_kappa", "quadratic_kappa", "overlap"),
    ]
    return header, [
        [
            *(each.first.name, each.second.name, each.documents, each.raw.value),
            *(each.plain.value, each.plain.low, each.plain.high),
            *(each.linear.value, each.quadratic.value, each.overlap.value),
        ]
        for each in page.pairs
    ]


def _assessors(page: AgreementPage) -> Table:
    header = [
        *("assessor", "origin", "machine", "asked", "judged", "skipped", "notes", "relevant"),
        *("median_seconds", "trimmed_mean_seconds", "away", "an_hour", "last"),
    ]
    return header, [
        [
            *(each.judge.name, "machine" if each.judge.is_machine else "human", each.judge.machine),
            *(each.asked, each.judged, each.skipped, each.notes, each.relevant),
            *(each.times.median, each.times.trimmed_mean, each.times.away, each.times.an_hour),
            each.last_at.isoformat(timespec="seconds") if each.last_at else None,
        ]
        for each in page.progress
    ]


def _topics(page: AgreementPage) -> Table:
    header = [
        *("topic", "title", "documents", "judged", "judged_by_several", "disagreements"),
        *("raw_agreement", f"{page.scale}_alpha", "relevant"),
    ]
    return header, [
        [
            *(each.topic.topic_id, each.topic.title, each.topic.documents, each.judged, each.double),
            *(each.disagreements, each.raw.value, each.alpha.value, each.relevant),
        ]
        for each in page.topics
    ]


def _confusion(page: AgreementPage) -> Table:
    header = ["first", "second", "first_grade", "second_grade", "documents"]
    return header, _confusion_rows(page.chosen) if page.chosen else []


def _confusion_rows(pair: PairAgreement) -> list[list[Any]]:
    grades = pair.confusion.grades
    return [
        [pair.first.name, pair.second.name, one, other, int(pair.confusion.counts[row, column])]
        for row, one in enumerate(grades)
        for column, other in enumerate(grades)
    ]


def _remarks(page: AgreementPage) -> Table:
    header = ["topic", "docno", "assessor", "grade", "note", "at"]
    return header, [
        [
            *(each.topic_id, each.docno, each.judge.name, each.grade, each.note),
            each.saved_at.isoformat(timespec="seconds"),
        ]
        for each in page.remarks
    ]


TABLES: dict[str, Callable[[AgreementPage], Table]] = {
    "pairs": _pairs,
    "assessors": _assessors,
    "topics": _topics,
    "confusion": _confusion,
    "remarks": _remarks,
}
"""Name of a table in an address -> how it is made."""


def boards_facts(found: BoardsByAssessor) -> dict[str, Any]:
    """The boards under each assessor as plain values."""
    return {
        "measure": found.measure,
        "runs": found.runs,
        "topics": found.topics,
        "leader": found.leader or None,
        "why_not": found.why or None,
        "assessors": _dicts(boards_table(found)),
    }


def boards_table(found: BoardsByAssessor) -> Table:
    """The boards under each assessor as header and rows."""
    header = [
        *("assessor", "documents", "changed", "tau", "tau_ap", "leader"),
        *("largest_move", "rank", "rank_by_assessor"),
    ]
    return header, [
        [
            *(each.judge.name, each.documents, each.changed, each.tau, each.tau_ap, each.leader),
            *(each.mover or None, *(each.mover_ranks if each.mover else (None, None))),
        ]
        for each in found.rows
    ]


def caption(page: AgreementPage, name: str) -> str:
    """What a table of the page shows, for print."""
    what = {
        "pairs": "agreement of pairs of assessors",
        "assessors": "assessors, their progress and seconds per judgment",
        "topics": "agreement by topic",
        "confusion": "grades of two assessors against each other",
        "remarks": "skipped documents and notes",
    }[name]
    return f"{page.pool.task}, pool {page.pool.number}: {what} ({page.together.judged:,} documents judged)."


def _dicts(found: Table) -> list[dict[str, Any]]:
    header, rows = found
    return [dict(zip(header, row, strict=True)) for row in rows]
