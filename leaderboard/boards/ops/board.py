"""A task's board: runs ranked by a measure under one edition, as visible to a viewer.

A group declared before the first score of its task poses an independent question, so its runs are ranked
and tested within it. A group selected after seeing scores has no controlled error rate, since it could
consist of the two runs furthest apart. Its board has ranks and no verdicts.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Annotated

import numpy as np
from sqlalchemy import delete, func, select
from sqlalchemy.orm import Session

from leaderboard.accounts.ops import names
from leaderboard.boards.ops import rows as boards_rows
from leaderboard.boards.ops.rows import AnswersBasis, EditionBefore, Row, rank, read_rows
from leaderboard.core import audit, kinds, policy
from leaderboard.core.actions import Action
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Entry, Evaluation, GroupedRun, GroupedTeam, Job, Run, RunGroup, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem, UnknownMeasure
from leaderboard.fields import Field
from leaderboard.measures.naming import parse
from leaderboard.measures.record import refusal
from leaderboard.scoring.ops import board_measures, run_facts
from leaderboard.scoring.ops.evaluations import shown as evaluations_shown
from leaderboard.scoring.ops.evaluations.shown import ShownEdition, Source, shown_edition, stored_scores
from leaderboard.scoring.ops.scored_topics import (
    NOT_CHOSEN,
    MeasureColumn,
    TaskHead,
    column,
    ranked_by,
    rule_in_words,
)
from leaderboard.scoring.ops.statistics import standings
from leaderboard.scoring.ops.statistics.requests import WaitingResult
from leaderboard.scoring.ops.statistics.standings import PairOfRuns, Place, RankedRun, Standing, leaders
from leaderboard.scoring.ops.statistics.standings import sentences as sentences_of
from leaderboard.stats.pairs.methods import method
from leaderboard.tables.record import counted

MOST_NAMED = 10


def narrowed(shown: ShownEdition, access: TaskAccess, topics: Collection[str]) -> tuple[ShownEdition, str]:
    """The edition restricted to the selected topics, and why it has no verdicts.

    Returns the whole edition and an empty reason if no topic is selected. Raises Invalid while topic scores
    are hidden, and for a topic that does not count.
    """
    if not topics:
        return shown, ""
    source = shown.source
    if source is None or shown.basis is None or not access.details:
        raise Invalid("Topic scores are hidden, so a board on selected topics is not available.")
    chosen, scored = set(topics), set(source.topics)
    if strange := sorted(chosen - scored):
        named = ", ".join(topic[:40] for topic in strange[:MOST_NAMED])
        problem = Problem("must be a topic that counts for the board.", field="topics", value=named)
        raise Invalid(f"These topics do not count for the board: {named}.", [problem])
    kept = [(topic, at) for topic, at in zip(source.topics, source.places, strict=True) if topic in chosen]
    names, places = (tuple(column) for column in zip(*kept, strict=True))
    of_topics = replace(
        shown,
        source=replace(source, topics=names, places=places),
        basis=replace(shown.basis, topics=len(names)),
    )
    return of_topics, _sentence(len(names), len(source.topics))


def on_topics(
    session: Session, source: Source | None, measures: Sequence[MeasureColumn], rows: Sequence[Row]
) -> list[Row]:
    """The rows with each run's value replaced by its value on the topics of a source; one statement."""
    assert source is not None, "narrowed refuses what has none"
    versions = {measure.key: measure.version for measure in measures}
    conditions = (
        Evaluation.revision_id == source.revision_id,
        Evaluation.dialect == source.dialect,
        Evaluation.measure.in_(versions),
        Evaluation.run_id.in_([row.run_id for row in rows]),
    )
    places = np.array(source.places, dtype=np.int64)
    values: dict[int, dict[str, float | None]] = {}
    for run_id, _, measure, version, _, _, scores, parts in stored_scores(session, *conditions):
        if versions[measure] == version:
            if parts is not None:
                parts = parts.reshape(-1, len(scores))[:, places]
            values.setdefault(run_id, {})[measure] = parse(measure).aggregate(scores[places], parts)
    return [
        replace(
            row,
            scores={
                key: None if score is None else values.get(row.run_id, {}).get(key)
                for key, score in row.scores.items()
            },
        )
        for row in rows
    ]


def _sentence(chosen: int, of: int) -> str:
    return (
        f"Means over {counted(chosen, 'selected topic')} of {of:,}. No significance tests: topics selected "
        "after seeing their scores do not generalise to other topics."
    )


TEAMS, RUNS = "teams", "runs"
MOST_GROUPS = 50


