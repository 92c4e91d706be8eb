"""Preview of a pool: its documents by topic, the judging effort, and the contributions of runs and teams.

Layout, little-endian, one zstd frame behind a magic word that carries the version: numbers of documents
and of strata (uint32 each); priority and inclusion probability (float64 each), grade and whether there is
one (int32, uint8), stratum (uint32), byte length of the docno (uint16) by document; byte length of each
stratum's name (uint16); docnos joined; strata joined.
"""

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy import typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard import fields
from leaderboard.answers.ops import answers
from leaderboard.checksums import compressed, plain_bytes
from leaderboard.core import kinds, policy, shown_names
from leaderboard.core.policy import Viewer
from leaderboard.db.tables import Run, Task, Topic
from leaderboard.errors import Conflict, Invalid
from leaderboard.fields import Field
from leaderboard.measures.judged import UNJUDGED
from leaderboard.pooling.audit import holders
from leaderboard.pooling.bound import BoundMethod
from leaderboard.pooling.candidates import IntArray
from leaderboard.pooling.methods import BoundMethod as MethodsBoundMethod
from leaderboard.pooling.methods import Pooled, chosen_runs, method, pool
from leaderboard.scoring.ops import rankings as pool_rankings
from leaderboard.scoring.ops import run_facts
from leaderboard.scoring.ops.qrels import files, left_out, lines
from leaderboard.scoring.ops.rankings import TopicTops
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.qrels.align import DocumentsByTopic
from leaderboard.trec.qrels.packed import unpack_judgments
from leaderboard.trec.read.lines import bytes_of, text_of

OFFICIAL, ALL, CHOSEN = "official", "all", "chosen"
WHICH = {OFFICIAL: "All official runs", ALL: "All runs", CHOSEN: "Runs chosen below"}
SECONDS, MOST_SECONDS = 30, 3600
LARGEST_SEED = 2**31 - 1
MOST_PER_TEAM = 1000


Values = Mapping[str, str | int | float]


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """A plan for a pool: what it selects from which runs, and how that is judged."""

    method: Annotated[
        Values | None,
        Field(
            title="Method",
            help="`name` and parameters of the pooling method; null for the default.",
            is_of_api=True,
        ),
    ] = None
    then: Annotated[
        Values | None,
        Field(title="Second stage", help="The second stage of a staged pool; null for none.", is_of_api=True),
    ] = None
    runs: Annotated[
        str, Field(title="Runs to pool", help="official, all, or chosen (those of `chosen`).", choices=WHICH)
    ] = OFFICIAL
    chosen: Annotated[
        tuple[int, ...], Field(title="Runs", help="The numbers of the runs to pool, if runs is `chosen`.")
    ] = ()
    primary_first: Annotated[
        bool,
        Field(
            title="Teams’ primary runs first",
            help="Whether they come first; the order breaks ties, and of each team the first runs are kept.",
        ),
    ] = False
    cap: Annotated[
        int | None, Field(title="Maximum runs per team", help="No limit if empty.", most=MOST_PER_TEAM)
    ] = None
    reuse: Annotated[
        bool,
        Field(
            title="Reuse",
            help="Whether to reuse judgments instead of judging documents again.",
            option="reuse/--anew",
        ),
    ] = True
    seed: Annotated[
        int, Field(title="Seed", help="The same seed draws the same documents.", least=0, most=LARGEST_SEED)
    ] = 1
    seconds: Annotated[
        int, Field(title="Seconds per document", help="To estimate the effort.", most=MOST_SECONDS)
    ] = SECONDS
    overlap: Annotated[
        float,
        Field(
            title="Share judged by two assessors",
            help="From 0 to 1; only estimates hours: the overlap itself is set when topics are assigned. "
            "0.1 to 0.2 shows how well assessors agree.",
            least=0,
            most=1,
        ),
    ] = 0.0
    note: Annotated[str, Field(title="Note", help="Purpose of the pool.")] = ""

    def spec(self, usual: Mapping[str, Any]) -> dict[str, Any]:
        """The method as pooling.methods accepts it; `usual` if it has none."""
        then = {} if self.then is None else {"then": dict(self.then)}
        return {**(usual if self.method is None else self.method), **then}

    def hours(self, documents: int) -> float:
        """Hours for one person to judge n documents, with the overlap counted twice.

        >>> PoolPlan(seconds=30, overlap=0.2).hours(1200)
        12.0
        """
        return documents * (1.0 + self.overlap) * self.seconds / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledRun(RunName):
    """A run to pool."""

    team_id: int
    primary: bool
    ranking_sha256: str


