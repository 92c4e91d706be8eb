"""Comparisons needed by a board but too slow for a page, queued in advance.

Pages with many pairs would be too slow, so evaluators compute the comparisons of a task's reproductions as
soon as they are named. A page computes missing comparisons itself if that is fast.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.core import kinds, phase_rules
from leaderboard.core.jobs import queue
from leaderboard.core.phase_rules import PhaseRule
from leaderboard.db.engine import lock_key
from leaderboard.db.tables import Edition, Job, QrelsRevision, Reproduction, Run, Statistic, Task
from leaderboard.measures.naming import parse
from leaderboard.measures.record import refusal
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.evaluations import shown
from leaderboard.scoring.ops.evaluations.shown import (
    Source,
    means,
    ranking_key,
    scored_runs,
    source_of,
    whole_editions,
)
from leaderboard.scoring.ops.scored_topics import RANKED_KIND, not_chosen
from leaderboard.scoring.ops.statistics import requests
from leaderboard.scoring.ops.statistics.procedures import document_orders, field_leaders
from leaderboard.scoring.ops.statistics.requests import Request, WaitingResult
from leaderboard.stats.arrays import Arrays, unpack
from leaderboard.stats.reproductions.documents import DocumentOrder


@dataclass(frozen=True, slots=True)
class AskedOrder:
    """An original and its reproduction, compared by document order; seconds: estimated time."""

    request: Request
    seconds: float


def asked_order(source: Source, original: Any, reproduction: Any) -> AskedOrder:
    """The request for an original and its reproduction: runs, or rows with number, digest and topics.

    It does not depend on judgments, so it is valid for every revision and measure.
    """
    request = Request(
        procedure=document_orders.PROCEDURE,
        method="",
        source=replace(source, revision_sha256="", topics=(), places=()),
        measure="",
        measure_version=0,
        run_ids=(original.run_id, reproduction.run_id),
        rankings=(original.ranking_sha256, reproduction.ranking_sha256),
    )
    return AskedOrder(request, document_orders.seconds(max(original.topics, reproduction.topics)))


def known_orders(
    session: Session, asked: Sequence[AskedOrder]
) -> Mapping[str, DocumentOrder | WaitingResult]:
    """Digest -> order of documents or waiting result; one statement for those not cached.

    Missing ones are computed immediately in the requested order, if fast.
    """
    computed = _found(session, [order.request.digest for order in asked])
    waiting: dict[str, WaitingResult] = {}
    left = requests.AT_ONCE_S
    for order in asked:
        if order.request.digest in computed:
            continue
        left -= order.seconds
        if left < 0:
            waiting[order.request.digest] = WaitingResult(order.request, "absent")
        else:
            computed[order.request.digest] = _computed(session, order.request)
    return {**{digest: document_orders.of_arrays(arrays) for digest, arrays in computed.items()}, **waiting}


def needed_orders(session: Session, task_id: int, source: Source) -> list[Request]:
    """Comparisons of a task's reproductions that are too slow for a page."""
    named = session.execute(
        select(
            Reproduction.original_id,
            Reproduction.run_id,
            Reproduction.original_baseline_id,
            Reproduction.baseline_id,
        )
        .join(Run, Run.id == Reproduction.run_id)
        .where(Run.task_id == task_id)
        .order_by(Reproduction.run_id)
    ).all()
    if not named:
        return []
    ids = {run_id for row in named for run_id in row if run_id is not None}
    chosen = select(Run.id.label("run_id"), Run.ranking_sha256, Run.topics)
    there = chosen.where(Run.id.in_(ids), Run.task_id == task_id, Run.withdrawn_at.is_(None))
    runs = {row.run_id: row for row in session.execute(there)}
    pairs = [pair for row in named for pair in (row[:2], row[2:]) if runs.keys() >= set(pair)]
    asked = [asked_order(source, *(runs[run_id] for run_id in pair)) for pair in pairs]
    distinct = {order.request.digest: order for order in asked}
    if sum(order.seconds for order in distinct.values()) <= requests.AT_ONCE_S:
        return []
    return [order.request for order in distinct.values()]


