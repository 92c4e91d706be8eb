"""A run with all that its pages show, as one JSON file and one set of tables."""

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy.orm import Session

from leaderboard.pages.runs import curves, measures, origin, run, ties, topics
from leaderboard.pages.runs.curves import NO_CURVES, CurvesPage
from leaderboard.pages.runs.head import SeenRun, scores_of_topics, seen_run
from leaderboard.pages.runs.measures import MeasuresPage
from leaderboard.pages.runs.origin import OriginPage
from leaderboard.pages.runs.run import RunPage
from leaderboard.pages.runs.ties import NO_TIES, TiesPage
from leaderboard.pages.runs.topics import Order, TopicsPage
from leaderboard.services import kinds
from leaderboard.services.policy import Viewer
from leaderboard.tables.record import Files


@dataclass(frozen=True, slots=True)
class RunChoice:
    """What a reader chose: the measure and order of topics, and what takes longer."""

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
    """The whole run; raises NotFound where there is none or the viewer may not know of it."""
    seen = seen_run(session, viewer, run_id)
    scored = scores_of_topics(session, seen)
    page = run.run_page(session, viewer, run_id)
    if scored is None:
        return _without_topics(page, origin.origin_page(session, seen), seen)
    if not kinds.of(seen.task.kind).ranks_documents:
        whole = _without_topics(page, origin.origin_page(session, seen), seen)
        return replace(whole, topics=topics.topics_page(session, scored, asked.measure, asked.order))
    no_measures = MeasuresPage(**seen.head(by_topic=True), every=())
    return WholeRun(
        page=page,
        origin=origin.origin_page(session, seen, asked.measure),
        topics=topics.topics_page(session, scored, asked.measure, asked.order),
        curves=curves.curves_page(session, scored),
        ties=ties.ties_page(session, scored, drawn=asked.drawn_ties),
        measures=measures.measures_page(session, scored) if asked.every_measure else no_measures,
    )


def facts(whole: WholeRun) -> dict[str, Any]:
    """The run as plain values at full precision; `all_measures` are those that were asked for."""
    return {
        **run.facts(whole.page),
        **topics.topic_facts(whole.topics),
        **origin.origin_facts(whole.origin),
        **(_facts_by_topic(whole) if whole.curves.by_topic else {}),
        **({"by_topic": topics.field_facts(whole.topics)} if whole.topics.by_topic else {}),
    }


FILES: Files[WholeRun] = Files(
    facts=facts,
    tables={
        "topics": lambda whole: topics.table(whole.topics),
        "measures": lambda whole: run.table(whole.page),
        "field": lambda whole: topics.field_table(whole.topics),
        "recall": lambda whole: curves.recall_table(whole.curves),
        "ranks": lambda whole: curves.ranks_table(whole.curves),
        "ties": lambda whole: ties.table(whole.ties),
        "all": lambda whole: measures.table(whole.measures),
        "near": lambda whole: origin.table(whole.origin),
    },
)


def _facts_by_topic(whole: WholeRun) -> dict[str, Any]:
    return {
        "curves": curves.curve_facts(whole.curves),
        "ties": ties.tie_facts(whole.ties.ties),
        "near_duplicates": origin.near_facts(whole.origin),
        "all_measures": measures.measure_facts(whole.measures),
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
