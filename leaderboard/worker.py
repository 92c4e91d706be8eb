"""The evaluator: claims jobs, does them outside any transaction, stores each result exactly once."""

import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from uuid import uuid4

from sqlalchemy import ColumnElement
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from leaderboard import features, logs, traces
from leaderboard.core import events
from leaderboard.core.jobs import health, leases, queue
from leaderboard.core.jobs.queue import Claim, ClaimLost
from leaderboard.db.engine import Database
from leaderboard.db.tables import Job
from leaderboard.errors import LeaderboardError, StoreAway
from leaderboard.runs.ops import batches, fixing, partial_uploads, prepare, uploads
from leaderboard.runs.ops import limits as runs_limits
from leaderboard.runs.ops.fixing import StoredFile
from leaderboard.runs.ops.prepare import PreparedUpload
from leaderboard.scoring.ops import finishing
from leaderboard.scoring.ops.evaluations import score
from leaderboard.scoring.ops.statistics import computing, prepared, requests
from leaderboard.settings import Settings
from leaderboard.site.ops import objects
from leaderboard.trec.read.lines import Limits

log = logging.getLogger(__name__)
features.register()

IDLE_S = 1.0
"""Seconds that an idle evaluator waits before it looks again, unless it is woken."""
LOOK_S = 5.0
"""Seconds between an evaluator's signs of life, when it also returns jobs that others left."""
EXPIRE_S = 3600.0
"""Seconds between searches for files that waited too long for their senders."""
MOVE_S = 60.0
"""Seconds between searches for files that are to go to the object store."""
OBJECTS_S = 86400.0
"""Seconds between searches for unused objects: all objects are listed for that."""
AGAIN_S = 1.0
"""Seconds after an error of the database before it is tried again."""
STOP_S = 3.0
"""Seconds that a stopping evaluator waits for its deliveries; the others are tried again later."""
BEAT_S = 15.0
"""The longest time between two heartbeats of a job."""


def owner_name() -> str:
    """Signature of this process in its claims: host:process."""
    return f"{socket.gethostname()}:{os.getpid()}"


