"""The explanation of a run's score: largest losses, missed documents, unjudged documents, near duplicates.

Every statement is computed from stored data and links to its evidence.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy import typing as npt
from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row
from leaderboard.boards.page import view
from leaderboard.boards.page.scores.table import ComparedRun
from leaderboard.boards.page.view import CoveredRun
from leaderboard.errors import NotFound
from leaderboard.measures.grammar import parse
from leaderboard.measures.judged import UNJUDGED, IntArray, Judged
from leaderboard.qrels.page.topics import judgments
from leaderboard.qrels.page.topics.judgments import FAR, NEAR
from leaderboard.runs.page.head import RunHead, ScoredRun, board_rows, caption, head_facts
from leaderboard.runs.page.ties import UnderTies, run_ties
from leaderboard.runs.page.topics import (
    NearDuplicate,
    TopicPlace,
    directed,
    looked_at,
    near_duplicates,
    places_of,
    ranked_of,
    titles_of,
)
from leaderboard.scoring.ops import collections, rankings
from leaderboard.scoring.ops.board_measures import depth as depth_of
from leaderboard.scoring.ops.scored_topics import MeasureColumn
from leaderboard.tables.record import Column, Files, Table
from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.read.lines import bytes_of

BoolArray = npt.NDArray[np.bool_]

MOST = 5
"""Maximum documents listed per topic."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverlookedDocument:
    """A relevant document that other runs have down to a depth and this one has not."""

    docno: str
    title: str
    grade: int
    others: int
    """The number of other runs that retrieve it."""
    rank: int | None
    """The rank in this run, below the depth; None if not retrieved."""


@dataclass(frozen=True, slots=True)
class OverlookedDocuments:
    """The relevant documents a run missed on a topic: their number, and those found by most other runs."""

    total: int
    documents: tuple[OverlookedDocument, ...]


NOTHING_OVERLOOKED = OverlookedDocuments(0, ())


def overlooked(
    session: Session,
    scored: ScoredRun,
    topic_ids: Sequence[str],
    others: Sequence[Row],
    judged: Judged,
    depth: int,
) -> dict[str, OverlookedDocuments]:
    """Topic -> what the run, aligned as judged, overlooked of what the other runs have down to a depth.

    The depth is NEAR or FAR of what runs found, the topics are judged ones. The document that most other runs
    have comes first, of these the one with the higher grade.
    """
    if not others or not topic_ids:
        return dict.fromkeys(topic_ids, NOTHING_OVERLOOKED)
    level = scored.seen.task.level
    runs = [
        ComparedRun(**row.named(), team_id=row.team_id, ranking_sha256=row.ranking_sha256) for row in others
    ]
    finds = judgments.documents_found(session, scored.source, runs, level)
    counts = (finds.near if depth == NEAR else finds.far).astype(np.int64)
    compiled = rankings.compiled_judgments(session, scored.source)
    ranks = np.zeros(len(counts), dtype=np.int64)
    ranks[judged.document] = judged.rank
    is_overlooked = (compiled.judgments.grades >= level) & (counts > 0) & ((ranks == 0) | (ranks > depth))
    places = {topic: _places(compiled, counts, is_overlooked, topic) for topic in topic_ids}
    documents = _documents(session, scored, compiled, (ranks, counts), [at[:MOST] for at in places.values()])
    return {
        topic: OverlookedDocuments(len(at), tuple(documents[place] for place in at[:MOST].tolist()))
        for topic, at in places.items()
    }


def _places(
    compiled: CompiledJudgments, counts: IntArray, is_overlooked: BoolArray, topic_id: str
) -> IntArray:
    """Indices into judgments.grades of the documents missed on a topic, in display order."""
    here = np.arange(*compiled.judgments.listed(compiled.index[bytes_of(topic_id)]))
    chosen: IntArray = here[is_overlooked[here]]
    return chosen[np.lexsort((chosen, -compiled.judgments.grades[chosen], -counts[chosen]))]


def _documents(
    session: Session,
    scored: ScoredRun,
    compiled: CompiledJudgments,
    columns: tuple[IntArray, IntArray],
    places: Sequence[IntArray],
) -> dict[int, OverlookedDocument]:
    """Place in judgments.grades -> the document; columns are the run's ranks and the counts of the others."""
    judged_at, (ranks, counts) = np.concatenate(places), columns
    docnos = rankings.docnos_of(compiled, judged_at)
    texts = collections.texts(session, scored.seen.task.collection_id, docnos)
    return {
        place: OverlookedDocument(
            docno=docno,
            title=texts[docno].title if docno in texts else "",
            grade=int(compiled.judgments.grades[place]),
            others=int(counts[place]),
            rank=int(ranks[place]) or None,
        )
        for place, docno in zip(judged_at.tolist(), docnos, strict=True)
    }


