"""A task's pools: create, open, close, and delete drafts."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from sqlalchemy import delete, func, insert, select
from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.core import audit, policy
from leaderboard.core.actions import Action, File
from leaderboard.core.policy import Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Assessment, Pool, PoolTopic, Task, Topic
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.judging.ops.pools import previews as pool_documents
from leaderboard.judging.ops.pools.previews import MOST_SECONDS, SECONDS, PoolDocument, PoolPlan, Preview
from leaderboard.measures.judged import UNJUDGED
from leaderboard.pooling.methods import method
from leaderboard.scoring.ops import collections, setting_values
from leaderboard.trec.pools import Pooled, as_text, read_pool
from leaderboard.trec.read.lines import bytes_of, shown

DRAFT, OPEN, CLOSED = "draft", "open", "closed"
NEXT = {DRAFT: (OPEN,), OPEN: (CLOSED,), CLOSED: (OPEN,)}
"""State -> the states it may change to."""
IMPORTED = "imported"
"""Method name of an imported pool."""
SAMPLE = "people_sample"
"""Method name of a pool drawn from a machine's judgments for people; ops/combined draws it."""
SAMPLED_TOPICS = "people_topics"
"""The same for complete topics instead of documents in every topic."""
SAMPLES = (SAMPLE, SAMPLED_TOPICS)
NOTE_CHARACTERS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """open: assessors judge; closed: judging has ended."""

    state: Annotated[
        str, Field(title="State", help="open: assessors can judge; closed: they cannot.", least=0)
    ]
    highest_grade: Annotated[
        int | None,
        Field(
            title="Highest grade for assessors",
            help="Used when a draft is opened; null: the task's grades.",
            least=0,
        ),
    ] = None
    without_texts: Annotated[
        bool,
        Field(
            title="Assessors read the documents elsewhere",
            help="Whether to open a draft although none of its documents has a text or a link.",
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFileQuery:
    """A note on the pool, and the judging time per document."""

    seconds: Annotated[int, Field(title="Seconds per document", help="Judging time.", most=MOST_SECONDS)] = (
        SECONDS
    )
    note: Annotated[str, Field(title="Note", help="Purpose of the pool.", longest=NOTE_CHARACTERS)] = ""
    file_name: Annotated[str, Field(title="File name", is_of_api=True)] = "pool"


def documents_of(
    session: Session, viewer: Viewer, slug: str, number: int
) -> dict[str, tuple[PoolDocument, ...]]:
    """Topic -> its documents, in judging order and the task's order of topics.

    Raises NotFound for an unknown number, and NotFound, SignInNeeded or Forbidden unless the viewer organises
    the task.
    """
    task = policy.own_task(session, viewer, slug, policy.knows)
    pool = find(session, task, number)
    rows = session.execute(
        select(PoolTopic.topic_id, PoolTopic.body)
        .outerjoin(Topic, (Topic.topic_id == PoolTopic.topic_id) & (Topic.task_id == task.id))
        .where(PoolTopic.pool_id == pool.id)
        .order_by(Topic.position, PoolTopic.topic_id)
    )
    return {row.topic_id: pool_documents.unpack(row.body) for row in rows}


def add(session: Session, viewer: Viewer, preview: Preview, note: str = "") -> int:
    """Store the pool of a preview as a draft; return its number.

    Raises Conflict if it has no document to judge, and unless the viewer organises the task.
    """
    if not preview.documents:
        raise Conflict("This pool would have no documents. Pool more runs, or pool deeper.")
    documents = {topic.topic_id: (topic.rows(), topic.to_judge) for topic in preview.pools if topic.documents}
    return store(
        session,
        viewer,
        preview.slug,
        documents,
        note=note,
        method=preview.method.spec,
        adaptive=preview.method.adaptive,
        seed=preview.plan.seed,
        run_ids=[run.run_id for run in preview.runs],
        revision_id=preview.revision_id if preview.plan.reuse else None,
        seconds_per_document=preview.plan.seconds,
    )


def store(
    session: Session,
    viewer: Viewer,
    slug: str,
    documents: Mapping[str, tuple[list[PoolDocument], int]],
    *,
    note: str = "",
    **facts: Any,
) -> int:
    """Store a draft pool: topic -> documents in judging order, and the number of them to judge."""
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    if len(note) > NOTE_CHARACTERS:
        problem = Problem(f"may have at most {NOTE_CHARACTERS} characters.", field="note")
        raise Invalid(f"The note may have at most {NOTE_CHARACTERS} characters.", [problem])
    # Two simultaneous pools would have the same number.
    lock_row(session, Task, task.id)
    last = session.scalar(select(func.max(Pool.number)).where(Pool.task_id == task.id)) or 0
    pool = Pool(
        task_id=task.id,
        number=last + 1,
        documents=sum(count for _, count in documents.values()),
        note=note.strip(),
        created_at=now(session),
        created_by=viewer.account_id,
        **facts,
    )
    session.add(pool)
    session.flush()
    session.execute(
        insert(PoolTopic),
        [
            {"pool_id": pool.id, "topic_id": topic, "documents": count, "body": pool_documents.pack(rows)}
            for topic, (rows, count) in documents.items()
        ],
    )
    audit.record(session, viewer, "pool.make", f"pool:{pool.id}", task=slug, method=pool.method)
    return pool.number


@dataclass(frozen=True, slots=True)
class PoolReadiness:
    """Checks before a pool is opened."""

    documents: int
    readable: int
    """Number of documents with a stored text or a link."""
    grades: tuple[int, ...]
    """The grades available to assessors."""
    highest_judged: int | None
    """The highest grade in the task's newest judgments; None without judgments."""

    @property
    def lacks_grades(self) -> bool:
        """Whether the existing judgments have grades that assessors could not give."""
        return self.highest_judged is not None and self.highest_judged > self.grades[-1]

    @property
    def texts(self) -> str:
        """Number of readable documents, as a sentence."""
        return f"{self.readable:,} of {self.documents:,} documents have a text or a link."


def readiness(session: Session, task: Task, pool: Pool) -> PoolReadiness:
    """Checks before a pool is opened, from its documents and the newest judgments."""
    bodies = session.scalars(select(PoolTopic.body).where(PoolTopic.pool_id == pool.id))
    rows = (document for body in bodies for document in pool_documents.unpack(body))
    docnos = list({bytes_of(row.docno) for row in rows if row.grade != UNJUDGED})
    return PoolReadiness(
        len(docnos),
        collections.readable(session, task.collection_id, docnos),
        tuple(grade.value for grade in setting_values.grade_scale(task)),
        setting_values.highest_judged(session, task),
    )


def _make_ready(
    session: Session, viewer: Viewer, task: Task, pool: Pool, highest_grade: int | None, without_texts: bool
) -> None:
    ready = readiness(session, task, pool)
    if not ready.documents:
        raise Conflict(f"Pool {pool.number} has no documents. Discard it and pool more runs, or pool deeper.")
    if not ready.readable and not without_texts:
        raise Conflict(
            f"{ready.texts} Assessors would see only ids. Add documents or a link to the collection, or "
            "confirm that assessors read the documents elsewhere (without_texts)."
        )
    if highest_grade is not None:
        setting_values.reach(session, viewer, task, highest_grade)
    elif ready.lacks_grades:
        offered = ", ".join(map(str, ready.grades))
        raise Conflict(
            f"The newest judgments have grades up to {ready.highest_judged}, but assessors can only give "
            f"{offered}. Set the highest grade for assessors (highest_grade, "
            f"{ready.highest_judged} to match), or name the grades of the task."
        )


def change(
    session: Session,
    viewer: Viewer,
    slug: str,
    number: int,
    state: str,
    *,
    highest_grade: int | None = None,
    without_texts: bool = False,
) -> str:
    """Open a pool to assessors, or close it; return its new state.

    Opening a draft: highest_grade sets the grades that assessors of the task may give; without_texts confirms
    that they read the documents elsewhere. Raises Conflict for a forbidden change of state, and for
    a draft without documents, without any text or whose assessors lack grades that the judgments have.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    pool = find(session, task, number)
    # The state is read again under the lock: two simultaneous clicks change it once.
    lock_row(session, Pool, pool.id)
    if state not in NEXT[pool.state]:
        raise Conflict(f"Pool {number} is {pool.state}; it can only become {' or '.join(NEXT[pool.state])}.")
    if pool.state == DRAFT and state == OPEN:
        _make_ready(session, viewer, task, pool, highest_grade, without_texts)
    pool.state = state
    audit.record(session, viewer, f"pool.{state}", f"pool:{pool.id}", task=slug)
    return state


def discard(session: Session, viewer: Viewer, slug: str, number: int) -> None:
    """Delete a draft; raises Conflict for a pool that was opened, because its assessments are kept."""
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    pool = find(session, task, number)
    # The lock keeps anyone from opening it now.
    lock_row(session, Pool, pool.id)
    events = session.scalar(select(func.count()).where(Assessment.pool_id == pool.id)) or 0
    if pool.state != DRAFT or events:
        raise Conflict(f"Pool {number} was opened to assessors and cannot be deleted. Close it instead.")
    audit.record(session, viewer, "pool.discard", f"pool:{pool.id}", task=slug)
    session.execute(delete(Pool).where(Pool.id == pool.id))


def own_pool(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[Task, Pool]:
    """A pool of a task whose assessors the viewer manages; raises as `own_task`."""
    task = coordinated(session, viewer, slug)
    return task, find(session, task, number)


def seen_pool(session: Session, viewer: Viewer, slug: str, number: int) -> tuple[Task, Pool]:
    """A pool, readable by every role in its task; raises as `own_pool`."""
    task = policy.own_task(session, viewer, slug, policy.knows)
    return task, find(session, task, number)


def find(session: Session, task: Task, number: int) -> Pool:
    """The task's pool with a number; raises NotFound."""
    pool = session.scalar(select(Pool).where(Pool.task_id == task.id, Pool.number == number))
    if pool is None:
        raise NotFound(f"{task.name} has no pool {number}.", pool=number)
    return pool


def title(spec: Mapping[str, Any]) -> str:
    """Describe the method of a pool as text.

    >>> title({"name": "depth", "depth": 8}), title({"name": "imported", "file": "pool.txt"})
    ('Depth-k, depth 8', 'Imported from pool.txt')
    """
    if spec.get("name") == IMPORTED:
        return f"Imported from {spec.get('file')}"
    if spec.get("name") == SAMPLE:
        return f"Sample for people, {spec['share']:.0%} of the machine’s revision {spec['revision']}"
    if spec.get("name") == SAMPLED_TOPICS:
        return f"Topics for people, {spec['topics']} of the machine’s revision {spec['revision']}"
    bound = method(spec)
    values = {**bound.last.values, "budget": bound.budget}
    plain = (
        f"{name} {value:g}" if isinstance(value, int | float) else f"{name} {value}"
        for name, value in values.items()
        if isinstance(value, int | float | str)
    )
    return ", ".join((bound.title, *plain))


def coordinated(session: Session, viewer: Viewer, slug: str) -> Task:
    """The task whose assessors the viewer manages; raises as `own_task`."""
    return policy.own_task(session, viewer, slug, policy.coordinates)


MAKE = Action(
    name="make_pool",
    summary="Create a pool",
    more="Creates a draft; open it when its assessors have topics. For answers, it contains the cited "
    "documents.",
    path="/tasks/<slug>/pools",
    form="/tasks/<slug>/pools",
    may=coordinated,
    record=PoolPlan,
    plan=pool_documents.preview,
    act=lambda session, viewer, _, previewed, plan: (add(session, viewer, previewed, plan.note), previewed),
    status=201,
)
CHANGE = Action(
    name="change_pool",
    summary="Open or close a pool",
    method="PUT",
    path="/tasks/<slug>/pools/<id:number>/state",
    form="/tasks/<slug>/pools/<id:number>/state",
    page="pools.show",
    may=own_pool,
    record=PoolState,
    act=lambda session, viewer, slug, number, asked: change(
        session, viewer, slug, number, **fields.values(asked)
    ),
    done=lambda _, state: state,
)
ACTIONS = (
    CHANGE,
    Action(
        name="discard_pool",
        summary="Delete a draft pool",
        method="DELETE",
        path="/tasks/<slug>/pools/<id:number>",
        form="/tasks/<slug>/pools/<id:number>/discard",
        page="pools.index",
        may=own_pool,
        act=discard,
        done=lambda *_: "draft deleted",
    ),
)


MOST_UNKNOWN = 10
"""Maximum number of unknown topics to list."""
LARGEST_POOL = 2_000_000


def exported(session: Session, viewer: Viewer, slug: str, number: int, form: str) -> Iterator[str]:
    """The documents of a pool as a file in a format of trec.pools.FORMS, in pieces.

    Documents with reused judgments are included; those that a sample did not draw are not. Raises as
    `pools.documents_of`.
    """
    documents = documents_of(session, viewer, slug, number)
    return as_text({topic: _drawn(rows) for topic, rows in documents.items()}, form)


def read_pool_file(path: Path) -> dict[str, list[Pooled]]:
    """Read a pool file without a session; raises Invalid with the lines at fault."""
    pool = read_pool(path)
    if sum(map(len, pool.values())) > LARGEST_POOL:
        raise Invalid(f"A pool may have at most {LARGEST_POOL:,} documents.")
    return pool


def bring_in(
    session: Session,
    viewer: Viewer,
    slug: str,
    pool: Mapping[str, list[Pooled]],
    file_name: str,
    *,
    note: str = "",
    seconds: int = SECONDS,
) -> int:
    """Store an imported pool as a draft; return its number.

    Raises Invalid if it has an unknown topic, and unless the viewer organises the task.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    topic_ids = set(session.scalars(select(Topic.topic_id).where(Topic.task_id == task.id)))
    if unknown := [topic for topic in pool if topic not in topic_ids]:
        problems = [
            Problem(
                "is not a topic of this task.",
                "Check for missing leading zeros.",
                field="topic",
                value=shown(topic),
            )
            for topic in unknown[:MOST_UNKNOWN]
        ]
        count = f"{len(unknown)} topics" if len(unknown) > 1 else "a topic"
        raise Invalid(f"The pool has {count} that {task.name} does not have.", problems)
    return store(
        session,
        viewer,
        slug,
        {topic: ([PoolDocument(*row) for row in rows], len(rows)) for topic, rows in pool.items()},
        note=note,
        method={"name": IMPORTED, "file": file_name},
        adaptive=False,
        seed=1,
        run_ids=[],
        revision_id=None,
        seconds_per_document=seconds,
    )


def _drawn(rows: tuple[PoolDocument, ...]) -> list[Pooled]:
    return [Pooled(*row[:4]) for row in rows if row.grade is None or row.grade >= 0]


def _bring_in(
    session: Session,
    viewer: Viewer,
    slug: str,
    file: tuple[str, dict[str, list[Pooled]]],
    about: PoolFileQuery,
) -> tuple[int, dict[str, list[Pooled]]]:
    name, pool = file
    return bring_in(session, viewer, slug, pool, name, note=about.note, seconds=about.seconds), pool


IMPORT = Action(
    name="import_pool",
    summary="Import a pool from a file",
    more="The file is in NIST's pool format, CSV or JSON lines.",
    path="/tasks/<slug>/pools/import",
    form="/tasks/<slug>/pools/import",
    page="pools.index",
    may=coordinated,
    record=PoolFileQuery,
    file=File(
        field="pool",
        missing="Choose a pool file.",
        prepare=lambda given, _: (given.files["pool"].name, read_pool_file(given.files["pool"].path)),
    ),
    act=_bring_in,
    status=201,
)
