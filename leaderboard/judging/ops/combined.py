"""Boards that combine judgments by people and by a machine.

Samples consist of documents of every topic, or of complete topics. A larger sample of the same judgments with
the same seed contains the smaller one and reuses its judgments.
"""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any

import numpy as np
from numpy import typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.core import audit, policy
from leaderboard.core.actions import Action
from leaderboard.core.policy import OPERATOR, Viewer
from leaderboard.db.engine import lock_row, now
from leaderboard.db.tables import Pool, Qrels, QrelsRevision, Task
from leaderboard.errors import Conflict, Invalid, NotFound, Problem
from leaderboard.fields import Field
from leaderboard.judging.ops.assessors import log, settle
from leaderboard.judging.ops.assessors.log import JudgedPool
from leaderboard.judging.ops.assessors.settle import Choice
from leaderboard.judging.ops.judging import Place
from leaderboard.judging.ops.pools import pools, previews
from leaderboard.judging.ops.pools.previews import (
    LARGEST_SEED,
    MOST_SECONDS,
    SECONDS,
    PoolDocument,
    PooledRun,
    PoolPlan,
)
from leaderboard.measures.binding import BoundMeasure
from leaderboard.measures.judged import UNJUDGED, Judged
from leaderboard.memory import keep, keep_by
from leaderboard.scoring.ops.evaluations.shown import FloatArray, Source, run_digest
from leaderboard.scoring.ops.qrels import files, left_out, lines
from leaderboard.scoring.ops.qrels.files import MAIN
from leaderboard.scoring.ops.rankings import TopicTops, alignments, compiled_judgments, docnos_of, read_tops
from leaderboard.scoring.ops.statistics import requests
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.combined import measures, planning
from leaderboard.stats.combined.labels import (
    NOT_JUDGED,
    IntArray,
    Labels,
    ValueOf,
    chance_of,
    gain_of,
    relevant_from,
)
from leaderboard.stats.combined.measures import NOWHERE, discounts
from leaderboard.stats.combined.planning import on_judged
from leaderboard.stats.combined.sample import DEPTH, inclusion, uniform, weights
from leaderboard.trec.qrels.align import CompiledJudgments
from leaderboard.trec.qrels.packed import unpack_judgments
from leaderboard.trec.read.lines import text_of

LEAST_SHARE, MOST_SHARE = 0.05, 1.0
LEAST_TOPICS = 10
"""Minimum for complete topics: with fewer, the variance estimate is too poor for any verdict."""
PEOPLE = Choice(open="majority")
"""Rule that settles labels of people: the adjudicator's grade, else the majority's, else the lower
one."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTopic:
    """A topic of a draw: the documents that the machine judged, and their inclusion probabilities."""

    topic_id: str
    docnos: tuple[str, ...]
    probability: npt.NDArray[np.float64]
    is_drawn: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class SampledGrades:
    """The documents of a sample by topic and docno: all that the machine judged, drawn or not."""

    probability: Mapping[Place, float]
    drawn: frozenset[Place]
    judged: Mapping[Place, int]
    """The available grades by people for the drawn documents."""


def machine_line(session: Session, task: Task) -> Qrels:
    """The task's judgments; raises Conflict unless the board uses grades by a machine."""
    line = lines.find(session, task.id, MAIN)
    if line is None or (line.kind, line.origin) != ("graded", "machine"):
        raise Conflict(
            "A sample for people is drawn from a machine's judgments, and this task's leaderboard uses "
            "none. First add the machine's judgments, marked as such."
        )
    return line


