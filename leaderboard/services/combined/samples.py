"""Samples of a machine's judgments that people judge too: drawn by chance, with known probabilities.

Documents of every topic, or whole topics. A larger sample of the same judgments with the same seed contains
the smaller one, and takes over what was judged there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Pool, Qrels, QrelsRevision, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.measures.judged import UNJUDGED
from leaderboard.memory import keep_by
from leaderboard.services import audit, policy
from leaderboard.services.actions import Action
from leaderboard.services.assessors import judged_pools, settle
from leaderboard.services.assessors.judged_pools import JudgedPool
from leaderboard.services.assessors.settle import Choice
from leaderboard.services.judging.judged import Place
from leaderboard.services.policy import OPERATOR, Viewer
from leaderboard.services.pools import plans, pools, previews
from leaderboard.services.pools.documents import PoolDocument
from leaderboard.services.pools.plans import SECONDS, Plan, PooledRun
from leaderboard.services.qrels import files, left_out, lines
from leaderboard.services.qrels.judged_inputs import MAIN
from leaderboard.services.rankings.tops import TopicTops, read_tops
from leaderboard.stats.combined.sample import DEPTH, inclusion, uniform, weights
from leaderboard.trec.qrels.packed_judgments import unpack_judgments
from leaderboard.trec.read.lines import text_of

LEAST_SHARE, MOST_SHARE = 0.05, 1.0
LEAST_TOPICS = 10
"""Of a draw of whole topics: of fewer the spread is not known well enough to say anything."""
PEOPLE = Choice(open="majority")
"""How labels of people become one grade: where they differ an adjudicator's, else the majority's, else the
lower."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTopic:
    """One topic of a draw: the documents that the machine judged, and how likely each was to be drawn."""

    topic_id: str
    docnos: tuple[str, ...]
    probability: npt.NDArray[np.float64]
    is_drawn: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SampledGrades:
    """The documents of a sample by topic and docno: all that a machine judged, drawn or not."""

    probability: Mapping[Place, float]
    drawn: frozenset[Place]
    judged: Mapping[Place, int]
    """Of those drawn, the grades by people that are there."""


def machine_line(session: Session, task: Task) -> Qrels:
    """The task's judgments; raises Conflict where the board does not rest on grades by a machine."""
    line = lines.find(session, task.id, MAIN)
    if line is None or (line.kind, line.origin) != ("graded", "machine"):
        raise Conflict(
            "A sample for people is drawn from the judgments of a machine, and this task's board does not "
            "rest on any: add the machine's judgments, marked as such, first."
        )
    return line


def draw(
    session: Session,
    viewer: Viewer,
    slug: str,
    share: float,
    *,
    seed: int = 1,
    seconds: int = SECONDS,
    note: str = "",
) -> int:
    """Draw a share of the machine's newest judgments as a draft of a pool; its number.

    Raises Invalid for a share, seed or time out of range, Conflict where no machine judged or no run is
    there, NotFound, SignInNeeded or Forbidden unless the viewer coordinates the task's assessors.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    if not LEAST_SHARE <= share <= MOST_SHARE:
        rule = f"is from {LEAST_SHARE:.0%} to {MOST_SHARE:.0%}."
        raise Invalid(f"The share {rule}", [Problem(rule, field="share", value=f"{share:.4g}")])
    plan = Plan(seed=seed, seconds=seconds)
    revision = _drawn_from(session, task, plan)
    runs = plans.pooled_runs(plan, plans.candidates(session, viewer, task))
    topics = drawn_topics(session, task, revision, runs, share, seed)
    method = {"name": pools.SAMPLE, "share": share, "revision": revision.number}
    return _store(session, viewer, task, revision, topics, plan, method, note, [run.run_id for run in runs])


def draw_topics(
    session: Session,
    viewer: Viewer,
    slug: str,
    count: int,
    *,
    seed: int = 1,
    seconds: int = SECONDS,
    note: str = "",
) -> int:
    """Draw topics, of which people judge all that the machine judged, as a draft of a pool; its number.

    Raises Invalid for a count, seed or time out of range, Conflict where no machine judged, NotFound,
    SignInNeeded or Forbidden unless the viewer coordinates the task's assessors.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    plan = Plan(seed=seed, seconds=seconds)
    revision = _drawn_from(session, task, plan)
    judged = _judged_documents(session, task, revision, left_out.by_id(session, revision.id))
    if len(judged) < LEAST_TOPICS:
        raise Conflict(
            f"A draw takes {LEAST_TOPICS} whole topics at least, and the machine judged {len(judged)} that "
            "count: draw documents of every topic instead."
        )
    if not LEAST_TOPICS <= count <= len(judged):
        rule = f"is from {LEAST_TOPICS} to {len(judged)}, the topics that the machine judged."
        raise Invalid(f"The number of topics {rule}", [Problem(rule, field="topics", value=str(count))])
    chosen = set(sorted(judged, key=lambda topic: uniform(seed, topic, ""))[:count])
    topics = [
        DrawnTopic(topic, tuple(map(text_of, names)), np.ones(len(names)), np.ones(len(names), dtype=bool))
        for topic, names in judged.items()
        if topic in chosen
    ]
    method = {"name": pools.SAMPLED_TOPICS, "topics": count, "revision": revision.number}
    return _store(session, viewer, task, revision, topics, plan, method, note, [])