class Evaluator:
    """One evaluation slot: does one job after the other.

    deadline receives the moment (time.monotonic) at which a parent should kill this process, 0 while idle;
    count_lost receives the number of leases released for dead holders.
    """

    def __init__(
        self,
        database: Database,
        settings: Settings,
        deadline: Callable[[float], None] = lambda _: None,
        count_lost: Callable[[int], None] = lambda _: None,
    ) -> None:
        self.database = database
        self.settings = settings
        self.owner = owner_name()
        self._deadline = deadline
        self._count_lost = count_lost
        self._has_arrived = False
        self._looked_at = -LOOK_S
        self._expired_at = -EXPIRE_S
        self._mended_at = -EXPIRE_S
        self._moved_at = -MOVE_S
        self._objects_at = -OBJECTS_S
        self._lost_at: float | None = None
        self._deliverers: list[_Deliverer] = []
        self._is_over = False
        self._work = [work(settings) for work in events.WORK]
        self._kinds = {
            queue.EVALUATE: self._evaluate,
            queue.CHECK: self._check,
            queue.COMPARE: self._compare,
            queue.MAIL: self._mail,
            queue.WEBHOOK: self._webhook,
            queue.MOVE: self._move,
        }

    def drain(self) -> int:
        """Do every job that is due; how many were done."""
        self.sweep()
        done = 0
        while True:
            if self.work():
                done += 1
            elif self._deliverers:
                done += self._await_deliveries()
            else:
                return done

    def sweep(self) -> None:
        """Record that this evaluator is alive, release the jobs of dead ones, delete old files.

        Damaged scores are computed again; the log of an SQLite database is shortened where it is long.
        """
        self._say_here()
        with self.database.write() as session:
            lost = leases.sweep(session, self.settings.lease_s)
            _tell_failed(session, lost)
            for work in self._work:
                work.queue_due(session)
            if time.monotonic() - self._expired_at > EXPIRE_S:
                batches.expire(session)
                for work in self._work:
                    work.forget(session)
                partial_uploads.expire(session, self.settings.data)
                prepared.refresh(session)
                self._expired_at = time.monotonic()
        self._count_lost(len(lost))
        if time.monotonic() - self._mended_at > EXPIRE_S:
            score.drop_damaged(self.database)
            self._mended_at = time.monotonic()
        self.database.shorten_log()
        if self.database.objects is not None:
            self._sweep_objects()

    def _sweep_objects(self) -> None:
        """Queue the files that are to go to the object store; remove leftovers there."""
        if time.monotonic() - self._moved_at > MOVE_S:
            with self.database.write(is_shown=False) as session:
                objects.queue_due(session, self.settings.objects_bytes)
            self._moved_at = time.monotonic()
        if time.monotonic() - self._objects_at > OBJECTS_S:
            try:
                objects.sweep(self.database, self.settings.objects_keep_days)
            except StoreAway as away:
                log.warning("the object store was not swept: %s", away.facts["why"])
            self._objects_at = time.monotonic()

    def _say_here(self) -> None:
        with self.database.write(is_shown=False) as session:
            health.worker_seen(session, self.owner)

    def run(self, stopping: Callable[[], bool], wait: Callable[[float], object]) -> None:
        """Work until stopping() is true; wait(seconds) returns early when there may be something to do.

        An error of the database ends nothing: it is asked again until it answers.
        """
        while not stopping():
            try:
                self.look_round()
                pause_s = 0.0 if self.work() else IDLE_S
            except SQLAlchemyError as error:
                self.lose(error)
                pause_s = AGAIN_S
            if pause_s:
                wait(pause_s)
        self._is_over = True
        self._await_deliveries(STOP_S)

    def look_round(self) -> None:
        """Tasks between two jobs: report, recover, or sweep when it is time."""
        self._deliverers = [deliverer for deliverer in self._deliverers if deliverer.is_alive()]
        if not self._has_arrived:
            self._count_lost(free_dead_owners(self.database))
            self._has_arrived = True
        if self._lost_at is not None:
            self._return(time.monotonic() - self._lost_at)
        elif time.monotonic() - self._looked_at > LOOK_S:
            self.sweep()
            self._looked_at = time.monotonic()

    def lose(self, error: SQLAlchemyError) -> None:
        """Note that the database does not answer; the next look round that it answers begins again."""
        if self._lost_at is None:
            self._lost_at = time.monotonic()
            log.error("the database does not answer; retrying until it does: %s", error)

    def _return(self, away_s: float) -> None:
        """Resume after the database was unavailable; leases held at that time are released."""
        with self.database.write() as session:
            health.worker_seen(session, self.owner)
            leases.return_unspent(session, self.owner)
        log.warning("the database answers again, after %.0f s", away_s)
        self._lost_at = None
        # Others come back in the same moment: their leases ran out, but they are not gone.
        self._looked_at = time.monotonic()

    def work(self, *which: ColumnElement[bool]) -> bool:
        """Claim and do one job; False if none is due. which: what it has to be, if it is not any."""
        job = self._claim(*which)
        if job is None:
            return False
        if job.kind == queue.WEBHOOK:
            # A listener may answer slowly while runs are scored.
            deliverer = _Deliverer(job, self._carry_out, self._next_delivery)
            self._deliverers.append(deliverer)
            deliverer.start()
            return True
        self._deadline(time.monotonic() + job.limit_s)
        try:
            self._carry_out(job)
        finally:
            self._deadline(0.0)
        return True

    def _claim(self, *which: ColumnElement[bool]) -> Claim | None:
        with self.database.write() as session:
            return queue.claim(session, self.owner, self.settings, *which)

    def _next_delivery(self) -> Claim | None:
        return None if self._is_over else self._claim(Job.kind == queue.WEBHOOK)

    def _await_deliveries(self, most_s: float | None = None) -> int:
        """Wait for the deliveries that were started; how many followed them in the same threads."""
        deliverers, self._deliverers = self._deliverers, []
        ends = None if most_s is None else time.monotonic() + most_s
        for deliverer in deliverers:
            deliverer.join(None if ends is None else max(0.0, ends - time.monotonic()))
        return sum(deliverer.followed for deliverer in deliverers)

    def _carry_out(self, job: Claim) -> None:
        began = time.monotonic()
        with logs.about(**_facts(job)), self._heartbeat(job):
            outcome = self._do(job)
        _trace(job, outcome, time.monotonic() - began)

    def _do(self, job: Claim) -> str:
        """Outcome of a job: done, lost or failed."""
        try:
            self._kinds[job.kind](job)
        except ClaimLost as lost:
            log.warning("%s", lost)
            return "lost"
        except StoreAway as away:
            log.warning("job %d (%s %d): %s", job.job_id, job.kind, job.subject_id, away.facts["why"])
            with self.database.write() as session:
                leases.put_off(session, job, "The object store does not answer; the job is retried.")
        except LeaderboardError as error:
            log.warning("job %d (%s %d): %s", job.job_id, job.kind, job.subject_id, error)
            self._fail(job, error.message, again=False)
        except Exception:
            reference = uuid4().hex[:12]
            log.exception(
                "job %d (%s %d) failed, reference %s", job.job_id, job.kind, job.subject_id, reference
            )
            self._fail(
                job,
                f"The evaluator failed unexpectedly. The details are in its log under reference {reference}.",
                again=True,
            )
        else:
            return "done"
        return "failed"

    def _fail(self, job: Claim, message: str, *, again: bool) -> None:
        with self.database.write() as session:
            if queue.fail(session, job, message, again=again):
                for listener in events.LISTENERS:
                    listener.job_failed(session, job.job_id)
            if job.kind == queue.COMPARE:
                prepared.prepare_next(session, job.subject_id)

    def _push_on(self, job: Claim) -> bool:
        with self.database.write(is_shown=False) as session:
            health.worker_seen(session, self.owner)
            return queue.heartbeat(session, job, self.settings.lease_s)

    def _evaluate(self, job: Claim) -> None:
        assert job.edition_id is not None, "an evaluation belongs to an edition"
        with self.database.read() as session:
            plan = score.plan(session, job.subject_id, job.edition_id)
        scored = score.compute(self.database, job.subject_id, plan)
        with self.database.write() as session:
            finishing.finish(session, job, scored)

    def _check(self, job: Claim) -> None:
        limits = Limits(plain_bytes=self.settings.plain_bytes)
        unfixed = fixing.apply(self.database, job.subject_id, limits)
        with self.database.read() as session:
            name, sha256, size = uploads.stored(session, job.subject_id)
            rules = runs_limits.check_rules(session, job.subject_id)
            # What ranks no documents is scored once it is stored.
            ahead = score.ahead(session, rules.task_id) if rules.kind.ranks_documents else []
        # One reading finds damage; the next one checks, packs and scores.
        source = StoredFile(self.database, job.subject_id)
        source.require_whole(sha256)
        starts = [plan.start for plan in ahead]
        report, run = (unfixed, None) if unfixed else prepare.checked(source, rules, limits, *starts)
        scored = [(plan.edition_id, plan.scored()) for plan in ahead] if run else []
        prepared = PreparedUpload(None, name, sha256, size, report, run)
        with self.database.write() as session:
            queue.finish(session, job)
            done = uploads.decide(session, job.subject_id, prepared)
            if done.run_id is not None:
                for edition_id, scores in scored:
                    score.store(session, done.run_id, edition_id, scores)

    def _compare(self, job: Claim) -> None:
        result = computing.compute(self.database, job.subject_id)
        with self.database.write() as session:
            queue.finish(session, job)
            requests.store(session, job.subject_id, result)
            prepared.prepare_next(session, job.subject_id)

    def _mail(self, job: Claim) -> None:
        for work in self._work:
            work.mail(self.database, job)

    def _webhook(self, job: Claim) -> None:
        for work in self._work:
            work.webhook(self.database, job)

    def _move(self, job: Claim) -> None:
        put = objects.put_moved(self.database, job.subject_id)
        with self.database.write(is_shown=False) as session:
            queue.finish(session, job)
            if put is not None:
                objects.settle_move(session, put)

    @contextmanager
    def _heartbeat(self, job: Claim) -> Iterator[None]:
        """Keep the lease alive from a thread while the job is being done."""
        over = threading.Event()
        beat_s = min(self.settings.lease_s / 4, BEAT_S)
        ends = time.monotonic() + job.limit_s

        def beat() -> None:
            logs.begin(**_facts(job))
            wait_s = beat_s
            while not over.wait(wait_s) and time.monotonic() < ends:
                try:
                    if not self._push_on(job):
                        return
                    wait_s = beat_s
                except SQLAlchemyError as error:
                    if wait_s == beat_s:
                        log.warning("the lease of job %d cannot be pushed on: %s", job.job_id, error)
                    wait_s = min(AGAIN_S, beat_s)

        thread = threading.Thread(target=beat, name=f"heartbeat-{job.job_id}", daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


class _Deliverer(threading.Thread):
    """Sends events to webhooks, one after the other, next to the evaluator that began it."""

    def __init__(
        self, first: Claim, carry_out: Callable[[Claim], None], claim_next: Callable[[], Claim | None]
    ) -> None:
        super().__init__(name=f"deliveries-{first.job_id}", daemon=True)
        self._first, self._carry_out, self._claim_next = first, carry_out, claim_next
        self.followed = 0

    def run(self) -> None:
        """Send the first and what comes after it, until nothing is due."""
        job: Claim | None = self._first
        try:
            while job is not None:
                self._carry_out(job)
                job = self._claim_next()
                self.followed += job is not None
        except SQLAlchemyError as error:
            # The lease runs out, and the delivery is tried again.
            log.warning("webhook deliveries stopped: %s", error)


def _trace(job: Claim, outcome: str, seconds: float) -> None:
    facts: dict[str, str | int] = {f"leaderboard.{name}": value for name, value in _facts(job).items()}
    facts["leaderboard.outcome"] = outcome
    traces.record(f"job {job.kind}", traces.JOB, seconds, facts, is_error=outcome == "failed")


def _facts(job: Claim) -> dict[str, str | int]:
    return {"job": job.job_id, "kind": job.kind, "claim": job.token}


def free_dead_owners(database: Database) -> int:
    """Release at once the leases of processes of this host that no longer run; how many leases that were.

    This process holds nothing yet.
    """
    host, lost = socket.gethostname(), 0
    with database.write() as session:
        for owner in leases.owners_on(session, host):
            # A successor may have the number of the process that died.
            if owner == owner_name() or not _is_running(owner):
                freed = leases.free(session, owner)
                _tell_failed(session, freed)
                lost += len(freed)
    return lost


def _tell_failed(session: Session, jobs: Iterable[Job]) -> None:
    for job in jobs:
        if job.state == "failed":
            for listener in events.LISTENERS:
                listener.job_failed(session, job.id)


def _is_running(owner: str) -> bool:
    pid = int(owner.rsplit(":", 1)[1])
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
