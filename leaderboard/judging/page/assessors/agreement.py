"""Agreement of a pool's assessors while they judge: by pair, overall and by topic."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Assessment, Assessor, Assignment
from leaderboard.errors import Invalid, NotFound
from leaderboard.judging.ops.assessors import log, queues
from leaderboard.judging.ops.assessors.log import JudgedPool, PoolFacts, TopicOfPool
from leaderboard.judging.ops.judging import WHOSE, GivenLabel, Judge
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.page import judging
from leaderboard.judging.page.assessors import boards_by_assessor as assessors_boards_by_assessor
from leaderboard.judging.page.assessors.boards_by_assessor import (
    BoardOfAssessor,
    BoardsByAssessor,
    boards_by_assessor,
)
from leaderboard.judging.page.judging import PairAgreement
from leaderboard.stats import assessors as stats
from leaderboard.stats.assessors import (
    Alpha,
    IntArray,
    JudgingTimes,
    Kappa,
    Ratings,
    Scale,
    Share,
    judging_times,
)
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from, csv_lines


@dataclass(frozen=True, slots=True)
class Progress:
    """One assessor's progress in a pool."""

    judge: Judge
    asked: int
    """Documents to judge; 0 for imported labels."""
    judged: int
    skipped: int
    notes: int
    relevant: Annotated[float | None, Shown(digits=3)]
    """Share of relevant grades."""
    times: JudgingTimes
    last_at: datetime | None

    @property
    def left(self) -> int:
        """Documents still to judge."""
        return max(self.asked - self.judged - self.skipped, 0)

    @property
    def seconds_left(
        self,
    ) -> Annotated[float | None, Shown("Remaining", key="left", digits=None, shown=Place.PAGE)]:
        """Estimated time left at this pace; None if unknown."""
        if not self.left or self.times.trimmed_mean is None:
            return None
        return self.left * self.times.trimmed_mean


def progress(session: Session, pool: JudgedPool, whose: str, topic_id: str = "") -> tuple[Progress, ...]:
    """Every assessor with documents or labels in the pool, or in one of its topics."""
    query = select(Assignment).where(Assignment.pool_id == pool.facts.id)
    if topic_id:
        query = query.where(Assignment.topic_id == topic_id)
    asked = queues.asked(session.scalars(query), pool.facts.documents_of)
    labels: dict[int, list[GivenLabel]] = {}
    for label in pool.labels:
        labels.setdefault(label.judge.id, []).append(label)
    return tuple(
        _progress(judge, asked.get(judge.id, 0), labels.get(judge.id, ()), pool.facts.level)
        for judge in pool.judges
        if not judge.is_adjudicator and judge.is_of(whose) and (judge.id in asked or judge.id in labels)
    )


def _progress(judge: Judge, asked: int, labels: Sequence[GivenLabel], level: int) -> Progress:
    grades = [label.grade for label in labels if label.grade is not None]
    return Progress(
        judge=judge,
        asked=asked,
        judged=len(grades),
        skipped=len(labels) - len(grades),
        notes=sum(bool(label.note) for label in labels),
        relevant=sum(grade >= level for grade in grades) / len(grades) if grades else None,
        times=judging_times([label.seconds for label in labels if label.seconds is not None]),
        last_at=max((label.saved_at for label in labels), default=None),
    )


SCALES: dict[Scale, str] = {
    "nominal": "grades are names",
    "ordinal": "grades are in order",
    "interval": "differences of grades count",
}
Two = tuple[IntArray, IntArray]
"""Agreement of two assessors on the documents that both judged."""


@dataclass(frozen=True, slots=True)
class TopicAgreement:
    """Agreement on one topic."""

    topic: TopicOfPool
    judged: int
    """Graded documents."""
    double: Annotated[int, Shown("Judged by several", key="judged_by_several")]
    """Documents graded by two or more."""
    raw: Share
    alpha: Alpha
    disagreements: Annotated[int, Shown("Disagreements")]
    relevant: Annotated[float | None, Shown(digits=3)]
    """Share of relevant grades."""


@dataclass(frozen=True, slots=True, eq=False)
class AgreementOfAll:
    """All assessors on the documents that several graded."""

    judged: int
    double: int
    disagreements: int
    raw: Share
    """Over all pairs of grades of a document."""
    overlap: Share
    """Over the same pairs, by whether they are relevant."""
    fleiss: Kappa
    alphas: dict[Scale, Alpha]