def _found(session: Session, digests: Sequence[str]) -> dict[str, Arrays]:
    in_memory = {digest: requests.kept.get(digest) for digest in digests}
    results = {digest: arrays for digest, arrays in in_memory.items() if arrays is not None}
    return results | _stored(session, [digest for digest in in_memory if digest not in results])


def _stored(session: Session, digests: Sequence[str]) -> dict[str, Arrays]:
    if not digests:
        return {}
    rows = session.execute(
        select(Statistic.digest, Statistic.result).where(
            Statistic.digest.in_(digests), Statistic.result.is_not(None)
        )
    )
    return {row.digest: requests.kept.put(row.digest, unpack(row.result)) for row in rows}


def _computed(session: Session, request: Request) -> Arrays:
    arrays = document_orders.compute(session, request.run_ids, request.source.dialect, lambda _: None)
    return requests.kept.put(request.digest, arrays)


LEAST_COMPARED = 2
"""Minimum number of runs and topics of a comparison."""


def prepare(session: Session, task_id: int) -> None:
    """Queue the next comparison that the task's board needs, once all runs are scored.

    At most one such job per task is queued at a time: it replaces the previous one, and this function is
    called again when a job is done.
    """
    session.flush()
    # If two evaluators finish the last two runs at the same time, the second sees both done.
    lock_key(session, f"comparisons of task {task_id}")
    edition = session.scalar(select(Edition).where(Edition.task_id == task_id, Edition.state == "current"))
    if edition is None or queue.is_unfinished(session, edition.id):
        return
    needed = _wanted(session, session.get_one(Task, task_id), edition)
    tried = _tried(session, needed)
    request = next((each for each in needed if each.digest not in tried), None)
    _supersede(session, task_id, but=request)
    if request is not None:
        requests.have_computed(session, request, priority=requests.PREPARED)


def refresh(session: Session) -> None:
    """Queue missing results of large boards without current stored leaders.

    These are boards scored by an earlier version, and boards changed by a date.
    """
    rules = phase_rules.rules_of_all(session)
    phases = {task_id: phase_rules.newest(session, of_task) for task_id, of_task in rules.items()}
    editions = {
        row.Edition.task_id: row.Edition
        for row in whole_editions(session, select(Edition).where(Edition.state == "current"))
    }
    states = field_leaders.states(session, phases, {task: of.id for task, of in editions.items()})
    for task_id, state in states.items():
        if state.runs >= field_leaders.LEAST_RUNS:
            edition = editions[task_id]
            revision = session.get_one(QrelsRevision, edition.revision_id)
            source = source_of(edition, revision, phases[task_id].topic_set)
            version = _version(edition)
            if version and not _tried(session, [_leaders_of(edition, source, version, state.text)]):
                prepare(session, task_id)


def _version(edition: Edition) -> int:
    """The version of the primary measure; 0 without such scores, as possible for answers."""
    key = edition.primary_measure
    return next((int(each["version"]) for each in edition.measures if each["key"] == key), 0)


def _leaders_of(
    edition: Edition, source: Source, version: int, state: str, run_ids: tuple[int, ...] = ()
) -> Request:
    key = edition.primary_measure
    return requests.of_leaders(shown.narrowed(source, edition, key), key, version, state, run_ids)


def prepare_next(session: Session, statistic_id: int) -> None:
    """Queue what the board of the statistic's task needs next."""
    edition_id = session.get_one(Statistic, statistic_id).edition_id
    prepare(session, session.get_one(Edition, edition_id).task_id)


