"""Comparison of two runs of a task by topic scores and by rankings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.boards.ops import board
from leaderboard.boards.page.scores import table as scores_table
from leaderboard.boards.page.scores.table import ComparedRun, ScoreTable, comparable, score_table
from leaderboard.core import kinds
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Edition, RankingBlock, Topic
from leaderboard.errors import Invalid, NotFound
from leaderboard.judging.page import side_by_side
from leaderboard.judging.page.side_by_side import Results
from leaderboard.measures.grammar import parse as grammar_parse
from leaderboard.measures.interpolated import precision_at_recalls
from leaderboard.measures.judged import Judged
from leaderboard.measures.naming import parse
from leaderboard.memory import keep_by
from leaderboard.qrels.page.topics.judgments import grades_of
from leaderboard.scoring.ops import collections
from leaderboard.scoring.ops.evaluations.shown import Basis, FloatArray, Source
from leaderboard.scoring.ops.rankings import alignments, compiled_judgments, indices_of, opened
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead
from leaderboard.scoring.ops.statistics.standings import Standing, undecided_pair
from leaderboard.stats.gates import ALPHA, Compared, Gated, gate
from leaderboard.stats.orders.rbo import shared_places
from leaderboard.stats.orders.two_rankings import RankingComparison, compare_rankings, compare_tied_rankings
from leaderboard.stats.seeds import seed
from leaderboard.stats.standing import POWER, ROPE, TwoRuns, compare_scores
from leaderboard.trec.qrels.align import remaining
from leaderboard.trec.read.columns import Int32
from leaderboard.trec.read.kernel import Block


def sentences(gated: Gated, run: str, baseline: str, digits: int) -> list[str]:
    """The verdict, what it rests on, and what more topics would do."""
    texts = (
        verdict_sentence(gated, run, baseline),
        evidence_sentence(gated, digits),
        power_sentences(gated, baseline),
    )
    return [sentence for sentence in texts if sentence]


def verdict_sentence(gated: Gated, run: str, baseline: str) -> str:
    """The verdict, and what may be misread in it."""
    by_more = f"than {baseline} by more than {gated.margin:g}"
    if gated.verdict == "better":
        return f"{run} is better than {baseline}."
    if gated.verdict == "no worse":
        return (
            f"{run} is no worse {by_more}.{' It is worse, but within the margin.' if gated.is_loss else ''}"
        )
    if gated.verdict == "worse":
        return f"{run} is worse {by_more}."
    topics = "One topic" if gated.topics == 1 else f"These {gated.topics:,} topics"
    loss = " It is worse, but perhaps within the margin." if gated.is_loss else ""
    return f"{topics} cannot tell whether {run} is worse {by_more}.{loss}"


def evidence_sentence(gated: Gated, digits: int) -> str:
    """The difference with both bounds, and their confidence."""
    difference = f"Difference {gated.difference:+.{digits}f}"
    if gated.is_constant:
        return f"{difference} on every topic, so nothing is left to chance."
    if gated.low is None or gated.high is None:
        return f"{difference}."
    return (
        f"{difference}, from {gated.low:+.{digits}f} to {gated.high:+.{digits}f} (each end with "
        f"{1 - ALPHA:.0%} confidence)."
    )


def power_sentences(gated: Gated, baseline: str) -> str:
    """Power with these topics, and the number that would settle it; empty where nothing varies."""
    if gated.power is None or gated.is_constant:
        return ""
    sentences = [
        f"Power: over {gated.topics:,} topics, a run as good as {baseline} is found no worse "
        f"{gated.power:.0%} of the time."
    ]
    if gated.topics_for_power is not None and gated.power < POWER:
        sentences.append(f"{POWER:.0%} takes {gated.topics_for_power:,} topics.")
    if gated.verdict == "cannot tell":
        sentences.append(undecided_pair(gated.topics, gated.topics_needed))
    return " ".join(sentences)


def margin_facts(gated: Gated) -> dict[str, Any]:
    """The verdict as plain values at full precision."""
    return {
        "verdict": gated.verdict,
        "margin": gated.margin,
        "difference": gated.difference,
        "interval": [gated.low, gated.high],
        "p": gated.p._asdict(),
        "level": gated.levels.no_worse,
        "power": gated.power,
        "topics_for_power": gated.topics_for_power,
        "topics_needed": gated.topics_needed,
    }


MOST_TOPICS = 200
"""Maximum number of topics whose rankings are compared within a request."""
RECALLS = tuple(round(level / 10, 1) for level in range(11))
SHOWN = 30
"""Number of documents of a topic shown side by side."""
COMPAT = "Compat"

Rankings = dict[str, tuple[list[bytes], FloatArray]]
"""Topic -> docnos in scoring order, and their scores."""
_NOTHING: tuple[list[bytes], FloatArray] = ([], np.empty(0))


@dataclass(frozen=True, eq=False)
class PairedRankings:
    """Two runs' rankings on the compared topics, in the order of the scores."""

    topics: tuple[str, ...]
    of: int
    """Number of topics in total."""
    comparison: RankingComparison | None
    """None if neither run has documents for any of the topics."""
    precision: tuple[FloatArray, FloatArray]
    """Mean interpolated precision of either run at recall 0, 0.1, .., 1; each (11,)."""
    compat: tuple[FloatArray, FloatArray]
    """Compat of either run by topic; each (topics,)."""
    ties: tuple[int, int]
    """Number of topics with tied scores, for each run."""
    with_ties: dict[str, FloatArray]
    """Rank-biased overlap with equal scores as ties, as comparison.by_topic; empty without ties."""

    def by_topic(self) -> dict[str, dict[str, float]]:
        """Topic -> key -> similarity of the rankings, for topics with at least one ranking."""
        if self.comparison is None:
            return {}
        keyed = {**self.comparison.by_topic, **self.with_ties}
        names = [self.topics[place] for place in self.comparison.topics]
        rows = zip(*(values.tolist() for values in keyed.values()), strict=True)
        return {name: dict(zip(keyed, row, strict=True)) for name, row in zip(names, rows, strict=True)}