def require_fitting(task: Task, bound: MethodsBoundMethod) -> None:
    """Raise Conflict if a method does not suit the task's kind of runs."""
    kind = kinds.of(task.kind)
    if bound.method.name not in kind.pool_methods:
        raise Conflict(
            f"{task.name} takes {task.kind}, so its pools are made from {kind.pooled}. "
            f"Choose {' or '.join(kind.pool_methods)}."
        )


def check_plan(plan: PoolPlan) -> None:
    """Raise Invalid naming each field that is out of range."""
    fields.read(PoolPlan, fields.values(plan))


def candidates(session: Session, viewer: Viewer, task: Task) -> tuple[PooledRun, ...]:
    """The task's runs available for pooling, in stored order; excludes withdrawn ones."""
    rows = session.execute(
        select(Run.id, Run.name, Run.team_id, Run.kind, Run.ranking_sha256)
        .where(Run.task_id == task.id, Run.withdrawn_at.is_(None))
        .order_by(Run.id)
    ).all()
    primary, names = run_facts.marked_runs(session, task), shown_names.shown_names(session, viewer, task)
    return tuple(
        PooledRun(
            run_id=row.id,
            name=names.run(row.id, row.name),
            team_id=row.team_id,
            team=names.team(row.team_id),
            kind=row.kind,
            primary=row.id in primary,
            ranking_sha256=row.ranking_sha256,
        )
        for row in rows
    )


def pooled_runs(plan: PoolPlan, offered: Sequence[PooledRun]) -> tuple[PooledRun, ...]:
    """The runs of the plan in tie-breaking order.

    Raises Invalid if a chosen run is not available, Conflict if none is left.
    """
    run_ids = {run.run_id for run in offered}
    if plan.runs == CHOSEN and (lost := set(plan.chosen) - run_ids):
        raise Invalid(f"Run {', '.join(map(str, sorted(lost)))} is not available for pooling.")
    chosen = [
        run
        for run in offered
        if plan.runs == ALL
        or (plan.runs == OFFICIAL and run.kind == "official")
        or (plan.runs == CHOSEN and run.run_id in plan.chosen)
    ]
    if not chosen:
        what = "Choose at least one run." if plan.runs == CHOSEN else "There are no runs to pool yet."
        raise Conflict(what)
    primary = [run.primary for run in chosen] if plan.primary_first else ()
    order = chosen_runs([run.team_id for run in chosen], primary=primary, cap=plan.cap)
    return tuple(chosen[place] for place in order)


def bound_plan(spec: dict[str, Any], runs: Sequence[PooledRun]) -> MethodsBoundMethod:
    """The method of a spec; without priorities of runs, teams' primary runs come first.

    Raises Invalid with a sentence on the allowed values.
    """
    if spec.get("name") == "priority" and not spec.get("priorities"):
        spec["priorities"] = [1 if run.primary else 2 for run in runs]
    try:
        return method(spec)
    except ValueError as error:
        raise Invalid(sentence(error)) from None


def strata(method_: MethodsBoundMethod) -> tuple[str, ...]:
    """Names of the strata of a pool: its stages, the numbers of a sample, or an empty name for a single one.

    >>> strata(method({"name": "staged", "then": {"name": "rrf"}})), strata(method({"name": "rrf"}))
    (('depth', 'rrf'), ('',))
    """
    last = method_.last
    drawn: Any = last.values["strata"] if last.samples else ()
    own = tuple(str(number) for number, _ in enumerate(drawn, start=1)) or (
        (last.method.name,) if method_.then else ("",)
    )
    return ("depth", *own) if method_.then else own


def sentence(error: ValueError) -> str:
    """An error about a spec as a sentence.

    >>> sentence(ValueError("a budget is a whole number"))
    'A budget is a whole number.'
    """
    text = str(error)
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


_MAGIC = b"LBP1"
_HEAD = struct.Struct("<II")
_REAL, _GRADE, _FLAG = np.dtype("<f8"), np.dtype("<i4"), np.dtype("u1")
_NUMBER, _LENGTH = np.dtype("<u4"), np.dtype("<u2")
_LEVEL = 3


