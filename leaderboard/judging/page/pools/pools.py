"""The pages of a task's pools: the list, a pool topic by topic, a topic's documents."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from operator import attrgetter
from typing import Annotated, Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from leaderboard.core import kinds, policy
from leaderboard.core.policy import TaskAccess, Viewer
from leaderboard.db.tables import Account, Assessment, Pool, PoolTopic, QrelsRevision, Run, Task, Topic
from leaderboard.errors import NotFound
from leaderboard.judging.ops.pools import pools
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.judging.ops.pools.pools import PoolReadiness
from leaderboard.judging.ops.pools.previews import (
    Contribution,
    PoolDocument,
    PooledRun,
    Preview,
    TopicShare,
    titles_of,
)
from leaderboard.scoring.ops.qrels import files
from leaderboard.scoring.ops.scored_topics import TaskHead, grade_names
from leaderboard.tables.record import Column, Files, Place, Shown, Table, columns_from


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """A pool in the list."""

    number: Annotated[int, Shown(key="pool", digits=None)]
    name: str
    state: str
    method: str
    adaptive: bool
    runs: int
    topics: int
    documents: Annotated[int, Shown("To judge")]
    """Documents to judge."""
    judged: int
    """Those graded by an assessor."""
    seconds_per_document: int
    note: Annotated[str, Shown(shown=~Place.PAGE)]
    created_at: datetime
    created_by: str

    @property
    def hours_left(self) -> Annotated[float, Shown(digits=1)]:
        """Hours for one person to judge the rest, each document once."""
        return max(self.documents - self.judged, 0) * self.seconds_per_document / 3600


@dataclass(frozen=True, slots=True)
class PoolList(TaskHead):
    """All pools of a task, newest first."""

    pools: tuple[PoolRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicRow:
    """A topic of a pool."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: str
    documents: Annotated[int, Shown("To judge")]
    """Documents to judge."""
    judged: int
    """Those graded by an assessor."""
    skipped: int
    """Documents skipped by an assessor."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolPage(TaskHead):
    """One pool, topic by topic."""

    pool: PoolRow
    spec: Mapping[str, Any]
    seed: int
    revision: int | None
    """Revision with reused judgments."""
    run_names: tuple[tuple[int, str], ...]
    topics: tuple[TopicRow, ...]
    changes: tuple[str, ...]
    """The states it may change to."""
    ready: PoolReadiness | None
    """Checks before it is opened; None afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicPage(TaskHead):
    """A topic's documents in a pool, in judging order."""

    pool: PoolRow
    topic: TopicRow
    documents: tuple[PoolDocument, ...]
    grade_names: dict[int, str]


def index(session: Session, viewer: Viewer, slug: str) -> PoolList:
    """All pools of a task; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task, access = organised(session, viewer, slug)
    rows = session.execute(
        select(Pool, Account.name)
        .outerjoin(Account, Account.id == Pool.created_by)
        .where(Pool.task_id == task.id)
        .order_by(Pool.number.desc())
    ).all()
    ids = [row.Pool.id for row in rows]
    counts = dict(
        session.execute(
            select(PoolTopic.pool_id, func.count())
            .where(PoolTopic.pool_id.in_(ids))
            .group_by(PoolTopic.pool_id)
        ).all()
    )
    judged = _judged_by(session, ids)
    pools = tuple(
        _row(row.Pool, row.name or "", counts.get(row.Pool.id, 0), judged.get(row.Pool.id, 0)) for row in rows
    )
    return PoolList(of=task, pools=pools, access=access)


def page(session: Session, viewer: Viewer, slug: str, number: int) -> PoolPage:
    """One pool, topic by topic; raises as `index`, and NotFound for an unknown number."""
    task, access = organised(session, viewer, slug)
    pool = pools.find(session, task, number)
    topics = _topics(session, task, pool)
    maker = session.scalar(select(Account.name).where(Account.id == pool.created_by)) or ""
    names = dict(session.execute(select(Run.id, Run.name).where(Run.id.in_(pool.run_ids))).all())
    revision = select(QrelsRevision.number).where(QrelsRevision.id == pool.revision_id)
    return PoolPage(
        of=task,
        pool=_row(pool, maker, len(topics), sum(topic.judged for topic in topics)),
        spec=pool.method,
        seed=pool.seed,
        revision=session.scalar(revision),
        run_names=tuple((run_id, names[run_id]) for run_id in pool.run_ids if run_id in names),
        topics=topics,
        changes=pools.NEXT[pool.state],
        ready=pools.readiness(session, task, pool) if pool.state == pools.DRAFT else None,
        access=access,
    )


def topic_page(session: Session, viewer: Viewer, slug: str, number: int, topic_id: str) -> TopicPage:
    """A topic's documents in a pool; raises as `page`, and NotFound for a topic that is not in the pool."""
    task, _ = organised(session, viewer, slug)
    pool = pools.find(session, task, number)
    whole = page(session, viewer, slug, number)
    topic = next((topic for topic in whole.topics if topic.topic_id == topic_id), None)
    if topic is None:
        raise NotFound(f"Pool {number} of {task.name} has no topic {topic_id!r}.")
    body = session.scalars(
        select(PoolTopic.body).where(PoolTopic.pool_id == pool.id, PoolTopic.topic_id == topic_id)
    ).one()
    return TopicPage(
        of=task,
        access=whole.access,
        pool=whole.pool,
        topic=topic,
        documents=pool_documents.unpack(body),
        grade_names=grade_names(task),
    )