def _drawn_from(session: Session, task: Task, plan: Plan) -> QrelsRevision:
    """The machine's newest judgments, from which a plan draws."""
    plans.check(plan)
    if task.kind == "answers":
        raise Conflict(f"{task.name} takes answers; a sample is drawn of judgments of documents.")
    machine_line(session, task)
    revision = files.newest(session, task.id)
    if revision is None:
        raise Conflict("There is no judgment to draw from yet.")
    return revision


def _store(
    session: Session,
    viewer: Viewer,
    task: Task,
    revision: QrelsRevision,
    topics: Sequence[DrawnTopic],
    plan: Plan,
    method: Mapping[str, Any],
    note: str,
    run_ids: list[int],
) -> int:
    judged = _before(session, task, revision, plan.seed)
    return pools.store(
        session,
        viewer,
        task.slug,
        {topic.topic_id: _rows(topic, judged) for topic in topics},
        note=note,
        method=dict(method),
        adaptive=False,
        seed=plan.seed,
        run_ids=run_ids,
        revision_id=revision.id,
        seconds_per_document=plan.seconds,
    )


def _judged_documents(
    session: Session, task: Task, revision: QrelsRevision, gone: Mapping[str, frozenset[bytes]]
) -> dict[str, list[bytes]]:
    """Topic that counts -> the documents that a revision judges and does not leave out, in their order."""
    judged = unpack_judgments(revision.packed)
    docnos = {
        topic: sorted(
            docno for docno, grade in judged[topic].items() if grade >= 0 and docno not in gone.get(topic, ())
        )
        for topic in previews.titles_of(session, task)
        if topic in judged
    }
    return {topic: names for topic, names in docnos.items() if names}


def drawn_topics(
    session: Session, task: Task, revision: QrelsRevision, runs: Sequence[PooledRun], share: float, seed: int
) -> list[DrawnTopic]:
    """What a draw takes of each topic that counts and has judgments of the machine."""
    by_topic = left_out.by_id(session, revision.id)
    judged = _judged_documents(session, task, revision, by_topic)
    gone = left_out.index(by_topic)
    tops = read_tops(session, [run.run_id for run in runs], list(judged), DEPTH, task.dialect, gone=gone)
    docnos = {topic: judged[topic] for topic in tops}
    weight = [weights(_places(tops[topic], names)) for topic, names in docnos.items()]
    if not weight:
        raise Conflict("The machine judged no document of a topic that counts.")
    probability = inclusion(np.concatenate(weight), share)
    ends = np.cumsum([len(names) for names in docnos.values()])[:-1]
    drawn = []
    for (topic, names), chances in zip(docnos.items(), np.split(probability, ends), strict=True):
        texts = tuple(map(text_of, names))
        chance = np.array([uniform(seed, topic, docno) for docno in texts])
        drawn.append(DrawnTopic(topic, texts, chances, chance < chances))
    return drawn


