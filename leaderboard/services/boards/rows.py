"""The rows of a board: which runs a viewer may know of, what they got, in which order they stand.

Neither a day's board nor one on chosen topics is what an edition showed, so these have no moves. Ranks are
counted among the runs that have one in both editions, so that a run which came or went in between moves
nobody; the page of a revision counts them so too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from dataclasses import field as dataclasses_field
from datetime import datetime
from itertools import takewhile
from operator import attrgetter
from typing import Annotated, Any

from sqlalchemy import ColumnElement, Text, cast, literal, or_, select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Edition, Run, Task
from leaderboard.services import policy, shown_names
from leaderboard.services.evaluations import choices
from leaderboard.services.evaluations.choices import NOT_CHOSEN, RANKED_KIND, MeasureColumn
from leaderboard.services.evaluations.shown import (
    PartialMean,
    ShownEdition,
    partial_means,
    seen_means,
    seen_means_of_both,
)
from leaderboard.services.jobs import queue
from leaderboard.services.policy import ANONYMOUS, Sight, Viewer
from leaderboard.services.statistics.standings import Place
from leaderboard.tables.record import Place as On
from leaderboard.tables.record import Shown

PLACE_FACTS = tuple(field.name for field in fields(Place))


@dataclass(frozen=True, slots=True)
class Row:
    """One run on the board; rank is None for baselines, late and unscored runs."""

    rank: int | None
    run_id: Annotated[int, Shown(shown=On.DATA)]
    run: str
    team: str
    team_id: int
    kind: Annotated[str, Shown(shown=On.DATA)]
    scores: dict[str, float | None]
    state: Annotated[str, Shown(shown=On.DATA)]
    order_differs: bool = False
    ranking_sha256: str = ""
    description: str = ""
    tag: str = ""
    """The sixth column of the file; empty for whom the file's facts are not shown."""
    details: str = ""
    """The run's metadata as stored, JSON; empty for whom they are not shown."""
    masked: bool = False
    """Whether its team is known by a pseudonym only: what tells whose run it is is not shown either."""
    is_ranked: bool = True
    """Whether runs of its phase have ranks, where they are official and scored."""
    earlier: float | None = None
    """What it got in the edition before, where that is asked for and its board had the run."""
    partial: Mapping[str, PartialMean] = dataclasses_field(default_factory=dict)
    """Measure -> what it got on the topics it is judged on, where these are not all."""

    def named(self, viewer: Viewer = ANONYMOUS) -> dict[str, Any]:
        """The fields of RunName; whether it is the viewer's own."""
        own = policy.owns(viewer, self.team_id)
        return {"run_id": self.run_id, "name": self.run, "team": self.team, "kind": self.kind, "is_own": own}


_BESIDES_RANK = attrgetter(*(field.name for field in fields(Row) if field.name != "rank"))


def rank(rows: Iterable[Row], by: MeasureColumn) -> tuple[Row, ...]:
    """The rows in order, with ranks: equal values share one (1, 2, 2, 4), inner order by name.

    Only scored official runs are ranked; baselines and late runs stand where their score puts
    them, but never above the leader, runs that were not chosen below these, runs without a score at the end.
    """
    sign = -1.0 if by.direction == "higher" else 1.0
    runs = list(rows)
    scored = [
        (row.kind == NOT_CHOSEN, sign * value, row.run, row)
        for row in runs
        if (value := row.scores.get(by.key)) is not None
    ]
    scored.sort(key=lambda entry: entry[:3])
    unscored = sorted((row for row in runs if row.scores.get(by.key) is None), key=lambda row: row.run)
    ordered: list[Row] = []
    place, last, last_rank = 0, None, 0
    for _, value, _, row in scored:
        if row.kind != RANKED_KIND or not row.is_ranked:
            ordered.append(_with_rank(row, None))
            continue
        place += 1
        if value != last:
            last, last_rank = value, place
        ordered.append(_with_rank(row, last_rank))
    return (*_opened_by_leader(ordered), *(_with_rank(row, None) for row in unscored))


