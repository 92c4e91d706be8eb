"""The rows of a task that a bundle carries: which tables and columns, numbered again from 1 within it.

Ids of a site mean nothing elsewhere, so a row refers to others by their numbers in the bundle. References to
accounts are left out: people, their passwords and tokens stay where they are.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Column, ColumnElement, LargeBinary, select
from sqlalchemy.orm import Session

from leaderboard.db.engine import Base
from leaderboard.db.tables import (
    Announcement,
    Assessment,
    Assessor,
    Assignment,
    Edition,
    Entry,
    GroupedRun,
    GroupedTeam,
    Phase,
    Pool,
    Qrels,
    QrelsRevision,
    Reproduction,
    Run,
    RunGroup,
    SideBySide,
    SideBySidePair,
    Snapshot,
    Task,
    TaskChange,
    TaskPicture,
    Team,
    Topic,
    TopicSet,
    Upload,
)
from leaderboard.scoring.ops.qrels.lines import DRAFT

ROWS_AT_ONCE = 500
FOLDER = "records"
OF_RANKINGS: dict[str, dict[str, Any]] = {
    "task": {"kind": "rankings", "answer_rules": {}, "reproduction_thresholds": None},
    "topics": {"answer_limit": None},
    "phases": {"agent_runs_per_day": None, "agent_review": False},
    "uploads": {"agent": False},
    "revisions": {"left_out_facts": None, "read_as": []},
}
"""Table -> what its rows mostly have: not written then, so that earlier programs read these bundles."""

Numbers = dict[str, dict[int, int]]
"""Table -> id -> number in the bundle, or the other way round."""
Record = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordTable:
    """A table of the bundle: the rows of a task, and which columns it omits apart from bytes and accounts."""

    name: str
    model: type[Base]
    of_task: Callable[[int], ColumnElement[bool]]
    left_out: frozenset[str] = frozenset()
    what: str = ""
    """Content of the file, for readers of the bundle."""
    order: Callable[[int], ColumnElement[Any]] | None = None
    """Order of the rows; None: by id, the order of arrival."""

    @property
    def path(self) -> str:
        """Its file in the bundle."""
        return f"{FOLDER}/{self.name}.jsonl"

    @property
    def key(self) -> tuple[Column[Any], ...]:
        """Its primary key, which orders the rows: so earlier ones have the lower numbers."""
        return tuple(self.model.metadata.tables[self.model.__tablename__].primary_key)

    @property
    def columns(self) -> tuple[Column[Any], ...]:
        """The exported columns."""
        table = self.model.metadata.tables[self.model.__tablename__]
        return tuple(column for column in table.columns if self._is_carried(column))

    def _is_carried(self, column: Column[Any]) -> bool:
        to = refers_to(column)
        is_own_id = column.name == "id" or to in ("task", "account") or isinstance(column.type, LargeBinary)
        return not is_own_id and column.name not in self.left_out and (to is None or to in NUMBERED)


def refers_to(column: Column[Any]) -> str | None:
    """The table that a column refers to, None for its own."""
    return next((key.column.table.name for key in column.foreign_keys), None)


def _published(task_id: int) -> ColumnElement[bool]:
    """The judgment series that are published: a draft belongs to its maker only."""
    return (Qrels.task_id == task_id) & Qrels.name.not_like(f"{DRAFT}%")


def _teams(task_id: int) -> ColumnElement[bool]:
    entered = select(Entry.team_id).where(Entry.task_id == task_id)
    sent = select(Run.team_id).where(Run.task_id == task_id)
    grouped = select(GroupedTeam.team_id).where(GroupedTeam.group_id.in_(_groups(task_id)))
    return Team.id.in_(entered.union(sent, grouped))


def _groups(task_id: int) -> Any:
    return select(RunGroup.id).where(RunGroup.task_id == task_id)


def _runs(task_id: int) -> Any:
    return select(Run.id).where(Run.task_id == task_id)


def _pools(task_id: int) -> Any:
    return select(Pool.id).where(Pool.task_id == task_id)


TABLES = (
    RecordTable(
        name="task",
        model=Task,
        of_task=lambda task: Task.id == task,
        left_out=frozenset({"collection_id", "entry_code", "pseudonym_seed", "frames"}),
        what="The settings of the task, and its collection by name and size.",
    ),
    RecordTable(
        name="topics",
        model=Topic,
        of_task=lambda task: Topic.task_id == task,
        what="Topics with title, description, narrative and subtopics.",
    ),
    RecordTable(
        name="topic_sets",
        model=TopicSet,
        of_task=lambda task: TopicSet.task_id == task,
        what="Named sets of topics for means; null is every topic.",
    ),
    RecordTable(
        name="phases",
        model=Phase,
        of_task=lambda task: Phase.task_id == task,
        what="Phases: dates in UTC, limits and visibility.",
    ),
    RecordTable(
        name="teams",
        model=Team,
        of_task=_teams,
        left_out=frozenset({"canonical", "skeleton", "merged_into_id"}),
        what="Teams that entered the task or have runs in it.",
    ),
    RecordTable(
        name="entries",
        model=Entry,
        of_task=lambda task: Entry.task_id == task,
        what="Entries of teams: date, state, and pseudonym if there is one.",
    ),
    RecordTable(
        name="lines", model=Qrels, of_task=_published, what="Judgment series: name, kind, and who judged."
    ),
    RecordTable(
        name="revisions",
        model=QrelsRevision,
        of_task=lambda task: QrelsRevision.qrels_id.in_(select(Qrels.id).where(_published(task))),
        what="Revisions of judgments: number, note, date, file with the judgments.",
    ),
    RecordTable(
        name="uploads",
        model=Upload,
        of_task=lambda task: Upload.id.in_(select(Run.upload_id).where(Run.task_id == task)),
        left_out=frozenset({"idempotency_key", "batch_id", "fixed_from_id"}),
        what="The accepted run files as submitted: name, digest, size, check report.",
    ),
    RecordTable(
        name="runs",
        model=Run,
        of_task=lambda task: Run.task_id == task,
        left_out=frozenset({"filed", "agreed_at"}),
        what="Runs: name, tag, kind, phase, team, attributes, dates, withdrawals and marks, file.",
    ),
    RecordTable(
        name="reproductions",
        model=Reproduction,
        of_task=lambda task: Reproduction.run_id.in_(_runs(task)) & Reproduction.original_id.in_(_runs(task)),
        what="Links from runs to the runs of the task that they reproduce, with baselines.",
    ),
    RecordTable(
        name="groups",
        model=RunGroup,
        of_task=lambda task: RunGroup.task_id == task,
        what="Groups of teams and families of runs.",
    ),
    RecordTable(
        name="grouped_teams",
        model=GroupedTeam,
        of_task=lambda task: GroupedTeam.group_id.in_(_groups(task)),
        what="Members of the groups of teams.",
    ),
    RecordTable(
        name="grouped_runs",
        model=GroupedRun,
        of_task=lambda task: GroupedRun.group_id.in_(_groups(task)),
        what="Members of the families of runs.",
    ),
    RecordTable(
        name="editions",
        model=Edition,
        of_task=lambda task: Edition.task_id == task,
        left_out=frozenset({"checksum"}),
        what="Editions of the board: revision, measures with versions, topics, dates, scored runs.",
    ),
    RecordTable(
        name="pools",
        model=Pool,
        of_task=lambda task: Pool.task_id == task,
        what="Pools: method, seed, runs, guidelines, file with the documents.",
    ),
    RecordTable(
        name="assessors",
        model=Assessor,
        of_task=lambda task: Assessor.task_id == task,
        left_out=frozenset({"token_sha256"}),
        what="Assessors, by number instead of name; machines by name.",
    ),
    RecordTable(
        name="assignments",
        model=Assignment,
        of_task=lambda task: Assignment.pool_id.in_(_pools(task)),
        what="Assignments of topics of a pool to assessors.",
    ),
    RecordTable(
        name="assessments",
        model=Assessment,
        of_task=lambda task: Assessment.pool_id.in_(_pools(task)),
        what="All labels in order of submission, including adjudicators'; the last one not undone counts.",
    ),
    RecordTable(
        name="pairs",
        model=SideBySidePair,
        of_task=lambda task: SideBySidePair.task_id == task,
        what="Pairs of runs that assessors compare side by side.",
    ),
    RecordTable(
        name="answers",
        model=SideBySide,
        of_task=lambda task: SideBySide.task_id == task,
        what="Answers of assessors to side-by-side comparisons.",
    ),
    RecordTable(
        name="announcements",
        model=Announcement,
        of_task=lambda task: Announcement.task_id == task,
        what="Announcements, with recipients and dates.",
    ),
    RecordTable(
        name="changes",
        model=TaskChange,
        of_task=lambda task: TaskChange.task_id == task,
        what="Changes of settings: before, after, date and reason.",
    ),
    RecordTable(
        name="pictures",
        model=TaskPicture,
        of_task=lambda task: TaskPicture.task_id == task,
        what="The task's logo and picture: alternative text, size, file.",
    ),
    RecordTable(
        name="snapshots",
        model=Snapshot,
        of_task=lambda task: Snapshot.task_id == task,
        left_out=frozenset({"sha256"}),
        what="Frozen boards: edition, date, file with the content.",
    ),
)
"""In the order in which they are stored: what others refer to comes first."""
NUMBERED = frozenset(
    {
        *("task", "topic_set", "phase", "team", "qrels", "qrels_revision", "upload", "run", "run_group"),
        *("pool", "assessor", "edition"),
    }
)
"""Tables that rows of a bundle refer to."""


def records(
    session: Session, task_id: int, table: RecordTable, numbers: Numbers
) -> Iterator[tuple[int, Record]]:
    """Id on the site and plain values of each row of a table, in order; notes their numbers."""
    rows = session.execute(
        select(*table.key, *table.columns)
        .where(table.of_task(task_id))
        .order_by(*(() if table.order is None else (table.order(task_id),)), *table.key)
        .execution_options(yield_per=ROWS_AT_ONCE)
    )
    own = numbers.setdefault(table.model.__tablename__, {})
    width = len(table.key)
    for number, row in enumerate(rows, start=1):
        if table.model.__tablename__ in NUMBERED:
            own[row[0]] = number
        values = zip(table.columns, row[width:], strict=True)
        plain = {column.name: _plain(column, value, numbers) for column, value in values}
        for name, usual in OF_RANKINGS.get(table.name, {}).items():
            if plain.get(name) == usual:
                plain.pop(name, None)
        yield row[0], {"id": number, **plain}


def _plain(column: Column[Any], value: Any, numbers: Numbers) -> Any:
    to = refers_to(column)
    if to is not None:
        return numbers.get(to, {}).get(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    return renumbered(f"{column.table.name}.{column.name}", value, numbers)


def renumbered(column: str, value: Any, numbers: Numbers) -> Any:
    """A value of JSON with the ids in it put as numbers, or back; what is not in the bundle is dropped.

    >>> renumbered("pool.run_ids", [7, 8, 9], {"run": {7: 1, 9: 2}})
    [1, 2]
    """
    change = _HOLDS_IDS.get(column)
    return value if change is None or value is None else change(value, numbers)


def _runs_of_pool(value: list[int], numbers: Numbers) -> list[int]:
    return [numbers["run"][each] for each in value if each in numbers["run"]]


def _companions(value: Mapping[str, int], numbers: Numbers) -> dict[str, int]:
    revision_numbers = numbers["qrels_revision"]
    return {kind: revision_numbers[each] for kind, each in value.items() if each in revision_numbers}


def _topic_sets(value: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    set_numbers = numbers["topic_set"]
    sets = {name: {"id": each["id"], "topics": each["topics"]} for name, each in value.items()}
    return {
        name: {**each, "id": set_numbers[each["id"]]}
        for name, each in sets.items()
        if each["id"] in set_numbers
    }


def _recipients(value: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    if "teams" not in value:
        return dict(value)
    return {**value, "teams": [numbers["team"][each] for each in value["teams"] if each in numbers["team"]]}


def _wishes(value: Mapping[str, Any], numbers: Numbers) -> dict[str, Any]:
    """Without the reproduced run, which has a table of its own or belongs to another task."""
    return {key: wish for key, wish in value.items() if key != "reproduces"}


_HOLDS_IDS: dict[str, Callable[[Any, Numbers], Any]] = {
    "pool.run_ids": _runs_of_pool,
    "edition.companions": _companions,
    "edition.topic_sets": _topic_sets,
    "announcement.recipients": _recipients,
    "upload.wishes": _wishes,
}
