"""An audit of a task's judgments: unique documents, leave one team out, depth, disadvantaged runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from sqlalchemy.orm import Session

from leaderboard.boards.page import view
from leaderboard.boards.page.view import Bounds, CoveredRun
from leaderboard.core.policy import Viewer
from leaderboard.errors import Invalid
from leaderboard.judging.page.pools import audited_runs
from leaderboard.judging.page.pools.audited_runs import AuditedTask, better
from leaderboard.measures.grammar import parse
from leaderboard.pooling.audit import rank_drops, relative_change
from leaderboard.pooling.methods import METHODS, method
from leaderboard.scoring.ops.evaluations.shown import FloatArray
from leaderboard.scoring.ops.run_facts import RunName
from leaderboard.scoring.ops.statistics import computing, requests
from leaderboard.scoring.ops.statistics.procedures import pool_reusability, pool_simulations
from leaderboard.scoring.ops.statistics.procedures.pool_reusability import PROCEDURE
from leaderboard.scoring.ops.statistics.procedures.pool_simulations import (
    PROCEDURE as PoolSimulationsPROCEDURE,
)
from leaderboard.scoring.ops.statistics.requests import AT_ONCE_S, Request, WaitingResult
from leaderboard.stats.arrays import Arrays
from leaderboard.stats.orders.rank_correlation import tau_ap_a, tau_ap_b, tau_b
from leaderboard.tables.record import Place, Shown, finite

STAGED_DEPTH = 10
LEFT_OUT = ("combmnz", "depth", "priority", "stratified", "staged")
"""Methods that need more than ranks, or that do not order all documents."""
SPECS: dict[str, dict[str, Any]] = {
    **{name: {"name": name} for name in METHODS if name not in LEFT_OUT},
    "staged-rrf": {"name": "staged", "depth": STAGED_DEPTH, "then": {"name": "rrf"}},
    "staged-hedge": {"name": "staged", "depth": STAGED_DEPTH, "then": {"name": "hedge"}},
}
"""Methods that can be simulated, by name in addresses."""
USUAL = ("take", "rrf", "staged-rrf", "hedge", "maxmean", "random")
SIMULATION_MOST = 8


@dataclass(frozen=True, slots=True)
class SimulatedPool:
    """One method: relevant documents found by share judged, and its ranking of runs."""

    key: str
    title: str
    recall: tuple[float, ...]
    """At SHARES."""
    area: float
    taus: tuple[tuple[float | None, float | None], ...]
    """tau_b and tau_AP with the ranking under all judgments, at ORDERED_AT."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The requested methods that are computed, and the requests of the others."""

    methods: tuple[SimulatedPool, ...]
    documents: int
    relevant: int
    waiting: tuple[WaitingResult, ...]


def method_titles() -> dict[str, str]:
    """Methods that can be simulated: name in addresses -> title."""
    return {key: method(spec).title for key, spec in SPECS.items()}


def chosen_methods(keys: Sequence[str]) -> tuple[str, ...]:
    """The methods to simulate, with defaults if none is requested.

    Raises Invalid for an unknown one, and for too many to distinguish.
    """
    if unknown := [key for key in keys if key not in SPECS]:
        raise Invalid(f"{unknown[0][:40]!r} cannot be simulated. Choose from {', '.join(SPECS)}.")
    if len(set(keys)) > SIMULATION_MOST:
        raise Invalid(f"More than {SIMULATION_MOST} curves are hard to distinguish. Choose fewer methods.")
    return tuple(dict.fromkeys(keys)) or USUAL


def simulated(session: Session, audited: AuditedTask, depth: int, keys: Sequence[str]) -> Simulation:
    """Simulate the methods on the pooled runs; quick ones are computed here so that no reader waits."""
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
    """The simulation uses pooled runs: documents found only by others were not available."""
    source, measure = audited.rests_on
    runs = [run for run, pooled in zip(audited.runs, audited.pooled, strict=True) if pooled]
    return Request(
        procedure=PoolSimulationsPROCEDURE,
        method=pool_simulations.options(SPECS[key], depth, audited.level),
        source=source,
        measure=measure.key,
        measure_version=measure.version,
        run_ids=tuple(run.run_id for run in runs),
        rankings=tuple(run.ranking_sha256 for run in runs),
    )


def _cost(audited: AuditedTask, key: str) -> float:
    """Estimated seconds of a simulation: adaptive methods weigh all runs for every document."""
    source, _ = audited.rests_on
    work = sum(audited.pooled) * len(source.topics)
    return 0.01 + work * (1e-3 if method(SPECS[key]).adaptive else 1e-4)


DEEPEST = 1000