def organised(session: Session, viewer: Viewer, slug: str) -> tuple[Task, TaskAccess]:
    """The task and its visibility; raises NotFound, SignInNeeded or Forbidden without a role in it."""
    task, access = policy.visible_task(session, viewer, slug)
    policy.require(viewer, task, policy.knows)
    return task, access


def list_table(page: PoolList) -> Table[PoolRow]:
    """All pools, newest first."""
    return Table(
        f"{page.slug}-pools",
        f"{page.task}: pools.",
        columns_from(
            PoolRow,
            "number state method runs topics documents judged hours_left note",
            Column("made", lambda row: row.created_at.isoformat(timespec="seconds"), "Created"),
        ),
        page.pools,
    )


def table(page: PoolPage) -> Table[TopicRow]:
    """A pool's topics with their progress."""
    return Table(
        f"{page.slug}-pool-{page.pool.number}",
        f"{page.task}: pool {page.pool.number}, {page.pool.method}, by topic.",
        columns_from(
            TopicRow,
            "topic_id title documents judged",
            Column("share", attrgetter("judged"), "Share", digits=0, shown=Place.PAGE),
            "skipped",
        ),
        page.topics,
    )


def documents_table(page: TopicPage) -> Table[PoolDocument]:
    """A topic's documents, in judging order."""
    places = {document.docno: place for place, document in enumerate(page.documents, start=1)}
    number, topic = page.pool.number, page.topic.topic_id
    return Table(
        f"{page.slug}-pool-{number}-{topic}",
        f"{page.task}: pool {number}, topic {topic}, documents in order of selection.",
        columns_from(
            PoolDocument,
            Column("place", lambda row: places[row.docno], "Position", digits=0, shown=Place.PAGE),
            "docno priority stratum probability grade",
        ),
        page.documents,
    )


def _list_facts(page: PoolList) -> dict[str, Any]:
    return {"task": page.task, "pools": list_table(page).facts()}


def _facts(page: PoolPage) -> dict[str, Any]:
    return {
        "task": page.task,
        "pool": page.pool.number,
        "state": page.pool.state,
        "method": dict(page.spec),
        "adaptive": page.pool.adaptive,
        "seed": page.seed,
        "reused_revision": page.revision,
        "runs": [name for _, name in page.run_names],
        "documents": page.pool.documents,
        "judged": page.pool.judged,
        "seconds_per_document": page.pool.seconds_per_document,
        "note": page.pool.note,
        "topics": table(page).facts(),
    }


def _topic_facts(page: TopicPage) -> dict[str, Any]:
    return {
        "task": page.task,
        "pool": page.pool.number,
        "topic": page.topic.topic_id,
        "documents": documents_table(page).facts(),
    }


LIST_FILES = Files(facts=_list_facts, tables={"pools": list_table})
FILES = Files(facts=_facts, tables={"topics": table})
TOPIC_FILES = Files(facts=_topic_facts, tables={"documents": documents_table})


def _topics(session: Session, task: Task, pool: Pool) -> tuple[TopicRow, ...]:
    """The topics of a pool with their progress, in the task's order."""
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.documents, Topic.title)
        .outerjoin(Topic, (Topic.topic_id == PoolTopic.topic_id) & (Topic.task_id == task.id))
        .where(PoolTopic.pool_id == pool.id)
        .order_by(Topic.position, PoolTopic.topic_id)
    ).all()
    counted = session.execute(
        select(
            Assessment.topic_id,
            func.count(Assessment.docno.distinct()).filter(Assessment.grade.is_not(None)),
            func.count(Assessment.docno.distinct()).filter(Assessment.grade.is_(None)),
        )
        .where(Assessment.pool_id == pool.id, Assessment.undone.is_(False))
        .group_by(Assessment.topic_id)
    )
    counts = {topic: (judged, skipped) for topic, judged, skipped in counted}
    return tuple(
        TopicRow(
            topic_id=row.topic_id,
            title=row.title or "",
            documents=row.documents,
            judged=counts.get(row.topic_id, (0, 0))[0],
            skipped=counts.get(row.topic_id, (0, 0))[1],
        )
        for row in rows
    )


