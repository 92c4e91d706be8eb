"""The organisers' page of a task: revisions, uploads, runs, failed jobs."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core import policy
from leaderboard.core.jobs import leases as failed_jobs
from leaderboard.core.jobs import queue
from leaderboard.core.jobs.leases import FailedJob
from leaderboard.core.jobs.queue import RunState
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Account, Entry, Qrels, QrelsRevision, Run, Task, Team, Upload
from leaderboard.scoring.ops import setting_values
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.scored_topics import OfTask, TaskHead
from leaderboard.tables.record import Column, Files, Place, Table, columns_from
from leaderboard.tasks.ops import entries, phases
from leaderboard.tasks.ops.entries import RULES, EntryState
from leaderboard.tasks.page.landing import TaskOverview, overview


@dataclass(frozen=True, slots=True)
class TeamEntry:
    """One of the viewer's teams and its entry state."""

    team_id: int
    name: str
    entry: EntryState


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryForm(TaskHead):
    """The page that enters a task: its rule, its agreement, and the viewer's teams."""

    rule: str
    """The entry rule, as a sentence."""
    teams: tuple[TeamEntry, ...]
    takes_entries: bool

    @property
    def needs_code(self) -> bool:
        """Whether a team of the viewer has to give the code."""
        return self.of.entry_rule == "code" and any(not team.entry.state for team in self.teams)

    @property
    def open_teams(self) -> tuple[TeamEntry, ...]:
        """The teams that have something to do here."""
        waits = entries.WAITING
        return tuple(
            team
            for team in self.teams
            if team.entry.state != entries.REFUSED and team.entry.missing and not self._has_done(team, waits)
        )

    def _has_done(self, team: TeamEntry, waits: str) -> bool:
        agreed = not self.of.agreement or team.entry.agreed == self.of.agreement_version
        return team.entry.state == waits and agreed


@dataclass(frozen=True, slots=True)
class EntryRow:
    """A team in a task as seen by its organisers; agreed_by: the account that agreed for it."""

    entry: Entry
    team: str
    affiliation: str
    agreed_by: str | None
    runs: int


@dataclass(frozen=True, slots=True)
class EntryList(OfTask):
    """All teams in a task."""

    rows: tuple[EntryRow, ...]


def entry_form(session: Session, viewer: Viewer, slug: str) -> EntryForm:
    """The entry form of a task; NotFound if the task is not visible to the viewer."""
    task, access = policy.visible_task(session, viewer, slug)
    rows = session.execute(
        select(Team.id, Team.name).where(Team.id.in_(viewer.team_ids)).order_by(Team.canonical)
    )
    closed = task.published_at is None or policy.is_closed(session, task.id)
    return EntryForm(
        of=task,
        access=access,
        rule=RULES[task.entry_rule],
        teams=tuple(TeamEntry(row.id, row.name, entries.state_of(session, task, row.id)) for row in rows),
        takes_entries=not closed,
    )


def entry_list(session: Session, viewer: Viewer, slug: str) -> EntryList:
    """The teams in a task, those that wait first; for its organisers."""
    task = policy.own_task(session, viewer, slug)
    return EntryList(of=task, rows=_rows(session, task))


def waiting(session: Session, task_id: int) -> int:
    """The number of teams waiting for approval."""
    wait = select(func.count(Entry.id)).where(Entry.task_id == task_id, Entry.state == entries.WAITING)
    return session.scalar(wait) or 0


def entries_table(page: EntryList) -> Table[EntryRow]:
    """The entries of a task: state, agreement, runs."""
    columns = columns_from(
        EntryRow,
        "team entry.state",
        Column("decide", lambda row: row.entry.team_id, "Decide", shown=Place.PAGE),
        "affiliation",
        Column("why", lambda row: row.entry.why, "Reason for refusal", shown=~Place.PAGE),
        Column("agreed", lambda row: row.entry.agreement_version, "Accepted agreement version", digits=0),
        Column("agreed_at", lambda row: _moment(row.entry.agreed_at), "on"),
        Column("agreed_by", lambda row: row.agreed_by or "", "by"),
        Column("since", lambda row: _moment(row.entry.created_at), "Since"),
        Column("pseudonym", lambda row: row.entry.pseudonym or "", "Pseudonym"),
        "runs",
    )
    return Table("entries", f"Teams in {page.task}", columns, page.rows)


