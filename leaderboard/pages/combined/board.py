"""The board that people's judgments of a sample and a machine's judgments of everything make together."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from leaderboard.db.tables import Task
from leaderboard.errors import NotFound, UnknownMeasure
from leaderboard.measures.grammar import parse
from leaderboard.pages.combined.standings import CombinedBoard, combined_board
from leaderboard.pages.nuggets.facts import require_rankings
from leaderboard.services import policy
from leaderboard.services.boards.rows import Row, rank, read_rows
from leaderboard.services.combined import samples
from leaderboard.services.combined.judged import JudgedSample, judged_sample
from leaderboard.services.combined.scores import MOST_PLACES, can_be_combined, depth_of
from leaderboard.services.evaluations.columns import MeasureColumn, column_of
from leaderboard.services.evaluations.shown import ShownEdition, shown_edition
from leaderboard.services.policy import Sight, Viewer
from leaderboard.services.tasks.head import TaskHead

ORDERS = ("combined", "machine", "people")
"""Whose board the runs are in the order of."""
LEAST_TOPICS, LEAST_TOPICS_OF_ONE_DOCUMENT = 2, 25
LEAST_DRAWN = 20
"""Documents a topic that must be expected in a sample for measures divided by an estimate."""
ONE_DOCUMENT, DIVIDED = frozenset({"RR", "ERR"}), frozenset({"nDCG", "AP"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedPage(TaskHead):
    """A task's combined board; refused are the reasons why there is none yet, or none at all."""

    sample: JudgedSample | None
    samples: tuple[int, ...]
    """Numbers of all samples that the reader may look at, newest first."""
    column: MeasureColumn | None
    choices: tuple[MeasureColumn, ...]
    order: str
    refused: tuple[str, ...]
    board: CombinedBoard | None
    can_draw: bool
    """Whether the board rests on a machine's judgments, so that a sample of them may be drawn."""

    @property
    def name(self) -> str:
        """What the page's tables are called."""
        return f"{self.slug}-combined"


@dataclass(frozen=True, slots=True)
class CombinedChoice:
    """What is asked for: a measure of the board, the number of a sample, whose order."""

    measure: str | None = None
    number: int | None = None
    order: str = ORDERS[0]


def combined_page(session: Session, viewer: Viewer, slug: str, choice: CombinedChoice) -> CombinedPage:
    """The combined board; raises NotFound where none is shown to the viewer, UnknownMeasure.

    Organisers see those that are not shown to everybody too, and the page without any sample.
    """
    task, sight = policy.visible_task(session, viewer, slug)
    require_rankings(task)
    shown = shown_edition(session, task, sight)
    pools = [pool for pool in samples.of_task(session, task) if sight.organises or pool.shown_at is not None]
    if not (sight.organises or (sight.details and pools)):
        raise NotFound(f"{task.name} has no combined board to show. {sight.why}".strip())
    chosen = next((pool for pool in pools if choice.number in (None, pool.number)), None)
    if chosen is None and choice.number is not None:
        raise NotFound(f"{task.name} has no sample {choice.number} to show.", pool=choice.number)
    choices = _choices(shown)
    column = _column(choices, shown, choice.measure)
    sample = judged_sample(session, task, chosen) if chosen is not None else None
    rows = _ranked(session, viewer, task, sight, shown)
    refused = _refused(sample, column, rows) if sample is not None else ()
    board = None
    if sample is not None and column is not None and not refused:
        board = combined_board(session, sample, column, rows, choice.order)
    return CombinedPage(
        of=task,
        sight=sight,
        basis=shown.basis,
        sample=sample,
        samples=tuple(pool.number for pool in pools),
        column=column,
        choices=choices,
        order=choice.order if choice.order in ORDERS else ORDERS[0],
        refused=refused,
        board=board,
        can_draw=shown.basis is not None and shown.basis.origin == "machine",
    )


def _choices(shown: ShownEdition) -> tuple[MeasureColumn, ...]:
    """The measures of the board whose scores can be estimated from a sample."""
    keys = [measure["key"] for measure in shown.edition.measures] if shown.edition else []
    return tuple(column_of(key) for key in keys if can_be_combined(parse(key)))


def _column(
    choices: Sequence[MeasureColumn], shown: ShownEdition, measure: str | None
) -> MeasureColumn | None:
    known = {column.key: column for column in choices}
    if measure is not None and parse(measure).key not in known:
        raise UnknownMeasure(
            f"A sample says nothing of {parse(measure).key} here; choose {', '.join(known) or 'none'}."
        )
    primary = shown.edition.primary_measure if shown.edition else ""
    wanted = primary if measure is None else parse(measure).key
    return known.get(wanted) or next(iter(choices), None)


def _ranked(
    session: Session, viewer: Viewer, task: Task, sight: Sight, shown: ShownEdition
) -> tuple[Row, ...]:
    """The ranked runs of the board, in its order."""
    edition = shown.edition
    if edition is None:
        return ()
    by = column_of(edition.primary_measure)
    rows = rank(read_rows(session, viewer, task, sight, edition, (by,)), by)
    return tuple(row for row in rows if row.rank is not None)


def _refused(sample: JudgedSample, column: MeasureColumn | None, rows: Sequence[Row]) -> tuple[str, ...]:
    """Why nothing is said of what people would say."""
    if column is None:
        return (
            "None of the board’s measures can be estimated from a sample: P, nDCG, AP, RR, RBP and ERR can.",
        )
    bound, refused = parse(column.key), []
    name, topics = bound.measure.name, sample.finished
    least = samples.LEAST_TOPICS if sample.is_of_topics else LEAST_TOPICS
    if len(rows) < 2:
        refused.append("There are fewer than two ranked runs.")
    if topics < least:
        refused.append(f"{topics} of {sample.topics} topics are judged to the end: a board needs {least}.")
    if name in ONE_DOCUMENT and topics < LEAST_TOPICS_OF_ONE_DOCUMENT:
        refused.append(
            f"{column.key} rests on one document a topic: it needs {LEAST_TOPICS_OF_ONE_DOCUMENT} topics "
            f"judged to the end, and there are {topics}."
        )
    if name in DIVIDED and not sample.is_of_topics and sample.drawn_by_topic < LEAST_DRAWN:
        refused.append(
            f"{column.key} divides by an estimate: it needs {LEAST_DRAWN} documents a topic in the sample, "
            f"and {sample.drawn_by_topic:.1f} are expected. Draw a larger share, or choose a measure like P."
        )
    if len(rows) * topics * depth_of(bound) > MOST_PLACES:
        refused.append("These are too many runs and ranks to go through while you wait: choose a cutoff.")
    return tuple(refused)
