"""The rankings of two runs: how alike they are, their recall-precision curves, one topic side by side."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import RankingBlock
from leaderboard.measures.grammar import parse
from leaderboard.measures.interpolated import precision_at_recalls
from leaderboard.measures.judged import Judged
from leaderboard.pages.topics.judgments import grades_of
from leaderboard.services import collections
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.shown import FloatArray, Source
from leaderboard.services.rankings.blocks import indices_of, opened
from leaderboard.stats.orders.rbo import shared_places
from leaderboard.stats.orders.two_rankings import RankingComparison, compare_rankings, compare_tied_rankings
from leaderboard.trec.qrels.remaining import remaining
from leaderboard.trec.read.blocks import Block
from leaderboard.trec.read.columns import Int32

MOST_TOPICS = 200
"""Rankings of more topics are not compared while a reader waits: the first of them stand for all."""
RECALLS = tuple(round(level / 10, 1) for level in range(11))
SHOWN = 30
"""Documents of a topic that are shown side by side."""
COMPAT = "Compat"

Rankings = dict[str, tuple[list[bytes], FloatArray]]
"""Topic -> docnos in the order they are scored in, and their scores."""
_NOTHING: tuple[list[bytes], FloatArray] = ([], np.empty(0))


@dataclass(frozen=True, eq=False)
class PairedRankings:
    """Two runs' rankings on the topics that were compared, in the order of the scores."""

    topics: tuple[str, ...]
    of: int
    """How many topics there are."""
    comparison: RankingComparison | None
    """None where neither run has a document for any of the topics."""
    precision: tuple[FloatArray, FloatArray]
    """Mean interpolated precision of either run at recall 0, 0.1, .., 1; each (11,)."""
    compat: tuple[FloatArray, FloatArray]
    """Compat of either run by topic; each (topics,)."""
    ties: tuple[int, int]
    """On how many topics either run has documents of equal score."""
    with_ties: dict[str, FloatArray]
    """Rank-biased overlap that takes equal scores for ties, as comparison.by_topic; empty without ties."""

    def by_topic(self) -> dict[str, dict[str, float]]:
        """Topic -> key -> how alike the two are on it; of the topics for which either has a ranking."""
        if self.comparison is None:
            return {}
        keyed = {**self.comparison.by_topic, **self.with_ties}
        names = [self.topics[place] for place in self.comparison.topics]
        rows = zip(*(values.tolist() for values in keyed.values()), strict=True)
        return {name: dict(zip(keyed, row, strict=True)) for name, row in zip(names, rows, strict=True)}


@dataclass(frozen=True, slots=True)
class PairedDocument:
    """A document at a rank of one run: its grade, None where not judged, and its rank in the other run."""

    docno: str
    title: str
    """Empty where the site does not have it."""
    grade: int | None
    elsewhere: int | None


@dataclass(frozen=True, slots=True)
class PairedTopic:
    """The first documents of two rankings of one topic, and how many each has in all."""

    first: tuple[PairedDocument, ...]
    second: tuple[PairedDocument, ...]
    lengths: tuple[int, int]


def no_rankings() -> PairedRankings:
    """What is said of the rankings of runs that have none, as their runs are answers."""
    none, precision = np.zeros(0), np.zeros(len(RECALLS))
    return PairedRankings((), 0, None, (precision, precision), (none, none), (0, 0), {})


def paired_rankings(
    session: Session, source: Source, first: int, second: int, level: int, *, k: int = 10, p: float = 0.9
) -> PairedRankings:
    """Compare the stored rankings of two runs, by id, on the source's topics, at most the first 200.

    level is the least grade that counts as relevant for the recall-precision curves.
    """
    topics = source.topics[:MOST_TOPICS]
    blocks = [_blocks(session, source, run_id, topics) for run_id in (first, second)]
    one, two = (_rankings(of_run, topics, source.dialect) for of_run in blocks)
    ties = _topics_with_ties(one), _topics_with_ties(two)
    alike = None
    with_ties: dict[str, FloatArray] = {}
    if one or two:
        sides = [[ranking.get(topic, _NOTHING) for topic in topics] for ranking in (one, two)]
        first_docnos, second_docnos = ([docnos for docnos, _ in side] for side in sides)
        first_scores, second_scores = ([scores for _, scores in side] for side in sides)
        shared = [shared_places(*pair) for pair in zip(first_docnos, second_docnos, strict=True)]
        alike = compare_rankings(first_docnos, second_docnos, k=k, p=p, shared=shared)
        if any(ties):
            with_ties = compare_tied_rankings(
                first_docnos, second_docnos, first_scores, second_scores, p=p, shared=shared
            )
    hits = alignments.alignments(session, source, (first, second))
    scored = [_scores(hits[run_id], source.places[:MOST_TOPICS], level) for run_id in (first, second)]
    return PairedRankings(
        topics=topics,
        of=len(source.topics),
        comparison=alike,
        precision=(scored[0][0], scored[1][0]),
        compat=(scored[0][1], scored[1][1]),
        ties=ties,
        with_ties=with_ties,
    )


