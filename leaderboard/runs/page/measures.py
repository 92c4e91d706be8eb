"""A run's scores by every measure its judgments support, not only its board's."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.core import kinds, shown_names
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Upload
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.grammar import with_level
from leaderboard.measures.judged import Judged
from leaderboard.measures.record import Need
from leaderboard.measures.selection import select
from leaderboard.runs.page import curves, run, ties, topics
from leaderboard.runs.page import upload as runs_upload
from leaderboard.runs.page.curves import NO_CURVES, CurvesPage
from leaderboard.runs.page.head import (
    RunHead,
    ScoredRun,
    SeenRun,
    caption,
    head_facts,
    scores_of_topics,
    seen_run,
)
from leaderboard.runs.page.run import RunPage, explained
from leaderboard.runs.page.ties import NO_TIES, TiesPage
from leaderboard.runs.page.topics import NearDuplicate, Order, TopicsPage, near_duplicates
from leaderboard.scoring.ops.evaluations.shown import Source, ranking_key, run_digest
from leaderboard.scoring.ops.rankings import alignment
from leaderboard.scoring.ops.scored_topics import MeasureColumn, column
from leaderboard.scoring.ops.statistics import requests
from leaderboard.tables.record import Column, Files, Place, Table, columns_from

EVERY_MEASURE = 1
"""Version of the cache entries for all measures of a run; a new one makes the old unused."""


@dataclass(frozen=True, slots=True)
class LooseValue:
    """A run's value by a measure that its board need not have; None where a run has no single number."""

    column: MeasureColumn
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuresPage(RunHead):
    """A run's scores by all measures."""

    every: tuple[LooseValue, ...]


def measures_page(session: Session, scored: ScoredRun) -> MeasuresPage:
    """The run's scores by every measure its judgments support, as `-m all` selects them.

    Computed from the stored hits and cached.
    """
    run, source = scored.run, scored.source
    judged = alignment(session, source, run.id)
    ranking = ranking_key(source, run.id, run.ranking_sha256, run.order_differs)
    every = _every_measure(source, judged, scored.seen.task.level, ranking)
    return MeasuresPage(**scored.seen.head(by_topic=True), every=every)


