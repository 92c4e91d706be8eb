"""Requests for comparisons that a page may have to wait for: content, cost and storage.

What a comparison depends on (rankings, judgments, measure, topics, method and its version) never
changes, so its result is stored under a digest of these inputs. The digest also seeds random draws, so the
same board always shows the same p. SciPy is not needed here: evaluators import this module.
"""

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

from sqlalchemy import ColumnElement, delete, func, select
from sqlalchemy.orm import Session

from leaderboard.core import throttles
from leaderboard.core.actions import Action, by_account
from leaderboard.core.jobs import queue
from leaderboard.core.policy import Scope, Viewer, require_account
from leaderboard.db.engine import add_unless_taken, lock_row, now
from leaderboard.db.tables import Account, Job, Statistic
from leaderboard.errors import OverQuota
from leaderboard.fields import Field
from leaderboard.memory import Kept, MemoryBudget, budget
from leaderboard.scoring.ops import board_measures
from leaderboard.scoring.ops.evaluations.shown import Source
from leaderboard.scoring.ops.statistics.procedures import (
    document_orders,
    field_leaders,
    pool_reusability,
    pool_simulations,
    ranking_overlaps,
    revision_scores,
)
from leaderboard.stats.arrays import Arrays, unpack
from leaderboard.stats.pairs.corrections import LEVEL


class KeptResults:
    """A thread-safe cache of arrays by digest, within the process budget or a number of bytes.

    A digest covers everything that its result depends on, so entries are never outdated.
    """

    def __init__(self, bytes_at_most: int | None = None) -> None:
        within = budget if bytes_at_most is None else MemoryBudget(bytes_at_most)
        self._results: Kept[Arrays] = Kept(__name__, within=within)

    def get(self, digest: str) -> Arrays | None:
        """The result, or None."""
        return self._results.get(digest)

    def put(self, digest: str, result: Arrays) -> Arrays:
        """Store the result and return it read-only; one above the limit is not stored."""
        for array in result.values():
            array.flags.writeable = False
        return self._results.put(digest, result)


log = logging.getLogger(__name__)

VERSIONS = {
    "pairs": 7,
    "reliability": 2,
    "rank_intervals": 2,
    "first_places": 1,
    ranking_overlaps.PROCEDURE: 1,
    document_orders.PROCEDURE: 1,
    revision_scores.PROCEDURE: 1,
    pool_reusability.PROCEDURE: 1,
    pool_simulations.PROCEDURE: 1,
    board_measures.PROCEDURE: board_measures.VERSION,
    field_leaders.PROCEDURE: field_leaders.VERSION,
    "judges": 1,
}
"""Procedure -> version; a new version invalidates stored results."""
AT_ONCE_S = 0.3
"""Maximum time of a computation within a page request."""
READY_S = 0.008
"""Results of the ranking measure that take longer than this are stored in advance."""
ASKED, PREPARED = -10, -20
"""Priorities of these jobs: after evaluations of runs, unrequested ones last."""
MOST_KEPT = 1000
"""Number of stored results requested by accounts; older ones are requested again."""

RESAMPLES = 100_000
"""Number of resamples of random procedures, unless a correction needs more."""

_SECONDS: dict[str, Callable[[int, int], float]] = {
    "reliability": lambda runs, topics: runs**2 * (2e-5 + topics * 2e-9) + topics * 8e-5,
    "rank_intervals": lambda runs, topics: runs**2 * (1e-6 + topics * 4e-9),
    "first_places": lambda runs, topics: runs * 1.5e-3 + topics * 2.5e-4,
    ranking_overlaps.PROCEDURE: ranking_overlaps.seconds,
    revision_scores.PROCEDURE: revision_scores.seconds,
    pool_reusability.PROCEDURE: pool_reusability.seconds,
    pool_simulations.PROCEDURE: pool_simulations.seconds,
}
"""Procedure without a test -> estimated time, by runs and topics."""

_OF_ONE_STATE = (board_measures.PROCEDURE, field_leaders.PROCEDURE)
"""Procedures on the current state of a board, whose results replace earlier ones."""

kept = KeptResults()


@dataclass(frozen=True)
class Request:
    """A procedure on the scores of some runs by one measure of one edition.

    Runs are in order of id, except for document orders, where the original comes first.
    """

    procedure: str
    method: str
    """Test and correction; empty for procedures without them."""
    source: Source
    measure: str
    measure_version: int
    run_ids: tuple[int, ...]
    rankings: tuple[str, ...]
    """The digests of the runs' rankings."""

    @cached_property
    def scores_digest(self) -> str:
        """A digest of the scores that the result is computed from; it covers no ids."""
        facts = (
            self.source.revision_sha256,
            self.measure,
            self.measure_version,
            self.source.dialect,
            self.source.topics,
            self.rankings,
        )
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """A digest of everything that the result depends on."""
        facts = (self.procedure, VERSIONS[self.procedure], self.method, self.scores_digest)
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    @property
    def options(self) -> dict[str, str | int]:
        """Parameters of the procedure other than the scores."""
        return {"method": self.method, "seed": int(self.digest[:15], 16)}

    @property
    def seconds(self) -> float:
        """Estimated time on one core."""
        name = self.procedure if self.procedure in _SECONDS else self.method or self.procedure
        return seconds(name, len(self.run_ids), len(self.source.topics))