def paired_topic(
    session: Session, source: Source, first: int, second: int, topic: str, collection_id: int
) -> PairedTopic:
    """Both rankings of one topic with grades and titles, by the ids of the runs."""
    grades = grades_of(session, source.revision_id, topic)
    one, two = (_docnos_of(session, source, run_id, topic) for run_id in (first, second))
    stored = collections.texts(session, collection_id, [*one[:SHOWN], *two[:SHOWN]])
    titles = {docno: document.title for docno, document in stored.items()}
    sides = _side(one, two, grades, titles), _side(two, one, grades, titles)
    return PairedTopic(*sides, (len(one), len(two)))


def _docnos_of(session: Session, source: Source, run_id: int, topic: str) -> list[str]:
    rankings = _rankings(_blocks(session, source, run_id, (topic,)), (topic,), source.dialect)
    return [docno.decode() for docno in rankings.get(topic, _NOTHING)[0]]


def _side(
    mine: Sequence[str], other: Sequence[str], grades: Mapping[str, int], titles: Mapping[str, str]
) -> tuple[PairedDocument, ...]:
    ranks = {docno: rank for rank, docno in enumerate(other, start=1)}
    return tuple(
        PairedDocument(docno, titles.get(docno, ""), grades.get(docno), ranks.get(docno))
        for docno in mine[:SHOWN]
    )


def _blocks(session: Session, source: Source, run_id: int, topics: Collection[str]) -> list[Block]:
    """The stored blocks of a run that have any of the topics, without what the revision leaves out."""
    gone = alignments.compiled_judgments(session, source).left_out
    index = indices_of(session, [run_id])[run_id]
    numbers = {index[topic][0] for topic in topics if topic in index}
    bodies = session.scalars(
        select(RankingBlock.body)
        .where(RankingBlock.run_id == run_id, RankingBlock.number.in_(numbers))
        .order_by(RankingBlock.number)
    )
    blocks = [opened(run_id, body) for body in bodies]
    return blocks if gone is None else [remaining(block, gone) for block in blocks]


def _rankings(blocks: Sequence[Block], topics: Collection[str], dialect: int) -> Rankings:
    asked = {topic.encode(): topic for topic in topics}
    rankings = {}
    for block in blocks:
        best, starts = block.best(dialect), block.columns.group_start.tolist()
        for group, name in enumerate(block.topics):
            if name in asked:
                entries = best[starts[group] : starts[group + 1]]
                rankings[asked[name]] = _docnos(block, entries), _scores_in(block, entries, dialect)
    return rankings


def _docnos(block: Block, entries: Int32) -> list[bytes]:
    start = block.columns.at[entries]
    end = start + block.columns.length[entries]
    return list(map(bytes(block.body).__getitem__, map(slice, start.tolist(), end.tolist())))


def _scores_in(block: Block, entries: Int32, dialect: int) -> FloatArray:
    """The scores of some entries, as trec_eval compares them: version 9 has 32 bits."""
    scores = block.columns.score[entries]
    if dialect != 9:
        return scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


def _topics_with_ties(rankings: Rankings) -> int:
    return sum(bool((scores[1:] == scores[:-1]).any()) for _, scores in rankings.values())


def _scores(judged: Judged, places: Sequence[int], level: int) -> tuple[FloatArray, FloatArray]:
    """Mean interpolated precision at the eleven points, and Compat by topic, on the topics at some places."""
    chosen = np.array(places, dtype=np.int64)
    points = precision_at_recalls(judged, RECALLS, rel=level)
    return np.array([precision[chosen].mean() for precision in points]), parse(COMPAT).compute(judged)[chosen]