@dataclass(frozen=True, slots=True)
class Group:
    """A group of teams or runs; its members are their ids."""

    id: int
    name: str
    kind: str
    declared_at: datetime
    is_early: bool
    """Whether it was declared before the first score of the task and is therefore tested."""
    members: frozenset[int]

    def has(self, team_id: int, run_id: int) -> bool:
        """Whether a run is in the group."""
        return (team_id if self.kind == TEAMS else run_id) in self.members


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBody:
    """A group's name, and the teams or the runs in it."""

    name: Annotated[
        str, Field(title="Name", help="Use an existing name to replace the members of that group.")
    ]
    teams: Annotated[tuple[int, ...], Field(title="Teams")] = ()
    runs: Annotated[tuple[int, ...], Field(title="Or individual runs")] = ()


def declare_group(
    session: Session,
    viewer: Viewer,
    slug: str,
    name: str,
    *,
    teams: Sequence[int] = (),
    runs: Sequence[int] = (),
) -> Group:
    """Create a group of teams or runs, or replace the members of an existing one.

    The last change counts as its declaration, unless it only added members without a score. Raises Invalid
    for members outside the task and for teams and runs together, Conflict for a name that looks like
    another group's and for more than fifty groups.
    """
    task = policy.own_task(session, viewer, slug)
    shown = names.displayed(name, "a group")
    kind, members = (TEAMS, set(teams)) if teams else (RUNS, set(runs))
    _check(session, task, teams, runs)
    # Two organisers could otherwise create the group at the same time.
    lock_row(session, Task, task.id)
    group = _named(session, task, shown)
    if group is None:
        group = RunGroup(task_id=task.id, name=shown, kind=kind, declared_at=now(session))
        session.add(group)
        session.flush()
    else:
        _require_kind(group, kind)
        before = _members(session, group)
        if before - members or _are_scored(session, task, kind, members - before):
            group.declared_at = now(session)
    _store(session, group, members)
    facts = {"group": group.id, "name": shown, "kind": kind, "members": sorted(members)}
    audit.record(session, viewer, "group.declare", f"task:{task.id}", **facts)
    return _read(session, group, _first_score(session, task))


def remove_group(session: Session, viewer: Viewer, slug: str, group_id: int) -> None:
    """Remove a group and its board; raises NotFound if the task has no such group."""
    task = policy.own_task(session, viewer, slug)
    group = session.get(RunGroup, group_id)
    if group is None or group.task_id != task.id:
        raise NotFound(f"{task.name} has no group {group_id}.", group=group_id)
    audit.record(session, viewer, "group.remove", f"task:{task.id}", group=group.id, name=group.name)
    _clear(session, group)
    session.delete(group)
    session.flush()


def names_of(session: Session, task: Task) -> tuple[str, ...]:
    """The names of a task's groups; one statement."""
    groups = session.scalars(select(RunGroup.name).where(RunGroup.task_id == task.id))
    return tuple(sorted(groups, key=str.casefold))


def of_task(session: Session, task: Task) -> tuple[Group, ...]:
    """A task's groups by name."""
    groups = session.scalars(select(RunGroup).where(RunGroup.task_id == task.id)).all()
    first = _first_score(session, task) if groups else None
    return tuple(
        sorted((_read(session, group, first) for group in groups), key=lambda group: group.name.casefold())
    )


def find_group(session: Session, task: Task, name: str) -> Group:
    """The group of that name; raises NotFound."""
    group = session.scalar(select(RunGroup).where(RunGroup.task_id == task.id, RunGroup.name == name))
    if group is None:
        raise NotFound(f"{task.name} has no group {name[:80]!r}.", group=name[:80])
    return _read(session, group, _first_score(session, task))


def _read(session: Session, group: RunGroup, first: datetime | None) -> Group:
    is_early = first is None or group.declared_at < first
    members = frozenset(_members(session, group))
    return Group(group.id, group.name, group.kind, group.declared_at, is_early, members)


def _first_score(session: Session, task: Task) -> datetime | None:
    """The time when the first run of a task was scored."""
    scored = select(func.min(Evaluation.created_at)).join(Run, Run.id == Evaluation.run_id)
    return session.scalar(scored.where(Run.task_id == task.id))


def _members(session: Session, group: RunGroup) -> set[int]:
    if group.kind == TEAMS:
        members = select(GroupedTeam.team_id).where(GroupedTeam.group_id == group.id)
    else:
        members = select(GroupedRun.run_id).where(GroupedRun.group_id == group.id)
    return set(session.scalars(members))