def _judged_by(session: Session, pool_ids: list[int]) -> dict[int, int]:
    """Pool id -> number of its documents graded by an assessor."""
    pairs = (
        select(Assessment.pool_id, Assessment.topic_id, Assessment.docno)
        .where(Assessment.pool_id.in_(pool_ids), Assessment.undone.is_(False), Assessment.grade.is_not(None))
        .distinct()
        .subquery()
    )
    rows = session.execute(select(pairs.c.pool_id, func.count()).group_by(pairs.c.pool_id))
    return {pool_id: count for pool_id, count in rows}


def _row(pool: Pool, maker: str, topics: int, judged: int) -> PoolRow:
    return PoolRow(
        number=pool.number,
        name=f"Pool {pool.number}",
        state=pool.state,
        method=pools.title(pool.method),
        adaptive=pool.adaptive,
        runs=len(pool.run_ids),
        topics=topics,
        documents=pool.documents,
        judged=judged,
        seconds_per_document=pool.seconds_per_document,
        note=pool.note,
        created_at=pool.created_at,
        created_by=maker,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOffer(TaskHead):
    """The task for which to create a pool."""

    runs: tuple[PooledRun, ...]
    topics: int
    revision: int | None
    """Number of the newest revision of its judgments."""
    judgments: int

    @property
    def official(self) -> int:
        """Number of official runs."""
        return sum(run.kind == "official" for run in self.runs)

    @property
    def primary(self) -> int:
        """Number of marked primary runs."""
        return sum(run.primary for run in self.runs)


def offer(session: Session, viewer: Viewer, slug: str) -> PoolOffer:
    """Options for a new pool; raises NotFound, SignInNeeded or Forbidden unless the viewer organises it."""
    task, access = organised(session, viewer, slug)
    revision = files.newest(session, task.id) if kinds.of(task.kind).ranks_documents else None
    return PoolOffer(
        of=task,
        access=access,
        runs=pool_documents.candidates(session, viewer, task),
        topics=len(titles_of(session, task)),
        revision=revision.number if revision is not None else None,
        judgments=revision.judgments if revision is not None else 0,
    )


def new_pool_facts(preview: Preview) -> dict[str, Any]:
    """The preview as plain values."""
    return {
        "task": preview.task,
        "method": preview.method.spec,
        "seed": preview.plan.seed,
        "runs": len(preview.runs),
        "places": preview.entries,
        "candidates": preview.candidates,
        "documents": preview.documents,
        "reused": preview.reused,
        "to_judge": preview.to_judge,
        "seconds_per_document": preview.plan.seconds,
        "overlap": preview.plan.overlap,
        "hours": preview.hours,
        "topics": [asdict(topic) for topic in preview.topics],
        "by_run": [asdict(row) for row in preview.by_run],
        "by_team": teams(preview).facts(),
    }


def topics(preview: Preview) -> Table[TopicShare]:
    """Documents of every topic."""
    undrawn = Place.EVERYWHERE if preview.undrawn else ~Place.PAGE
    return Table(
        f"{preview.slug}-pool-topics",
        _caption(preview, "topics"),
        columns_from(
            TopicShare,
            "topic_id title candidates documents reused to_judge",
            Column("undrawn", attrgetter("undrawn"), "Not drawn", digits=0, shown=undrawn),
        ),
        preview.topics,
    )


def runs(preview: Preview) -> Table[Contribution]:
    """Contribution of each run."""
    return Table(
        f"{preview.slug}-pool-runs",
        _caption(preview, "runs"),
        columns_from(Contribution, "name team", *_documents()),
        preview.by_run,
    )


def teams(preview: Preview) -> Table[Contribution]:
    """Contribution of each team."""
    return Table(
        f"{preview.slug}-pool-teams",
        _caption(preview, "teams"),
        [
            Column("team", attrgetter("team"), "Team"),
            Column("runs", attrgetter("runs"), "Runs", digits=0),
            *_documents(),
        ],
        preview.by_team,
    )


NEW_POOL_FILES = Files(facts=new_pool_facts, tables={"topics": topics, "runs": runs, "teams": teams})


def _documents() -> list[Column[Contribution]]:
    return columns_from(Contribution, "documents alone")


def _caption(preview: Preview, which: str) -> str:
    return f"{preview.task}: {preview.method.title} of {len(preview.runs)} runs, by {which}."