def _opened_by_leader(ordered: list[Row]) -> list[Row]:
    """The rows with those above the first ranked one set behind the runs of rank 1."""
    above = list(takewhile(lambda row: row.rank is None, ordered))
    rest = ordered[len(above) :]
    first = list(takewhile(lambda row: row.rank == 1, rest))
    return [*first, *above, *rest[len(first) :]]


def one_per_team(rows: tuple[Row, ...], marked: frozenset[int]) -> list[Row]:
    """Of each team's ranked runs the first that it marked, else the first; runs that have no rank stay."""
    ranked = [row for row in reversed(rows) if row.rank is not None]
    chosen = {row.team_id: row.run_id for row in ranked}
    chosen.update({row.team_id: row.run_id for row in ranked if row.run_id in marked})
    return [row for row in rows if row.rank is None or chosen[row.team_id] == row.run_id]


def read_rows(
    session: Session,
    viewer: Viewer,
    task: Task,
    sight: Sight,
    edition: Edition | None,
    measures: tuple[MeasureColumn, ...],
    at: datetime | None = None,
    before: tuple[Edition, str] | None = None,
) -> list[Row]:
    """The runs this viewer may know of, in no order, with what they got under an edition at a moment.

    before is an earlier edition and the key of the measure by which its values are wished for too.
    """
    then = at or (edition.shown_to if edition is not None else None)
    on_board: ColumnElement[bool] = Run.withdrawn_at.is_(None)
    if then is not None:
        # What was shown stays as it was: with runs withdrawn since, without runs sent since.
        on_board = or_(on_board, Run.withdrawn_at > then) & (Run.created_at <= then)
    runs = session.execute(_columns(sight).where(Run.task_id == task.id, *of_phase(sight), on_board)).all()
    if not sight.means:
        runs = [run for run in runs if policy.owns(viewer, run.team_id)]
    scores, earlier = _scores(session, sight, edition, before)
    partial = _partial(session, sight, edition)
    keys = [measure.key for measure in measures]
    unscored = {
        run.id: run.withdrawn_at is not None
        for run in runs
        if not scores.get(run.id) and run.id not in partial
    }
    states = _states(session, sight, edition, unscored)
    left_out = choices.not_chosen(session, task, then)
    names = shown_names.shown_names(session, viewer, task)
    return [
        Row(
            rank=None,
            run_id=run.id,
            run=names.run(run.id, run.name),
            team=names.team(run.team_id),
            team_id=run.team_id,
            kind=choices.shown_kind(run.id, run.kind, left_out),
            scores={key: scores.get(run.id, {}).get(key) for key in keys},
            state=states.get(run.id, "done"),
            order_differs=run.order_differs and sight.details,
            ranking_sha256=run.ranking_sha256,
            description="" if names.is_masked(run.team_id) else run.description,
            tag="" if names.is_masked(run.team_id) else run.tag,
            details=run.details,
            masked=names.is_masked(run.team_id),
            is_ranked=sight.is_ranked,
            earlier=earlier.get(run.id) if before and _was_there(run.created_at, before[0]) else None,
            partial=partial.get(run.id, {}),
        )
        for run in runs
    ]


def _scores(
    session: Session, sight: Sight, edition: Edition | None, before: tuple[Edition, str] | None
) -> tuple[dict[int, dict[str, float]], dict[int, float]]:
    """Run id -> what it got under an edition, and by one measure under the one before."""
    if edition is None or not sight.means:
        return {}, {}
    if before is None:
        return seen_means(session, edition, sight), {}
    earlier, key = before
    scores, then = seen_means_of_both(session, edition, earlier, key, sight)
    return scores, {run_id: values[key] for run_id, values in then.items() if key in values}


def _partial(session: Session, sight: Sight, edition: Edition | None) -> dict[int, dict[str, PartialMean]]:
    """What runs got that are judged on some topics only."""
    if edition is None or not sight.means:
        return {}
    return partial_means(session, edition, sight.topic_set, sight.decimals)