def _store(session: Session, group: RunGroup, members: Collection[int]) -> None:
    _clear(session, group)
    for member in sorted(members):
        if group.kind == TEAMS:
            session.add(GroupedTeam(group_id=group.id, team_id=member))
        else:
            session.add(GroupedRun(group_id=group.id, run_id=member))
    session.flush()


def _clear(session: Session, group: RunGroup) -> None:
    session.execute(delete(GroupedTeam).where(GroupedTeam.group_id == group.id))
    session.execute(delete(GroupedRun).where(GroupedRun.group_id == group.id))


def _are_scored(session: Session, task: Task, kind: str, members: Collection[int]) -> bool:
    """Whether any of the members has a scored run."""
    column = Run.team_id if kind == TEAMS else Run.id
    scored = select(Evaluation.id).join(Run, Run.id == Evaluation.run_id)
    return session.scalar(scored.where(Run.task_id == task.id, column.in_(members)).limit(1)) is not None


def _named(session: Session, task: Task, name: str) -> RunGroup | None:
    groups = session.scalars(select(RunGroup).where(RunGroup.task_id == task.id)).all()
    same = next((group for group in groups if group.name == name), None)
    alike = next((group.name for group in groups if names.skeleton(group.name) == names.skeleton(name)), None)
    if same is None and alike is not None:
        raise Conflict(f"{name} looks like the group {alike}; choose another name.")
    if same is None and len(groups) >= MOST_GROUPS:
        raise Conflict(f"A task can have at most {MOST_GROUPS} groups; remove one first.")
    return same


def _require_kind(group: RunGroup, kind: str) -> None:
    if group.kind != kind:
        raise Conflict(
            f"{group.name} is a group of {group.kind}; remove it to use the name for a group of {kind}."
        )


def _check(session: Session, task: Task, teams: Sequence[int], runs: Sequence[int]) -> None:
    if bool(teams) == bool(runs):
        _refuse(
            "teams", "", "must be teams or runs, not both.", "Choose at least one team or at least one run."
        )
    entered = set(session.scalars(select(Entry.team_id).where(Entry.task_id == task.id)))
    sent = set(session.scalars(select(Run.id).where(Run.task_id == task.id)))
    for part, chosen, existing in (("team", teams, entered), ("run", runs, sent)):
        if lost := set(chosen) - existing:
            _refuse(
                f"{part}s", str(min(lost)), f"is not a {part} of this task.", f"Choose a {part} of this task."
            )


def _refuse(field: str, value: str, rule: str, remedy: str) -> None:
    raise Invalid("The group was not saved.", [Problem(rule, remedy, field=field, value=value[:40])])


_here = partial(Action, page="groups.show")
DECLARE = _here(
    name="declare_group",
    summary="Create a group of teams or runs, or replace its members",
    more="Each group has its own board.",
    method="PUT",
    path="/tasks/<slug>/groups",
    form="/tasks/<slug>/groups",
    record=GroupBody,
    act=lambda session, viewer, slug, asked: declare_group(
        session, viewer, slug, asked.name, teams=asked.teams, runs=asked.runs
    ),
)
REMOVE = _here(
    name="remove_group",
    summary="Remove a group",
    method="DELETE",
    path="/tasks/<slug>/groups/<id:group_id>",
    form="/tasks/<slug>/groups/<id:group_id>/remove",
    act=remove_group,
    done="group removed",
)
ACTIONS = (DECLARE, REMOVE)


CHOSEN_LATE = (
    "This group was declared after scores existed, so its members may have been selected by score. Its runs "
    "are ranked, without significance tests."
)