def _places(tops: TopicTops, docnos: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Ranks of documents in the runs' tops, (runs, documents), 0 where a run has one no higher than that."""
    place = {docno: at for at, docno in enumerate(docnos)}
    column = np.array([place.get(docno, -1) for docno in tops.docnos.tolist()], dtype=np.int64)
    places = np.zeros((len(tops.rankings), len(docnos)), dtype=np.int64)
    for row, ranking in zip(places, tops.rankings, strict=True):
        at = column[ranking]
        row[at[at >= 0]] = 1 + np.flatnonzero(at >= 0)
    return places


def _rows(topic: DrawnTopic, judged: Mapping[Place, int]) -> tuple[list[PoolDocument], int]:
    """The documents as a pool keeps them, those to be judged first, and how many these are."""
    columns = zip(topic.docnos, topic.probability.tolist(), topic.is_drawn.tolist(), strict=True)
    rows = [
        PoolDocument(
            docno, probability=chance, grade=judged.get((topic.topic_id, docno)) if drawn else UNJUDGED
        )
        for docno, chance, drawn in columns
    ]
    rows.sort(key=lambda row: row.grade is not None)
    return rows, sum(row.grade is None for row in rows)


def _before(session: Session, task: Task, revision: QrelsRevision, seed: int) -> dict[Place, int]:
    """What people judged in earlier samples of the same judgments with the same seed."""
    earlier = select(Pool).where(Pool.task_id == task.id, Pool.revision_id == revision.id, Pool.seed == seed)
    judged: dict[Place, int] = {}
    for pool in session.scalars(earlier.order_by(Pool.number)).all():
        if pool.method.get("name") in pools.SAMPLES:
            judged.update(people_grades(session, task, pool).judged)
    return judged


def people_grades(session: Session, task: Task, pool: Pool) -> SampledGrades:
    """What a sample holds of each document; whoever asks may see the task's judgments."""
    _, judged = judged_pools.judged_pool(session, OPERATOR, task.slug, pool.number)
    return _grades(judged, settle.bodies_of(session, pool.id))


def _by_labels(judged: JudgedPool, bodies: settle.Bodies) -> tuple[object, ...]:
    return judged.labels, judged.decisions, bodies


# Every reader of a board asks for the same.
@keep_by(_by_labels)
def _grades(judged: JudgedPool, bodies: settle.Bodies) -> SampledGrades:
    documents = settle.unpacked(bodies)
    settled = settle.settled_grades(judged, documents, PEOPLE)
    probability = {place: document.probability for place, document in documents.items()}
    drawn = frozenset(place for place, document in documents.items() if document.grade != UNJUDGED)
    return SampledGrades(probability, drawn, {place: settled[place] for place in drawn & settled.keys()})


def show(session: Session, viewer: Viewer, slug: str, number: int, is_shown: bool) -> None:
    """Show a sample's combined board to everybody who sees the task's scores by topic, or to nobody else.

    Raises NotFound for a pool that is no sample, and unless the viewer organises the task.
    """
    task = policy.own_task(session, viewer, slug)
    pool = find(session, task, number)
    # Its state is read again behind the lock: of two clicks at once the first one's moment stays.
    lock_row(session, Pool, pool.id)
    if is_shown == (pool.shown_at is not None):
        return
    pool.shown_at = now(session) if is_shown else None
    audit.record(session, viewer, "sample.show" if is_shown else "sample.hide", f"pool:{pool.id}", task=slug)


def find(session: Session, task: Task, number: int) -> Pool:
    """The sample of that number; raises NotFound, also for a pool that is none."""
    pool = pools.find(session, task, number)
    if pool.method.get("name") not in pools.SAMPLES:
        raise NotFound(f"Pool {number} of {task.name} is no sample of a machine's judgments.", pool=number)
    return pool


def of_task(session: Session, task: Task) -> list[Pool]:
    """All samples of a task that are no drafts, newest first."""
    rows = session.scalars(
        select(Pool).where(Pool.task_id == task.id, Pool.state != pools.DRAFT).order_by(Pool.number.desc())
    )
    return [pool for pool in rows if pool.method.get("name") in pools.SAMPLES]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleShown:
    """Whether everybody sees the board that a sample makes with the machine's judgments."""

    shown: Annotated[bool, Field(title="Shown to everybody")]


ACTIONS = (
    Action(
        name="show_sample",
        summary="Show the board of people and machine to everybody, or to organisers only",
        method="PUT",
        path="/tasks/<slug>/pools/<id:number>/shown",
        form="/tasks/<slug>/pools/<id:number>/shown",
        record=SampleShown,
        act=lambda session, viewer, slug, number, asked: show(session, viewer, slug, number, asked.shown),
        done=lambda asked, _: "shown to everybody" if asked.shown else "shown to organisers only",
    ),
)
