"""Pooling methods simulated on the judgments of a task: what each finds, and how it orders runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.errors import Invalid
from leaderboard.pages.pools.audited_runs import AuditedTask, better
from leaderboard.pooling.methods import METHODS, method
from leaderboard.services.statistics import computing, requests
from leaderboard.services.statistics.procedures import pool_simulations
from leaderboard.services.statistics.procedures.pool_simulations import PROCEDURE
from leaderboard.services.statistics.requests import AT_ONCE_S, Request, WaitingResult
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.orders.rank_correlation import tau_ap_a, tau_ap_b, tau_b

STAGED_DEPTH = 10
LEFT_OUT = ("combmnz", "depth", "priority", "stratified", "staged")
"""Methods that need more than ranks, or that do not order all documents."""
SPECS: dict[str, dict[str, Any]] = {
    **{name: {"name": name} for name in METHODS if name not in LEFT_OUT},
    "staged-rrf": {"name": "staged", "depth": STAGED_DEPTH, "then": {"name": "rrf"}},
    "staged-hedge": {"name": "staged", "depth": STAGED_DEPTH, "then": {"name": "hedge"}},
}
"""What can be simulated, by the name in an address."""
USUAL = ("take", "rrf", "staged-rrf", "hedge", "maxmean", "random")
MOST = 8


@dataclass(frozen=True, slots=True)
class SimulatedPool:
    """One method: the share of relevant documents found by share judged, and the order of runs on the way."""

    key: str
    title: str
    recall: tuple[float, ...]
    """At SHARES."""
    area: float
    taus: tuple[tuple[float | None, float | None], ...]
    """tau_b and tau_AP with the order under all judgments, at ORDERED_AT."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """All methods asked for that are computed, and the requests of the others."""

    methods: tuple[SimulatedPool, ...]
    documents: int
    relevant: int
    waiting: tuple[WaitingResult, ...]


def titles() -> dict[str, str]:
    """What can be simulated: name in an address -> title."""
    return {key: method(spec).title for key, spec in SPECS.items()}


def chosen(keys: Sequence[str]) -> tuple[str, ...]:
    """The methods to simulate, the usual ones where none is asked for.

    Raises Invalid for an unknown one, and for more than can be told apart.
    """
    if unknown := [key for key in keys if key not in SPECS]:
        raise Invalid(f"{unknown[0][:40]!r} cannot be simulated; choose {', '.join(SPECS)}.")
    if len(set(keys)) > MOST:
        raise Invalid(f"More than {MOST} curves cannot be told apart: choose fewer methods.")
    return tuple(dict.fromkeys(keys)) or USUAL


def simulated(session: Session, audited: AuditedTask, depth: int, keys: Sequence[str]) -> Simulation:
    """The methods on the pooled runs; quick ones are computed here, as long as no reader has to wait."""
    done, waiting = [], []
    documents = relevant = 0
    patience = AT_ONCE_S
    for key in keys:
        request = _request(audited, depth, key)
        result = requests.find(session, request)
        cost = _cost(audited, key)
        if isinstance(result, WaitingResult) and result.state == "absent" and cost <= patience:
            patience -= cost
            arrays = computing.computed_from_hits(session, request, lambda _: None)
            result = requests.kept.put(request.digest, arrays)
        if isinstance(result, WaitingResult):
            waiting.append(result)
            continue
        documents, relevant = int(result["documents"]), int(result["relevant"])
        done.append(_simulated(audited, key, result))
    return Simulation(methods=tuple(done), documents=documents, relevant=relevant, waiting=tuple(waiting))


def _simulated(audited: AuditedTask, key: str, arrays: Arrays) -> SimulatedPool:
    full = better(audited, arrays["full"].astype(np.float64))
    return SimulatedPool(
        key=key,
        title=method(SPECS[key]).title,
        recall=tuple(arrays["recall"].tolist()),
        area=float(arrays["area"]),
        taus=tuple(
            _agreement(better(audited, scores), full) for scores in arrays["at_share"].astype(np.float64)
        ),
    )


def _agreement(estimate: Any, truth: Any) -> tuple[float | None, float | None]:
    directed = tau_ap_a(estimate, truth)
    return tau_b(estimate, truth), tau_ap_b(estimate, truth) if directed is None else directed


def _request(audited: AuditedTask, depth: int, key: str) -> Request:
    """The simulation is over pooled runs: what the others found was not to be had."""
    source, measure = audited.rests_on
    runs = [run for run, pooled in zip(audited.runs, audited.pooled, strict=True) if pooled]
    return Request(
        procedure=PROCEDURE,
        method=pool_simulations.options(SPECS[key], depth, audited.level),
        source=source,
        measure=measure.key,
        measure_version=measure.version,
        run_ids=tuple(run.run_id for run in runs),
        rankings=tuple(run.ranking_sha256 for run in runs),
    )


def _cost(audited: AuditedTask, key: str) -> float:
    """About how many seconds a simulation takes: adaptive methods weigh all runs for every document."""
    source, _ = audited.rests_on
    work = sum(audited.pooled) * len(source.topics)
    return 0.01 + work * (1e-3 if method(SPECS[key]).adaptive else 1e-4)
