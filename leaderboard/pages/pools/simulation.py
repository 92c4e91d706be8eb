"""Pooling methods held against the judgments of a task: what each finds, and how it orders runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.errors import Invalid
from leaderboard.pages.pools.audited_runs import Audited, better
from leaderboard.pooling.methods import METHODS, method
from leaderboard.services.statistics import requests
from leaderboard.services.statistics.procedures import pool_simulations
from leaderboard.services.statistics.procedures.pool_simulations import ORDERED_AT, PROCEDURE, SHARES
from leaderboard.services.statistics.requests import AT_ONCE_S, Request, Waiting
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.orders.rank_correlation import tau_ap_a, tau_ap_b, tau_b

STAGED_DEPTH = 10
LEFT_OUT = ("combmnz", "depth", "priority", "stratified", "staged")
"""Methods that need more than ranks, or that are no order of all documents."""
SPECS: dict[str, dict[str, Any]] = {
    **{name: {"name": name} for name in METHODS if name not in LEFT_OUT},
    "staged-rrf": {"name": "staged", "depth": STAGED_DEPTH, "then": {"name": "rrf"}},
    "staged-hedge": {"name": "staged", "depth": STAGED_DEPTH, "then": {"name": "hedge"}},
}
"""What can be simulated, by the name in an address."""
USUAL = ("take", "rrf", "staged-rrf", "hedge", "maxmean", "random")
MOST = 8


@dataclass(frozen=True, slots=True)
class Simulated:
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

    methods: tuple[Simulated, ...]
    documents: int
    relevant: int
    waiting: tuple[Waiting, ...]


def titles() -> dict[str, str]:
    """What can be simulated: name in an address -> title."""
    return {key: method(spec).title for key, spec in SPECS.items()}


def chosen(keys: Sequence[str]) -> tuple[str, ...]:
    """The methods to simulate, the usual ones where none is asked for.

    Raises Invalid for one there is not, and for more than can be told apart.
    """
    if unknown := [key for key in keys if key not in SPECS]:
        raise Invalid(f"{unknown[0][:40]!r} cannot be simulated; choose {', '.join(SPECS)}.")
    if len(set(keys)) > MOST:
        raise Invalid(f"More than {MOST} curves cannot be told apart: choose fewer methods.")
    return tuple(dict.fromkeys(keys)) or USUAL


def simulated(session: Session, found: Audited, depth: int, keys: Sequence[str]) -> Simulation:
    """The methods on the pooled runs; quick ones are computed here, as long as no reader has to wait."""
    done, waiting = [], []
    documents = relevant = 0
    patience = AT_ONCE_S
    for key in keys:
        wanted = _request(found, depth, key)
        result = requests.find(session, wanted)
        cost = _cost(found, key)
        if isinstance(result, Waiting) and result.state == "absent" and cost <= patience:
            patience -= cost
            arrays = requests.computed_from_hits(session, wanted, lambda _: None)
            result = requests.kept.put(wanted.digest, arrays)
        if isinstance(result, Waiting):
            waiting.append(result)
            continue
        documents, relevant = int(result["documents"]), int(result["relevant"])
        done.append(_simulated(found, key, result))
    return Simulation(tuple(done), documents, relevant, tuple(waiting))


def as_rows(methods: Sequence[Simulated]) -> tuple[list[str], list[list[Any]]]:
    """Every method as a row: area, recall at each share, agreement on the way."""
    ordered = [f"{name}@{share:.0%}" for share in ORDERED_AT for name in ("tau", "tau_ap")]
    header = ["method", "area", *(f"found@{share:.0%}" for share in SHARES), *ordered]
    rows = [
        [each.title, each.area, *each.recall, *(value for pair in each.taus for value in pair)]
        for each in methods
    ]
    return header, rows


def _simulated(found: Audited, key: str, arrays: Arrays) -> Simulated:
    full = better(found, arrays["full"].astype(np.float64))
    return Simulated(
        key=key,
        title=method(SPECS[key]).title,
        recall=tuple(arrays["recall"].tolist()),
        area=float(arrays["area"]),
        taus=tuple(
            _agreement(better(found, scores), full) for scores in arrays["at_share"].astype(np.float64)
        ),
    )


def _agreement(estimate: Any, truth: Any) -> tuple[float | None, float | None]:
    directed = tau_ap_a(estimate, truth)
    return tau_b(estimate, truth), tau_ap_b(estimate, truth) if directed is None else directed


def _request(found: Audited, depth: int, key: str) -> Request:
    """The simulation is over pooled runs: what the others found was not to be had."""
    source, measure = found.rests_on
    runs = [run for run, pooled in zip(found.runs, found.pooled, strict=True) if pooled]
    return Request(
        procedure=PROCEDURE,
        method=pool_simulations.options(SPECS[key], depth, found.level),
        source=source,
        measure=measure.key,
        measure_version=measure.version,
        run_ids=tuple(run.run_id for run in runs),
        rankings=tuple(run.ranking_sha256 for run in runs),
    )


def _cost(found: Audited, key: str) -> float:
    """About how many seconds a simulation takes: adaptive methods weigh all runs for every document."""
    source, _ = found.rests_on
    work = sum(found.pooled) * len(source.topics)
    return 0.01 + work * (1e-3 if method(SPECS[key]).adaptive else 1e-4)