@dataclass(frozen=True, slots=True)
class WaitingResult:
    """A result that is not available: absent, queued, running or failed."""

    request: Request
    state: str
    progress: float = 0.0
    message: str = ""


def of_coverage(source: Source, cutoff: int | None, rankings: Mapping[int, str]) -> Request:
    """Judged shares of a board's runs to a rank; rankings: run id -> ranking key."""
    run_ids = tuple(sorted(rankings))
    return Request(
        procedure=board_measures.PROCEDURE,
        method=str(cutoff),
        source=source,
        measure="",
        measure_version=0,
        run_ids=run_ids,
        rankings=tuple(rankings[run_id] for run_id in run_ids),
    )


def of_leaders(
    source: Source, measure: str, version: int, state: str, run_ids: tuple[int, ...] = ()
) -> Request:
    """Leaders of a board in a state from `field_leaders.states`; found without reading its runs."""
    method = f"pairs {VERSIONS['pairs']}, {state}"
    return Request(field_leaders.PROCEDURE, method, source, measure, version, run_ids, ())


def seconds(method: str, runs: int, topics: int) -> float:
    """Estimated time of all pairs of runs by a method, or of a procedure without one, on one core.

    >>> seconds("t+holm", 129, 50) < AT_ONCE_S < seconds("randomisation+holm", 129, 50)
    True
    """
    pairs = runs * (runs - 1) / 2
    if method in _SECONDS:
        return _SECONDS[method](runs, topics)
    test, _, correction = method.partition("+")
    if test == "randomised_tukey":
        return RESAMPLES * topics * runs * 2e-9
    if test == "tukey":
        return 0.1
    if test in ("randomisation", "bootstrap"):
        resamples = max(RESAMPLES, 20 * pairs / LEVEL if correction in ("holm", "bonferroni") else 0)
        return resamples * (pairs * 1e-9 + topics * 1e-8)
    return pairs * topics * (1e-7 if test == "wilcoxon" else 2e-8)


def is_ready_made(request: Request) -> bool:
    """Whether evaluators store it although a page could compute it: all pairs of many runs."""
    return request.procedure == "pairs" and READY_S < request.seconds <= AT_ONCE_S


def request_of(facts: dict[str, Any]) -> Request:
    """The request that was stored as these facts."""
    source = dict(facts["source"])
    source.update({name: tuple(source[name]) for name in ("topics", "places")})
    lists = {name: tuple(facts[name]) for name in ("run_ids", "rankings")}
    return Request(**(facts | lists | {"source": Source(**source)}))


def find(session: Session, request: Request) -> Arrays | WaitingResult:
    """The result of the request, or its state; no statement if cached."""
    if (result := kept.get(request.digest)) is not None:
        return result
    row = session.execute(
        select(Statistic.id, Statistic.result, Statistic.progress, Job.state, Job.error)
        .outerjoin(Job, (Job.subject_id == Statistic.id) & (Job.kind == queue.COMPARE))
        .where(Statistic.digest == request.digest)
        .order_by(Job.id.desc())
        .limit(1)
    ).one_or_none()
    if row is None:
        return WaitingResult(request, "absent")
    if row.result is not None:
        return kept.put(request.digest, unpack(row.result))
    if not session.get_one(Statistic, row.id).is_whole:
        return WaitingResult(request, "absent")
    states = {"queued": "queued", "leased": "running", "failed": "failed"}
    return WaitingResult(request, states.get(row.state, "absent"), row.progress, row.error or "")


def have_computed(
    session: Session, request: Request, asked_by: int | None = None, *, priority: int = ASKED
) -> None:
    """Queue the request unless done or queued; asked_by is None for requests of boards."""
    row = _row(session, request)
    if row is not None and not row.is_whole:
        log.error("comparison %d is damaged; it is made again", row.id)
        session.delete(row)
        session.flush()
        row = None
    if row is None:
        statistic = Statistic(
            edition_id=request.source.edition_id,
            digest=request.digest,
            asked_by=asked_by,
            request=asdict(request),
            created_at=now(session),
        )
        # A concurrent request may have inserted the row.
        add_unless_taken(session, statistic)
        row = _row(session, request)
    assert row is not None, "it is there now"
    if asked_by is None:
        # Results needed by boards are not deleted with those requested by accounts.
        row.asked_by = None
    if row.computed_at is None:
        queue.enqueue(session, queue.COMPARE, row.id, priority=priority)
        queue.hurry(session, queue.COMPARE, row.id, priority)