def entries_facts(page: EntryList) -> dict[str, Any]:
    """The entries as plain values."""
    task = page.of
    rules = {"rule": task.entry_rule, "agreement": task.agreement_version}
    return {"task": task.slug, **rules, "entries": entries_table(page).facts()}


ENTRIES_FILES = Files(facts=entries_facts, tables={"entries": entries_table})


def _moment(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _rows(session: Session, task: Task) -> tuple[EntryRow, ...]:
    runs = (
        select(func.count(Run.id))
        .where(Run.task_id == Entry.task_id, Run.team_id == Entry.team_id)
        .correlate(Entry)
        .scalar_subquery()
    )
    rows = session.execute(
        select(Entry, Team.name, Team.affiliation, Account.name.label("agreed_by"), runs.label("runs"))
        .join(Team, Team.id == Entry.team_id)
        .outerjoin(Account, Account.id == Entry.agreed_by)
        .where(Entry.task_id == task.id)
        .order_by(Entry.state != entries.WAITING, Team.canonical)
    )
    return tuple(EntryRow(*row) for row in rows)


MOST_UPLOADS = 500
"""Maximum uploads listed, newest first."""


@dataclass(frozen=True, slots=True)
class AddedRevision:
    """One qrels revision, with the name of the account that added it."""

    revision: QrelsRevision
    by: str | None


@dataclass(frozen=True, slots=True)
class SentUpload:
    """One upload, regardless of its outcome, with the names of its team and sender."""

    upload: Upload
    team: str
    sender: str | None

    @property
    def problems(self) -> int:
        """The number of problems found by its check."""
        return len((self.upload.report or {}).get("problems", ()))

    @property
    def waits(self) -> bool:
        """Whether it waits for an organiser to accept it; held files of batches wait for their sender."""
        return self.upload.state == "held" and self.upload.batch_id is None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow(RunName):
    """One run with where it is on its way to scores."""

    state: RunState


@dataclass(frozen=True, slots=True)
class DeskPage:
    """A task's organise page."""

    overview: TaskOverview
    revisions: tuple[AddedRevision, ...]
    uploads: tuple[SentUpload, ...]
    runs: tuple[RunRow, ...]
    failed: tuple[FailedJob, ...]
    waiting_teams: int
    """The number of teams waiting for approval."""
    dates_stamp: str
    """The stamp that tells whether its dates have changed since they were shown."""

    @property
    def to_review(self) -> int:
        """The number of runs by agents that wait for an organiser."""
        return sum(sent.waits for sent in self.uploads)


def desk(session: Session, viewer: Viewer, slug: str) -> DeskPage:
    """Everything about one task; raises NotFound or Forbidden unless the viewer organises it."""
    task = policy.own_task(session, viewer, slug, policy.reads)
    return DeskPage(
        overview=overview(session, viewer, slug),
        revisions=_revisions(session, task.id),
        uploads=_uploads(session, task.id),
        runs=_runs(session, viewer, task.id),
        failed=failed_jobs.of_task(session, task.id),
        waiting_teams=waiting(session, task.id),
        dates_stamp=setting_values.stamp(setting_values.described_dates(phases.of_task(session, task.id)[0])),
    )


def grades(page: DeskPage) -> Table[tuple[int, int]]:
    """Judgments by grade."""
    judgments = page.overview.judgments
    columns: list[Column[tuple[int, int]]] = [
        Column("grade", lambda row: row[0], "Grade", digits=0),
        Column("judgments", lambda row: row[1], "Judgments", digits=0),
        Column(
            "share",
            lambda row: row[1] / judgments,
            "Share",
            words=lambda row: f"{row[1] / judgments:.1%}",
            digits=3,
        ),
    ]
    rows = list(page.overview.grades.items())
    return Table("grades", "Judgments by grade", columns, rows)


def revisions(page: DeskPage) -> Table[AddedRevision]:
    """The revisions of the board's judgments, newest first."""
    columns = columns_from(
        AddedRevision,
        Column("number", lambda row: row.revision.number, "Revision", digits=0),
        "revision.note revision.judgments",
        Column("file", lambda row: row.revision.file_name, "File"),
        Column("added", lambda row: row.revision.created_at, "Added"),
    )
    return Table("revisions", "Qrels revisions", columns, page.revisions)


def runs(page: DeskPage) -> Table[RunRow]:
    """All runs by name, withdrawn ones too."""
    columns = columns_from(
        RunRow,
        "name run_id team",
        Column("kind", lambda row: row.kind, "Kind"),
        "state.state",
        Column("withdraw", lambda row: row.run_id, "Withdraw"),
    )
    return Table("runs", f"Runs: {len(page.runs)}", columns, page.runs)


def uploads(page: DeskPage) -> Table[SentUpload]:
    """Uploads, those to be reviewed first, then the newest."""
    columns = columns_from(
        SentUpload,
        Column("file", lambda row: row.upload.file_name, "File"),
        Column("name", lambda row: row.upload.wishes["name"], "Submitted as"),
        "team",
        Column("sent", lambda row: row.upload.created_at, "Submitted"),
        Column("agent", lambda row: row.upload.agent, "Agent", words=lambda row: "agent" * row.upload.agent),
        "upload.state",
        "problems",
    )
    if page.to_review:
        columns.append(Column("review", lambda row: row.waits, "Review"))
    caption = "Uploads: those to review first, then the newest, including rejected ones"
    return Table("uploads", caption, columns, page.uploads)


def failed(page: DeskPage) -> Table[FailedJob]:
    """Work that was given up."""
    columns = columns_from(FailedJob, "kind subject attempts message id")
    caption = "Failed jobs. A new revision is not shown until they succeed or their runs are withdrawn"
    return Table("failed", caption, columns, page.failed)


TABLES = {"failed": failed, "grades": grades, "revisions": revisions, "runs": runs, "uploads": uploads}


def _revisions(session: Session, task_id: int) -> tuple[AddedRevision, ...]:
    rows = session.execute(
        select(QrelsRevision, Account.name)
        .join(Qrels, Qrels.id == QrelsRevision.qrels_id)
        .outerjoin(Account, Account.id == QrelsRevision.created_by)
        .where(Qrels.task_id == task_id, Qrels.name == MAIN)
        .order_by(QrelsRevision.number.desc())
    )
    return tuple(AddedRevision(*row) for row in rows)


def _uploads(session: Session, task_id: int) -> tuple[SentUpload, ...]:
    rows = session.execute(
        select(Upload, Team.name, Account.name)
        .join(Team, Team.id == Upload.team_id)
        .outerjoin(Account, Account.id == Upload.account_id)
        .where(Upload.task_id == task_id)
        .order_by(((Upload.state == "held") & Upload.batch_id.is_(None)).desc(), Upload.id.desc())
        .limit(MOST_UPLOADS)
    )
    return tuple(SentUpload(*row) for row in rows)


def _runs(session: Session, viewer: Viewer, task_id: int) -> tuple[RunRow, ...]:
    rows = session.execute(
        select(Run.id, Run.name, Team.name, Run.kind, Team.id)
        .join(Team, Team.id == Run.team_id)
        .where(Run.task_id == task_id)
        .order_by(Run.name)
    ).all()
    states = queue.run_states(session, [row[0] for row in rows])
    return tuple(
        RunRow(
            run_id=run_id,
            name=name,
            team=team,
            kind=kind,
            is_own=policy.owns(viewer, team_id),
            state=states[run_id],
        )
        for run_id, name, team, kind, team_id in rows
    )
