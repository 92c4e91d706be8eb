"""The agreement of a pool's assessors as tables and files."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from leaderboard.pages.assessors import boards_by_assessor
from leaderboard.pages.assessors.agreement import SCALES, AgreementPage, Progress, TopicAgreement
from leaderboard.pages.assessors.boards_by_assessor import BoardOfAssessor
from leaderboard.pages.judging.agreement import PairAgreement
from leaderboard.services.judging.judged import GivenLabel
from leaderboard.stats.assessors.agreement import Alpha, Kappa, Share
from leaderboard.tables.record import Column, Files, Place, Table, columns_from

Result = Share | Kappa | Alpha
DATA = ~Place.PAGE
"""In files and in print."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of all assessors together, and what it is of."""

    name: str
    result: Result
    of: str
    suits: bool = False
    """Whether it suits the task's grades."""


def facts(page: AgreementPage) -> dict[str, Any]:
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
        "krippendorff_alpha": {scale: alpha.value for scale, alpha in together.alphas.items()},
        "pairs": pairs(page).facts(),
        "assessors": assessors(page).facts(),
        "topics": topics(page).facts(),
        "confusion": confusion(page).facts(),
        "remarks": remarks(page).facts(),
    } | ({"boards": boards_by_assessor.facts(page.boards)} if page.boards else {})


def coefficients(page: AgreementPage) -> Table[Coefficient]:
    """The coefficients of all assessors together."""
    together = page.together
    raw, overlap, fleiss = together.raw, together.overlap, together.fleiss
    rows = [
        Coefficient("Raw agreement", raw, f"{raw.of:,} pairs of grades: the same grade"),
        Coefficient(
            "Overlap",
            overlap,
            f"{overlap.of:,} pairs with a relevant grade (from {page.pool.level}): both relevant",
        ),
        Coefficient(
            "Fleiss’ kappa",
            fleiss,
            f"{fleiss.documents:,} documents with {fleiss.assessors} grades each{_why(fleiss)}",
        ),
        *(
            Coefficient(
                f"Krippendorff’s alpha, {scale}",
                alpha,
                f"{alpha.grades:,} grades of {alpha.documents:,} documents; {SCALES[scale]}{_why(alpha)}",
                suits=scale == page.scale,
            )
            for scale, alpha in together.alphas.items()
        ),
    ]
    columns: list[Column[Coefficient]] = [
        Column("coefficient", lambda row: row.name, "Coefficient"),
        Column("value", lambda row: row.result.value, "Value", digits=3),
        Column("of", lambda row: row.of, "Of what"),
    ]
    caption = (
        f"Agreement on the {together.double:,} documents that several judged; 1 is perfect agreement; "
        "for kappa and alpha, 0 is chance."
    )
    return _table(page, "coefficients", caption, columns, rows)


def pairs(page: AgreementPage) -> Table[PairAgreement]:
    """Each two assessors on the documents both graded."""
    columns: list[Column[PairAgreement]] = [
        Column("pair", lambda row: f"{row.first.name} and {row.second.name}", "Assessors", shown=Place.PAGE),
        Column("first", lambda row: row.first.name, "First", shown=DATA),
        Column("second", lambda row: row.second.name, "Second", shown=DATA),
        Column("documents", lambda row: row.documents, "Documents", digits=0),
        _coefficient("raw_agreement", "Raw", lambda row: row.raw),
        _coefficient("kappa", "Cohen’s kappa", lambda row: row.plain),
        Column("interval", _interval, "Interval", digits=2, shown=Place.PAGE),
        Column("kappa_low", lambda row: row.plain.low, "From", digits=3, shown=DATA),
        Column("kappa_high", lambda row: row.plain.high, "To", digits=3, shown=DATA),
        _coefficient("linear_kappa", "Linear", lambda row: row.linear),
        _coefficient("quadratic_kappa", "Quadratic", lambda row: row.quadratic),
        _coefficient("overlap", "Overlap", lambda row: row.overlap),
        Column("grades", lambda row: None, "Grades", shown=Place.PAGE),
    ]
    caption = (
        "Each two assessors on the documents both graded, most documents first; kappa with its 95% interval."
    )
    return _table(page, "pairs", caption, columns, page.pairs)