@dataclass(frozen=True, slots=True)
class Choice:
    """The requested measure, depth (None: estimated from the judgments) and methods to simulate."""

    measure: str | None = None
    depth: int | None = None
    methods: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a ranking of runs with the one under all judgments; None if undefined."""

    tau: float | None
    tau_ap: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedTeam:
    """Contribution of a pooled team, and the effect on its runs without it."""

    team: str
    runs: int
    alone: int
    """Judged documents that no other team's runs have within the depth."""
    alone_relevant: Annotated[int, Shown("Relevant")]
    change: float | None
    """Mean relative change of its runs' scores."""
    drop: Annotated[int, Shown("Largest drop")]
    """Largest number of ranks that one of its runs falls."""
    agreement: Agreement


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedRun(RunName):
    """A run under all judgments, and without its team's unique documents; None if it was not pooled."""

    pooled: Annotated[bool, Shown(shown=~Place.PAGE)]
    score: float
    rank: int
    alone: int | None
    alone_relevant: int | None
    left_out: float | None
    left_out_rank: Annotated[int | None, Shown("Rank without")]
    judged_top: Annotated[float | None, Shown("Judged@10", digits=None, shown=~Place.PAGE)]
    judged_depth: float | None
    unfair: Annotated[bool, Shown(shown=~Place.PAGE)]
    """Whether clearly less of it is judged than of the pooled runs."""
    most: float | None
    """Score of a disadvantaged run if its unjudged documents had the highest grade."""
    best_rank: Annotated[int | None, Shown(shown=~Place.PAGE)]
    """Its rank with that score."""


@dataclass(frozen=True, slots=True)
class DepthOrder:
    """The ranking of runs under the judgments of a pool of some depth."""

    depth: int
    agreement: Agreement


@dataclass(frozen=True, slots=True)
class PoolReusability:
    """The computed audit."""

    teams: tuple[AuditedTeam, ...]
    runs: tuple[AuditedRun, ...]
    depths: tuple[DepthOrder, ...]
    agreement: Agreement
    """Agreement of the ranking in which every run is scored without its team's unique documents."""
    change: float | None
    drop: int
    dropped: str
    """The run that falls most."""


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditPage:
    """The audit of a task's judgments; reusability is None while it is not computed."""

    audited: AuditedTask
    depth: int
    guessed: int
    """The depth estimated from the judgments."""
    reusability: PoolReusability | None
    simulated: tuple[SimulatedPool, ...]
    documents: int
    """Judged documents in the simulation, and the number of relevant ones."""
    relevant: int
    waiting: tuple[WaitingResult, ...]


def page(session: Session, viewer: Viewer, slug: str, choice: Choice) -> AuditPage:
    """The audit of a task's judgments, with the parts computed so far.

    Raises NotFound for an unknown task and while judgments are hidden, UnknownMeasure for a measure that
    cannot be audited, Invalid for an unknown depth or method.
    """
    audited = audited_runs.audited(session, viewer, slug, choice.measure)
    chosen = chosen_methods(choice.methods)
    if choice.depth is not None and not 1 <= choice.depth <= DEEPEST:
        raise Invalid(f"The pool depth must be from 1 to {DEEPEST}.")
    if audited.why:
        return AuditPage(
            audited=audited,
            depth=choice.depth or 0,
            guessed=0,
            reusability=None,
            simulated=(),
            documents=0,
            relevant=0,
            waiting=(),
        )
    guessed = audited_runs.pool_depth(session, audited)
    depth = choice.depth or guessed
    result = _result(session, audited, depth)
    simulation = simulated(session, audited, depth, chosen)
    return AuditPage(
        audited=audited,
        depth=depth,
        guessed=guessed,
        reusability=None if isinstance(result, WaitingResult) else _reusability(session, audited, result),
        simulated=simulation.methods,
        documents=simulation.documents,
        relevant=simulation.relevant,
        waiting=(result, *simulation.waiting) if isinstance(result, WaitingResult) else simulation.waiting,
    )


def _result(session: Session, audited: AuditedTask, depth: int) -> Arrays | WaitingResult:
    asked = request(audited, PROCEDURE, pool_reusability.options(depth, audited.level, audited.teams))
    result = requests.find(session, asked)
    if isinstance(result, WaitingResult) and result.state == "absent" and asked.seconds <= AT_ONCE_S:
        return requests.kept.put(asked.digest, computing.computed_from_hits(session, asked, lambda _: None))
    return result


def request(audited: AuditedTask, procedure: str, method: str) -> Request:
    """The request for a procedure on the runs of an audit."""
    source, measure = audited.rests_on
    return Request(
        procedure=procedure,
        method=method,
        source=source,
        measure=measure.key,
        measure_version=measure.version,
        run_ids=tuple(run.run_id for run in audited.runs),
        rankings=tuple(run.ranking_sha256 for run in audited.runs),
    )


def agreement(estimate: FloatArray, truth: FloatArray) -> Agreement:
    """Agreement of a ranking of runs with another as the reference; higher values are better.

    >>> agreement(np.array([3.0, 2.0, 1.0]), np.array([3.0, 1.0, 2.0])).tau_ap
    0.5
    """
    directed = tau_ap_a(estimate, truth)
    return Agreement(tau_b(estimate, truth), tau_ap_b(estimate, truth) if directed is None else directed)


