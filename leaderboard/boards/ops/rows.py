"""The rows of a board: the visible runs, their scores and their order.

A board as of a day or on selected topics is not what an edition showed, so it has no rank changes. Rank
changes are computed among runs ranked in both editions, so that added or withdrawn runs do not move others.
The page of a revision does the same.
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

from leaderboard.core import policy, shown_names
from leaderboard.core.jobs import queue
from leaderboard.core.policy import ANONYMOUS, TaskAccess, Viewer, of_phase
from leaderboard.db.tables import Edition, Run, Task
from leaderboard.scoring.ops.evaluations.shown import (
    PartialMean,
    ShownEdition,
    partial_means,
    seen_means,
    seen_means_of_both,
)
from leaderboard.scoring.ops.scored_topics import (
    NOT_CHOSEN,
    RANKED_KIND,
    MeasureColumn,
    not_chosen,
    shown_kind,
)
from leaderboard.scoring.ops.statistics.standings import Place
from leaderboard.tables.record import Place as On
from leaderboard.tables.record import Shown
from leaderboard.trec.facts import families


@dataclass(frozen=True, slots=True)
class AnswersBasis:
    """Origin and quality of the judgments of an edition.

    made_by: (part, maker) as text. families: families of the language models that made any part.
    median_vital: median number of vital nuggets per topic with nuggets, None without nuggets.
    failed: the share of assignments that failed, None without assignments. warning: a warning
    if many failed, else empty; sentences: everything the board says about them, including the warning.
    """

    made_by: tuple[tuple[str, str], ...]
    families: frozenset[str]
    median_vital: float | None
    failed: float | None
    warning: str = ""
    lines: tuple[tuple[int, str], ...] = ()
    """Number and name of the other judgment series, which have their own boards."""
    sentences: tuple[str, ...] = ()

    def shared_with(self, *stated: str) -> frozenset[str]:
        """Model families that a run declares and that also made the judgments.

        >>> AnswersBasis((), frozenset({"gpt"}), None, None).shared_with("GPT-4o mini", "monoT5")
        frozenset({'gpt'})
        """
        return self.families & frozenset().union(*map(families, stated))


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
    """The run tag (sixth column) of the file; empty if the viewer may not see it."""
    details: str = ""
    """The run's metadata as stored JSON; empty if the viewer may not see it."""
    masked: bool = False
    """Whether its team has a pseudonym, so that identifying facts are hidden too."""
    is_ranked: bool = True
    """Whether official, scored runs of its phase are ranked."""
    earlier: float | None = None
    """Its value in the previous edition, if requested and if the run was on that board."""
    partial: Mapping[str, PartialMean] = dataclasses_field(default_factory=dict)
    """Measure -> mean over the topics it is judged on, if these are not all."""

    def named(self, viewer: Viewer = ANONYMOUS) -> dict[str, Any]:
        """The fields of RunName, with whether it is the viewer's own run."""
        own = policy.owns(viewer, self.team_id)
        return {"run_id": self.run_id, "name": self.run, "team": self.team, "kind": self.kind, "is_own": own}


_BESIDES_RANK = attrgetter(*(field.name for field in fields(Row) if field.name != "rank"))


def rank(rows: Iterable[Row], by: MeasureColumn) -> tuple[Row, ...]:
    """The rows in order, with ranks: ties share one (1, 2, 2, 4) and are ordered by name.

    Only scored official runs are ranked. Baselines and late runs are placed by score, but never above the
    leader. Runs that do not count follow below, and unscored runs come last.
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
    """The rows, with unranked rows above the leader moved behind the runs of rank 1."""
    above = list(takewhile(lambda row: row.rank is None, ordered))
    rest = ordered[len(above) :]
    first = list(takewhile(lambda row: row.rank == 1, rest))
    return [*first, *above, *rest[len(first) :]]


def one_per_team(rows: tuple[Row, ...], marked: frozenset[int]) -> list[Row]:
    """Keep each team's first marked ranked run, or else its first; unranked runs stay."""
    ranked = [row for row in reversed(rows) if row.rank is not None]
    chosen = {row.team_id: row.run_id for row in ranked}
    chosen.update({row.team_id: row.run_id for row in ranked if row.run_id in marked})
    return [row for row in rows if row.rank is None or chosen[row.team_id] == row.run_id]