def _was_there(sent: datetime, before: Edition) -> bool:
    """Whether a run was sent before an edition's board ended: one sent later may have scores under it too."""
    return before.shown_to is None or sent <= before.shown_to


def of_phase(sight: Sight) -> tuple[ColumnElement[bool], ...]:
    """Which runs are of the phase that is seen: no condition where a task has only one."""
    return () if sight.phase_id is None else (Run.phase_id == sight.phase_id,)


def _states(
    session: Session, sight: Sight, edition: Edition | None, unscored: Mapping[int, bool]
) -> dict[int, str]:
    """The states of runs without a score, by id; unscored says which are withdrawn. At most one statement."""
    if not sight.means:
        return dict.fromkeys(unscored, "valid")
    if edition is None or not unscored:
        return dict.fromkeys(unscored, "waiting")
    states = queue.scoring_states(session, list(unscored))
    return {run_id: "withdrawn" if is_gone else states[run_id] for run_id, is_gone in unscored.items()}


def place_facts(place: Place | None) -> dict[str, Any]:
    """A run's place as plain values, each None where there is none."""
    return {name: None if place is None else getattr(place, name) for name in PLACE_FACTS}


def _columns(sight: Sight) -> Any:
    """What is read of each run: of the file's facts only what is shown to all."""
    tag, details = (Run.tag, cast(Run.details, Text)) if sight.details else (literal(""), literal(""))
    return select(
        Run.id,
        Run.name,
        Run.team_id,
        Run.kind,
        Run.created_at,
        Run.withdrawn_at,
        Run.order_differs,
        Run.ranking_sha256,
        Run.description,
        tag.label("tag"),
        details.label("details"),
    )


def _with_rank(row: Row, place: int | None) -> Row:
    return row if row.rank == place else Row(place, *_BESIDES_RANK(row))


@dataclass(frozen=True, slots=True)
class EditionBefore:
    """The edition that a board is held against, and what became of the ranks since."""

    number: int
    revision: int
    moved: Mapping[int, int | None]
    """Ranked run -> by how many ranks it went up (below 0: down); None: it had no rank then."""

    @property
    def both(self) -> int:
        """How many runs have a rank in both."""
        return sum(places is not None for places in self.moved.values())

    @property
    def movers(self) -> int:
        """How many of these have another rank now."""
        return sum(bool(places) for places in self.moved.values())


def comparable(shown: ShownEdition, by: MeasureColumn) -> tuple[Edition, str] | None:
    """The edition before and the measure's key; None where there is none that had this very measure."""
    if shown.before is None or shown.edition is None:
        return None
    version = {measure["key"]: measure["version"] for measure in shown.before.measures}.get(by.key)
    return (shown.before, by.key) if version == by.version else None


def since_before(shown: ShownEdition, rows: Iterable[Row], by: MeasureColumn) -> EditionBefore | None:
    """What became of the ranked rows, by their values then and now; None where none was ranked then."""
    if shown.before is None:
        return None
    ranked = [row for row in rows if row.rank is not None]
    then = {row.run_id: by.sign * row.earlier for row in ranked if row.earlier is not None}
    if not then:
        return None
    values = {row.run_id: row.scores[by.key] for row in ranked}
    now = {
        run_id: by.sign * value for run_id, value in values.items() if run_id in then and value is not None
    }
    old, new = shared_ranks(then), shared_ranks(now)
    moved = {run_id: old[run_id] - new[run_id] if run_id in old else None for run_id in values}
    return EditionBefore(shown.before.number, shown.before_revision, moved)


def shared_ranks(values: Mapping[int, float]) -> dict[int, int]:
    """The rank of every run, higher being better; equal values share one.

    >>> shared_ranks({7: 0.5, 8: 0.9, 9: 0.5, 4: 0.1})
    {7: 2, 8: 1, 9: 2, 4: 4}
    """
    ordered = sorted(values.values(), reverse=True)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    return {run_id: first[value] for run_id, value in values.items()}