def _reusability(session: Session, audited: AuditedTask, arrays: Any) -> PoolReusability:
    pooled = np.array(audited.pooled)
    full, left_out = arrays["full"][pooled], arrays["left_out"][pooled]
    best, without = better(audited, full), better(audited, left_out)
    teams = np.array(audited.teams)[pooled]
    drops = rank_drops(best, without, teams)
    names = [run.name for run, inside in zip(audited.runs, audited.pooled, strict=True) if inside]
    fallen = int(np.argmax(drops))
    return PoolReusability(
        teams=_teams(audited, arrays, drops),
        runs=_runs(session, audited, arrays, drops),
        depths=tuple(
            DepthOrder(int(depth), agreement(better(audited, scores), better(audited, arrays["full"])))
            for depth, scores in zip(arrays["depths"].tolist(), arrays["by_depth"], strict=True)
        ),
        agreement=agreement(without, best),
        change=relative_change(full, left_out),
        drop=max(int(drops[fallen]), 0),
        dropped=names[fallen],
    )


def _teams(audited: AuditedTask, arrays: Any, drops: Any) -> tuple[AuditedTeam, ...]:
    """Every pooled team, the one that contributed most relevant documents first."""
    pooled = np.array(audited.pooled)
    full, left_out = arrays["full"][pooled], arrays["left_out"][pooled]
    team_of = np.array(audited.teams)[pooled]
    rows = []
    for at, name in enumerate(audited.team_names):
        own = team_of == at
        mixed = np.where(own, left_out, full)
        rows.append(
            AuditedTeam(
                team=name,
                runs=int(own.sum()),
                alone=int(arrays["team"][at]),
                alone_relevant=int(arrays["team_relevant"][at]),
                change=relative_change(full[own], left_out[own]),
                drop=max(int(drops[own].max()), 0),
                agreement=agreement(better(audited, mixed), better(audited, full)),
            )
        )
    return tuple(sorted(rows, key=lambda row: (-row.alone_relevant, -row.alone, row.team)))


def _runs(session: Session, audited: AuditedTask, arrays: Any, drops: Any) -> tuple[AuditedRun, ...]:
    """Every run, best first; ranks are among all runs, left_out_rank among pooled runs."""
    values = better(audited, arrays["full"])
    outside = _outside(audited, arrays)
    ends = _ends(session, audited, outside)
    place = np.cumsum(audited.pooled) - 1
    rows = []
    for at, run in enumerate(audited.runs):
        inside = audited.pooled[at]
        most = ends.get(run.run_id)
        high = None if most is None else most.high
        rows.append(
            AuditedRun(
                run_id=run.run_id,
                name=run.name,
                team=run.team,
                kind=run.kind,
                pooled=inside,
                score=float(arrays["full"][at]),
                rank=_rank(values, values[at]),
                alone=int(arrays["run"][at]) if inside else None,
                alone_relevant=int(arrays["run_relevant"][at]) if inside else None,
                left_out=float(arrays["left_out"][at]) if inside else None,
                left_out_rank=_rank(values[np.array(audited.pooled)], values[at]) + int(drops[place[at]])
                if inside
                else None,
                judged_top=finite(arrays["judged_top"][at]),
                judged_depth=finite(arrays["judged_depth"][at]),
                unfair=run.run_id in outside,
                most=high,
                best_rank=None if high is None else min(_rank(values, high), _rank(values, values[at])),
            )
        )
    return tuple(sorted(rows, key=lambda row: (row.rank, row.name)))


def _outside(audited: AuditedTask, arrays: Any) -> frozenset[int]:
    """Runs with clearly fewer judged documents than the pooled ones."""
    shares = {
        run.run_id: view.Coverage(0.0, float(share))
        for run, share in zip(audited.runs, arrays["judged_top"].tolist(), strict=True)
        if np.isfinite(share)
    }
    return view.outside_the_pool(shares)


def _ends(session: Session, audited: AuditedTask, outside: frozenset[int]) -> dict[int, Bounds]:
    """Bounds of the scores of disadvantaged runs, where known."""
    source, measure = audited.rests_on
    if measure.direction != "higher" or measure.aggregate != "mean":
        return {}
    differs = audited_runs.orders_differ(session, audited)
    runs = [
        CoveredRun(run.run_id, run.ranking_sha256, differs[run.run_id])
        for run, pooled in zip(audited.runs, audited.pooled, strict=True)
        if run.run_id in outside or not pooled
    ]
    return view.coverage_bounds(session, source, parse(measure.key), runs)


def _rank(values: FloatArray, value: float) -> int:
    return 1 + int((values > value).sum())


def losers(runs: Sequence[AuditedRun]) -> tuple[AuditedRun, ...]:
    """Runs disadvantaged by the pool and runs that were not pooled, least judged first."""
    losing = [run for run in runs if run.unfair or not run.pooled]
    return tuple(sorted(losing, key=lambda run: (run.judged_top is None, run.judged_top or 0.0, run.name)))
