"""The field: all scored runs of a task, and what they got on each topic by one measure."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Task
from leaderboard.errors import UnknownMeasure
from leaderboard.measures.naming import parse
from leaderboard.pages.scores.table import ComparedRun, named_runs
from leaderboard.services.evaluations import over_topics
from leaderboard.services.evaluations.choices import RANKED_KIND
from leaderboard.services.evaluations.columns import MeasureColumn, column
from leaderboard.services.evaluations.shown import Basis, FloatArray, ShownEdition, Source, scores_of
from leaderboard.services.policy import Sight, Viewer

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Field:
    """Scores of runs (rows, by name) on topics (columns, in the order of source.topics) by one measure."""

    measure: MeasureColumn
    measures: tuple[MeasureColumn, ...]
    """All that have a better and a worse."""
    basis: Basis
    source: Source
    runs: tuple[ComparedRun, ...]
    scores: FloatArray
    """(runs, topics), as the measure prints them."""

    @property
    def sign(self) -> int:
        """-1 where lower is better, else 1."""
        return self.measure.sign

    @cached_property
    def place(self) -> dict[str, int]:
        """Topic id -> its column."""
        return {topic: index for index, topic in enumerate(self.source.topics)}

    @cached_property
    def ranked(self) -> BoolArray:
        """Which runs have a rank, (runs,)."""
        return np.array([run.kind == RANKED_KIND for run in self.runs], dtype=np.bool_)

    @cached_property
    def compared(self) -> BoolArray:
        """The runs a topic is measured by, (runs,): the ranked ones, all where none is ranked."""
        return self.ranked if self.ranked.any() else np.ones(len(self.runs), dtype=np.bool_)

    @property
    def words(self) -> str:
        """Which runs a topic is measured by: `14 ranked runs`."""
        count = int(self.compared.sum())
        kind = "ranked " if self.ranked.any() else ""
        return f"{count:,} {kind}{'run' if count == 1 else 'runs'}"


def field(
    session: Session,
    viewer: Viewer,
    task: Task,
    sight: Sight,
    shown: ShownEdition,
    measure: str | None = None,
) -> Field | None:
    """The field by a measure (the primary one unless said otherwise).

    None where scores by topic are held back and where there are no judgments. Raises UnknownMeasure for
    a measure that is not on the board or has no better and worse.
    """
    if shown.edition is None or shown.basis is None or shown.source is None or not sight.details:
        return None
    measures = columns_of(shown.edition)
    column = chosen(measures, shown.edition.primary_measure, measure)
    runs = runs_of(session, viewer, task, sight)
    source = over_topics.narrowed(shown.source, shown.edition, column.key)
    scores = scores_of(session, source, column.key, column.version, [run.run_id for run in runs])
    scored = tuple(run for run in runs if run.run_id in scores)
    table = np.array([scores[run.run_id] for run in scored], dtype=np.float64)
    return Field(
        measure=column,
        measures=tuple(measure for measure in measures if measure.direction != "none"),
        basis=shown.basis,
        source=source,
        runs=scored,
        scores=table.reshape(len(scored), len(source.topics)),
    )


def columns_of(edition: Edition) -> tuple[MeasureColumn, ...]:
    """The measures of an edition, in the board's order."""
    return tuple(column(parse(measure["key"])) for measure in edition.measures)


def chosen(measures: tuple[MeasureColumn, ...], primary: str, measure: str | None) -> MeasureColumn:
    """The measure asked for, the primary one where none is; raises UnknownMeasure."""
    columns = {column.key: column for column in measures}
    key = primary if measure is None else parse(measure).key
    if key not in columns:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(columns)}.")
    if columns[key].direction == "none":
        raise UnknownMeasure(f"{key} has no better or worse, so no topic is hard or easy by it.")
    return columns[key]


def promised(task: Task) -> MeasureColumn:
    """The task's primary measure, where no edition shows scores by topic."""
    return column(parse(task.primary_measure))


def runs_of(session: Session, viewer: Viewer, task: Task, sight: Sight) -> tuple[ComparedRun, ...]:
    """The task's runs by name, without withdrawn ones."""
    return tuple(sorted(named_runs(session, viewer, task, sight), key=lambda run: run.name.encode()))
