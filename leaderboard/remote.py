"""The evaluator on another machine: claims a task's evaluations from a site, and hands back their scores."""

import json
import logging
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from importlib import import_module
from typing import Any
from urllib.parse import urlencode, urlsplit
from uuid import uuid4

import msgspec

from leaderboard import __version__, logs
from leaderboard.checksums import damaged
from leaderboard.errors import Forbidden, Invalid, LeaderboardError
from leaderboard.services.evaluations import score, wire
from leaderboard.services.rankings.blocks import opened
from leaderboard.settings import is_loopback
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.revision_inputs import compiled_inputs
from leaderboard.trec.runs.fingerprints import RankingDigest

log = logging.getLogger(__name__)

IDLE_S = 2.0
"""How long a worker without a job waits before it asks again."""
AGAIN_S = 5.0
"""How long after the site did not answer it is asked again."""
PAUSES_S = (0.2, 1.0)
"""Between the first tries of a request."""
TIMEOUT_S = 120
LOST = "/api/problems/lost-lease"


class Unreachable(Exception):
    """The site did not answer, or answered that it is busy."""


class LeaseLost(Exception):
    """The job is another's by now; nothing of it is handed in."""


@dataclass(frozen=True, slots=True)
class HeldJob:
    """A job that this worker holds."""

    number: int
    run_id: int
    fence: int
    lease_s: int

    @property
    def facts(self) -> dict[str, object]:
        """What lines of the log about it have, as those of a site's own evaluators."""
        return {"job": self.number, "kind": "evaluate", "claim": self.fence}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """The API never redirects: whatever does would be given the token."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        """Follow nothing."""


class Site:
    """A site that is asked with the token of a worker; it needs https but on this machine."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise Invalid(f"{url!r} is no address of a site; give one like https://example.org.")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise Invalid("A token is not sent over plain http, where it can be read on the way; use https.")
        self._base, self._token = f"{url.rstrip('/')}/api/v1/worker", token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def ask(
        self, method: str, path: str, body: bytes | Mapping[str, Any] | None = None, **query: int
    ) -> bytes:
        """The answer's bytes; raises LeaseLost, Unreachable, and Forbidden or Invalid for a refusal.

        What got no answer is asked again at once: under its key a POST is done once however often it comes.
        """
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": kind}
        address = self._base + path + (f"?{urlencode(query)}" if query else "")
        if method == "POST":
            headers["Idempotency-Key"] = uuid4().hex
        asked = urllib.request.Request(address, data, headers, method=method)
        for pause_s in PAUSES_S:
            try:
                return self._answer(asked)
            except Unreachable:
                time.sleep(pause_s)
        return self._answer(asked)

    def _answer(self, asked: urllib.request.Request) -> bytes:
        try:
            with self._opener.open(asked, timeout=TIMEOUT_S) as answer:
                received: bytes = answer.read()
                return received
        except urllib.error.HTTPError as error:
            raise _refusal(error) from None
        except (urllib.error.URLError, HTTPException, OSError) as error:
            raise Unreachable(str(getattr(error, "reason", None) or error)) from None


def _refusal(error: urllib.error.HTTPError) -> Exception:
    with error:
        try:
            said = json.loads(error.read())
            kind, detail = str(said["type"]), str(said["detail"])
        except (ValueError, KeyError, TypeError, OSError, HTTPException):
            return Unreachable(f"it answered {error.code}")
    if kind == LOST:
        return LeaseLost(detail)
    if error.code == 429 or error.code >= 500:
        return Unreachable(detail)
    return Forbidden(detail) if error.code in (401, 403) else Invalid(detail)


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
                result = self._computed(job, is_lost)
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

    def _computed(self, job: HeldJob, is_lost: threading.Event) -> bytes:
        packed = self._site.ask("GET", f"/jobs/{job.number}/plan", fence=job.fence)
        plan = wire.opened_plan(packed)
        if plan.inputs.is_of_answers:
            return wire.packed_scores(self._of_answers(job, plan, is_lost), packed)
        aligner = Aligner(compiled_inputs(plan.inputs), dialect=plan.dialect)
        digest = RankingDigest()
        for body in self._blocks(job, is_lost):
            block = opened(job.run_id, body)
            digest.add(block)
            aligner.add(block)
        if digest.hexdigest() != plan.ranking_sha256:
            raise damaged(f"rankings of run {job.run_id}", "their digest does not match")
        return wire.packed_scores(score.of_judged(plan, aligner.judged()), packed)

    def _of_answers(self, job: HeldJob, plan: score.Plan, is_lost: threading.Event) -> score.RunScores:
        # Where there are rankings only, no module of answers is ever loaded.
        names = "answers.sending", "answers.store", "nuggets.scoring"
        sending, store, scoring = (import_module(f"leaderboard.services.{name}") for name in names)
        pairs = (msgspec.msgpack.decode(body, type=tuple[str, bytes]) for body in self._blocks(job, is_lost))
        answers = {topic: store.opened(job.run_id, topic, body) for topic, body in pairs}
        if sending.digest_of(iter(answers.values())) != plan.ranking_sha256:
            raise damaged(f"answers of run {job.run_id}", "their digest does not match")
        scored: score.RunScores = scoring.of_answers(plan, answers)
        return scored

    def _blocks(self, job: HeldJob, is_lost: threading.Event) -> Iterator[bytes]:
        first = 0
        while bodies := msgspec.msgpack.decode(
            self._site.ask("GET", f"/jobs/{job.number}/rankings", fence=job.fence, first=first),
            type=list[bytes],
        ):
            for body in bodies:
                if is_lost.is_set():
                    raise LeaseLost(f"The lease of job {job.number} was lost while it was being done.")
                yield body
            first += len(bodies)

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