def facts(page: MeasuresPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    return {**head_facts(page), "all_measures": measure_facts(page)}


def measure_facts(page: MeasuresPage) -> dict[str, float | None]:
    """Measure -> the run's value."""
    return {row.column.key: row.value for row in page.every}


def table(page: MeasuresPage) -> Table[LooseValue]:
    """The table of the run's scores by every measure."""
    return Table(
        f"{page.name}-all",
        caption(page, "All measures"),
        [
            Column("measure", lambda row: row.column.key, "Measure"),
            Column("score", lambda row: row.value, page.name, words=_shown, digits=4),
            Column("version", lambda row: row.column.version, shown=~Place.PAGE),
            Column(
                "better", lambda row: row.column.direction.replace("none", "–"), "Better", shown=Place.PAGE
            ),
            Column("title", lambda row: explained(row.column), "Definition", shown=Place.PAGE),
        ],
        page.every,
    )


FILES = Files(facts=facts, tables={"all": table})


def _shown(row: LooseValue) -> str | None:
    return None if row.value is None else f"{row.value:.{row.column.digits}f}"


def _every_measure(source: Source, judged: Judged, level: int, ranking: str) -> tuple[LooseValue, ...]:
    """judged: the run as the source's judgments see it; ranking: the key of its rankings."""
    measures = _computable(source, judged, level)
    named = [(bound.key, bound.measure.version) for bound in measures]
    size = judged.judgments.collection_size
    # The digest covers all that the values depend on, so entries under it never expire.
    digest = run_digest("every measure", EVERY_MEASURE, source, ranking, named, size)
    kept = requests.kept.get(digest)
    if kept is None:
        values = np.array([_aggregate(bound, judged, source) for bound in measures])
        kept = requests.kept.put(digest, {"values": values})
    return tuple(
        LooseValue(column(bound), value if np.isfinite(value) else None)
        for bound, value in zip(measures, kept["values"].tolist(), strict=True)
    )


def _computable(source: Source, judged: Judged, level: int) -> list[BoundMeasure]:
    available: list[Need] = ["collection size"] if judged.judgments.collection_size is not None else []
    highest = max(1, int(judged.judgments.grades.max(initial=1)))
    chosen = select(["all"], source.dialect, available, highest)
    return list(dict.fromkeys(with_level(bound, level) for bound in chosen if not bound.measure.text))


def _aggregate(bound: BoundMeasure, judged: Judged, source: Source) -> float:
    """The aggregate over the source's topics; nan if undefined."""
    if bound.measure.aggregate == "none" or not source.places:
        return float("nan")
    places = np.array(source.places)
    parts = bound.parts(judged)
    return bound.aggregate(bound.compute(judged)[places], None if parts is None else parts[:, places])


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The file a run was submitted in."""

    file_name: str
    """Empty while the team is hidden from the viewer, as are digests, size and tag, which could reveal it."""
    sha256: str
    size: int | None
    uploaded_at: datetime
    execution: Mapping[str, str]
    """A runner's statement of what it executed: by, image, commit; empty if no runner submitted the run."""
    tag: str
    ranking_sha256: str
    download_name: str
    may_download: bool
    """Whether this viewer can download the submitted file."""
    masked: bool
    """Whether this viewer knows the team by a pseudonym only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OriginPage(RunHead):
    """The provenance of a run's scores."""

    topics_run: int
    entries: int
    deepest: int
    order_differs: bool
    """Whether any topic is ordered differently with 32-bit than with 64-bit scores."""
    provenance: Provenance | None
    """None for whom the file's facts are not shown."""
    columns: tuple[MeasureColumn, ...]
    primary: str
    evaluator: str | None
    """Version of this program that computed the scores; None where those by topic are not shown."""
    command: str | None
    """The command that recomputes them from the run's file."""
    near: tuple[NearDuplicate, ...]


def origin_page(session: Session, seen: SeenRun, measure: str | None = None) -> OriginPage:
    """The provenance of a run's scores; near duplicates are found by a measure, by default the primary
    one."""
    scored = scores_of_topics(session, seen)
    run, provenance = seen.run, _provenance(session, seen)
    edition = seen.shown.edition
    return OriginPage(
        **seen.head(by_topic=scored is not None),
        topics_run=run.topics,
        entries=run.entries,
        deepest=run.deepest,
        order_differs=run.order_differs and seen.is_told,
        provenance=provenance if seen.is_told else None,
        columns=seen.columns,
        primary=edition.primary_measure if edition is not None else seen.task.primary_measure,
        evaluator=next(row.evaluator for row in scored.stored.values()) if scored else None,
        command=_command(scored, provenance.download_name) if scored else None,
        near=near_duplicates(session, scored, measure) if scored else (),
    )


def facts_of_origin(page: OriginPage) -> dict[str, Any]:
    """The page as plain values."""
    return {**head_facts(page), **origin_facts(page), "near_duplicates": near_facts(page)}


def origin_facts(page: OriginPage) -> dict[str, Any]:
    """Digests, versions and the command."""
    return {
        "measure_versions": {column.key: column.version for column in page.columns},
        "file_sha256": (page.provenance.sha256 or None) if page.provenance else None,
        "execution": dict(page.provenance.execution) if page.provenance else {},
        "ranking_sha256": (page.provenance.ranking_sha256 or None) if page.provenance else None,
        "evaluator": page.evaluator,
        "command": page.command,
    }


def near_facts(page: OriginPage) -> list[dict[str, Any]]:
    """The runs that are nearly the same."""
    return [asdict(pair) for pair in page.near]


def origin_table(page: OriginPage) -> Table[NearDuplicate]:
    """The runs that are nearly the same."""
    return Table(
        f"{page.name}-near",
        caption(page, "Near copies"),
        columns_from(
            NearDuplicate,
            "run run_id team",
            Column("same", _same, "Match", words=_same_in_print),
            "overlap",
            Column(
                "shared",
                lambda row: row.shared,
                "Shared top 10",
                words=lambda row: f"{100 * row.shared:.0f}%",
                digits=2,
                title="Estimated from sketches of 256 documents",
            ),
            "same_team",
        ),
        page.near,
    )


ORIGIN_FILES = Files(facts=facts_of_origin, tables={"near": origin_table})


def _same(row: NearDuplicate) -> str:
    if row.same_ranking:
        return "all rankings"
    return "the score of every topic" if row.same_scores else "nearly all of the top ranks"


def _same_in_print(row: NearDuplicate) -> str:
    """As `_same`, whose words stay as they are for programs."""
    if row.same_ranking:
        return "all rankings"
    return "scores on all topics" if row.same_scores else "top ranks, almost entirely"


def _command(scored: ScoredRun, file_name: str) -> str:
    keys = [column.key for column in scored.columns]
    return runs_upload.command(
        file_name,
        keys,
        dialect=scored.edition.dialect,
        level=scored.seen.task.level,
        leaves_out=scored.source.leaves_out,
    )


def _execution(run_request: Mapping[str, Any], *, masked: bool) -> Mapping[str, str]:
    execution = run_request.get("execution") or {}
    return {key: text for key, text in execution.items() if key == "by" or not masked}


def _provenance(session: Session, seen: SeenRun) -> Provenance:
    """The facts of a run's file, without its name and tag while the viewer is not to know the team."""
    run, masked = seen.run, seen.masked
    upload = session.get_one(Upload, run.upload_id)
    file_name = "" if masked else upload.file_name
    return Provenance(
        file_name=file_name,
        sha256="" if masked else upload.sha256,
        size=None if masked else upload.bytes,
        uploaded_at=upload.created_at,
        # A digest of a system tells whose it is as well as one of the file does.
        execution=_execution(upload.wishes, masked=masked),
        tag="" if masked else run.tag,
        # Equal rankings have one digest in every task, also in those where the team is named.
        ranking_sha256="" if masked else run.ranking_sha256,
        download_name=runs_upload.download_name(file_name, run.id),
        may_download=shown_names.may_have_file(session, seen.viewer, run, seen.task, seen.access),
        masked=masked,
    )


@dataclass(frozen=True, slots=True)
class RunChoice:
    """A reader's choices: the measure and order of topics, and optional slow parts."""

    measure: str | None = None
    order: Order = "difference"
    every_measure: bool = False
    drawn_ties: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """All pages of a run; those of scores by topic are empty where these are not shown."""

    page: RunPage
    origin: OriginPage
    topics: TopicsPage
    curves: CurvesPage
    ties: TiesPage
    measures: MeasuresPage


def whole_run(session: Session, viewer: Viewer, run_id: int, asked: RunChoice) -> WholeRun:
    """The whole run; raises NotFound if it does not exist or is not visible to the viewer."""
    seen = seen_run(session, viewer, run_id)
    scored = scores_of_topics(session, seen)
    page = run.run_page(session, viewer, run_id)
    if scored is None:
        return _without_topics(page, origin_page(session, seen), seen)
    if not kinds.of(seen.task.kind).ranks_documents:
        whole = _without_topics(page, origin_page(session, seen), seen)
        return replace(whole, topics=topics.topics_page(session, scored, asked.measure, asked.order))
    no_measures = MeasuresPage(**seen.head(by_topic=True), every=())
    return WholeRun(
        page=page,
        origin=origin_page(session, seen, asked.measure),
        topics=topics.topics_page(session, scored, asked.measure, asked.order),
        curves=curves.curves_page(session, scored),
        ties=ties.ties_page(session, scored, drawn=asked.drawn_ties),
        measures=measures_page(session, scored) if asked.every_measure else no_measures,
    )


def whole_facts(whole: WholeRun) -> dict[str, Any]:
    """The run as plain values at full precision; `all_measures` are those requested."""
    return {
        **run.facts(whole.page),
        **topics.topic_facts(whole.topics),
        **origin_facts(whole.origin),
        **(_facts_by_topic(whole) if whole.curves.by_topic else {}),
        **({"by_topic": topics.field_facts(whole.topics)} if whole.topics.by_topic else {}),
    }


WHOLE_FILES: Files[WholeRun] = Files(
    facts=whole_facts,
    tables={
        "topics": lambda whole: topics.table(whole.topics),
        "measures": lambda whole: run.table(whole.page),
        "field": lambda whole: topics.field_table(whole.topics),
        "recall": lambda whole: curves.recall_table(whole.curves),
        "ranks": lambda whole: curves.ranks_table(whole.curves),
        "ties": lambda whole: ties.table(whole.ties),
        "all": lambda whole: table(whole.measures),
        "near": lambda whole: origin_table(whole.origin),
    },
)


def _facts_by_topic(whole: WholeRun) -> dict[str, Any]:
    return {
        "curves": curves.curve_facts(whole.curves),
        "ties": ties.tie_facts(whole.ties.ties),
        "near_duplicates": near_facts(whole.origin),
        "all_measures": measure_facts(whole.measures),
    }


def _without_topics(page: RunPage, origin_page: OriginPage, seen: SeenRun) -> WholeRun:
    head = seen.head(by_topic=False)
    values = {row.column.key: row.value for row in page.measures}
    return WholeRun(
        page=page,
        origin=origin_page,
        topics=TopicsPage(**head, columns=seen.columns, topics=(), values=values, field=None),
        curves=CurvesPage(**head, curves=NO_CURVES, primary=page.by),
        ties=TiesPage(**head, ties=NO_TIES, values=values, order_differs=False, drawn=False),
        measures=MeasuresPage(**head, every=()),
    )
