"""A task on its way in: what was stored so far, and how the rows of most tables are stored."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import insert
from sqlalchemy.orm import Session

from leaderboard.db.tables import QrelsRevision, Task, TaskRole
from leaderboard.errors import Invalid
from leaderboard.services.bundles import checking
from leaderboard.services.bundles.opening import BundleFiles
from leaderboard.services.bundles.records import NUMBERED, Numbers, Record, RecordTable
from leaderboard.services.policy import Viewer
from leaderboard.trec.read.lines import Limits

ROWS_AT_ONCE = 500

Progress = Callable[[str], object]

NOT_BELIEVED: dict[str, dict[str, Any]] = {
    "task": {"published_at": None, "archived_at": None},
    "entries": {"agreement_version": None, "agreed_at": None},
    "uploads": {"state": "accepted", "wishes": {}, "fixes": []},
}
"""Table -> what stands for what only the operator is believed: that a team agreed, how a run was made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is made of a bundle: under which slug ('' is its own), and names in the place of pseudonyms."""

    slug: str = ""
    names: Mapping[str, str] = field(default_factory=dict)
    """Pseudonym of a team or run -> its name."""
    limits: Limits = Limits()


@dataclass(slots=True, eq=False, kw_only=True)
class TaskImport:
    """A task on its way in: ids has, for each table, the id of each number of the bundle."""

    session: Session
    viewer: Viewer
    files: BundleFiles
    request: ImportRequest
    progress: Progress
    ids: Numbers = field(default_factory=lambda: {name: {} for name in NUMBERED})
    task: Task | None = None
    known: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    parents: dict[int, QrelsRevision] = field(default_factory=dict)
    """Line -> its newest revision so far."""
    sent: dict[int, tuple[int, Record]] = field(default_factory=dict)
    """Number of an upload -> its line and record, until its run is stored."""
    topics: tuple[str, ...] = ()
    jobs: int = 0
    place: str = ""
    """File and line of the record that is being stored."""
    unscored: list[int] = field(default_factory=list)
    """Runs of judges whose labels cannot be scored here, as the runs of their reference are elsewhere."""
    was_published: bool = False
    is_trusted: bool = True
    """Whether the operator vouches for the bundle; else only what forms could have made of it is kept."""

    def read(self, table: RecordTable) -> Iterator[tuple[int, Record]]:
        """The records of a table with their lines, noting which one is being stored."""
        for line, record in checking.read(self.files, table):
            self.place = f"{table.path}, line {line}"
            yield line, record

    @property
    def owner(self) -> Task:
        """The task that all belongs to."""
        if self.task is None:
            raise Invalid("The bundle has no record of the task itself. Get the bundle anew.")
        return self.task


def make_own(making: TaskImport) -> None:
    """Let who imports organise the task from now on, as who makes one by a form does."""
    task, account_id = making.owner, making.viewer.account_id
    making.viewer = replace(making.viewer, organises=making.viewer.organises | {task.id})
    if account_id is not None:
        making.session.add(TaskRole(task_id=task.id, account_id=account_id, role="organiser"))


def add_all(making: TaskImport, table: RecordTable) -> None:
    """Store the records of a table as they are."""
    waiting: list[tuple[int, dict[str, Any]]] = []
    for line, record in making.read(table):
        waiting.append((record.get("id", line), values_of(making, table, line, record)))
        if len(waiting) == ROWS_AT_ONCE:
            _store(making, table, waiting)
            waiting = []
    _store(making, table, waiting)


def _store(making: TaskImport, table: RecordTable, rows: list[tuple[int, dict[str, Any]]]) -> None:
    if not rows:
        return
    name = table.model.__tablename__
    if name not in NUMBERED:
        making.session.execute(insert(table.model), [values for _, values in rows])
        return
    made: list[Any] = [table.model(**values) for _, values in rows]
    making.session.add_all(made)
    making.session.flush()
    for (number, _), row in zip(rows, made, strict=True):
        making.ids[name][number] = row.id


def values_of(making: TaskImport, table: RecordTable, line: int, record: Record) -> dict[str, Any]:
    """A record as a row's values, with its task; raises Invalid with the field at fault."""
    values = checking.values(table, line, record, making.ids)
    if not making.is_trusted:
        values |= NOT_BELIEVED.get(table.name, {})
    if "task_id" in table.model.metadata.tables[table.model.__tablename__].columns:
        values["task_id"] = making.owner.id
    return values
