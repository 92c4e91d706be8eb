"""List of a task's judgment revisions: the board's series, its companions, separate series."""

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.core import policy, shown_names
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Account, Edition, Job, Qrels, QrelsRevision, Run, Task, Topic
from leaderboard.scoring.ops.evaluations.shown import whole_editions
from leaderboard.scoring.ops.qrels import left_out
from leaderboard.scoring.ops.qrels.files import COMPANIONS, MAIN
from leaderboard.scoring.ops.qrels.lines import DRAFT
from leaderboard.scoring.ops.scored_topics import TaskHead
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from

SHOWN, BUILDING, EARLIER, NEVER = "shown", "being scored", "shown earlier", "never shown"


@dataclass(frozen=True, slots=True)
class RevisionRow:
    """One revision of a series."""

    number: int
    note: str
    file_name: Annotated[str, Shown(key="file", shown=~Place.PAGE)]
    judgments: int
    topics: int
    has_distractors: bool
    left_out: str
    """Documents left out of rankings, as text; empty if absent."""
    beside: Annotated[dict[str, int], Shown("Also includes", shown=Place.PAGE)]
    """Kind -> number of its companion revision of subtopics or preferences."""
    created_at: datetime
    created_by: str
    sha256: str
    state: Annotated[str, Shown("Board")]
    edition: Annotated[int | None, Shown(shown=~Place.PAGE)]
    """The first edition of the board under it; None if none was ever shown or is in progress."""


@dataclass(frozen=True, slots=True)
class Line:
    """A judgment series other than the board's."""

    id: Annotated[int, Shown(key="number")]
    name: Annotated[str, Shown(key="line")]
    kind: str
    origin: str
    origin_name: Annotated[str, Shown("Machine")]
    rows: tuple[RevisionRow, ...]


@dataclass(frozen=True, slots=True)
class BuildingEdition:
    """An edition in progress under a revision, with the runs that block the switch."""

    revision: int
    total: int
    done: int
    failed: tuple[tuple[str, str], ...]
    """(run, message) of every failed job."""


@dataclass(frozen=True, slots=True)
class RevisionList(TaskHead):
    """All revisions of a task, newest first; empty while hidden."""

    kind: str
    origin: str
    origin_name: str
    rows: tuple[RevisionRow, ...]
    lines: tuple[Line, ...]
    building: BuildingEdition | None
    takes: str = "rankings"
    """The kind of the task's runs."""
    nugget_topics: tuple[str, ...] = ()
    """The topics of the newest judgments of answers."""


def revision_list(session: Session, viewer: Viewer, slug: str) -> RevisionList:
    """All revisions of a task's judgments; empty while judgments are hidden."""
    task, access = policy.visible_task(session, viewer, slug)
    lines = lines_of(session, task) if access.details else ()
    board = next((line for line in lines if line.name == MAIN), None)
    return RevisionList(
        of=task,
        access=access,
        kind=board.kind if board is not None else "graded",
        origin=board.origin if board is not None else "",
        origin_name=board.origin_name if board is not None else "",
        rows=board.rows if board is not None else (),
        lines=tuple(line for line in lines if line.name != MAIN),
        building=building(session, viewer, task) if access.details else None,
        takes=task.kind,
        nugget_topics=_nugget_topics(session, task, board) if board and task.kind == "answers" else (),
    )


def _nugget_topics(session: Session, task: Task, board: Line) -> tuple[str, ...]:
    """The task's topics in the newest judgments, in task order; two statements."""
    judged = select(QrelsRevision.topics).where(QrelsRevision.qrels_id == board.id)
    newest = set(session.scalar(judged.order_by(QrelsRevision.number.desc()).limit(1)) or ())
    topics = select(Topic.topic_id).where(Topic.task_id == task.id).order_by(Topic.position)
    return tuple(topic for topic in session.scalars(topics) if topic in newest)


def row_facts(row: RevisionRow) -> dict[str, Any]:
    """One revision as plain values."""
    return {
        "number": row.number,
        "note": row.note,
        "file_name": row.file_name,
        "judgments": row.judgments,
        "topics": row.topics,
        "distractors": row.has_distractors,
        **({"left_out": row.left_out} if row.left_out else {}),
        "beside": row.beside,
        "at": row.created_at.isoformat(),
        "sha256": row.sha256,
        "state": row.state,
        "edition": row.edition,
    }


def facts(page: RevisionList) -> dict[str, Any]:
    """All revisions as plain values."""
    return {
        "task": page.slug,
        "kind": page.kind,
        "origin": page.origin,
        "revisions": [row_facts(row) for row in page.rows],
        "lines": [
            {
                "number": line.id,
                "name": line.name,
                "kind": line.kind,
                "origin": line.origin,
                "origin_name": line.origin_name,
                "revisions": [row_facts(row) for row in line.rows],
            }
            for line in page.lines
        ],
    }


def table(page: RevisionList) -> Table[RevisionRow]:
    """Table of the board's revisions, newest first."""
    return Table(
        f"{page.slug}-revisions",
        f"Revisions of the judgments of {page.task}, newest first.",
        columns_from(
            RevisionRow,
            *_columns(),
            "beside",
            "file_name",
            _ADDED,
            "state edition",
            Column("files", lambda row: row.number, "Files", shown=Place.PAGE),
        ),
        page.rows,
    )


