"""What scores by topic tell of a run: against the field, as curves, under ties, beside its likes."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Run, Task
from leaderboard.pages.runs import files
from leaderboard.pages.runs import topics as run_topics
from leaderboard.pages.runs.curves import Curves, curves
from leaderboard.pages.runs.files import Provenance
from leaderboard.pages.runs.near_duplicates import NearDuplicate, near_duplicates
from leaderboard.pages.runs.scores import LooseValue, every_measure
from leaderboard.pages.runs.ties import RunTies, run_ties
from leaderboard.pages.runs.topics import Looked, Order, TopicField, TopicScores
from leaderboard.services.boards.board import Board
from leaderboard.services.boards.rows import Row
from leaderboard.services.evaluations import score
from leaderboard.services.evaluations.alignments import alignment
from leaderboard.services.evaluations.digests import ranking_key
from leaderboard.services.evaluations.shown import Shown, Source


@dataclass(frozen=True, slots=True)
class Asked:
    """What a reader chose on a run's page: the measure and order of its topics, and what takes longer."""

    measure: str | None = None
    order: Order = "difference"
    every_measure: bool = False
    drawn_ties: bool = False


@dataclass(frozen=True, slots=True)
class Profile:
    """What scores by topic tell of a run beyond its means."""

    evaluator: str
    """Version of this program that computed the scores."""
    command: str
    """What computes them again from the run's file."""
    topics: tuple[TopicScores, ...]
    field: TopicField | None
    """None where no measure of the board has a better and a worse."""
    curves: Curves
    ties: RunTies
    near: tuple[NearDuplicate, ...]
    every: tuple[LooseValue, ...]
    """By all measures there are, where they were asked for."""


def profile(
    session: Session, task: Task, run: Run, origin: Provenance, shown: Shown, board: Board, asked: Asked
) -> Profile | None:
    """What a reader may see of a run of the board by topic.

    None while scores by topic are held back, and for a run that is not scored by all measures yet.
    """
    edition, source = shown.edition, shown.source
    if edition is None or source is None or not board.sight.details:
        return None
    stored = score.stored(session, run.id, edition)
    row = next((row for row in board.rows if row.run_id == run.id), None)
    if row is None or not source.topics or any(each.key not in stored for each in board.measures):
        return None
    titles = run_topics.topic_titles(session, task.id)
    judged = alignment(session, source, run.id)
    scores = {key: each.scores for key, each in stored.items()}
    looked_at = run_topics.field_of(session, board, source, run.id, asked.measure)
    ranked = [each for each in board.rows if each.rank is not None]
    keys = [each.key for each in board.measures]
    return Profile(
        evaluator=next(each.evaluator for each in stored.values()),
        command=files.command(origin.download_name, keys, dialect=edition.dialect, level=task.level),
        topics=run_topics.all_scores(titles, source, scores, board.measures),
        field=_field(board, looked_at, run.id, titles, source, asked),
        curves=curves(session, source, row, ranked, task.level, run.deepest),
        ties=run_ties(session, source, run.id, origin.sha256, judged, board.measures, drawn=asked.drawn_ties),
        near=_near(session, source, row, board, looked_at),
        every=every_measure(source, judged, task.level, _key(source, run)) if asked.every_measure else (),
    )


def _field(
    board: Board,
    looked_at: Looked | None,
    run_id: int,
    titles: dict[str, str],
    source: Source,
    asked: Asked,
) -> TopicField | None:
    if looked_at is None:
        return None
    return run_topics.against_field(board, looked_at, run_id, titles, source.topics, asked.order)


def _near(
    session: Session, source: Source, row: Row, board: Board, looked_at: Looked | None
) -> tuple[NearDuplicate, ...]:
    scores = looked_at.scores if looked_at else {}
    return near_duplicates(session, source, row, board.rows, scores, all_teams=board.sight.organises)


def _key(source: Source, run: Run) -> str:
    return ranking_key(source, run.id, run.ranking_sha256, run.order_differs)