@dataclass(frozen=True, slots=True, eq=False)
class AgreementPage:
    """The agreement page for a pool's organisers."""

    pool: PoolFacts
    whose: str
    topic_id: str
    """The selected topic; empty for all."""
    scale: Scale
    """The scale that suits the task's grades."""
    together: AgreementOfAll
    pairs: tuple[PairAgreement, ...]
    """Pairs that share a document, most documents first."""
    chosen: PairAgreement | None
    """The pair of the confusion table."""
    topics: tuple[TopicAgreement, ...]
    progress: tuple[Progress, ...]
    remarks: tuple[GivenLabel, ...]
    """Skipped documents and labels with a note, latest first."""
    machines: bool
    """Whether the task has machine assessors."""
    boards: BoardsByAssessor | None
    """The ranking of runs under each assessor, over all topics; None unless requested."""


def agreement_page(
    session: Session,
    viewer: Viewer,
    slug: str,
    number: int,
    *,
    whose: str = "human",
    topic_id: str = "",
    pair: tuple[int | None, int | None] = (None, None),
    with_boards: bool = False,
) -> AgreementPage:
    """The current agreement of a pool's assessors, on all topics or one.

    whose: `human`, `machine` or `all`; pair: ids of the two in the confusion table, by default
    those with most documents in common; with_boards takes seconds. Raises NotFound for an unknown pool,
    topic or pair, Invalid for an unknown `whose`, SignInNeeded or Forbidden unless the viewer organises the
    task.
    """
    if whose not in WHOSE:
        raise Invalid(f"The labels must be one of {', '.join(WHOSE)}, not {whose[:20]!r}.")
    _, judged = log.judged_pool(session, viewer, slug, number, topic_id or None)
    pool = judged.facts
    if topic_id and topic_id not in {topic.topic_id for topic in pool.topics}:
        raise NotFound(f"Pool {number} has no topic {topic_id!r}.", topic=topic_id)
    labels = judged.labels_of(whose)
    scale: Scale = "nominal" if pool.is_binary else "ordinal"
    table, grades = judging.ratings(labels), [grade.value for grade in pool.scale]
    pairs = judging.pairs(table, judged.judges, level=pool.level, grades=grades)
    topics = [topic for topic in pool.topics if not topic_id or topic.topic_id == topic_id]
    return AgreementPage(
        pool=pool,
        whose=whose,
        topic_id=topic_id,
        scale=scale,
        together=_together(table, pool),
        pairs=pairs,
        chosen=_chosen(pairs, pair),
        topics=_by_topic(table, topics, pool, scale),
        progress=progress(session, judged, whose, topic_id),
        remarks=_remarks(labels),
        machines=any(judge.is_machine for judge in judged.judges),
        boards=boards_by_assessor(session, viewer, slug, number, whose) if with_boards else None,
    )


@dataclass(frozen=True, eq=False)
class _Double:
    """The documents of a table that several judged, with every pair of their grades."""

    table: Ratings

    @cached_property
    def columns(self) -> IntArray:
        """Positions of documents with two or more grades."""
        return np.flatnonzero(self.table.given.sum(axis=0) > 1)

    @cached_property
    def pairs(self) -> Two:
        """All pairs of grades of these documents."""
        ones, others = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
        count = self.table.given.sum(axis=0)
        for several in np.unique(count[self.columns]).tolist():
            columns = np.flatnonzero(count == several)
            # Sorted by document, then assessor.
            given = self.table.grades[:, columns].T[self.table.given[:, columns].T].reshape(-1, several)
            first, second = np.triu_indices(several, 1)
            ones.append(given[:, first].ravel())
            others.append(given[:, second].ravel())
        return np.concatenate(ones), np.concatenate(others)

    @cached_property
    def disagreements(self) -> int:
        """Documents with different grades."""
        grades, given = self.table.grades[:, self.columns], self.table.given[:, self.columns]
        low = np.where(given, grades, np.iinfo(np.int64).max).min(axis=0, initial=np.iinfo(np.int64).max)
        high = np.where(given, grades, np.iinfo(np.int64).min).max(axis=0, initial=np.iinfo(np.int64).min)
        return int(np.count_nonzero(low < high))


def _together(table: Ratings, pool: PoolFacts) -> AgreementOfAll:
    double = _Double(table)
    ones, others = double.pairs
    return AgreementOfAll(
        judged=len(table.documents),
        double=len(double.columns),
        disagreements=double.disagreements,
        raw=_raw(double.pairs),
        overlap=stats.overlap(ones, others, pool.level),
        fleiss=stats.fleiss(table),
        alphas={scale: stats.alpha(table, scale) for scale in SCALES},
    )


