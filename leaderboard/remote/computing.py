"""What a job of a site comes to: judgments and runs asked for, digests compared, scores computed as there."""

import threading
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING

import msgspec

from leaderboard.checksums import damaged
from leaderboard.errors import Conflict
from leaderboard.remote.site import HeldJob, LeaseLost, Site
from leaderboard.services.evaluations import score, wire
from leaderboard.services.rankings.blocks import opened
from leaderboard.trec.qrels.align import Aligner
from leaderboard.trec.qrels.revision_inputs import compiled_inputs
from leaderboard.trec.read.blocks import Block
from leaderboard.trec.runs.fingerprints import RankingDigest

if TYPE_CHECKING:
    from leaderboard.services.judges.labels.run_sources import ReferenceBasis
    from leaderboard.trec.answers.record import Answer
    from leaderboard.trec.boards.packing import Origin


def computed(site: Site, job: HeldJob, is_lost: threading.Event) -> bytes:
    """The scores that a job asks for, as they are handed in.

    Raises LeaseLost once is_lost is set, Unreachable and Forbidden as asking does, and Damaged for what does
    not have its digest.
    """
    packed = site.ask("GET", f"/jobs/{job.number}/plan", fence=job.fence)
    plan = wire.opened_plan(packed)
    runs = AskedRunSource(site, job, is_lost)
    if plan.inputs.is_board:
        return wire.packed_scores(_of_judge(site, job, plan, runs), packed)
    if plan.inputs.is_of_answers:
        # Where there are rankings only, no module of answers is ever loaded.
        scoring = import_module("leaderboard.services.nuggets.scoring")
        of_run = scoring.of_answers(plan, runs.answers(job.run_id, plan.ranking_sha256))
        return wire.packed_scores(of_run, packed)
    aligner = Aligner(compiled_inputs(plan.inputs), dialect=plan.dialect)
    for block in runs.blocks(job.run_id, plan.ranking_sha256):
        aligner.add(block)
    return wire.packed_scores(score.of_judged(plan, aligner.judged()), packed)


def _of_judge(site: Site, job: HeldJob, plan: score.Plan, runs: "AskedRunSource") -> score.RunScores:
    names = "elsewhere", "store", "scoring"
    elsewhere, store, scoring = (import_module(f"leaderboard.services.judges.{name}") for name in names)
    sent = elsewhere.opened(site.ask("GET", f"/jobs/{job.number}/judge", fence=job.fence))
    judge = store.opened_sent(job.run_id, sent.body)
    if judge.sha256 != plan.ranking_sha256:
        raise damaged(f"what judge {job.run_id} sent", "its digest does not match")
    runs.known = sent.basis
    scored: score.RunScores = scoring.of_judge(plan, judge, runs)
    return scored


class AskedRunSource:
    """Rankings and answers of a job's run, and of the runs that a judge's labels score, asked of the site."""

    def __init__(self, site: Site, job: HeldJob, is_lost: threading.Event) -> None:
        self._site, self._job, self._is_lost = site, job, is_lost
        self.known: ReferenceBasis | None = None

    def basis(self, origin: "Origin") -> "ReferenceBasis":
        """What the site said of the runs of a reference; raises Conflict where that is nothing."""
        if self.known is None:
            raise Conflict(f"The site says nothing of the runs of task {origin.task_id}.")
        return self.known

    def blocks(self, run_id: int, sha256: str) -> Iterator[Block]:
        """The rankings of a run; raises Damaged where all of them do not have the digest."""
        digest = RankingDigest()
        for body in self._bodies(run_id):
            block = opened(run_id, body)
            digest.add(block)
            yield block
        if digest.hexdigest() != sha256:
            raise damaged(f"rankings of run {run_id}", "their digest does not match")

    def answers(self, run_id: int, sha256: str) -> "dict[str, Answer]":
        """Topic -> answer of a run; raises Damaged where all of them do not have the digest."""
        # Where there are rankings only, no module of answers is ever loaded.
        sending, store = (
            import_module(f"leaderboard.services.answers.{name}") for name in ("sending", "store")
        )
        pairs = (msgspec.msgpack.decode(body, type=tuple[str, bytes]) for body in self._bodies(run_id))
        answers = {topic: store.opened(run_id, topic, body) for topic, body in pairs}
        if sending.digest_of(iter(answers.values())) != sha256:
            raise damaged(f"answers of run {run_id}", "their digest does not match")
        return answers

    def _bodies(self, run_id: int) -> Iterator[bytes]:
        job, first = self._job, 0
        own = run_id == job.run_id
        path = f"/jobs/{job.number}/rankings" if own else f"/jobs/{job.number}/runs/{run_id}/rankings"
        while bodies := msgspec.msgpack.decode(
            self._site.ask("GET", path, fence=job.fence, first=first), type=list[bytes]
        ):
            for body in bodies:
                if self._is_lost.is_set():
                    raise LeaseLost(f"The lease of job {job.number} was lost while it was being done.")
                yield body
            first += len(bodies)