@dataclass(frozen=True, slots=True)
class PairedDocument:
    """A ranked document of one run with its grade (None: unjudged) and its rank in the other."""

    docno: str
    title: str
    """Empty if the site does not store it."""
    grade: int | None
    elsewhere: int | None


@dataclass(frozen=True, slots=True)
class PairedTopic:
    """The top documents of two rankings of one topic, with the lengths of the rankings."""

    first: tuple[PairedDocument, ...]
    second: tuple[PairedDocument, ...]
    lengths: tuple[int, int]


def no_rankings() -> PairedRankings:
    """An empty comparison of rankings, for runs of answers."""
    none, precision = np.zeros(0), np.zeros(len(RECALLS))
    return PairedRankings((), 0, None, (precision, precision), (none, none), (0, 0), {})


def paired_rankings(
    session: Session, source: Source, first: int, second: int, level: int, *, k: int = 10, p: float = 0.9
) -> PairedRankings:
    """Compare the stored rankings of two runs, by id, on the source's topics, at most the first 200.

    level: lowest relevant grade of the recall-precision curves.
    """
    topics = source.topics[:MOST_TOPICS]
    blocks = [_blocks(session, source, run_id, topics) for run_id in (first, second)]
    first_rankings, second_rankings = (_rankings_of(of_run, topics, source.dialect) for of_run in blocks)
    ties = _topics_with_ties(first_rankings), _topics_with_ties(second_rankings)
    alike = None
    with_ties: dict[str, FloatArray] = {}
    if first_rankings or second_rankings:
        sides = [
            [ranking.get(topic, _NOTHING) for topic in topics]
            for ranking in (first_rankings, second_rankings)
        ]
        first_docnos, second_docnos = ([docnos for docnos, _ in side] for side in sides)
        first_scores, second_scores = ([scores for _, scores in side] for side in sides)
        shared = [shared_places(*pair) for pair in zip(first_docnos, second_docnos, strict=True)]
        alike = compare_rankings(first_docnos, second_docnos, k=k, p=p, shared=shared)
        if any(ties):
            with_ties = compare_tied_rankings(
                first_docnos, second_docnos, first_scores, second_scores, p=p, shared=shared
            )
    hits = alignments(session, source, (first, second))
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
    """Both rankings of one topic with grades and titles, by run id."""
    grades = grades_of(session, source.revision_id, topic)
    first_docnos, second_docnos = (_docnos_of(session, source, run_id, topic) for run_id in (first, second))
    stored = collections.texts(session, collection_id, [*first_docnos[:SHOWN], *second_docnos[:SHOWN]])
    titles = {docno: document.title for docno, document in stored.items()}
    sides = (
        _side(first_docnos, second_docnos, grades, titles),
        _side(second_docnos, first_docnos, grades, titles),
    )
    return PairedTopic(*sides, (len(first_docnos), len(second_docnos)))