def _raw(pairs: Two) -> Share:
    share = stats.raw(stats.confusion(*pairs))
    return share if share.of else Share(None, 0, stats.NOTHING_DOUBLE)


def _chosen(pairs: Sequence[PairAgreement], ids: tuple[int | None, int | None]) -> PairAgreement | None:
    if ids == (None, None):
        return pairs[0] if pairs else None
    for pair in pairs:
        if {pair.first.id, pair.second.id} == set(ids):
            return pair
    raise NotFound("These two assessors have no document in common.")


def _by_topic(
    table: Ratings, topics: Sequence[TopicOfPool], pool: PoolFacts, scale: Scale
) -> tuple[TopicAgreement, ...]:
    """Documents are sorted by topic, so each topic is one slice of the table."""
    names = np.array([topic for topic, _ in table.documents], dtype=object)
    edges = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist(), len(names)]
    part = {names[start]: slice(start, end) for start, end in pairwise(edges) if end > start}
    agreements = []
    for topic in topics:
        where = part.get(topic.topic_id, slice(0, 0))
        ratings = Ratings(
            table.assessors, table.documents[where], table.grades[:, where], table.given[:, where]
        )
        double, graded = _Double(ratings), ratings.grades[ratings.given]
        agreements.append(
            TopicAgreement(
                topic=topic,
                judged=len(ratings.documents),
                double=len(double.columns),
                raw=_raw(double.pairs),
                alpha=stats.alpha(ratings, scale),
                disagreements=double.disagreements,
                relevant=float((graded >= pool.level).mean()) if graded.size else None,
            )
        )
    return tuple(agreements)


def _remarks(labels: Sequence[GivenLabel]) -> tuple[GivenLabel, ...]:
    remarkable = [label for label in labels if label.grade is None or label.note]
    return tuple(sorted(remarkable, key=lambda label: label.saved_at, reverse=True))


Result = Share | Kappa | Alpha
DATA = ~Place.PAGE
"""Names in files and in print."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient of all assessors, with its basis."""

    name: str
    result: Result
    of: str
    suits: bool = False
    """Whether it suits the task's grades."""


def agreement_facts(page: AgreementPage) -> dict[str, Any]:
    """The whole page as plain values."""
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
    } | ({"boards": assessors_boards_by_assessor.facts(page.boards)} if page.boards else {})


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
        Column("of", lambda row: row.of, "Basis"),
    ]
    caption = (
        f"Agreement on the {together.double:,} documents judged by several assessors. 1 is perfect "
        "agreement; for kappa and alpha, 0 is chance."
    )
    return _table(page, "coefficients", caption, columns, rows)


def pairs(page: AgreementPage) -> Table[PairAgreement]:
    """Pairs of assessors on the documents that both graded."""
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
        "Pairs of assessors on documents that both graded, most documents first; kappa with 95% interval."
    )
    return _table(page, "pairs", caption, columns, page.pairs)


def assessors(page: AgreementPage) -> Table[Progress]:
    """Progress of each assessor and time per judgment."""
    columns = columns_from(
        Progress,
        "judge.name judge.origin judge.machine",
        Column(
            "asked",
            lambda row: row.asked,
            "Assigned",
            words=lambda row: f"{row.asked:,}" if row.asked else None,
            digits=0,
        ),
        "judged skipped notes relevant times.median times.trimmed_mean times.away",
        "times.an_hour seconds_left",
        Column("last", _last, "Last"),
    )
    caption = (
        "Progress and seconds per judgment. Times over five minutes count as pauses. The trimmed mean "
        "is the mean of the middle 90%."
    )
    return _table(page, "assessors", caption, columns, page.progress)


def topics(page: AgreementPage) -> Table[TopicAgreement]:
    """The agreement by topic."""
    columns = columns_from(
        TopicAgreement,
        "topic.topic_id topic.title topic.documents judged double disagreements",
        _coefficient("raw_agreement", "Raw", lambda row: row.raw),
        _coefficient(f"{page.scale}_alpha", "Alpha", lambda row: row.alpha),
        "relevant",
    )
    caption = (
        f"Agreement by topic: raw agreement and {page.scale} alpha on documents judged by several assessors."
    )
    return _table(page, "topics", caption, columns, page.topics)


