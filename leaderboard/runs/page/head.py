"""The common data of a run's pages: the run, its task, and its scores by topic if visible."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.boards.ops.rows import Row, rank, read_rows
from leaderboard.core import policy, shown_names
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.core.shown_names import ShownNames
from leaderboard.db.tables import Edition, Evaluation, Run, Task
from leaderboard.errors import NotFound
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.withdrawals import RunRules
from leaderboard.scoring.ops.evaluations import score
from leaderboard.scoring.ops.evaluations.shown import (
    Basis,
    ShownEdition,
    Source,
    left_out_facts,
    shown_edition,
)
from leaderboard.scoring.ops.scored_topics import MeasureColumn, TaskHead, column_of, not_chosen, shown_kind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunActions:
    """A reader's allowed actions on one run, and its team's number of marks in its phase."""

    run_id: int
    slug: str
    is_own: bool
    """Whether the reader is in its team or organises its task."""
    is_marked: bool
    """Whether its team marked it, if visible to the reader."""
    final_runs: int | None
    """The number of final runs per team; None means all, and the mark makes a run the primary one."""
    marked: int = 0
    rules: RunRules = RunRules()


def actions_of(
    session: Session, viewer: Viewer, runs: Sequence[Any], tasks: Mapping[int, Task], closed: Collection[int]
) -> dict[int, RunActions]:
    """Run id -> what the viewer may do with it; runs may be rows with a run's columns.

    closed are the ids of the phases that are over. Two statements, none where no run is the viewer's own.
    """
    own = {run.id for run in runs if policy.owns(viewer, run.team_id)}
    by_team = withdrawals.withdrawn_by_its_team(session, [run for run in runs if run.id in own])
    marks = _marks(session, viewer, {run.phase_id for run in runs}) if own else {}

    def actions(run: Any, task: Task) -> RunActions:
        is_closed = run.phase_id in closed
        is_own = run.id in own or policy.organises(viewer, task.id)
        # Others do not see which runs a team chose until the choice counts.
        is_told = is_own or task.final_runs is None or is_closed
        return RunActions(
            run_id=run.id,
            slug=task.slug,
            rules=withdrawals.rules_of(viewer, run, task, is_closed=is_closed, by_its_team=run.id in by_team),
            is_own=is_own,
            is_marked=run.final_at is not None and is_told,
            final_runs=task.final_runs,
            marked=marks.get((run.phase_id, run.team_id), 0),
        )

    return {run.id: actions(run, tasks[run.task_id]) for run in runs}


def _marks(session: Session, viewer: Viewer, phase_ids: Collection[int]) -> dict[tuple[int, int], int]:
    """The number of marked runs of each of the viewer's teams, by phase and team."""
    rows = session.execute(
        select(Run.phase_id, Run.team_id, func.count())
        .where(
            Run.phase_id.in_(phase_ids),
            Run.team_id.in_(viewer.team_ids),
            Run.final_at.is_not(None),
            Run.withdrawn_at.is_(None),
        )
        .group_by(Run.phase_id, Run.team_id)
    )
    return {(phase_id, team_id): marked for phase_id, team_id, marked in rows}