def draw_sample(
    session: Session,
    viewer: Viewer,
    slug: str,
    share: float,
    *,
    seed: int = 1,
    seconds: int = SECONDS,
    note: str = "",
) -> int:
    """Draw a share of the machine's newest judgments as a draft pool; return its number.

    Raises Invalid for a share, seed or time out of range, Conflict without machine judgments or
    runs, NotFound, SignInNeeded or Forbidden unless the viewer coordinates the task's assessors.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    if not LEAST_SHARE <= share <= MOST_SHARE:
        rule = f"must be from {LEAST_SHARE:.0%} to {MOST_SHARE:.0%}."
        raise Invalid(f"The share {rule}", [Problem(rule, field="share", value=f"{share:.4g}")])
    plan = PoolPlan(seed=seed, seconds=seconds)
    revision = _drawn_from(session, task, plan)
    runs = previews.pooled_runs(plan, previews.candidates(session, viewer, task))
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
    """Draw complete topics of the machine's judgments as a draft pool; return its number.

    Raises Invalid for a count, seed or time out of range, Conflict without machine judgments, NotFound,
    SignInNeeded or Forbidden unless the viewer coordinates the task's assessors.
    """
    task = policy.own_task(session, viewer, slug, policy.coordinates)
    plan = PoolPlan(seed=seed, seconds=seconds)
    revision = _drawn_from(session, task, plan)
    judged = _judged_documents(session, task, revision, left_out.by_id(session, revision.id))
    if len(judged) < LEAST_TOPICS:
        raise Conflict(
            f"A draw needs at least {LEAST_TOPICS} complete topics, but the machine judged only "
            f"{len(judged)} scored topics. Draw documents of every topic instead."
        )
    if not LEAST_TOPICS <= count <= len(judged):
        rule = f"must be from {LEAST_TOPICS} to {len(judged)}, the number that the machine judged."
        raise Invalid(f"The number of topics {rule}", [Problem(rule, field="topics", value=str(count))])
    chosen = set(sorted(judged, key=lambda topic: uniform(seed, topic, ""))[:count])
    topics = [
        DrawnTopic(topic, tuple(map(text_of, names)), np.ones(len(names)), np.ones(len(names), dtype=bool))
        for topic, names in judged.items()
        if topic in chosen
    ]
    method = {"name": pools.SAMPLED_TOPICS, "topics": count, "revision": revision.number}
    return _store(session, viewer, task, revision, topics, plan, method, note, [])


def draw(
    session: Session, viewer: Viewer, slug: str, share: float, topics: int | None, **options: Any
) -> int:
    """Draw the number of topics or, if that is None, a share of the documents; raises as either does."""
    if topics is None:
        return draw_sample(session, viewer, slug, share, **options)
    return draw_topics(session, viewer, slug, topics, **options)


def _drawn_from(session: Session, task: Task, plan: PoolPlan) -> QrelsRevision:
    """The machine's newest judgments, from which to draw."""
    previews.check_plan(plan)
    if task.kind == "answers":
        raise Conflict(f"{task.name} takes answers. Samples can be drawn only from judgments of documents.")
    machine_line(session, task)
    revision = files.newest(session, task.id)
    if revision is None:
        raise Conflict("There are no judgments to draw from yet.")
    return revision


