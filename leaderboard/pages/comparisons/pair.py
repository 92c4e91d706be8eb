"""Two runs of a task compared: by their scores on every topic, and by their rankings."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, RankingBlock, Topic
from leaderboard.errors import Invalid, NotFound
from leaderboard.measures.grammar import parse as grammar_parse
from leaderboard.measures.interpolated import precision_at_recalls
from leaderboard.measures.judged import Judged
from leaderboard.measures.naming import parse
from leaderboard.memory import keep_by
from leaderboard.pages import side_by_side
from leaderboard.pages.scores import table as scores_table
from leaderboard.pages.scores.table import ComparedRun, ScoreTable, comparable, require_details, score_table
from leaderboard.pages.side_by_side import Results
from leaderboard.pages.topics.judgments import grades_of
from leaderboard.services import collections, kinds
from leaderboard.services.boards import board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations import alignments
from leaderboard.services.evaluations.choices import MeasureColumn
from leaderboard.services.evaluations.shown import Basis, FloatArray, Source
from leaderboard.services.policy import Viewer
from leaderboard.services.rankings import indices_of, opened
from leaderboard.services.statistics.standings import Standing, undecided_pair
from leaderboard.services.tasks.scored_topics import TaskHead
from leaderboard.stats.orders.rbo import shared_places
from leaderboard.stats.orders.two_rankings import RankingComparison, compare_rankings, compare_tied_rankings
from leaderboard.stats.seeds import seed
from leaderboard.stats.standing import TwoRuns, compare_scores
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
    one, two = (_rankings_of(of_run, topics, source.dialect) for of_run in blocks)
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
    return np.array([precision[chosen].mean() for precision in points]), grammar_parse(COMPAT).compute(
        judged
    )[chosen]


CONTRASTING = 5
"""Topics named on either side as those on which the two differ most."""


@dataclass(frozen=True, slots=True)
class TopicPair:
    """One topic: both scores, the first less the second, and how alike the rankings are where compared."""

    topic_id: str
    title: str
    first: float
    second: float
    difference: float
    alike: dict[str, float]
    compat: tuple[float, float] | None
    """Of either run; None where the rankings were not compared."""


@dataclass(frozen=True, slots=True)
class BoardVerdict:
    """The board's word on the two: 1 where the first beats the second, -1 where it is beaten, else 0."""

    sign: int
    runs: int
    """How many ranked runs it is said of at once."""
    topics: int
    needed: int | None
    """How many topics would decide an undecided pair; None where it is decided, or more would not help."""

    @property
    def more(self) -> str:
        """What more topics would do for an undecided pair."""
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
    """Those that runs can be compared by."""
    first: ComparedRun
    second: ComparedRun
    scores: TwoRuns
    on_board: BoardVerdict | None
    """None where one of them is not ranked, or the board has no verdicts, or not yet."""
    topics: tuple[TopicPair, ...]
    """Best of the first run first."""
    rankings: PairedRankings
    topic: str | None
    """The topic whose rankings stand side by side."""
    side_by_side: PairedTopic | None
    p: float
    people: Results | None
    """What assessors prefer who saw both unlabelled; None where nobody did, or it is not to be shown yet."""

    @property
    def better(self) -> ComparedRun | None:
        """The run of the better mean; None where both have the same."""
        ahead = self.measure.sign * self.scores.difference
        return None if ahead == 0 else self.first if ahead > 0 else self.second

    @property
    def more(self) -> str:
        """What more topics would do for the two by themselves, where they are undecided."""
        return undecided_pair(self.scores.topics, self.scores.needed)

    @property
    def lead(self) -> tuple[float, float, float] | None:
        """How far the better run is ahead, and the ends of its interval; None where that cannot be said."""
        if self.better is None or self.scores.low is None or self.scores.high is None:
            return None
        sign = 1 if self.scores.difference > 0 else -1
        low, high = sorted((sign * self.scores.low, sign * self.scores.high))
        return abs(self.scores.difference), low, high

    @property
    def from_0_to_1(self) -> bool:
        """Whether scores run from 0 to 1, so that one difference of no practical matter fits them."""
        return parse(self.measure.key).measure.range == (0.0, 1.0)

    @property
    def contrasting(self) -> tuple[tuple[TopicPair, ...], tuple[TopicPair, ...]]:
        """The topics on which the first run is ahead by most, and those on which the second is."""
        sign = self.measure.sign
        ahead = [topic for topic in self.topics if sign * topic.difference > 0][:CONTRASTING]
        behind = [topic for topic in reversed(self.topics) if sign * topic.difference < 0][:CONTRASTING]
        return tuple(ahead), tuple(behind)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoosePage(TaskHead):
    """What can be compared: the task's scored runs in the board's order, and its measures."""

    rows: tuple[Row, ...]
    measures: tuple[MeasureColumn, ...]
    primary: str


def choose_page(session: Session, viewer: Viewer, slug: str) -> ChoosePage:
    """The runs to choose from; raises NotFound while comparisons are held back."""
    shown = board.board(session, viewer, slug)
    require_details(shown.sight)
    return ChoosePage(
        **shown.head,
        rows=tuple(row for row in shown.rows if row.scores.get(shown.primary) is not None),
        measures=comparable(shown.measures),
        primary=shown.primary,
    )


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
) -> PairPage:
    """Two runs, by id, compared; p is the persistence of the rank-biased overlap of their rankings.

    Raises NotFound for a run or topic of another task and while scores by topic are held back, Invalid
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
    one, two = table.scores[rows[first]], table.scores[rows[second]]
    scores = _compared(one, two, _seed(table), table.sign)
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
        people=side_by_side.results(session, viewer, task, table.sight, first, second),
    )


def _whose_scores(one: FloatArray, two: FloatArray, seed: int, sign: int) -> tuple[bytes, bytes, int, int]:
    return one.tobytes(), two.tobytes(), seed, sign


# A pair is asked for by topic, by another p, by the next reader.
@keep_by(_whose_scores)
def _compared(one: FloatArray, two: FloatArray, seed: int, sign: int) -> TwoRuns:
    return compare_scores(one, two, seed=seed, lower_is_better=sign < 0)


def _whose_rankings(
    session: Session, table: ScoreTable, rows: tuple[int, int], level: int, p: float
) -> tuple[object, ...]:
    """All that the comparison depends on, and the database whose ids the runs have."""
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
    """The same as that of the two files on the command line, in either order."""
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
            first=one,
            second=two,
            difference=one - two,
            alike=alike.get(topic, {}),
            compat=compat.get(topic),
        )
        for topic, one, two in scores
    ]
    return tuple(sorted(rows, key=lambda row: (-table.sign * row.difference, row.topic_id)))
