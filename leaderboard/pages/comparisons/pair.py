"""Two runs of a task compared: by their scores on every topic, and by their rankings."""

from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Topic
from leaderboard.errors import Invalid, NotFound
from leaderboard.measures.naming import parse
from leaderboard.memory import keep_by
from leaderboard.pages.comparisons.paired_rankings import (
    PairedRankings,
    PairedTopic,
    no_rankings,
    paired_rankings,
    paired_topic,
)
from leaderboard.pages.scores import fields
from leaderboard.pages.scores.table import ComparedRun, ScoreTable, comparable, require_details, score_table
from leaderboard.pages.side_by_side import results
from leaderboard.pages.side_by_side.results import Results
from leaderboard.services import kinds
from leaderboard.services.boards import board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn
from leaderboard.services.evaluations.shown import Basis, FloatArray
from leaderboard.services.policy import Viewer
from leaderboard.services.statistics.sentences import undecided_pair
from leaderboard.services.statistics.standings import Standing
from leaderboard.services.tasks.head import TaskHead
from leaderboard.stats.seeds import seed
from leaderboard.stats.standing.two_runs import TwoRuns, compare_scores

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
        measures=comparable(fields.columns_of(edition)),
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
        people=results.results(session, viewer, task, table.sight, first, second),
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
