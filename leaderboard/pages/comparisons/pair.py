"""Two runs of a task compared: by their scores on every topic, and by their rankings."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Topic
from leaderboard.errors import Invalid, NotFound
from leaderboard.measures.grammar import parse
from leaderboard.pages.comparisons.paired_rankings import (
    COMPAT,
    RECALLS,
    PairedRankings,
    PairedTopic,
    paired_rankings,
    paired_topic,
)
from leaderboard.pages.scores.table import (
    ComparedRun,
    ScoreTable,
    comparable,
    require_details,
    score_table,
)
from leaderboard.pages.side_by_side import results
from leaderboard.pages.side_by_side.results import Results
from leaderboard.services import policy
from leaderboard.services.boards import board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.shown import Basis, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.stats.pairs.two_runs import ROPE, TwoRuns, compare_scores, facts
from leaderboard.stats.seeds import seed

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


@dataclass(frozen=True, eq=False)
class PairPage:
    """Two runs under one edition by one measure."""

    task: str
    slug: str
    basis: Basis
    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """Those that runs can be compared by."""
    first: ComparedRun
    second: ComparedRun
    scores: TwoRuns
    topics: tuple[TopicPair, ...]
    """Best of the first run first."""
    rankings: PairedRankings
    topic: str | None
    """The topic whose rankings stand side by side."""
    side_by_side: PairedTopic | None
    level: int
    grade_names: dict[int, str]
    p: float
    people: Results | None
    """What assessors prefer who saw both unlabelled; None where nobody did, or it is not to be shown yet."""
    sight: Sight

    @property
    def lower_is_better(self) -> bool:
        """Whether a smaller score is the better one."""
        return self.measure.direction == "lower"

    @property
    def from_0_to_1(self) -> bool:
        """Whether scores run from 0 to 1, so that one difference of no practical matter fits them."""
        return parse(self.measure.key).measure.range == (0.0, 1.0)

    @property
    def contrasting(self) -> tuple[tuple[TopicPair, ...], tuple[TopicPair, ...]]:
        """The topics on which the first run is ahead by most, and those on which the second is."""
        sign = -1 if self.lower_is_better else 1
        ahead = [each for each in self.topics if sign * each.difference > 0][:CONTRASTING]
        behind = [each for each in reversed(self.topics) if sign * each.difference < 0][:CONTRASTING]
        return tuple(ahead), tuple(behind)


@dataclass(frozen=True, slots=True)
class ChoosePage:
    """What can be compared: the task's scored runs in the board's order, and its measures."""

    task: str
    slug: str
    basis: Basis | None
    rows: tuple[Row, ...]
    measures: tuple[MeasureColumn, ...]
    primary: str
    sight: Sight


def choose_page(session: Session, viewer: Viewer, slug: str) -> ChoosePage:
    """The runs to choose from; raises NotFound while comparisons are held back."""
    shown = board.board(session, viewer, slug)
    require_details(shown.sight)
    rows = tuple(row for row in shown.rows if row.scores.get(shown.primary) is not None)
    return ChoosePage(
        shown.task, shown.slug, shown.basis, rows, comparable(shown.measures), shown.primary, shown.sight
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
    task, sight = policy.visible_task(session, viewer, slug)
    shown = shown_edition(session, task, sight)
    assert shown.edition is not None, "a score table has an edition"
    if topic is not None and topic not in table.topics:
        raise NotFound(f"{task.name} has no judged topic {topic!r}.")
    rows = {run.run_id: place for place, run in enumerate(table.runs)}
    one, two = table.scores[rows[first]], table.scores[rows[second]]
    scores = compare_scores(one, two, seed=_seed(table), lower_is_better=table.sign < 0)
    rankings = paired_rankings(session, table.source, first, second, task.level, p=p)
    names = {int(grade): name for grade, name in task.grade_names.items()}
    return PairPage(
        task=table.task,
        slug=table.slug,
        basis=table.basis,
        measure=table.measure,
        measures=comparable([column(parse(each["key"])) for each in shown.edition.measures]),
        first=table.runs[rows[first]],
        second=table.runs[rows[second]],
        scores=scores,
        topics=_topics(session, table, rows[first], rows[second], rankings),
        rankings=rankings,
        topic=topic,
        side_by_side=paired_topic(session, table.source, first, second, topic) if topic else None,
        level=task.level,
        grade_names=names,
        p=p,
        people=results.results(session, task, sight, first, second),
        sight=sight,
    )


def as_json(page: PairPage) -> dict[str, Any]:
    """The comparison as plain values at full precision."""
    alike = page.rankings.comparison
    return {
        "task": page.slug,
        "a": {"run": page.first.name, "run_id": page.first.run_id, "team": page.first.team},
        "b": {"run": page.second.name, "run_id": page.second.run_id, "team": page.second.team},
        "revision": page.basis.revision,
        "dialect": page.basis.dialect,
        "measure_version": page.measure.version,
        **facts(page.scores, alike, page.measure.key),
        "effect_sizes": dict(page.scores.effects),
        "resamples": dict(page.scores.resamples),
        "bootstrap_interval": page.scores.bootstrap,
        "likely": {"rope": ROPE, "worse_equal_better": page.scores.likely},
        "people": None if page.people is None else results.facts(page.people),
        "rankings_of_topics": len(page.rankings.topics),
        "rankings_with_ties": {key: float(each.mean()) for key, each in page.rankings.with_ties.items()},
        "compat": dict(zip("ab", (float(each.mean()) for each in page.rankings.compat), strict=True)),
        "overlap_by_depth": [] if alike is None else alike.overlap_by_depth.tolist(),
        "precision_at_recall": {
            f"{recall:g}": [float(points[place]) for points in page.rankings.precision]
            for place, recall in enumerate(RECALLS)
        },
        "by_topic": {
            each.topic_id: {"a": each.first, "b": each.second, "rankings": each.alike} for each in page.topics
        },
    }


def table(page: PairPage) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of the comparison by topic, for CSV."""
    alike = page.rankings.comparison
    keys = [*(alike.by_topic if alike is not None else ()), *page.rankings.with_ties]
    names = page.first.name, page.second.name
    header = ["topic", "title", *names, "difference", *keys, *(f"{COMPAT} of {name}" for name in names)]
    return header, [
        [
            *(each.topic_id, each.title, each.first, each.second, each.difference),
            *(each.alike.get(key) for key in keys),
            *(each.compat or (None, None)),
        ]
        for each in page.topics
    ]


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
    titles = session.execute(select(Topic.topic_id, Topic.title).where(Topic.task_id == table.task_id))
    title = {row.topic_id: row.title for row in titles}
    alike = rankings.by_topic()
    compat = dict(
        zip(rankings.topics, zip(*(each.tolist() for each in rankings.compat), strict=True), strict=True)
    )
    rows = [
        TopicPair(topic, title.get(topic, ""), one, two, one - two, alike.get(topic, {}), compat.get(topic))
        for topic, one, two in zip(
            table.topics, table.scores[first].tolist(), table.scores[second].tolist(), strict=True
        )
    ]
    return tuple(sorted(rows, key=lambda each: (-table.sign * each.difference, each.topic_id)))