def _note_filed(run: Run, task: str, *, masked: bool, has_accounts: bool) -> str:
    """The note on a filed run; empty for other runs.

    masked: whether the team is hidden from the reader; whether it has accounts could reveal it.
    """
    if not run.filed:
        return ""
    note = f"Filed by the organisers of {task}, not submitted by the team"
    if masked:
        return f"{note}."
    if run.agreed_at is not None:
        return f"{note}; the team agreed to it on {run.agreed_at:%Y-%m-%d}."
    return f"{note}." if has_accounts else f"{note}, which has no accounts."


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHead(TaskHead):
    """The head of every page of a run."""

    id: int
    name: str
    team: str
    team_id: int | None
    """The team's page; None if this run must not reveal it to the reader."""
    kind: str
    filed: str
    """The note on a run filed by organisers; empty for other runs."""
    agent: bool
    """Whether an agent submitted it."""
    by_topic: bool
    """Whether scores by topic exist and are visible to the reader."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SeenRun:
    """A run that a reader may know of, with the edition that shows its scores, if any."""

    viewer: Viewer
    run: Run
    task: Task
    access: TaskAccess
    shown: ShownEdition
    names: ShownNames
    left_out: frozenset[int]
    """The task's official runs that do not count at the end."""
    filed: str
    """The note on a run filed by organisers; empty for other runs."""
    is_on_team_page: bool
    """Whether it is listed on its team's page, for readers who can see the team there."""

    @property
    def name(self) -> str:
        """The run's name as visible to the reader."""
        return self.names.run(self.run.id, self.run.name)

    @property
    def masked(self) -> bool:
        """Whether the reader knows its team by a pseudonym only."""
        return self.names.is_masked(self.run.team_id)

    @property
    def basis(self) -> Basis | None:
        """The basis of its scores."""
        return self.shown.basis

    @property
    def is_own(self) -> bool:
        """Whether the reader is in its team or organises the task."""
        return policy.owns(self.viewer, self.run.team_id) or self.access.organises

    @property
    def _shows_team(self) -> bool:
        """Whether the reader finds the team's page, which hides pseudonyms, withdrawn and filed runs."""
        return not self.masked and (self.is_own or (self.run.withdrawn_at is None and self.is_on_team_page))

    @property
    def is_told(self) -> bool:
        """Whether the reader can see the file's metadata."""
        return self.access.details or self.is_own

    @property
    def columns(self) -> tuple[MeasureColumn, ...]:
        """The board's measures that are shown to the reader; empty where the run has no scores to show."""
        edition = self.shown.edition
        if edition is None or self.run.withdrawn_at is not None:
            return ()
        keys = (measure["key"] for measure in edition.measures)
        return tuple(column_of(key) for key in keys if not self.access.hides(key))

    def head(self, *, by_topic: bool) -> dict[str, Any]:
        """The fields of RunHead by name."""
        return {
            "of": self.task,
            "access": self.access,
            "basis": self.basis,
            "id": self.run.id,
            "name": self.name,
            "team": self.names.team(self.run.team_id),
            "team_id": self.run.team_id if self._shows_team else None,
            "kind": shown_kind(self.run.id, self.run.kind, self.left_out),
            "filed": self.filed,
            "agent": self.access.links.agent,
            "by_topic": by_topic,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredRun:
    """A run whose scores by topic the reader may see, by all measures of its board."""

    seen: SeenRun
    edition: Edition
    source: Source
    columns: tuple[MeasureColumn, ...]
    stored: Mapping[str, Evaluation]
    """By measure, over all topics of the revision."""

    @property
    def run(self) -> Run:
        """The run."""
        return self.seen.run

    @property
    def primary(self) -> str:
        """Key of the measure that the board is ranked by."""
        return self.edition.primary_measure


def seen_run(session: Session, viewer: Viewer, run_id: int) -> SeenRun:
    """The run; raises NotFound if it does not exist or is not visible to the viewer."""
    run, task, access = policy.visible_run(session, viewer, run_id)
    names = shown_names.shown_names(session, viewer, task)
    masked, has_accounts = names.is_masked(run.team_id), access.links.has_accounts
    return SeenRun(
        viewer=viewer,
        run=run,
        task=task,
        access=access,
        shown=shown_edition(session, task, access),
        left_out=not_chosen(session, task),
        names=names,
        filed=_note_filed(run, task.name, masked=masked, has_accounts=has_accounts),
        is_on_team_page=not (run.filed and run.agreed_at is None and has_accounts),
    )


def scores_of_topics(session: Session, seen: SeenRun) -> ScoredRun | None:
    """The run with its scores by topic.

    None while they are hidden, and for a run that is withdrawn or not scored by all measures yet.
    """
    edition, source, columns = seen.shown.edition, seen.shown.source, seen.columns
    if edition is None or source is None or not seen.access.details or not source.topics or not columns:
        return None
    stored = score.stored(session, seen.run.id, edition)
    if any(column.key not in stored for column in columns):
        return None
    return ScoredRun(seen=seen, edition=edition, source=source, columns=columns, stored=stored)


def ranked_documents(session: Session, viewer: Viewer, run_id: int) -> ScoredRun:
    """As `scored_run`, of a run of rankings; raises NotFound for one of answers, which ranks no documents."""
    scored = scored_run(session, viewer, run_id)
    if (kind := scored.seen.task.kind) != "rankings":
        raise NotFound(f"Run {run_id} contains {kind}, so it has no rankings.", run=run_id)
    return scored


def scored_run(session: Session, viewer: Viewer, run_id: int) -> ScoredRun:
    """The run with its scores by topic; raises NotFound if the viewer can see none."""
    seen = seen_run(session, viewer, run_id)
    scored = scores_of_topics(session, seen)
    if scored is None:
        raise NotFound(f"Run {run_id} has no visible scores by topic. {seen.access.why}".strip(), run=run_id)
    return scored


def board_rows(session: Session, scored: ScoredRun) -> tuple[Row, ...]:
    """The runs of the board in its order, this one among them."""
    seen, columns = scored.seen, scored.columns
    by = next(column for column in columns if column.key == scored.primary)
    return rank(read_rows(session, seen.viewer, seen.task, seen.access, scored.edition, columns), by)


def head_facts(page: RunHead) -> dict[str, Any]:
    """The common JSON of a run's pages: the run and the basis of its scores."""
    basis = page.basis
    return {
        "run": page.name,
        "run_id": page.id,
        "team": page.team,
        "kind": page.kind,
        "filed": page.filed,
        "agent": page.agent,
        "task": page.slug,
        "revision": basis.revision if basis else None,
        "revision_sha256": (basis.revision_sha256 or None) if basis else None,
        "dialect": basis.dialect if basis else None,
        "topics": basis.topics if basis else None,
        **left_out_facts(basis),
    }


def caption(page: RunHead, what: str, by: str = "") -> str:
    """The caption of a table shown on its own."""
    on = ""
    if (basis := page.basis) is not None:
        on = f", {basis.topics} topics, {basis.qrels}"
        on += f", trec_eval {basis.dialect}" if basis.dialect else ""
    return f"{what} of {page.name}{f' by {by}' if by else ''} on {page.task}{on}."
