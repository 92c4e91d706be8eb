"""A pool before it is made: its documents by topic, what judging them takes, and who brings what."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated

import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Task, Topic
from leaderboard.errors import Conflict, Invalid
from leaderboard.measures.judged import UNJUDGED
from leaderboard.pooling.audit import holders
from leaderboard.pooling.bound import BoundMethod
from leaderboard.pooling.candidates import IntArray
from leaderboard.pooling.methods import Pooled, pool
from leaderboard.services import kinds, policy
from leaderboard.services.answers import cited
from leaderboard.services.policy import Viewer
from leaderboard.services.pools import plans
from leaderboard.services.pools.documents import PoolDocument
from leaderboard.services.pools.plans import Plan, PooledRun
from leaderboard.services.qrels import files, left_out, lines
from leaderboard.services.rankings import tops as pool_rankings
from leaderboard.services.rankings.tops import TopicTops
from leaderboard.tables.record import Place, Shown
from leaderboard.trec.qrels.packed_judgments import unpack_judgments
from leaderboard.trec.qrels.remaining import DocumentsByTopic

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class TopicPool:
    """One topic's pool: documents are places in the tops' docnos, in judging order."""

    topic_id: str
    title: str
    tops: TopicTops
    pooled: Pooled
    grades: Mapping[int, int]
    """Place -> grade of documents whose judgments are used again."""
    budget: int | None
    """Of an adaptive method: how many documents are judged at most."""
    strata: tuple[str, ...]
    """What the strata are called."""

    @property
    def documents(self) -> int:
        """How many documents it has; of an adaptive method as many as it may come to judge."""
        count = len(self.pooled.documents)
        return count if self.budget is None else min(count, self.budget)

    @property
    def reused(self) -> int:
        """How many of its documents are judged already."""
        count = sum(place in self.grades for place in self.pooled.documents.tolist())
        return min(count, self.documents)

    @property
    def to_judge(self) -> int:
        """How many are still to be judged."""
        return self.documents - self.reused

    @property
    def entries(self) -> int:
        """How many places in rankings its candidates were taken from."""
        return sum(map(len, self.tops.rankings))

    def rows(self) -> list[PoolDocument]:
        """Its documents as they are stored; those of a sample that were not drawn come last, as unjudged."""
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
    reused: Annotated[int, Shown("Judged already")]
    to_judge: int
    undrawn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Contribution:
    """What a run, or a team, brings: documents of the pool, and those that no other has."""

    name: Annotated[str, Shown(key="run")]
    team: Annotated[str, Shown(shown=~Place.PAGE)]
    run_id: int
    runs: int
    documents: int
    alone: int


@dataclass(frozen=True, eq=False)
class Preview:
    """A pool that could be made; pools are its topics' documents."""

    task: str
    slug: str
    task_id: int
    plan: Plan
    method: BoundMethod
    runs: tuple[PooledRun, ...]
    pools: tuple[TopicPool, ...]
    topics: tuple[TopicShare, ...]
    by_run: tuple[Contribution, ...]
    by_team: tuple[Contribution, ...]
    entries: int
    """Places in the tops of rankings, each document as often as it was retrieved."""
    candidates: int
    """Documents these places hold, each once a topic."""
    revision: int | None
    """Number of the newest revision of the judgments, None where there is none."""
    revision_id: int | None

    @property
    def documents(self) -> int:
        """Documents over all topics."""
        return sum(topic.documents for topic in self.topics)

    @property
    def reused(self) -> int:
        """Documents that are judged already."""
        return sum(topic.reused for topic in self.topics)

    @property
    def to_judge(self) -> int:
        """Documents still to be judged."""
        return self.documents - self.reused

    @property
    def undrawn(self) -> int:
        """Documents of the strata that were not drawn."""
        return sum(topic.undrawn for topic in self.topics)

    @property
    def hours(self) -> float:
        """Of one person."""
        return self.plan.hours(self.to_judge)

    @property
    def middle(self) -> float:
        """The median number of documents a topic."""
        return median(topic.documents for topic in self.topics)


def preview(session: Session, viewer: Viewer, slug: str, plan: Plan) -> Preview:
    """The pool of a plan; nothing is stored.

    The tops of all runs are read once. Raises NotFound, SignInNeeded or Forbidden unless the viewer organises
    the task, Invalid for a plan that cannot be carried out, Conflict where there are no runs or topics.
    """
    task = policy.own_task(session, viewer, slug, policy.knows)
    if not kinds.of(task.kind).pooled:
        raise Conflict(f"{task.name} takes {task.kind}; a pool is made of rankings or answers.")
    plans.check(plan)
    runs = plans.pooled_runs(plan, plans.candidates(session, viewer, task))
    bound = plans.bound(plan, runs)
    plans.require_fitting(task, bound)
    titles = titles_of(session, task)
    if not titles:
        raise Conflict(f"{task.name} has no topics to be judged.")
    # Judgments of answers say nothing of documents by themselves.
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
    return cited.read_cited(session, run_ids, topics, bound)


def titles_of(session: Session, task: Task) -> dict[str, str]:
    """Topic id -> title of the topics that are judged: all of the task that are not left out of the means."""
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
        raise Invalid(plans.sentence(error)) from None
    budget = bound.budget if bound.adaptive else None
    judged = pool_rankings.judged_places(tops, grades)
    return TopicPool(
        topic_id=topic_id,
        title=title,
        tops=tops,
        pooled=pooled,
        grades=judged,
        budget=budget,
        strata=plans.strata(bound),
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
    """What every run and every team brings into the pool, the runs in stored order, teams by name."""
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
    """How many pooled documents each team has in any of its runs."""
    count = len(of_topic.tops.docnos)
    pairs = np.concatenate(
        [at * count + ranking for at, ranking in zip(team.tolist(), of_topic.tops.rankings, strict=True)]
    )
    present = (np.bincount(pairs, minlength=size * count) > 0).reshape(size, count)
    documents: IntArray = (present & pooled).sum(axis=1)
    return documents