TOPICS = 5
"""Maximum topics listed at either end."""
ADDED = ("mean", "sum")
"""Aggregates to which each topic adds its own part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTopic:
    """A topic on which the run is below the median, or above it.

    share is what the difference from the median adds to the run's value, None where the value is not made
    from parts. Documents that the run overlooked are listed if it is below the median.
    """

    place: TopicPlace
    share: float | None
    overlooked: OverlookedDocuments = NOTHING_OVERLOOKED


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTopic:
    """A topic with unjudged documents down to the depth."""

    topic_id: str
    title: str
    unjudged: int
    looked_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenScore:
    """The score bounds from unjudged documents; None if the measure has no known bounds.

    The ranks at the bounds, if the other runs are unchanged.
    """

    share: float
    low: float | None
    high: float | None
    rank_low: int | None
    rank_high: int | None
    topics: tuple[OpenTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NextRun:
    """The ranked run just above; difference is its value less the run's, as the measure prints it."""

    run_id: int
    name: str
    difference: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplanationPage(RunHead):
    """A run explained by one measure."""

    column: MeasureColumn
    choices: tuple[MeasureColumn, ...]
    """The measures available for the explanation."""
    value: float
    rank: int | None
    """Rank of its score among the ranked runs; None if it is not one of them."""
    ranked: int
    above: NextRun | None
    depth: int
    """The depth to which missed documents are listed."""
    others: int
    """The number of runs compared: ranked runs with a better score, else all other ranked runs."""
    others_are_better: bool
    level: int
    costly: tuple[ExplainedTopic, ...]
    good: tuple[ExplainedTopic, ...]
    below_median: int
    topics: int
    raised: float | None
    """Its score with the median on the costly topics; None if the score is not a sum over topics."""
    raised_rank: int | None
    open: OpenScore | None
    ties: UnderTies | None
    """By this measure; None if no tie order changes the score."""
    near: tuple[NearDuplicate, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Ranked:
    """The ranked runs of the board, and how the measure orders them."""

    rows: tuple[Row, ...]
    column: MeasureColumn
    own: Row

    def rank_of(self, value: float) -> int:
        """The rank of a value of the run while all others stay."""
        sign, key = self.column.sign, self.column.key
        return 1 + sum(sign * (row.scores[key] or 0) > sign * value for row in self.others)

    @property
    def others(self) -> list[Row]:
        """Without the run itself."""
        return [row for row in self.rows if row.run_id != self.own.run_id]

    def asked(self, value: float) -> tuple[list[Row], bool]:
        """The runs to learn from, and whether these are the better ones."""
        sign, key = self.column.sign, self.column.key
        better = [row for row in self.others if sign * (row.scores[key] or 0) > sign * value]
        return (better, True) if better else (self.others, False)


def explanation_page(session: Session, scored: ScoredRun, measure: str | None = None) -> ExplanationPage:
    """The run by the primary measure unless another of the board is named.

    Raises NotFound where no measure of the board has a better and a worse, UnknownMeasure for one that has
    none or is not on the board.
    """
    rows = board_rows(session, scored)
    looked = looked_at(session, scored, rows, measure)
    if looked is None:
        raise NotFound(
            "No measure of this board has a direction (higher or lower is better), so runs "
            "cannot be explained."
        )
    column = looked.column
    own = next(row for row in rows if row.run_id == scored.run.id)
    value = own.scores[column.key] or 0.0
    ranked = _Ranked(tuple(ranked_of(rows, looked)), column, own)
    asked, are_better = ranked.asked(value)
    depth = NEAR if (depth_of(parse(column.key)) or FAR) <= NEAR else FAR
    judged = rankings.alignment(session, scored.source, scored.run.id)
    places = places_of(scored, list(ranked.rows), looked, titles_of(session, scored.run.task_id))
    costly, good = _ends(places, column)
    missed = overlooked(session, scored, [topic.place.topic_id for topic in costly], asked, judged, depth)
    raised = None if column.aggregate not in ADDED else value - sum(topic.share or 0 for topic in costly)
    return ExplanationPage(
        **scored.seen.head(by_topic=True),
        column=column,
        choices=directed(scored),
        value=value,
        rank=ranked.rank_of(value) if own.rank is not None else None,
        ranked=len(ranked.rows),
        above=_above(ranked, value),
        depth=depth,
        others=len(asked),
        others_are_better=are_better,
        level=scored.seen.task.level,
        costly=tuple(replace(topic, overlooked=missed[topic.place.topic_id]) for topic in costly),
        good=good,
        below_median=sum(column.sign * place.difference < 0 for place in places),
        topics=len(places),
        raised=raised,
        raised_rank=None if raised is None else ranked.rank_of(raised),
        open=_open(session, scored, ranked, judged, places),
        ties=_ties(session, scored, column, judged),
        near=near_duplicates(session, scored, None, rows, looked if measure is None else None),
    )


def _ends(
    places: Sequence[TopicPlace], column: MeasureColumn
) -> tuple[tuple[ExplainedTopic, ...], tuple[ExplainedTopic, ...]]:
    """The topics that cost the run most, and those that brought it most, the largest part first."""
    parts = {"mean": 1 / len(places), "sum": 1.0}
    part = parts.get(column.aggregate)

    def explained(place: TopicPlace) -> ExplainedTopic:
        return ExplainedTopic(place=place, share=None if part is None else part * place.difference)

    by_difference = sorted(places, key=lambda place: column.sign * place.difference)
    worse = [place for place in by_difference if column.sign * place.difference < 0]
    better = [place for place in by_difference if column.sign * place.difference > 0]
    better.sort(key=lambda place: -column.sign * place.difference)
    return tuple(map(explained, worse[:TOPICS])), tuple(map(explained, better[:TOPICS]))


def _above(ranked: _Ranked, value: float) -> NextRun | None:
    sign, key = ranked.column.sign, ranked.column.key
    better = [row for row in ranked.others if sign * (row.scores[key] or 0) > sign * value]
    if not better:
        return None
    row = min(better, key=lambda row: (sign * (row.scores[key] or 0), row.run))
    return NextRun(run_id=row.run_id, name=row.run, difference=(row.scores[key] or 0) - value)


def _open(
    session: Session, scored: ScoredRun, ranked: _Ranked, judged: Judged, places: Sequence[TopicPlace]
) -> OpenScore | None:
    """The score bounds from unjudged documents; None if all down to the depth are judged."""
    bound, own = parse(ranked.column.key), ranked.own
    run = [CoveredRun(own.run_id, own.ranking_sha256, own.order_differs)]
    covered = view.coverage(session, scored.source, bound, run).get(own.run_id)
    if covered is None or covered.unjudged == 0:
        return None
    ends = view.coverage_bounds(session, scored.source, bound, run).get(own.run_id)
    ranks: list[int | None] = [None, None]
    if ends is not None:
        by_value = sorted((ends.low, ends.high), key=lambda value: -ranked.column.sign * value)
        ranks = list(map(ranked.rank_of, by_value))
    return OpenScore(
        share=covered.unjudged,
        low=None if ends is None else ends.low,
        high=None if ends is None else ends.high,
        rank_low=ranks[0],
        rank_high=ranks[1],
        topics=_open_topics(scored, judged, depth_of(bound), places),
    )


def _open_topics(
    scored: ScoredRun, judged: Judged, cutoff: int | None, places: Sequence[TopicPlace]
) -> tuple[OpenTopic, ...]:
    """The topics with most unjudged documents down to the depth."""
    looked_at = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    is_judged = judged.grade != UNJUDGED
    if cutoff is not None:
        is_judged &= judged.rank <= cutoff
    unjudged = looked_at - np.bincount(judged.topic[is_judged], minlength=len(looked_at))
    titles = {place.topic_id: place.title for place in places}
    rows = [
        OpenTopic(
            topic_id=topic, title=titles[topic], unjudged=int(unjudged[at]), looked_at=int(looked_at[at])
        )
        for topic, at in zip(scored.source.topics, scored.source.places, strict=True)
        if unjudged[at]
    ]
    return tuple(sorted(rows, key=lambda row: -row.unjudged)[:TOPICS])


def _ties(session: Session, scored: ScoredRun, column: MeasureColumn, judged: Judged) -> UnderTies | None:
    under = run_ties(session, scored, columns=(column,), judged=judged).measures
    return next((row for row in under if row.lowest != row.highest), None)


def facts(page: ExplanationPage) -> dict[str, Any]:
    """The page as plain values at full precision."""
    names = ("value", "rank", "ranked", "depth", "below_median", "raised", "raised_rank")
    return {
        **head_facts(page),
        "measure": page.column.key,
        **{name: getattr(page, name) for name in names},
        "above": page.above and asdict(page.above),
        "costly": [asdict(topic) for topic in page.costly],
        "good": [asdict(topic) for topic in page.good],
        "open": page.open and asdict(page.open),
        "ties": page.ties and {"lowest": page.ties.lowest, "highest": page.ties.highest},
        "near_duplicates": [asdict(pair) for pair in page.near],
    }


def table(page: ExplanationPage) -> Table[ExplainedTopic]:
    """The topics that cost the run most."""
    return _topic_table(page, "costly", "Topics with the largest loss", page.costly)


def good_table(page: ExplanationPage) -> Table[ExplainedTopic]:
    """The topics that brought it most."""
    return _topic_table(page, "good", "Topics with the largest gain", page.good)


def _topic_table(
    page: ExplanationPage, name: str, what: str, rows: Sequence[ExplainedTopic]
) -> Table[ExplainedTopic]:
    digits = page.column.digits
    return Table(
        f"{page.name}-{name}",
        caption(page, what, page.column.key),
        [
            Column("topic", lambda row: row.place.topic_id, "Topic"),
            Column("title", lambda row: row.place.title, "Title"),
            Column("score", lambda row: row.place.score, page.column.key, digits=digits),
            Column("median", lambda row: row.place.median, "Median", digits=digits),
            Column("best", lambda row: row.place.best, "Best", digits=digits),
            Column("rank", lambda row: row.place.rank, "Rank", digits=0),
            Column("share", lambda row: row.share, "Effect on score", digits=digits),
            Column("overlooked", lambda row: row.overlooked.total, "Missed", digits=0),
        ],
        rows,
    )


FILES = Files(facts=facts, tables={"costly": table, "good": good_table})