def _docnos_of(session: Session, source: Source, run_id: int, topic: str) -> list[str]:
    rankings = _rankings_of(_blocks(session, source, run_id, (topic,)), (topic,), source.dialect)
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
    """Stored rankings of a run on the topics, without documents left out by the revision."""
    gone = compiled_judgments(session, source).left_out
    index = indices_of(session, [run_id])[run_id]
    numbers = {index[topic][0] for topic in topics if topic in index}
    bodies = session.scalars(
        select(RankingBlock.body)
        .where(RankingBlock.run_id == run_id, RankingBlock.number.in_(numbers))
        .order_by(RankingBlock.number)
    )
    blocks = [opened(run_id, body) for body in bodies]
    return blocks if gone is None else [remaining(block, gone) for block in blocks]


def _rankings_of(blocks: Sequence[Block], topics: Collection[str], dialect: int) -> Rankings:
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
    """Scores of some entries as trec_eval compares them: version 9 uses 32 bits."""
    scores = block.columns.score[entries]
    if dialect != 9:
        return scores
    with np.errstate(over="ignore"):
        return scores.astype(np.float32).astype(np.float64)


def _topics_with_ties(rankings: Rankings) -> int:
    return sum(bool((scores[1:] == scores[:-1]).any()) for _, scores in rankings.values())


def _scores(judged: Judged, places: Sequence[int], level: int) -> tuple[FloatArray, FloatArray]:
    """Mean interpolated precision at eleven points, and Compat by topic, on topics by index."""
    chosen = np.array(places, dtype=np.int64)
    points = precision_at_recalls(judged, RECALLS, rel=level)
    return np.array([precision[chosen].mean() for precision in points]), grammar_parse(COMPAT).compute(
        judged
    )[chosen]


CONTRASTING = 5
"""Number of topics with the largest differences named for each run."""


@dataclass(frozen=True, slots=True)
class TopicPair:
    """One topic: both scores, first minus second, and similarity of the rankings if compared."""

    topic_id: str
    title: str
    first: float
    second: float
    difference: float
    alike: dict[str, float]
    compat: tuple[float, float] | None
    """Compat of each run; None if the rankings were not compared."""


@dataclass(frozen=True, slots=True)
class BoardVerdict:
    """The board's verdict: 1 if the first is significantly better, -1 if worse, else 0."""

    sign: int
    runs: int
    """Number of ranked runs compared simultaneously."""
    topics: int
    needed: int | None
    """Number of topics needed to decide the pair; None if decided, or if more would not help."""

    @property
    def more(self) -> str:
        """Sentence on the topics needed for an undecided pair."""
        return undecided_pair(self.topics, self.needed)

    @property
    def word(self) -> str:
        """The verdict on the first run."""
        return {1: "beats", 0: "undecided", -1: "beaten"}[self.sign]


