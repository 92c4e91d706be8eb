"""The order of documents of runs and what reproduces them: kept by the digests of both rankings.

It takes too long for a page of many pairs: evaluators compute what a task's reproductions need, as soon as
they are named. What a page lacks it computes itself as long as that is quick.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from leaderboard.db.tables import Reproduction, Run, Statistic
from leaderboard.services.evaluations.shown import Source
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import document_orders
from leaderboard.services.statistics.requests import Request, WaitingResult
from leaderboard.stats.arrays import Arrays, unpack
from leaderboard.stats.reproductions.documents import DocumentOrder


@dataclass(frozen=True, slots=True)
class AskedOrder:
    """An original and what reproduces it, compared by their documents; seconds: about how long that takes."""

    request: Request
    seconds: float


def asked_order(source: Source, original: Any, other: Any) -> AskedOrder:
    """What is asked of an original and its reproduction: runs, or rows with their number, digest and topics.

    It depends on no judgment, so it stays what it is under every revision and measure.
    """
    request = Request(
        procedure=document_orders.PROCEDURE,
        method="",
        source=replace(source, revision_sha256="", topics=(), places=()),
        measure="",
        measure_version=0,
        run_ids=(original.run_id, other.run_id),
        rankings=(original.ranking_sha256, other.ranking_sha256),
    )
    return AskedOrder(request, document_orders.seconds(max(original.topics, other.topics)))


def known(session: Session, asked: Sequence[AskedOrder]) -> Mapping[str, DocumentOrder | WaitingResult]:
    """Digest -> the order of documents, or that it is not there yet: one statement for what is not in memory.

    What is missing is computed at once, in the order asked, as long as that is quick.
    """
    made = _found(session, [one.request.digest for one in asked])
    waiting: dict[str, WaitingResult] = {}
    left = requests.AT_ONCE_S
    for one in asked:
        if one.request.digest in made:
            continue
        left -= one.seconds
        if left < 0:
            waiting[one.request.digest] = WaitingResult(one.request, "absent")
        else:
            made[one.request.digest] = _computed(session, one.request)
    return {**{digest: document_orders.of_arrays(arrays) for digest, arrays in made.items()}, **waiting}


def needed(session: Session, task_id: int, source: Source) -> list[Request]:
    """What the reproductions of a task's own runs need, where it takes too long for a page."""
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
    distinct = {one.request.digest: one for one in asked}
    if sum(one.seconds for one in distinct.values()) <= requests.AT_ONCE_S:
        return []
    return [one.request for one in distinct.values()]


def _found(session: Session, digests: Sequence[str]) -> dict[str, Arrays]:
    in_memory = {digest: requests.kept.get(digest) for digest in digests}
    made = {digest: arrays for digest, arrays in in_memory.items() if arrays is not None}
    return made | _stored(session, [digest for digest in in_memory if digest not in made])


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
    made = document_orders.compute(session, request.run_ids, request.source.dialect, lambda _: None)
    return requests.kept.put(request.digest, made)