def hurry(session: Session, request: Request) -> None:
    """Raise the priority of a request queued for a board to that of a waiting reader."""
    if (row := _row(session, request)) is not None:
        queue.hurry(session, queue.COMPARE, row.id, ASKED)


def _row(session: Session, request: Request) -> Statistic | None:
    return session.scalar(select(Statistic).where(Statistic.digest == request.digest))


def store(session: Session, statistic_id: int, result: bytes) -> None:
    """Store a result, and keep only the newest results requested by accounts."""
    row = session.get_one(Statistic, statistic_id)
    row.result, row.progress, row.computed_at = result, 1.0, now(session)
    session.flush()
    if row.request["procedure"] in _OF_ONE_STATE or is_ready_made(request_of(row.request)):
        # Results for an earlier set of runs are never requested again.
        session.execute(
            delete(Statistic).where(
                Statistic.edition_id == row.edition_id,
                Statistic.id < row.id,
                Statistic.computed_at.is_not(None),
                Statistic.request["procedure"].as_string() == row.request["procedure"],
                *_alike(row),
            )
        )
    of_accounts = select(Statistic.id).where(
        Statistic.asked_by.is_not(None), Statistic.computed_at.is_not(None)
    )
    oldest = session.scalars(of_accounts.order_by(Statistic.id.desc()).offset(MOST_KEPT)).all()
    session.execute(delete(Statistic).where(Statistic.id.in_(oldest)))


def _alike(row: Statistic) -> tuple[ColumnElement[bool], ...]:
    """Condition for results replaced by a new state of a board: of one depth, or unrequested pairs."""
    if row.request["procedure"] == field_leaders.PROCEDURE:
        return ()
    of_method = Statistic.request["method"].as_string() == row.request["method"]
    if row.request["procedure"] == board_measures.PROCEDURE:
        return (of_method,)
    of_measure = Statistic.request["measure"].as_string() == row.request["measure"]
    return of_method, of_measure, Statistic.asked_by.is_(None)


MOST_WAITING = 10
"""Maximum comparisons of an account queued or running."""
MOST_OF_A_NETWORK = 100
"""Maximum comparisons requested by the accounts of a network per hour."""


def ask_for(session: Session, viewer: Viewer, waiting: Iterable[WaitingResult]) -> None:
    """Queue the results that a viewer's page waits for, or only the first if the account may not request all.

    The operator has no limit. Raises OverQuota if the account has 10 comparisons queued or running, or if its
    network requested 100 within an hour.
    """
    if viewer.is_operator:
        for result in waiting:
            have_computed(session, result.request)
        return
    account_id = require_account(viewer)
    lock_row(session, Account, account_id)
    results = list(waiting)
    for result in results:
        hurry(session, result.request)
    due = [result.request for result in results if _is_due(session, result)]
    room = MOST_WAITING - _waiting_of(session, account_id)
    if due and room <= 0:
        raise OverQuota(
            f"{MOST_WAITING} of your comparisons are queued or running; "
            "wait until one is done, then try again."
        )
    for request in due[:room]:
        key = f"comparison ip {throttles.network(viewer.ip)}"
        throttles.spend(session, key, MOST_OF_A_NETWORK, timedelta(hours=1))
        have_computed(session, request, account_id)


MEASURE = Field(
    title="Measure", help="The key of a measure, such as `nDCG@10`; default: the primary measure."
)


def computing(
    name: str, waiting: Callable[..., Sequence[WaitingResult]], form: str = "", page: str = "", **more: Any
) -> Action:
    """The action that has computed what a page waits for: `waiting(session, viewer, *placeholders, record)`.

    Its form, where it has one, keeps the state of the page in its address.
    """

    def ask(session: Session, viewer: Viewer, *given: Any) -> int:
        results: Sequence[WaitingResult] = given[-2 if "record" in more else -1]
        if results:
            ask_for(session, viewer, results)
        return len(results)

    return Action(
        name=name,
        form=form,
        page=page,
        may=by_account,
        plan=waiting,
        act=ask,
        done=lambda _, count: f"{count} results requested",
        scopes=(Scope.READ, Scope.SUBMIT, Scope.ORGANISE),
        status=202,
        is_query=True,
        **{"summary": "Have computed what a page waits for"} | more,
    )


def _waiting_of(session: Session, account_id: int) -> int:
    """Number of unfinished comparisons requested by an account."""
    unfinished = (
        select(func.count())
        .select_from(Job)
        .join(Statistic, Statistic.id == Job.subject_id)
        .where(Job.kind == queue.COMPARE, Job.state.in_(("queued", "leased")))
    )
    return session.scalar(unfinished.where(Statistic.asked_by == account_id)) or 0


def _is_due(session: Session, result: WaitingResult) -> bool:
    """Whether the result is neither computed nor queued."""
    latest = find(session, result.request)
    return isinstance(latest, WaitingResult) and latest.state in ("absent", "failed")