@dataclass(frozen=True, slots=True)
class EditionProgress:
    """A newer edition in progress: the number of runs scored and failed."""

    revision: int
    done: int
    failed: int
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Board(TaskHead):
    """The contents of a board page."""

    visibility: str
    measures: tuple[MeasureColumn, ...]
    primary: str
    sorted_by: str
    ranked_by: str
    """The ranking value as text, such as `mean AP`."""
    rows: tuple[Row, ...]
    rescoring: EditionProgress | None
    editions: tuple[int, ...] = ()
    standing: Standing | WaitingResult | None = field(default=None, compare=False)
    """Comparisons of the ranked runs; None while hidden or if not defined."""
    sentences: tuple[str, ...] = ()
    """The standing as text, or the reason why it is missing."""
    one_per_team: bool = False
    groups: tuple[str, ...] = ()
    """Names of the groups with their own boards."""
    group: Group | None = None
    """The group shown; None means all runs."""
    source: Source | None = None
    """The source of topic scores, if the viewer may see them."""
    at: datetime | None = None
    """The time whose runs and edition are shown; None means now."""
    chosen_topics: tuple[str, ...] = ()
    """The topics selected by the reader; empty means all."""
    before: EditionBefore | None = None
    """The previous edition with the rank change of each run; None if not comparable."""
    answers: AnswersBasis | None = None
    """The basis of answer scores; None for rankings, and while judgments are hidden."""

    @property
    def by(self) -> MeasureColumn:
        """The measure that ranks the board."""
        return next(measure for measure in self.measures if measure.key == self.sorted_by)

    @property
    def places(self) -> dict[int, Place]:
        """Run id -> place among the ranked runs; empty without a standing."""
        return self.standing.places if isinstance(self.standing, Standing) else {}

    @property
    def may_be_best(self) -> int:
        """The number of runs that may be the best; also 0 if unknown or not yet computed."""
        return self.standing.may_be_best if isinstance(self.standing, Standing) else 0

    @property
    def waiting(self) -> list[WaitingResult]:
        """What its sentences wait for."""
        return [self.standing] if isinstance(self.standing, WaitingResult) else []


def board(
    session: Session,
    viewer: Viewer,
    slug: str,
    measure: str | None = None,
    edition: int | None = None,
    *,
    one_per_team: bool = False,
    group: str | None = None,
    at: datetime | None = None,
    topics: Collection[str] = (),
) -> Board:
    """The task's board, ranked by a measure (by default the primary one).

    edition: number of an earlier edition. at: a time whose edition and runs are shown, with the current
    scores of these runs. one_per_team: keep each team's best marked run, or else its best run, with ranks and
    verdicts among all runs. group: keep the runs of a group, ranked within it. topics: compute all values on
    these topics, without verdicts. Raises NotFound for an unknown task, edition or group and a time before
    the first edition, UnknownMeasure for a measure that is not a column or cannot rank, Invalid for an
    edition and a time together and for topics that do not count.
    """
    task, access = policy.visible_task(session, viewer, slug)
    if edition is not None and at is not None:
        raise Invalid("Give either an edition or a date of the board, not both.")
    shown, why = narrowed(shown_edition(session, task, access, edition, at), access, topics)
    measures, primary, sorted_by = _measures(task, access, shown, measure)
    chosen = None if group is None else find_group(session, task, group)
    shown = _over_its_topics(shown, sorted_by)
    rows = _rows(session, viewer, (task, access, shown), measures, sorted_by, chosen, at, is_whole=not why)
    basis = kinds.of(task.kind).basis
    answers = basis(session, shown, access) if basis is not None else None
    before = boards_rows.since_before(shown, rows, sorted_by)
    standing, sentences = _standing(session, task, access, shown, sorted_by, rows, chosen, why)
    rows = _of_teams(session, task, rows) if one_per_team and access.means else rows
    return Board(
        of=task,
        visibility=access.rule.visibility if access.rule is not None else "open",
        basis=shown.basis,
        measures=measures,
        primary=primary,
        sorted_by=sorted_by.key,
        ranked_by=ranked_by(sorted_by),
        rows=rows,
        rescoring=_rescoring(session, shown) if {edition, access.edition, at} == {None} else None,
        access=access,
        editions=shown.numbers,
        standing=standing,
        sentences=sentences[:1] + _on_the_choice(task, rows) + sentences[1:] + _on_judgments(shown, answers),
        one_per_team=one_per_team,
        groups=names_of(session, task) if shown.may_have_groups else (),
        group=chosen,
        source=shown.source if access.details else None,
        at=at,
        chosen_topics=shown.source.topics if why and shown.source is not None else (),
        before=before,
        answers=answers,
    )


def _measures(
    task: Task, access: TaskAccess, shown: ShownEdition, name: str | None
) -> tuple[tuple[MeasureColumn, ...], str, MeasureColumn]:
    """The measures visible to the viewer, the key of the primary one, and the ranking measure."""
    edition = shown.edition
    if edition is None:
        keys, primary = task.measures, task.primary_measure
    else:
        keys, primary = [measure["key"] for measure in edition.measures], edition.primary_measure
    seen = tuple(column(parse(key)) for key in keys if not access.hides(key))
    return seen, primary, _sort_measure(seen, name, primary)


def _over_its_topics(shown: ShownEdition, by: MeasureColumn) -> ShownEdition:
    """The edition restricted to the topics that a measure of answers covers."""
    if shown.source is None or shown.edition is None:
        return shown
    return replace(shown, source=evaluations_shown.narrowed(shown.source, shown.edition, by.key))