def confusion(page: AgreementPage) -> Table[tuple[int, int, int]]:
    """The confusion table of the chosen pair, one row per pair of grades."""
    pair = page.chosen
    first, second = (pair.first.name, pair.second.name) if pair else ("", "")
    columns: list[Column[tuple[int, int, int]]] = [
        Column("first", lambda row: first, "First"),
        Column("second", lambda row: second, "Second"),
        Column("first_grade", lambda row: row[0], "Grade by the first", digits=0),
        Column("second_grade", lambda row: row[1], "Grade by the second", digits=0),
        Column("documents", lambda row: row[2], "Documents", digits=0),
    ]
    rows = (
        []
        if pair is None
        else [
            (first_grade, second_grade, int(pair.confusion.counts[row, column]))
            for row, first_grade in enumerate(pair.confusion.grades)
            for column, second_grade in enumerate(pair.confusion.grades)
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
    caption = "Skipped documents and notes by assessors, latest first."
    return _table(page, "remarks", caption, columns, page.remarks)


def boards(page: AgreementPage) -> Table[BoardOfAssessor]:
    """The ranking of runs under each assessor; only if it was requested."""
    assert page.boards is not None, "asked for with the page"
    table = assessors_boards_by_assessor.table(page.boards)
    return _table(page, "boards", table.caption, [*table.columns], table.rows)


AGREEMENT_TABLES: Mapping[str, Callable[[AgreementPage], Table[Any]]] = {
    "pairs": pairs,
    "assessors": assessors,
    "topics": topics,
    "confusion": confusion,
    "remarks": remarks,
    "boards": boards,
    "coefficients": coefficients,
}
AGREEMENT_FILES = Files(facts=agreement_facts, tables=AGREEMENT_TABLES)


def _table(
    page: AgreementPage, name: str, caption: str, columns: list[Column[Any]], rows: Sequence[Any]
) -> Table[Any]:
    """A table of the page; the printed caption states the origin of the labels."""
    pool = f"{page.pool.task}, pool {page.pool.number}, {page.together.judged:,} documents judged."
    return Table(f"{page.pool.name}-{name}", caption, columns, rows, legend=pool)


def _coefficient(key: str, head: str, result: Callable[[Any], Result]) -> Column[Any]:
    """A column of coefficients; the page explains undefined ones."""
    return Column(key, lambda row: result(row).value, head, digits=3)


def _interval(row: PairAgreement) -> str | None:
    low, high = row.plain.low, row.plain.high
    return None if low is None or high is None else f"{low:.2f} to {high:.2f}"


def _last(row: Progress) -> str | None:
    return row.last_at.isoformat(timespec="seconds") if row.last_at else None


def _why(result: Result) -> str:
    return f": {result.why}" if result.value is None else ""


FORMS = {"csv": "text/csv", "jsonl": "application/x-ndjson"}
EVENTS_COLUMNS = {
    "topic": Assessment.topic_id,
    "docno": Assessment.docno,
    "assessor": Assessor.name,
    "origin": Assessor.origin,
    "machine": Assessor.origin_name,
    "role": Assessor.role,
    "grade": Assessment.grade,
    "note": Assessment.note,
    "shown_at": Assessment.shown_at,
    "saved_at": Assessment.saved_at,
    "sent_at": Assessment.sent_at,
    "seconds": Assessment.seconds,
    "undone": Assessment.undone,
}
"""The fields of an event in a file; the grade is empty for a skipped document."""


def events(session: Session, viewer: Viewer, slug: str, number: int, form: str) -> Iterator[str]:
    """Every event of a pool in order of arrival, including withdrawn ones, as a file in pieces.

    Raises NotFound for a format not in FORMS, SignInNeeded or Forbidden unless the viewer
    organises the task.
    """
    _, pool = pools.seen_pool(session, viewer, slug, number)
    if form not in FORMS:
        raise NotFound(f"The log is available as {' or '.join(FORMS)}, not as {form[:10]!r}.")
    rows = session.execute(
        select(*EVENTS_COLUMNS.values())
        .join(Assessor, Assessor.id == Assessment.assessor_id)
        .where(Assessment.pool_id == pool.id)
        .order_by(Assessment.id)
    )
    plain = [[_plain(value) for value in row] for row in rows]
    return _as_csv(plain) if form == "csv" else _as_jsonl(plain)


def _plain(value: Any) -> Any:
    return value.isoformat(timespec="milliseconds") if isinstance(value, datetime) else value


def _as_csv(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    """Yield one line at a time, because the log may be long."""
    for row in (list(EVENTS_COLUMNS), *rows):
        cells: list[Any] = [int(value) if isinstance(value, bool) else value for value in row]
        yield csv_lines(cells, ())


def _as_jsonl(rows: Sequence[Sequence[Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(dict(zip(EVENTS_COLUMNS, row, strict=True)), ensure_ascii=False) + "\n"