def read_rows(
    session: Session,
    viewer: Viewer,
    task: Task,
    access: TaskAccess,
    edition: Edition | None,
    measures: tuple[MeasureColumn, ...],
    at: datetime | None = None,
    before: tuple[Edition, str] | None = None,
) -> list[Row]:
    """The runs visible to this viewer, unordered, with their scores under an edition at a time.

    before: an earlier edition and the key of the measure whose values to add from it.
    """
    then = at or (edition.shown_to if edition is not None else None)
    on_board: ColumnElement[bool] = Run.withdrawn_at.is_(None)
    if then is not None:
        # An earlier board includes runs withdrawn since and excludes runs submitted since.
        on_board = or_(on_board, Run.withdrawn_at > then) & (Run.created_at <= then)
    runs = session.execute(_columns(access).where(Run.task_id == task.id, *of_phase(access), on_board)).all()
    if not access.means:
        runs = [run for run in runs if policy.owns(viewer, run.team_id)]
    scores, earlier = _scores(session, access, edition, before)
    partial = _partial(session, access, edition)
    keys = [measure.key for measure in measures]
    unscored = {
        run.id: run.withdrawn_at is not None
        for run in runs
        if not scores.get(run.id) and run.id not in partial
    }
    states = _states(session, access, edition, unscored)
    left_out = not_chosen(session, task, then)
    names = shown_names.names_of_runs(session, viewer, task, runs)
    return [
        Row(
            rank=None,
            run_id=run.id,
            run=names.run(run.id, run.name),
            team=names.team(run.team_id),
            team_id=run.team_id,
            kind=shown_kind(run.id, run.kind, left_out),
            scores={key: scores.get(run.id, {}).get(key) for key in keys},
            state=states.get(run.id, "done"),
            order_differs=run.order_differs and access.details,
            ranking_sha256=run.ranking_sha256,
            description="" if names.is_masked(run.team_id) else run.description,
            tag="" if names.is_masked(run.team_id) else run.tag,
            details=run.details,
            masked=names.is_masked(run.team_id),
            is_ranked=access.is_ranked,
            earlier=earlier.get(run.id) if before and _was_there(run.created_at, before[0]) else None,
            partial=partial.get(run.id, {}),
        )
        for run in runs
    ]


def _scores(
    session: Session, access: TaskAccess, edition: Edition | None, before: tuple[Edition, str] | None
) -> tuple[dict[int, dict[str, float]], dict[int, float]]:
    """Run id -> scores under an edition, and by one measure under the previous one."""
    if edition is None or not access.means:
        return {}, {}
    if before is None:
        return seen_means(session, edition, access), {}
    earlier, key = before
    scores, then = seen_means_of_both(session, edition, earlier, key, access)
    return scores, {run_id: values[key] for run_id, values in then.items() if key in values}


def _partial(
    session: Session, access: TaskAccess, edition: Edition | None
) -> dict[int, dict[str, PartialMean]]:
    """Partial means of runs that are judged on some topics only."""
    if edition is None or not access.means:
        return {}
    return partial_means(session, edition, access.topic_set, access.decimals)


def _was_there(sent: datetime, before: Edition) -> bool:
    """Whether a run was submitted before an edition ended; later runs may also have scores under it."""
    return before.shown_to is None or sent <= before.shown_to


def _states(
    session: Session, access: TaskAccess, edition: Edition | None, unscored: Mapping[int, bool]
) -> dict[int, str]:
    """The states of runs without a score, by id; unscored says which are withdrawn. At most one statement."""
    if not access.means:
        return dict.fromkeys(unscored, "valid")
    if edition is None or not unscored:
        return dict.fromkeys(unscored, "waiting")
    states = queue.scoring_states(session, list(unscored))
    return {run_id: "withdrawn" if is_gone else states[run_id] for run_id, is_gone in unscored.items()}


def place_facts(place: Place | None) -> dict[str, Any]:
    """A run's place as plain values, each None without a place."""
    return {name: None if place is None else getattr(place, name) for name in PLACE_FACTS}


def _columns(access: TaskAccess) -> Any:
    """Columns selected for each run; only public parts of the file's metadata."""
    tag, details = (Run.tag, cast(Run.details, Text)) if access.details else (literal(""), literal(""))
    runs = select(
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
        *shown_names.NAMED_RUN,
    )
    return shown_names.with_teams(runs)


def _with_rank(row: Row, place: int | None) -> Row:
    return row if row.rank == place else Row(place, *_BESIDES_RANK(row))


@dataclass(frozen=True, slots=True)
class EditionBefore:
    """An earlier edition with the rank changes since."""

    number: int
    revision: int
    moved: Mapping[int, int | None]
    """Ranked run -> ranks gained (negative: lost); None if it was unranked then."""

    @property
    def both(self) -> int:
        """The number of runs ranked in both."""
        return sum(places is not None for places in self.moved.values())

    @property
    def movers(self) -> int:
        """The number of these whose rank changed."""
        return sum(bool(places) for places in self.moved.values())


def comparable(shown: ShownEdition, by: MeasureColumn) -> tuple[Edition, str] | None:
    """The previous edition and the measure's key; None if no earlier edition had the same measure."""
    if shown.before is None or shown.edition is None:
        return None
    version = {measure["key"]: measure["version"] for measure in shown.before.measures}.get(by.key)
    return (shown.before, by.key) if version == by.version else None


def since_before(shown: ShownEdition, rows: Iterable[Row], by: MeasureColumn) -> EditionBefore | None:
    """Rank changes of the ranked rows by earlier and current values; None if none was ranked then."""
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
    """The rank of every run, higher values being better; ties share a rank.

    >>> shared_ranks({7: 0.5, 8: 0.9, 9: 0.5, 4: 0.1})
    {7: 2, 8: 1, 9: 2, 4: 4}
    """
    ordered = sorted(values.values(), reverse=True)
    first = {value: place for place, value in reversed(list(enumerate(ordered, start=1)))}
    return {run_id: first[value] for run_id, value in values.items()}