def line_table(page: RevisionList, line: Line) -> Table[RevisionRow]:
    """Table of the revisions of a separate series, newest first."""
    return Table(
        f"{page.slug}-line-{line.id}",
        f"Revisions of the judgments of {page.task} in the judgment series {line.name}, newest first.",
        [
            *_columns("Preferences" if line.kind == "preference" else "Judgments"),
            _ADDED,
            Column(
                "file",
                lambda _: line.id,
                "File",
                words=lambda row: f"{line.name}, revision {row.number}, as text",
                shown=Place.PAGE,
            ),
        ],
        line.rows,
    )


def lines_table(page: RevisionList) -> Table[Line]:
    """Table of the other series, each with its newest revision."""
    return Table(
        f"{page.slug}-lines",
        f"Judgment series of {page.task} other than the one its board is based on.",
        columns_from(
            Line,
            "id name kind origin origin_name",
            Column("revision", lambda line: line.rows[0].number, "Newest revision", digits=0),
            Column("topics", lambda line: line.rows[0].topics, "Topics", digits=0),
        ),
        page.lines,
    )


FILES = Files(facts=facts, tables={"revisions": table, "lines": lines_table})

_ADDED: Column[RevisionRow] = Column(
    "added", lambda row: row.created_at.isoformat(timespec="minutes"), "Added (UTC)"
)


def _columns(judgments: str = "Judgments") -> list[Column[RevisionRow]]:
    return [
        Column("revision", lambda row: row.number, "Revision", digits=0),
        Column("note", lambda row: row.note, "Change note"),
        Column("judgments", lambda row: row.judgments, judgments, digits=0),
        Column("topics", lambda row: row.topics, "Topics", digits=0),
    ]


def lines_of(session: Session, task: Task) -> tuple[Line, ...]:
    """All series except drafts with their revisions, newest first."""
    rows = session.execute(
        select(Qrels, QrelsRevision, Account.name, QrelsRevision.distractors.is_not(None))
        .join(QrelsRevision, QrelsRevision.qrels_id == Qrels.id)
        .outerjoin(Account, Account.id == QrelsRevision.created_by)
        .where(Qrels.task_id == task.id, Qrels.name.not_like(f"{DRAFT}%"))
        .order_by(Qrels.id, QrelsRevision.number.desc())
    ).all()
    editions = whole_editions(
        session,
        select(Edition)
        .where(Edition.task_id == task.id, Edition.shown_from.is_not(None) | (Edition.state == "building"))
        .order_by(Edition.number),
    )
    first: dict[int, int] = {}
    state: dict[int, str] = {}
    for edition in (row.Edition for row in editions):
        first.setdefault(edition.revision_id, edition.number)
        words = {"current": SHOWN, "building": BUILDING}.get(edition.state, EARLIER)
        if state.get(edition.revision_id) != SHOWN:
            state[edition.revision_id] = words
    others = [
        (qrels.kind, revision.id, revision.number)
        for qrels, revision, _, _ in rows
        if qrels.name in COMPANIONS
    ]
    lines: dict[int, tuple[Qrels, list[RevisionRow]]] = {}
    for qrels, revision, author, has_distractors in rows:
        companions: dict[str, int] = {}
        for kind, revision_id, number in others if qrels.name == MAIN else ():
            if revision_id < revision.id:
                companions.setdefault(kind, number)
        row = RevisionRow(
            number=revision.number,
            note=revision.note,
            file_name=revision.file_name,
            judgments=revision.judgments,
            topics=len(revision.topics),
            has_distractors=has_distractors,
            left_out=left_out.words(revision.left_out_facts) if revision.left_out_facts else "",
            beside=dict(sorted(companions.items(), reverse=True)),
            created_at=revision.created_at,
            created_by=author or "",
            sha256=revision.sha256,
            state=state.get(revision.id, NEVER),
            edition=first.get(revision.id),
        )
        lines.setdefault(qrels.id, (qrels, []))[1].append(row)
    return tuple(
        Line(
            id=qrels.id,
            name=qrels.name,
            kind=qrels.kind,
            origin=qrels.origin,
            origin_name=qrels.origin_name,
            rows=tuple(revisions),
        )
        for qrels, revisions in lines.values()
    )


def building(session: Session, viewer: Viewer, task: Task) -> BuildingEdition | None:
    """The edition of a task's board in progress."""
    edition = session.scalar(select(Edition).where(Edition.task_id == task.id, Edition.state == "building"))
    if edition is None:
        return None
    rows = session.execute(
        select(Job.state, Job.error, Run.id, Run.name)
        .join(Run, Run.id == Job.subject_id)
        .where(Job.edition_id == edition.id, Job.state != "superseded")
    ).all()
    names = shown_names.shown_names(session, viewer, task)
    number = session.get_one(QrelsRevision, edition.revision_id).number
    return BuildingEdition(
        revision=number,
        total=len(rows),
        done=sum(1 for row in rows if row.state == "done"),
        failed=tuple(
            sorted((names.run(row.id, row.name), row.error) for row in rows if row.state == "failed")
        ),
    )