def _store(
    session: Session,
    viewer: Viewer,
    task: Task,
    revision: QrelsRevision,
    topics: Sequence[DrawnTopic],
    plan: PoolPlan,
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
    """Scored topic -> documents that a revision judges and does not leave out, in their order."""
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
    """The draw of each scored topic that has judgments of the machine."""
    by_topic = left_out.by_id(session, revision.id)
    judged = _judged_documents(session, task, revision, by_topic)
    gone = left_out.index(by_topic)
    tops = read_tops(session, [run.run_id for run in runs], list(judged), DEPTH, task.dialect, gone=gone)
    docnos = {topic: judged[topic] for topic in tops}
    weight = [weights(_places(tops[topic], names)) for topic, names in docnos.items()]
    if not weight:
        raise Conflict("The machine judged no document of a scored topic.")
    probability = inclusion(np.concatenate(weight), share)
    ends = np.cumsum([len(names) for names in docnos.values()])[:-1]
    drawn = []
    for (topic, names), chances in zip(docnos.items(), np.split(probability, ends), strict=True):
        texts = tuple(map(text_of, names))
        chance = np.array([uniform(seed, topic, docno) for docno in texts])
        drawn.append(DrawnTopic(topic, texts, chances, chance < chances))
    return drawn


def _places(tops: TopicTops, docnos: Sequence[bytes]) -> npt.NDArray[np.int64]:
    """Ranks of documents in the runs' tops, (runs, documents), 0 if a run has a document no higher."""
    place = {docno: at for at, docno in enumerate(docnos)}
    column = np.array([place.get(docno, -1) for docno in tops.docnos.tolist()], dtype=np.int64)
    places = np.zeros((len(tops.rankings), len(docnos)), dtype=np.int64)
    for row, ranking in zip(places, tops.rankings, strict=True):
        at = column[ranking]
        row[at[at >= 0]] = 1 + np.flatnonzero(at >= 0)
    return places


def _rows(topic: DrawnTopic, judged: Mapping[Place, int]) -> tuple[list[PoolDocument], int]:
    """The documents in pool format, documents to judge first, and the number of these."""
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
    """Grades by people in earlier samples of the same judgments with the same seed."""
    earlier = select(Pool).where(Pool.task_id == task.id, Pool.revision_id == revision.id, Pool.seed == seed)
    judged: dict[Place, int] = {}
    for pool in session.scalars(earlier.order_by(Pool.number)).all():
        if pool.method.get("name") in pools.SAMPLES:
            judged.update(people_grades(session, task, pool).judged)
    return judged


def people_grades(session: Session, task: Task, pool: Pool) -> SampledGrades:
    """The documents of a sample; the caller checks access to the task's judgments."""
    _, judged = log.judged_pool(session, OPERATOR, task.slug, pool.number)
    return _grades(judged, settle.bodies_of(session, pool.id))


def _by_labels(judged: JudgedPool, bodies: settle.Bodies) -> tuple[object, ...]:
    return judged.labels, judged.decisions, bodies


# Every reader of a board needs the same documents.
@keep_by(_by_labels)
def _grades(judged: JudgedPool, bodies: settle.Bodies) -> SampledGrades:
    documents = settle.unpacked(bodies)
    settled = settle.settled_grades(judged, documents, PEOPLE)
    probability = {place: document.probability for place, document in documents.items()}
    drawn = frozenset(place for place, document in documents.items() if document.grade != UNJUDGED)
    return SampledGrades(probability, drawn, {place: settled[place] for place in drawn & settled.keys()})


def show_sample(session: Session, viewer: Viewer, slug: str, number: int, is_shown: bool) -> None:
    """Show a sample's combined board to everyone who sees the task's scores by topic, or hide it again.

    Raises NotFound for a pool that is not a sample, and unless the viewer organises the task.
    """
    task = policy.own_task(session, viewer, slug)
    pool = find_sample(session, task, number)
    # The state is read again under the lock: of two simultaneous clicks the first one's time is kept.
    lock_row(session, Pool, pool.id)
    if is_shown == (pool.shown_at is not None):
        return
    pool.shown_at = now(session) if is_shown else None
    audit.record(session, viewer, "sample.show" if is_shown else "sample.hide", f"pool:{pool.id}", task=slug)


def find_sample(session: Session, task: Task, number: int) -> Pool:
    """The sample with a number; raises NotFound, also for a pool that is not a sample."""
    pool = pools.find(session, task, number)
    if pool.method.get("name") not in pools.SAMPLES:
        raise NotFound(f"Pool {number} of {task.name} is not a sample of a machine's judgments.", pool=number)
    return pool


def of_task(session: Session, task: Task) -> list[Pool]:
    """All samples of a task except drafts, newest first."""
    rows = session.scalars(
        select(Pool).where(Pool.task_id == task.id, Pool.state != pools.DRAFT).order_by(Pool.number.desc())
    )
    return [pool for pool in rows if pool.method.get("name") in pools.SAMPLES]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleShown:
    """Whether everyone sees the combined board of the sample."""

    shown: Annotated[bool, Field(title="Shown to everyone")]


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplePlan:
    """The part of the machine's judgments for people to judge."""

    share: Annotated[
        float,
        Field(
            title="Share of the machine’s judgments",
            help="Documents of every topic, more likely near the top of the runs: most precise for the "
            "effort. From 5 to 100 percent. nDCG and AP need 20 sampled documents per topic.",
            least=0,
            most=1,
            is_percent=True,
        ),
    ] = 0.2
    topics: Annotated[
        int | None,
        Field(
            title="Topics to judge completely",
            help="Instead of a share: all documents of this number of topics. From 10; measures like RR "
            "need 25.",
        ),
    ] = None
    seed: Annotated[int, Field(title="Random seed", least=0, most=LARGEST_SEED)] = 1
    seconds: Annotated[int, Field(title="Seconds per document", help="Judging time.", most=MOST_SECONDS)] = (
        SECONDS
    )
    note: Annotated[
        str, Field(title="Note", help="Purpose of the sample.", longest=pools.NOTE_CHARACTERS)
    ] = ""


DRAW = Action(
    name="draw_sample",
    summary="Draw a sample of the machine's judgments for people to judge",
    more="Creates a draft pool. A larger sample with the same seed contains the smaller one.",
    path="/tasks/<slug>/samples",
    form="/tasks/<slug>/combined",
    page="combined.show",
    may=pools.coordinated,
    record=SamplePlan,
    act=lambda session, viewer, slug, plan: draw(session, viewer, slug, **fields.values(plan)),
    status=201,
)
SHOW = Action(
    name="show_sample",
    summary="Show the combined board of people and machine to everyone, or to organisers only",
    method="PUT",
    path="/tasks/<slug>/pools/<id:number>/shown",
    form="/tasks/<slug>/pools/<id:number>/shown",
    record=SampleShown,
    act=lambda session, viewer, slug, number, asked: show_sample(session, viewer, slug, number, asked.shown),
    done=lambda asked, _: "shown to everyone" if asked.shown else "shown to organisers only",
)
ACTIONS = (SHOW,)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedSample:
    """A sample of a machine's judgments with the judgments by people so far.

    labels cover the topics of the source: topics whose drawn documents are all judged and, when all of these
    are done, topics without drawn documents. places maps each judgment of the machine's revision to its
    place in them, NOWHERE if it has none. everything covers the topics of the machine's scores: the same, or
    all that the machine judged if complete topics were drawn.
    """

    number: int
    state: str
    shown_at: datetime | None
    is_of_topics: bool
    """Whether complete topics were drawn, not documents of every topic."""
    share: float
    """Share of the documents, or of the topics."""
    seed: int
    revision: int
    machine: str
    documents: int
    """Documents that the machine judged on the topics drawn from."""
    drawn: int
    judged: int
    topics: int
    """Topics of the sample, done or not."""
    source: Source
    everything: Source
    labels: Labels
    places: IntArray

    @property
    def finished(self) -> int:
        """Topics that are done."""
        return len(self.source.topics)

    @property
    def drawn_by_topic(self) -> float:
        """Expected number of drawn documents per topic, over topics done; 0 if none is."""
        return float(self.labels.probability.sum()) / self.finished if self.finished else 0.0

    @property
    def digest(self) -> str:
        """Digest of all labels, probabilities and the order of documents: the cache key of results."""
        labels = self.labels
        parts = (labels.topic, labels.machine, labels.people, labels.probability, self.places)
        return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def judged_sample(session: Session, task: Task, pool: Pool) -> JudgedSample:
    """The current sample of a pool; the caller checks access to the task's judgments."""
    revision = session.get_one(QrelsRevision, pool.revision_id)
    grades = people_grades(session, task, pool)
    counted = previews.titles_of(session, task)
    waiting = {topic for topic, docno in grades.drawn if (topic, docno) not in grades.judged} & counted.keys()
    sampled = {topic for topic, _ in grades.probability if topic in counted}
    drawn = {topic for topic, _ in grades.drawn}
    # A topic without drawn documents is done from the start: included before all others are, it would
    # represent the machine alone.
    ready = drawn - waiting if drawn & waiting else sampled
    source = _source(task, revision, [topic for topic in counted if topic in ready & sampled])
    compiled = compiled_judgments(session, source)
    is_of_topics = pool.method["name"] == pools.SAMPLED_TOPICS
    by_machine = _judged_topics(compiled, revision, counted)
    labels, places = _labels(compiled, source, grades)
    return JudgedSample(
        number=pool.number,
        state=pool.state,
        shown_at=pool.shown_at,
        is_of_topics=is_of_topics,
        share=len(sampled) / max(1, len(by_machine)) if is_of_topics else pool.method["share"],
        seed=pool.seed,
        revision=pool.method["revision"],
        machine=machine_line(session, task).origin_name,
        documents=sum(count for topic, count in by_machine.items() if is_of_topics or topic in sampled),
        drawn=sum(topic in counted for topic, _ in grades.drawn),
        judged=sum(topic in counted for topic, _ in grades.judged),
        topics=len(sampled),
        source=source,
        everything=_source(task, revision, list(by_machine)) if is_of_topics else source,
        labels=labels,
        places=places,
    )


def _source(task: Task, revision: QrelsRevision, topics: Sequence[str]) -> Source:
    """The machine's judgments of some topics."""
    place = {topic: at for at, topic in enumerate(revision.topics)}
    return Source(
        edition_id=0,
        revision_id=revision.id,
        revision_sha256=revision.sha256,
        dialect=task.dialect,
        topic_set="",
        topics=tuple(topics),
        places=tuple(place[topic] for topic in topics),
    )


def _judged_topics(
    compiled: CompiledJudgments, revision: QrelsRevision, counted: Collection[str]
) -> dict[str, int]:
    """Scored topic -> number of documents that the machine judged."""
    grades, place = compiled.judgments.grades, {topic: at for at, topic in enumerate(revision.topics)}
    counts = {
        topic: int(np.count_nonzero(grades[slice(*compiled.judgments.listed(place[topic]))] >= 0))
        for topic in counted
        if topic in place
    }
    return {topic: count for topic, count in counts.items() if count}


# Cached with the grades themselves, so that any new label gives a new key.
@keep
def _labels(compiled: CompiledJudgments, source: Source, grades: SampledGrades) -> tuple[Labels, IntArray]:
    """The labels of the source's topics, and the position of each compiled judgment in them."""
    judgments = compiled.judgments
    places = np.full(len(judgments.grades), NOWHERE, dtype=np.int64)
    rows: list[tuple[int, int, int]] = []
    probability: list[float] = []
    for at, (name, place) in enumerate(zip(source.topics, source.places, strict=True)):
        here = np.arange(*judgments.listed(place))
        for index, docno in zip(here.tolist(), docnos_of(compiled, here), strict=True):
            chance = grades.probability.get((name, docno))
            if chance is not None:
                places[index] = len(rows)
                people = max(grades.judged.get((name, docno), NOT_JUDGED), NOT_JUDGED)
                rows.append((at, int(judgments.grades[index]), people))
                probability.append(chance)
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    labels = Labels(
        topic=columns[0],
        machine=columns[1],
        people=columns[2],
        probability=np.array(probability, dtype=np.float64),
        topics=len(source.topics),
    )
    return labels, places


VERSION = 3
"""Version of the estimates; raising it invalidates cached results."""
MOST_RANKS = 1_000
"""Depth for measures without a cutoff."""
MOST_PLACES = 40_000_000
"""Maximum runs times topics times ranks while a reader waits."""

KEPT = ("combined", "people", "outside", "weight", "placed")
CELLS_AT_ONCE = 2**18
"""Runs times topics times ranks scored together, few enough to stay in the processor's cache."""

ByRankings = Callable[..., FloatArray]
_BY_NAME: Mapping[str, tuple[ByRankings, ByRankings]] = {
    "P": (measures.precision, planning.precision),
    "nDCG": (measures.ndcg, planning.ndcg),
    "DCG": (measures.dcg, planning.dcg),
    "RBP": (measures.rank_biased, planning.rank_biased),
    "RR": (measures.reciprocal_rank, planning.reciprocal_rank),
    "ERR": (measures.expected_reciprocal_rank, planning.expected_reciprocal_rank),
    "AP": (measures.average_precision, planning.average_precision),
}
"""The combined scores, and the weight of each document in them."""
_PLAIN = {"dcg": "log2", "gains": None, "ideal": "judged", "judged_only": False}
"""Parameters that must have these values, because other forms are not implemented."""


@dataclass(frozen=True, slots=True, eq=False)
class CombinedScores:
    """Scores (runs, topics) on the topics done; runs in the requested order.

    outside: (runs,) share of the weight of a run's top outside the machine's pool, where
    nothing was drawn. weight: of each label's document, (labels,), by how near the runs have it to their
    tops. placed: weight of each document judged by people in a run's score, (runs, judged documents).
    rankings_of: positions in the labels of the documents of some runs, (runs,
    topics, ranks); one statement.
    """

    combined: FloatArray
    people: FloatArray
    """Scores from people's sample only: predictions do not depend on the machine."""
    outside: FloatArray
    weight: FloatArray
    placed: FloatArray
    rankings_of: Callable[[Sequence[int]], IntArray]


def can_be_combined(bound: BoundMeasure) -> bool:
    """Whether scores of the measure can be estimated from a sample."""
    given = {name: value for name, value in bound.params.items() if name in _PLAIN}
    return bound.measure.name in _BY_NAME and all(_PLAIN[name] == value for name, value in given.items())


def depth_of(bound: BoundMeasure) -> int:
    """Number of ranks that the measure uses."""
    cutoff = bound.params.get("cutoff")
    return cutoff if isinstance(cutoff, int) else MOST_RANKS


def top_of(bound: BoundMeasure) -> int:
    """Top ranks that must be in the pool, except for a small share, for a run to be ranked."""
    cutoff = bound.params.get("cutoff")
    return cutoff if isinstance(cutoff, int) else DEPTH


def combined_scores(
    session: Session, sample: JudgedSample, bound: BoundMeasure, runs: Sequence[tuple[int, str]]
) -> CombinedScores:
    """The scores of runs, given as id and digest of their rankings; at most two statements.

    Cached in memory under everything they depend on.
    """
    run_ids = [run_id for run_id, _ in runs]
    digests = ",".join(digest for _, digest in runs)
    facts = sample.digest, bound.key, bound.measure.version
    key = run_digest("combined", VERSION, sample.source, digests, *facts)
    kept = requests.kept.get(key)
    if kept is None:
        kept = requests.kept.put(key, _computed(session, sample, bound, run_ids))

    def rankings_of(places: Sequence[int]) -> IntArray:
        chosen = [run_ids[place] for place in places]
        aligned = alignments(session, sample.source, chosen).values()
        return _rankings(sample, list(aligned), _depth(bound))

    combined, people, outside, weight, placed = (kept[name].astype(np.float64, copy=False) for name in KEPT)
    return CombinedScores(combined, people, outside, weight, placed, rankings_of)


def worth_of(bound: BoundMeasure) -> ValueOf:
    """The value of a grade in a combinable measure: its gain, or 1 if it is relevant."""
    level, highest = bound.params.get("rel", 1), bound.params.get("max_rel")
    if isinstance(highest, int):
        return chance_of(highest)
    if bound.measure.name in ("nDCG", "DCG"):
        return gain_of
    return relevant_from(level if isinstance(level, int) else 1)


def _depth(bound: BoundMeasure) -> int:
    """Number of ranks used of every run."""
    return max(depth_of(bound), DEPTH)


def _computed(session: Session, sample: JudgedSample, bound: BoundMeasure, run_ids: Sequence[int]) -> Arrays:
    """Cached arrays by their names in `CombinedScores`."""
    blind = replace(sample.labels, machine=np.zeros_like(sample.labels.machine))
    seen = alignments(session, sample.source, run_ids)
    depth, top = _depth(bound), top_of(bound)
    step = max(1, CELLS_AT_ONCE // max(1, len(sample.source.topics) * depth))
    combined, people, outside, placed = [], [], [], []
    weight = np.zeros(len(sample.labels.people))
    for start in range(0, len(run_ids), step):
        judged = [seen[run_id] for run_id in run_ids[start : start + step]]
        rankings = _rankings(sample, judged, depth)
        combined.append(_scores(sample.labels, rankings, bound))
        people.append(_scores(blind, rankings, bound))
        placed.append(_placed(sample.labels, rankings, bound))
        outside += [
            _outside(run, sample.source.places, places[:, :top])
            for run, places in zip(judged, rankings, strict=True)
        ]
        _add_weight(weight, rankings[:, :, :DEPTH])
    arrays = (
        np.concatenate(combined),
        np.concatenate(people),
        np.array(outside),
        weight,
        np.concatenate(placed),
    )
    return dict(zip(KEPT, arrays, strict=True))


def _add_weight(weight: FloatArray, rankings: IntArray) -> None:
    """Add the discount of its rank to each document that the rankings hold."""
    is_ranked = rankings != NOWHERE
    np.add.at(
        weight, rankings[is_ranked], np.broadcast_to(discounts(rankings.shape[-1]), rankings.shape)[is_ranked]
    )


def _scores(labels: Labels, rankings: IntArray, bound: BoundMeasure) -> FloatArray:
    rectify, _ = _BY_NAME[bound.measure.name]
    return rectify(labels, rankings, **_given(bound, rankings))


def _given(bound: BoundMeasure, rankings: IntArray) -> dict[str, object]:
    """The measure's parameters; without a cutoff it covers all ranks."""
    given: dict[str, object] = {name: value for name, value in bound.params.items() if name not in _PLAIN}
    if given.get("cutoff", 0) is None:
        given["cutoff"] = rankings.shape[-1]
    return given


def _placed(labels: Labels, rankings: IntArray, bound: BoundMeasure) -> FloatArray:
    """Weight of each judged document in each run's score, (runs, judged documents)."""
    _, weigh = _BY_NAME[bound.measure.name]
    return on_judged(labels, rankings, weigh(labels, rankings, **_given(bound, rankings)))


def _rankings(sample: JudgedSample, runs: Sequence[Judged], depth: int) -> IntArray:
    """Positions in the labels of the runs' documents, (runs, topics, depth)."""
    source = sample.source
    column = np.full(int(max(source.places, default=-1)) + 2, -1, dtype=np.int64)
    column[list(source.places)] = np.arange(len(source.places))
    rankings = np.full((len(runs), len(source.topics), depth), NOWHERE, dtype=np.int64)
    for judged, places in zip(runs, rankings, strict=True):
        _place(sample, judged, column, places)
    return rankings


def _place(sample: JudgedSample, judged: Judged, column: IntArray, rankings: IntArray) -> None:
    """Write the positions of a run's documents into its rankings, (topics, ranks)."""
    topic = column[np.minimum(judged.topic, len(column) - 1)]
    chosen = (topic >= 0) & (judged.rank <= rankings.shape[-1])
    rankings[topic[chosen], judged.rank[chosen] - 1] = sample.places[judged.document[chosen]]


def _outside(judged: Judged, places: Sequence[int], rankings: IntArray) -> float:
    """The share of the weight of rankings, (topics, ranks), outside of the pool, the mean over topics."""
    top = rankings.shape[1]
    weight = discounts(top)
    retrieved = np.arange(top) < np.minimum(judged.retrieved[list(places)], top)[:, None]
    lost = retrieved & (rankings == NOWHERE)
    whole = retrieved @ weight
    shares = np.zeros(len(whole))
    np.divide(lost @ weight, whole, out=shares, where=whole > 0)
    return float(shares.mean()) if len(shares) else 0.0