class PoolDocument(NamedTuple):
    """A document to judge for a topic."""

    docno: Annotated[str, Shown("Document")]
    priority: float = 0.0
    """Higher is judged sooner when assessors judge by score."""
    stratum: str = ""
    """Short name of its stratum; empty if nothing was drawn."""
    probability: float = 1.0
    """Inclusion probability."""
    grade: Annotated[int | None, Shown("Reused judgment", digits=None)] = None
    """Grade of a reused judgment; None if it is to be judged."""


def pack(rows: Iterable[PoolDocument]) -> bytes:
    """Pack a topic's documents, in judging order, as bytes.

    >>> unpack(pack([PoolDocument("d1", 2.5, "top"), PoolDocument("d2", grade=1)]))[1].grade
    1
    """
    documents = tuple(rows)
    strata = sorted({document.stratum for document in documents})
    place = {name: index for index, name in enumerate(strata)}
    docnos, names = [bytes_of(document.docno) for document in documents], [bytes_of(name) for name in strata]
    columns = (
        np.array([document.priority for document in documents], _REAL),
        np.array([document.probability for document in documents], _REAL),
        np.array([document.grade or 0 for document in documents], _GRADE),
        np.array([document.grade is not None for document in documents], _FLAG),
        np.array([place[document.stratum] for document in documents], _NUMBER),
        np.array([len(docno) for docno in docnos], _LENGTH),
        np.array([len(name) for name in names], _LENGTH),
    )
    head = _HEAD.pack(len(documents), len(strata))
    plain = b"".join((head, *(column.tobytes() for column in columns), *docnos, *names))
    return compressed(_MAGIC, plain, _LEVEL)


def unpack(body: bytes) -> tuple[PoolDocument, ...]:
    """Unpack the documents that `pack` wrote, in their order; raises Damaged for other bytes."""
    plain = plain_bytes(_MAGIC, body, "documents of a pool")
    count, strata = _HEAD.unpack_from(plain)
    columns, start = [], _HEAD.size
    for kind in (_REAL, _REAL, _GRADE, _FLAG, _NUMBER, _LENGTH):
        columns.append(np.frombuffer(plain, kind, count, start).tolist())
        start += kind.itemsize * count
    priority, probability, grade, judged, stratum, lengths = columns
    widths = np.frombuffer(plain, _LENGTH, strata, start).tolist()
    start += _LENGTH.itemsize * strata
    docnos = _texts(plain, start, lengths)
    names = _texts(plain, start + sum(lengths), widths)
    grades = (value if is_judged else None for value, is_judged in zip(grade, judged, strict=True))
    return tuple(
        map(
            PoolDocument._make,
            zip(docnos, priority, (names[number] for number in stratum), probability, grades, strict=True),
        )
    )


def _texts(plain: bytes, start: int, lengths: list[int]) -> list[str]:
    texts = []
    for length in lengths:
        texts.append(text_of(plain[start : start + length]))
        start += length
    return texts


BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TopicPool:
    """One topic's pool: documents are positions in the tops' docnos, in judging order."""

    topic_id: str
    title: str
    tops: TopicTops
    pooled: Pooled
    grades: Mapping[int, int]
    """Position -> grade of documents with reused judgments."""
    budget: int | None
    """Maximum number of judged documents, for an adaptive method."""
    strata: tuple[str, ...]
    """Names of the strata."""

    @property
    def documents(self) -> int:
        """Number of documents; for an adaptive method, the maximum to judge."""
        count = len(self.pooled.documents)
        return count if self.budget is None else min(count, self.budget)

    @property
    def reused(self) -> int:
        """Number of documents already judged."""
        count = sum(place in self.grades for place in self.pooled.documents.tolist())
        return min(count, self.documents)

    @property
    def to_judge(self) -> int:
        """Number of documents still to judge."""
        return self.documents - self.reused

    @property
    def entries(self) -> int:
        """Number of entries in rankings behind the candidates."""
        return sum(map(len, self.tops.rankings))

    def rows(self) -> list[PoolDocument]:
        """Its documents in storage format; undrawn ones of a sample come last, as unjudged."""
        pooled = self.pooled
        columns = (pooled.documents, pooled.priority, pooled.stratum, pooled.probability)
        rows = [
            PoolDocument(
                self.tops.docno(place), priority, self.strata[stratum], chance, self.grades.get(place)
            )
            for place, priority, stratum, chance in zip(*(values.tolist() for values in columns), strict=True)
        ]
        chances = dict(zip(pooled.stratum.tolist(), pooled.probability.tolist(), strict=True))
        passed = zip(pooled.passed.tolist(), pooled.passed_stratum.tolist(), strict=True)
        return rows + [
            PoolDocument(
                self.tops.docno(place), 0.0, self.strata[stratum], chances.get(stratum, 1.0), UNJUDGED
            )
            for place, stratum in passed
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicShare:
    """A topic's numbers."""

    topic_id: Annotated[str, Shown(key="topic")]
    title: str
    candidates: int
    documents: int
    reused: Annotated[int, Shown("Already judged")]
    to_judge: int
    undrawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """The contribution of a run or team: documents in the pool, and those that no other has."""

    name: Annotated[str, Shown(key="run")]
    team: Annotated[str, Shown(shown=~Place.PAGE)]
    run_id: int
    runs: int
    documents: int
    alone: int


@dataclass(frozen=True, eq=False)
class Preview:
    """A pool preview; pools are its topics' documents."""

    task: str
    slug: str
    task_id: int
    plan: PoolPlan
    method: BoundMethod
    runs: tuple[PooledRun, ...]
    pools: tuple[TopicPool, ...]
    topics: tuple[TopicShare, ...]
    by_run: tuple[Contribution, ...]
    by_team: tuple[Contribution, ...]
    entries: int
    """Entries in the tops of rankings, counting repeated documents."""
    candidates: int
    """Distinct documents of these entries, each once per topic."""
    revision: int | None
    """Number of the newest revision of the judgments, None if absent."""
    revision_id: int | None

    @property
    def documents(self) -> int:
        """Documents over all topics."""
        return sum(topic.documents for topic in self.topics)

    @property
    def reused(self) -> int:
        """Documents already judged."""
        return sum(topic.reused for topic in self.topics)

    @property
    def to_judge(self) -> int:
        """Documents still to judge."""
        return self.documents - self.reused

    @property
    def undrawn(self) -> int:
        """Documents in the strata that were not drawn."""
        return sum(topic.undrawn for topic in self.topics)

    @property
    def hours(self) -> float:
        """Hours for one person."""
        return self.plan.hours(self.to_judge)

    @property
    def middle(self) -> float:
        """Median number of documents per topic."""
        return median(topic.documents for topic in self.topics)


def preview(session: Session, viewer: Viewer, slug: str, plan: PoolPlan) -> Preview:
    """Preview the pool of a plan; stores nothing.

    Reads the tops of all runs once. Raises NotFound, SignInNeeded or Forbidden unless the viewer organises
    the task, Invalid for an invalid plan, Conflict without runs or topics.
    """
    task = policy.own_task(session, viewer, slug, policy.knows)
    if not kinds.of(task.kind).pooled:
        raise Conflict(f"{task.name} takes {task.kind}; pools are made from rankings or answers.")
    check_plan(plan)
    runs = pooled_runs(plan, candidates(session, viewer, task))
    bound = bound_plan(plan.spec(kinds.of(task.kind).usual_pool), runs)
    require_fitting(task, bound)
    titles = titles_of(session, task)
    if not titles:
        raise Conflict(f"{task.name} has no topics to judge.")
    # Judgments of answers do not grade documents by themselves.
    revision = files.newest(session, task.id) if kinds.of(task.kind).ranks_documents else None
    judged = unpack_judgments(revision.packed) if revision is not None and plan.reuse else {}
    gone = left_out.index(left_out.of_revision(revision).by_topic)
    tops = _tops(session, task, runs, bound, list(titles), (lines.distractors_of(revision), gone))
    pools = tuple(
        _topic_pool(bound, topic_id, title, tops[topic_id], judged.get(topic_id, {}), plan.seed)
        for topic_id, title in titles.items()
    )
    by_run, by_team = _contributions(runs, pools)
    return Preview(
        task=task.name,
        slug=slug,
        task_id=task.id,
        plan=plan,
        method=bound,
        runs=runs,
        pools=pools,
        topics=tuple(_share(of_topic) for of_topic in pools),
        by_run=by_run,
        by_team=by_team,
        entries=sum(of_topic.entries for of_topic in pools),
        candidates=sum(len(of_topic.tops.docnos) for of_topic in pools),
        revision=revision.number if revision is not None else None,
        revision_id=revision.id if revision is not None else None,
    )


def _tops(
    session: Session,
    task: Task,
    runs: Sequence[PooledRun],
    bound: BoundMethod,
    topics: Sequence[str],
    others: tuple[Collection[bytes], DocumentsByTopic | None],
) -> dict[str, TopicTops]:
    run_ids = [run.run_id for run in runs]
    if not bound.method.of_answers:
        return pool_rankings.read_tops(session, run_ids, topics, bound.reach, task.dialect, *others)
    return answers.read_cited(session, run_ids, topics, bound)


def titles_of(session: Session, task: Task) -> dict[str, str]:
    """Topic id -> title of the topics to judge: all of the task that are not left out of the means."""
    rows = session.execute(
        select(Topic.topic_id, Topic.title)
        .where(Topic.task_id == task.id, Topic.excluded == "")
        .order_by(Topic.position)
    )
    return {row.topic_id: row.title for row in rows}


def _topic_pool(
    bound: BoundMethod, topic_id: str, title: str, tops: TopicTops, grades: Mapping[bytes, int], seed: int
) -> TopicPool:
    try:
        pooled = pool(
            bound,
            tops.rankings,
            seed=pool_rankings.topic_seed(seed, topic_id),
            scores=tops.scores if bound.needs_scores else None,
        )
    except ValueError as error:
        raise Invalid(sentence(error)) from None
    budget = bound.budget if bound.adaptive else None
    judged = pool_rankings.judged_places(tops, grades)
    return TopicPool(
        topic_id=topic_id,
        title=title,
        tops=tops,
        pooled=pooled,
        grades=judged,
        budget=budget,
        strata=strata(bound),
    )


def _share(of_topic: TopicPool) -> TopicShare:
    return TopicShare(
        topic_id=of_topic.topic_id,
        title=of_topic.title,
        candidates=len(of_topic.tops.docnos),
        documents=of_topic.documents,
        reused=of_topic.reused,
        to_judge=of_topic.to_judge,
        undrawn=len(of_topic.pooled.passed),
    )


def _contributions(
    runs: Sequence[PooledRun], pools: Sequence[TopicPool]
) -> tuple[tuple[Contribution, ...], tuple[Contribution, ...]]:
    """The contribution of every run and team to the pool, runs in stored order, teams by name."""
    team_ids = sorted({run.team_id for run in runs})
    team = np.searchsorted(team_ids, [run.team_id for run in runs])
    own = np.arange(len(runs))
    documents, alone = np.zeros(len(runs), np.int64), np.zeros(len(runs), np.int64)
    of_teams, teams_alone = np.zeros(len(team_ids), np.int64), np.zeros(len(team_ids), np.int64)
    for of_topic in pools:
        pooled = np.zeros(len(of_topic.tops.docnos), np.bool_)
        pooled[of_topic.pooled.documents] = True
        documents += [int(pooled[ranking].sum()) for ranking in of_topic.tops.rankings]
        alone += _alone(of_topic, own, pooled, len(runs))
        teams_alone += _alone(of_topic, team, pooled, len(team_ids))
        of_teams += _of_teams(of_topic, team, pooled, len(team_ids))
    by_run = tuple(
        Contribution(
            name=run.name,
            team=run.team,
            run_id=run.run_id,
            runs=1,
            documents=int(documents[at]),
            alone=int(alone[at]),
        )
        for at, run in enumerate(runs)
    )
    names = {run.team_id: run.team for run in runs}
    sizes = np.bincount(team, minlength=len(team_ids))
    by_team = (
        Contribution(
            name=names[team_id],
            team=names[team_id],
            run_id=0,
            runs=int(sizes[at]),
            documents=int(of_teams[at]),
            alone=int(teams_alone[at]),
        )
        for at, team_id in enumerate(team_ids)
    )
    return by_run, tuple(sorted(by_team, key=lambda row: row.team))


def _alone(of_topic: TopicPool, groups: IntArray, pooled: BoolArray, size: int) -> IntArray:
    holder = holders(of_topic.tops.rankings, groups, len(of_topic.tops.docnos))[pooled]
    return np.bincount(holder[holder >= 0], minlength=size)


def _of_teams(of_topic: TopicPool, team: IntArray, pooled: BoolArray, size: int) -> IntArray:
    """Number of pooled documents in any run of each team."""
    count = len(of_topic.tops.docnos)
    pairs = np.concatenate(
        [at * count + ranking for at, ranking in zip(team.tolist(), of_topic.tops.rankings, strict=True)]
    )
    present = (np.bincount(pairs, minlength=size * count) > 0).reshape(size, count)
    documents: IntArray = (present & pooled).sum(axis=1)
    return documents