def _wanted(session: Session, task: Task, edition: Edition) -> list[Request]:
    """Requests that the board's pages would wait for, ranking measure first."""
    phases = phase_rules.rules_of(session, task)
    phase = phase_rules.newest(session, phases)
    official = (Run.phase_id == phase.id, Run.kind == RANKED_KIND, Run.withdrawn_at.is_(None))
    rows = session.execute(select(Run.id, Run.ranking_sha256).where(*official).order_by(Run.id)).all()
    left_out = not_chosen(session, task)
    runs = [row for row in rows if row.id not in left_out]
    revision = session.get_one(QrelsRevision, edition.revision_id)
    source = source_of(edition, revision, phase.topic_set)
    least = min(requests.READY_S, requests.AT_ONCE_S)
    procedures = [
        (procedure, by)
        for procedure, by in (("pairs", task.comparison), ("reliability", ""))
        if requests.seconds(by or procedure, len(runs), len(source.topics)) > least
    ]
    needed = kinds.of(task.kind).prepared(session, edition, phase.id)
    needed += _ready(session, (task, edition, phase), source, frozenset(run.id for run in runs))
    first = edition.primary_measure
    for measure in sorted(edition.measures, key=lambda each: each["key"] != first) if procedures else ():
        if refusal(parse(measure["key"]).measure):
            continue
        over = shown.narrowed(source, edition, measure["key"])
        scored = scored_runs(session, over, measure["key"], measure["version"])
        if "left_out" in measure:
            scored &= means(session, edition, phase.topic_set, keys=(measure["key"],)).keys()
        chosen = [run for run in runs if run.id in scored]
        if min(len(chosen), len(over.topics)) < LEAST_COMPARED:
            continue
        of_measure = (
            Request(
                procedure=procedure,
                method=by,
                source=over,
                measure=measure["key"],
                measure_version=measure["version"],
                run_ids=tuple(run.id for run in chosen),
                rankings=tuple(run.ranking_sha256 for run in chosen),
            )
            for procedure, by in procedures
        )
        needed += [
            request
            for request in of_measure
            if request.seconds > requests.AT_ONCE_S
            or (requests.is_ready_made(request) and measure["key"] == first)
        ]
    return needed + needed_orders(session, task.id, source)


def _ready(
    session: Session, board: tuple[Task, Edition, PhaseRule], source: Source, ranked: frozenset[int]
) -> list[Request]:
    """Stored results of a large board: leaders and judged shares of its runs."""
    task, edition, phase = board
    version = _version(edition)
    scored = scored_runs(session, source, edition.primary_measure, version)
    needed = []
    if len(ranked & scored) >= field_leaders.LEAST_RUNS:
        state = field_leaders.states(session, {task.id: phase}, {task.id: edition.id})[task.id]
        run_ids = tuple(sorted(ranked & scored))
        needed.append(_leaders_of(edition, source, version, state.text, run_ids))
    if len(scored) >= board_measures.LEAST_RUNS and kinds.of(task.kind).ranks_documents:
        facts = select(Run.id, Run.ranking_sha256, Run.order_differs)
        on_board = facts.where(Run.phase_id == phase.id, Run.withdrawn_at.is_(None))
        rankings = {
            row.id: ranking_key(source, *row) for row in session.execute(on_board) if row.id in scored
        }
        cutoffs = dict.fromkeys(board_measures.depth(parse(each["key"])) for each in edition.measures)
        needed += [requests.of_coverage(source, cutoff, rankings) for cutoff in cutoffs]
    return needed


def _tried(session: Session, needed: list[Request]) -> set[str]:
    """Digests of requests that are done, running or failed."""
    rows = session.execute(
        select(Statistic.digest)
        .outerjoin(Job, (Job.subject_id == Statistic.id) & (Job.kind == queue.COMPARE))
        .where(
            Statistic.digest.in_([request.digest for request in needed]),
            Statistic.computed_at.is_not(None) | Job.state.in_(("leased", "failed")),
        )
    )
    return set(rows.scalars())


def _supersede(session: Session, task_id: int, but: Request | None) -> None:
    """Drop jobs queued for earlier states of the task's board, unless requested by an account."""
    of_task = select(Statistic.id).join(Edition, Edition.id == Statistic.edition_id)
    of_task = of_task.where(Edition.task_id == task_id)
    if but is not None:
        of_task = of_task.where(Statistic.digest != but.digest)
    obsolete = (
        update(Job)
        .where(Job.kind == queue.COMPARE, Job.state == "queued", Job.priority == requests.PREPARED)
        .where(Job.subject_id.in_(of_task))
        .values(state="superseded")
        .returning(Job.subject_id)
    )
    dropped = session.execute(obsolete.execution_options(synchronize_session=False)).scalars().all()
    session.execute(delete(Statistic).where(Statistic.id.in_(dropped), Statistic.computed_at.is_(None)))