def _rows(
    session: Session,
    viewer: Viewer,
    seen: tuple[Task, TaskAccess, ShownEdition],
    measures: tuple[MeasureColumn, ...],
    by: MeasureColumn,
    group: Group | None,
    at: datetime | None,
    *,
    is_whole: bool,
) -> tuple[Row, ...]:
    """The rows in order, with the rank changes since the previous edition if comparable."""
    task, access, shown = seen
    before = boards_rows.comparable(shown, by) if at is None and is_whole else None
    read = _of_group(read_rows(session, viewer, task, access, shown.edition, measures, at, before), group)
    return rank(read if is_whole else on_topics(session, shown.source, measures, read), by)


def _of_group(rows: list[Row], group: Group | None) -> list[Row]:
    return [row for row in rows if group is None or group.has(row.team_id, row.run_id)]


def _of_teams(session: Session, task: Task, rows: tuple[Row, ...]) -> tuple[Row, ...]:
    # Runs selected by score are not a family of hypotheses, so ranks and verdicts stay those of all runs.
    return tuple(boards_rows.one_per_team(rows, run_facts.shown_marks(session, task)))


def _on_judgments(shown: ShownEdition, answers: AnswersBasis | None) -> tuple[str, ...]:
    """Sentences on missing judgments, and on the judgments of answers."""
    return board_measures.lacking(shown) + (answers.sentences if answers is not None else ())


def _on_the_choice(task: Task, rows: tuple[Row, ...]) -> tuple[str, ...]:
    """The rule that decided which runs are ranked, if not all are."""
    is_decided = any(row.kind == NOT_CHOSEN for row in rows)
    return (rule_in_words(task),) if is_decided else ()


def differences(
    session: Session, shown: Board, reference: int, run_ids: Collection[int] | None = None
) -> dict[int, PairOfRuns]:
    """Run id -> difference of other ranked runs (some or all) from a scored reference run.

    Empty without a standing; at most one statement.
    """
    standing = shown.standing
    if not isinstance(standing, Standing) or shown.source is None or standing.topics < 2:
        return {}
    chosen = set(standing.run_ids) if run_ids is None else set(run_ids)
    others = [run_id for run_id in standing.run_ids if run_id in chosen and run_id != reference]
    if reference in standing.run_ids:
        return {run_id: standing.pair(run_id, reference) for run_id in others}
    measure = shown.by.key, shown.by.version
    return standings.against(session, shown.source, measure, standing.sign, others, reference)


def _standing(
    session: Session,
    task: Task,
    access: TaskAccess,
    shown: ShownEdition,
    by: MeasureColumn,
    rows: tuple[Row, ...],
    group: Group | None,
    why_not: str,
) -> tuple[Standing | WaitingResult | None, tuple[str, ...]]:
    """The standing of the ranked runs and its sentences, or the reason why it is missing."""
    if why_not:
        return None, (why_not,)
    ranked = [
        RankedRun(row.run_id, row.ranking_sha256, row.run, value)
        for row in rows
        if row.rank is not None and (value := row.scores[by.key]) is not None
    ]
    if shown.source is None or not access.details or not ranked:
        return None, ()
    if why := refusal(parse(by.key).measure):
        return None, (leaders(ranked, ranked_by(by), by.digits, by.sign), why)
    if group is not None and not group.is_early:
        return None, (CHOSEN_LATE,)
    standing = standings.of_runs(
        session, shown.source, (by.key, by.version), by.sign, ranked, method(task.comparison)
    )
    if isinstance(standing, WaitingResult):
        return standing, ()
    of = f" of the group {group.name}" if group is not None else ""
    return standing, sentences_of(standing, ranked, ranked_by(by), by.digits, of)


def _sort_measure(measures: tuple[MeasureColumn, ...], name: str | None, primary: str) -> MeasureColumn:
    columns = {measure.key: measure for measure in measures}
    key = primary if name is None else parse(name).key
    chosen = columns.get(key)
    if chosen is None:
        raise UnknownMeasure(f"{key} is not on this board; its measures are {', '.join(columns)}.")
    if chosen.direction == "none":
        raise UnknownMeasure(
            f"{key} has no direction (higher or lower is better), so the board cannot be ranked by it."
        )
    return chosen


def _rescoring(session: Session, shown: ShownEdition) -> EditionProgress | None:
    if shown.building is None:
        return None
    states = session.scalars(
        select(Job.state).where(Job.edition_id == shown.building, Job.state != "superseded")
    ).all()
    return EditionProgress(shown.building_revision, states.count("done"), states.count("failed"), len(states))