@dataclass(frozen=True, eq=False, kw_only=True)
class PairPage(TaskHead):
    """Two runs under one edition by one measure."""

    basis: Basis
    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Measures that can compare runs."""
    first: ComparedRun
    second: ComparedRun
    scores: TwoRuns
    on_board: BoardVerdict | None
    """None if one of them is unranked, or without verdicts on the board."""
    topics: tuple[TopicPair, ...]
    """Topics by decreasing difference."""
    rankings: PairedRankings
    topic: str | None
    """The topic shown side by side."""
    side_by_side: PairedTopic | None
    p: float
    gated: Gated | None
    """The first run against the second as a baseline; None without a margin."""
    people: Results | None
    """Blind preferences of assessors; None if absent, or while hidden."""

    @property
    def better(self) -> ComparedRun | None:
        """The run with the better mean; None if equal."""
        ahead = self.measure.sign * self.scores.difference
        return None if ahead == 0 else self.first if ahead > 0 else self.second

    @property
    def more(self) -> str:
        """Sentence on the topics needed to decide this pair alone, if undecided."""
        return undecided_pair(self.scores.topics, self.scores.needed)

    @property
    def lead(self) -> tuple[float, float, float] | None:
        """Lead of the better run with its confidence limits; None if undefined."""
        if self.better is None or self.scores.low is None or self.scores.high is None:
            return None
        sign = 1 if self.scores.difference > 0 else -1
        low, high = sorted((sign * self.scores.low, sign * self.scores.high))
        return abs(self.scores.difference), low, high

    @property
    def from_0_to_1(self) -> bool:
        """Whether scores are in [0, 1], so that the region of practical equivalence applies."""
        return _is_from_0_to_1(self.measure.key)

    @property
    def contrasting(self) -> tuple[tuple[TopicPair, ...], tuple[TopicPair, ...]]:
        """Topics with the largest leads of the first run and of the second."""
        sign = self.measure.sign
        ahead = [topic for topic in self.topics if sign * topic.difference > 0][:CONTRASTING]
        behind = [topic for topic in reversed(self.topics) if sign * topic.difference < 0][:CONTRASTING]
        return tuple(ahead), tuple(behind)


def pair_page(
    session: Session,
    viewer: Viewer,
    slug: str,
    first: int,
    second: int,
    measure: str | None = None,
    *,
    topic: str | None = None,
    p: float = 0.9,
    margin: float | None = None,
) -> PairPage:
    """The comparison of two runs, by id; p: persistence of rank-biased overlap.

    margin: how much worse the first run may be than the second; for scores in [0, 1], ROPE by default.

    Raises NotFound for a run or topic of another task and while topic scores are hidden, Invalid
    for a run compared with itself or not scored under the shown revision, UnknownMeasure for a measure
    that is not on the board.
    """
    if first == second:
        raise Invalid("Choose two different runs to compare.")
    table = score_table(session, viewer, slug, measure, run_ids=(first, second))
    if topic is not None and topic not in table.topics:
        raise NotFound(f"{table.task} has no judged topic {topic!r}.")
    task = table.of
    edition = session.get_one(Edition, table.source.edition_id)
    ranks = kinds.of(task.kind).ranks_documents
    rows = {run.run_id: place for place, run in enumerate(table.runs)}
    first_scores, second_scores = table.scores[rows[first]], table.scores[rows[second]]
    scores = _compared(first_scores, second_scores, _seed(table), table.sign)
    rankings = (
        _rankings(session, table, (rows[first], rows[second]), task.level, p) if ranks else no_rankings()
    )
    return PairPage(
        **table.head,
        measure=table.measure,
        measures=comparable(scores_table.fields_columns_of(edition)),
        first=table.runs[rows[first]],
        second=table.runs[rows[second]],
        scores=scores,
        on_board=_on_board(session, viewer, slug, table.measure.key, first, second),
        topics=_topics(session, table, rows[first], rows[second], rankings),
        rankings=rankings,
        topic=topic,
        side_by_side=(
            paired_topic(session, table.source, first, second, topic, task.collection_id)
            if topic and ranks
            else None
        ),
        p=p,
        gated=_gated(first_scores, second_scores, margin, table.measure),
        people=side_by_side.results(session, viewer, task, table.access, first, second),
    )


def _whose_scores(
    first_scores: FloatArray, second_scores: FloatArray, seed: int, sign: int
) -> tuple[bytes, bytes, int, int]:
    return first_scores.tobytes(), second_scores.tobytes(), seed, sign


# The same pair is requested for other topics, another p and other readers.
@keep_by(_whose_scores)
def _compared(first_scores: FloatArray, second_scores: FloatArray, seed: int, sign: int) -> TwoRuns:
    return compare_scores(first_scores, second_scores, seed=seed, lower_is_better=sign < 0)


def _gated(
    first_scores: FloatArray, second_scores: FloatArray, margin: float | None, measure: MeasureColumn
) -> Gated | None:
    if margin is None and _is_from_0_to_1(measure.key):
        margin = ROPE
    if margin is None:
        return None
    (gated,) = gate([Compared(first_scores, second_scores, margin, measure.sign < 0)])
    return gated


def _is_from_0_to_1(measure: str) -> bool:
    return parse(measure).measure.range == (0.0, 1.0)


def _whose_rankings(
    session: Session, table: ScoreTable, rows: tuple[int, int], level: int, p: float
) -> tuple[object, ...]:
    """Cache key of the comparison: everything it depends on, with the database of the ids."""
    runs, source = [table.runs[row] for row in rows], table.source
    whose = str(session.get_bind().engine.url), *((run.run_id, run.ranking_sha256) for run in runs)
    return *whose, source.revision_sha256, source.dialect, source.topics, level, p


# As above.
@keep_by(_whose_rankings)
def _rankings(
    session: Session, table: ScoreTable, rows: tuple[int, int], level: int, p: float
) -> PairedRankings:
    first, second = (table.runs[row].run_id for row in rows)
    return paired_rankings(session, table.source, first, second, level, p=p)


def _on_board(
    session: Session, viewer: Viewer, slug: str, measure: str, first: int, second: int
) -> BoardVerdict | None:
    standing = board.board(session, viewer, slug, measure).standing
    if not isinstance(standing, Standing) or not {first, second} <= standing.places.keys():
        return None
    sign = standing.verdict(first, second)
    needed = None if sign else standing.topics_to_decide(first, second)
    return BoardVerdict(sign, len(standing.run_ids), standing.topics, needed)


def _seed(table: ScoreTable) -> int:
    """Seed of random draws; equal to that of the command line, in either order."""
    measure = f"{table.measure.key} {table.measure.version}"
    digests = sorted(run.ranking_sha256 for run in table.runs)
    return seed(
        *digests, table.source.revision_sha256, measure, f"trec_eval {table.source.dialect}", "two runs"
    )


def _topics(
    session: Session, table: ScoreTable, first: int, second: int, rankings: PairedRankings
) -> tuple[TopicPair, ...]:
    titles = session.execute(select(Topic.topic_id, Topic.title).where(Topic.task_id == table.of.id))
    title = {row.topic_id: row.title for row in titles}
    alike = rankings.by_topic()
    both = zip(*(values.tolist() for values in rankings.compat), strict=True)
    compat = dict(zip(rankings.topics, both, strict=True))
    scores = zip(table.topics, table.scores[first].tolist(), table.scores[second].tolist(), strict=True)
    rows = [
        TopicPair(
            topic_id=topic,
            title=title.get(topic, ""),
            first=first_score,
            second=second_score,
            difference=first_score - second_score,
            alike=alike.get(topic, {}),
            compat=compat.get(topic),
        )
        for topic, first_score, second_score in scores
    ]
    return tuple(sorted(rows, key=lambda row: (-table.sign * row.difference, row.topic_id)))