def assessors(page: AgreementPage) -> Table[Progress]:
    """How far each assessor is, and how long judging takes."""
    columns = columns_from(
        Progress,
        "judge.name judge.origin judge.machine",
        Column(
            "asked",
            lambda row: row.asked,
            "Asked",
            words=lambda row: f"{row.asked:,}" if row.asked else None,
            digits=0,
        ),
        "judged skipped notes relevant times.median times.trimmed_mean times.away",
        "times.an_hour seconds_left",
        Column("last", _last, "Last"),
    )
    caption = (
        "Progress and seconds per judgment; what took over five minutes counts as a pause. The trimmed mean "
        "is that of the middle 90%."
    )
    return _table(page, "assessors", caption, columns, page.progress)


def topics(page: AgreementPage) -> Table[TopicAgreement]:
    """The agreement topic by topic."""
    columns = columns_from(
        TopicAgreement,
        "topic.topic_id topic.title topic.documents judged double disagreements",
        _coefficient("raw_agreement", "Raw", lambda row: row.raw),
        _coefficient(f"{page.scale}_alpha", "Alpha", lambda row: row.alpha),
        "relevant",
    )
    caption = (
        f"Agreement by topic: raw agreement and {page.scale} alpha of the documents that several judged."
    )
    return _table(page, "topics", caption, columns, page.topics)


def confusion(page: AgreementPage) -> Table[tuple[int, int, int]]:
    """The grades of the chosen two against each other, a row for each two grades."""
    pair = page.chosen
    first, second = (pair.first.name, pair.second.name) if pair else ("", "")
    columns: list[Column[tuple[int, int, int]]] = [
        Column("first", lambda row: first, "First"),
        Column("second", lambda row: second, "Second"),
        Column("first_grade", lambda row: row[0], "Grade of the first", digits=0),
        Column("second_grade", lambda row: row[1], "Grade of the second", digits=0),
        Column("documents", lambda row: row[2], "Documents", digits=0),
    ]
    rows = (
        []
        if pair is None
        else [
            (one, other, int(pair.confusion.counts[row, column]))
            for row, one in enumerate(pair.confusion.grades)
            for column, other in enumerate(pair.confusion.grades)
        ]
    )
    return _table(page, "confusion", "Documents by the grades of two assessors.", columns, rows)


def remarks(page: AgreementPage) -> Table[GivenLabel]:
    """Skipped documents and labels with a note."""
    columns = columns_from(
        GivenLabel,
        "topic_id docno assessor grade note",
        Column("at", lambda row: row.saved_at.isoformat(timespec="seconds"), "When"),
    )
    caption = "What assessors skipped or wrote down, the latest first."
    return _table(page, "remarks", caption, columns, page.remarks)


def boards(page: AgreementPage) -> Table[BoardOfAssessor]:
    """The order of the runs under each assessor; the page has it only where it was asked for."""
    assert page.boards is not None, "asked for with the page"
    table = boards_by_assessor.table(page.boards)
    return _table(page, "boards", table.caption, [*table.columns], table.rows)


TABLES: Mapping[str, Callable[[AgreementPage], Table[Any]]] = {
    "pairs": pairs,
    "assessors": assessors,
    "topics": topics,
    "confusion": confusion,
    "remarks": remarks,
    "boards": boards,
    "coefficients": coefficients,
}
FILES = Files(facts=facts, tables=TABLES)


def _table(
    page: AgreementPage, name: str, caption: str, columns: list[Column[Any]], rows: Sequence[Any]
) -> Table[Any]:
    """A table of the page; what is printed says whose labels they are."""
    pool = f"{page.pool.task}, pool {page.pool.number}, {page.together.judged:,} documents judged."
    return Table(f"{page.pool.name}-{name}", caption, columns, rows, legend=pool)


def _coefficient(key: str, head: str, result: Callable[[Any], Result]) -> Column[Any]:
    """A column of coefficients; where there is none, the page says why."""
    return Column(key, lambda row: result(row).value, head, digits=3)


def _interval(row: PairAgreement) -> str | None:
    low, high = row.plain.low, row.plain.high
    return None if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _last(row: Progress) -> str | None:
    return row.last_at.isoformat(timespec="seconds") if row.last_at else None


def _why(result: Result) -> str:
    return f": {result.why}" if result.value is None else ""
