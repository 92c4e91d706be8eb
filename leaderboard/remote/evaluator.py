"""The evaluator on another machine: claims a task's evaluations from a site, and hands back their scores."""

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from leaderboard import __version__, logs
from leaderboard.errors import LeaderboardError
from leaderboard.remote import computing
from leaderboard.remote.site import HeldJob, LeaseLost, Site, Unreachable

log = logging.getLogger(__name__)

IDLE_S = 2.0
"""How long a worker without a job waits before it asks again."""
AGAIN_S = 5.0
"""How long after the site did not answer it is asked again."""


class RemoteEvaluator:
    """One evaluation slot on another machine: does one job of a site after the other."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def drain(self) -> int:
        """Do every job that is due; how many were handed in."""
        done = 0
        while (job := self._claim()) is not None:
            done += self._do(job)
        return done

    def run(self, stopping: Callable[[], bool], wait: Callable[[float], object]) -> None:
        """Work until stopping() is true; a site that does not answer is asked again until it does."""
        was_lost = False
        while not stopping():
            try:
                job = self._claim()
                if was_lost:
                    log.warning("the site answers again")
                was_lost = False
                if job is None:
                    wait(IDLE_S)
                else:
                    self._do(job)
            except Unreachable as error:
                if not was_lost:
                    log.error("the site does not answer; it is asked again until it does: %s", error)
                was_lost = True
                wait(AGAIN_S)

    def _claim(self) -> HeldJob | None:
        body = {"version": __version__, "slot": os.getpid()}
        said = json.loads(self._site.ask("POST", "/claim", body))
        if said["job"] is None:
            return None
        return HeldJob(said["job"], said["run"], said["fence"], said["lease_s"])

    def _do(self, job: HeldJob) -> bool:
        """Whether the job's scores were handed in."""
        with logs.about(**job.facts):
            return self._attempt(job)

    def _attempt(self, job: HeldJob) -> bool:
        try:
            with self._heartbeat(job) as is_lost:
                result = computing.computed(self._site, job, is_lost)
                self._hand_in(job, result, is_lost)
        except LeaseLost as lost:
            log.warning("%s", lost)
        except LeaderboardError as error:
            log.warning("job %d (run %d): %s", job.number, job.run_id, error)
            self._give_up(job, error.message)
        except Unreachable:
            raise
        except Exception as error:
            log.exception("job %d (run %d) failed", job.number, job.run_id)
            self._give_up(job, f"{type(error).__name__}; its log says more.")
        else:
            return True
        return False

    def _hand_in(self, job: HeldJob, result: bytes, is_lost: threading.Event) -> None:
        """Until the site has it or the lease is lost: a network that is cut costs time, not work."""
        while True:
            try:
                self._site.ask("PUT", f"/jobs/{job.number}/result", result, fence=job.fence)
            except Unreachable as error:
                # The lease runs on at the site alone; what comes too late is refused there.
                log.warning("job %d cannot be handed in yet: %s", job.number, error)
                if is_lost.wait(AGAIN_S):
                    raise LeaseLost(f"The lease of job {job.number} was lost.") from None
            else:
                return

    def _give_up(self, job: HeldJob, message: str) -> None:
        try:
            body = {"fence": job.fence, "message": message}
            self._site.ask("POST", f"/jobs/{job.number}/failure", body)
        except (LeaseLost, LeaderboardError) as error:
            log.warning("job %d was lost already: %s", job.number, error)

    @contextmanager
    def _heartbeat(self, job: HeldJob) -> Iterator[threading.Event]:
        """Keep the lease from a thread; the event is set once it is lost."""
        over, is_lost = threading.Event(), threading.Event()
        until = time.monotonic() + job.lease_s

        def beat() -> None:
            nonlocal until
            while not over.wait(max(job.lease_s / 4, 0.05)):
                try:
                    self._site.ask("POST", f"/jobs/{job.number}/heartbeat", {"fence": job.fence})
                    until = time.monotonic() + job.lease_s
                except Unreachable:
                    # The site may be back before the lease runs out.
                    if time.monotonic() > until:
                        is_lost.set()
                        return
                except (LeaseLost, LeaderboardError):
                    is_lost.set()
                    return

        thread = threading.Thread(target=beat, name=f"heartbeat-{job.number}", daemon=True)
        thread.start()
        try:
            yield is_lost
        finally:
            over.set()
            thread.join()
