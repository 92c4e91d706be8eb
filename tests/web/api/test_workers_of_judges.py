"""Judges scored on other machines: boards, and labels whose reference everybody may have the runs of."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from leaderboard.db.engine import now
from leaderboard.db.tables import Alignment, Evaluation, EvaluationMean, Job, JudgeBoard, Phase, Run, Task
from leaderboard.errors import Damaged, Forbidden
from leaderboard.services.evaluations import wire
from leaderboard.services.evaluations.wire import PackedScores
from leaderboard.services.judges import store
from leaderboard.services.workers.elsewhere import EVALUATOR
from leaderboard.trec.boards.packing import KeptBoard, pack_board
from tests.make import build, judging, of_judges
from tests.web.api.conftest import Programs
from tests.web.api.worked import claim, compute, hand_in
from tests.web.conftest import Site

Stored = dict[tuple[int, str], tuple[bytes, bytes | None]]


@pytest.fixture
def judged(site: Site, tmp_path: Path) -> Site:
    """Tasks of judges against rankings and against answers, all scored by the site."""
    of_judges.build(site.database, tmp_path, "Olga")
    return site


def _of(session: Session, slug: str) -> tuple[dict[str, int], int]:
    """The judges of a task by name, and the id of the task."""
    task = session.scalars(select(Task.id).where(Task.slug == slug)).one()
    rows = session.execute(select(Run.name, Run.id).where(Run.task_id == task))
    return {name: number for name, number in rows}, task


def _queue(site: Site, *slugs: str) -> dict[str, int]:
    """Forget all scores of judges and queue them again; the judges by name."""
    judges: dict[str, int] = {}
    with site.database.write() as session:
        for slug in slugs:
            judges |= _of(session, slug)[0]
        ids = judges.values()
        of_judges = select(Evaluation.id).where(Evaluation.run_id.in_(ids))
        session.execute(delete(EvaluationMean).where(EvaluationMean.evaluation_id.in_(of_judges)))
        session.execute(delete(Evaluation).where(Evaluation.run_id.in_(ids)))
        session.execute(delete(Alignment).where(Alignment.run_id.in_(ids)))
        again = update(Job).where(Job.kind == "evaluate", Job.subject_id.in_(ids))
        session.execute(again.values(state="queued", attempts=0, error=""))
    return judges


def _stored(site: Site, slug: str) -> tuple[Stored, dict[int, bytes]]:
    """(Judge, measure) -> its scores and their parts, and judge -> the board that its labels made."""
    with site.database.read() as session:
        ids = _of(session, slug)[0].values()
        rows = session.scalars(select(Evaluation).where(Evaluation.run_id.in_(ids)))
        scores = {
            (row.run_id, row.measure): (
                row.scores.tobytes(),
                row.parts.tobytes() if row.parts is not None else None,
            )
            for row in rows
        }
        made = session.scalars(select(Alignment).where(Alignment.run_id.in_(ids)))
        return scores, {row.run_id: row.body for row in made}


@pytest.mark.parametrize("slug", ["held", "heard"])
def test_judges_are_scored_elsewhere_bit_for_bit(judged: Site, program: Programs, slug: str) -> None:
    """A board, labels of documents and labels of answers: scores and boards are those of the site."""
    before = _stored(judged, slug)
    judges = _queue(judged, slug)
    assert _stored(judged, slug) == ({}, {})
    worker = program("Olga", "read", slug=slug, kind="worker")
    for _ in judges:
        job = claim(worker)
        assert hand_in(worker, job, compute(worker, job)) == (200, "")
    assert claim(worker)["job"] is None
    assert _stored(judged, slug) == before
    assert len(before[1]) == {"held": 1, "heard": 2}[slug]
    with judged.database.read() as session:
        by = select(Evaluation.evaluator).where(Evaluation.run_id.in_(judges.values()))
        assert set(session.scalars(by)) == {EVALUATOR}


def test_a_judge_without_a_rank_has_none_by_a_worker(judged: Site, program: Programs, tmp_path: Path) -> None:
    """A board that lacks a run of the reference: its scores are no numbers, there as here."""
    less = {run: (0.1 * place, 0.5, 0.2) for place, run in enumerate("ABC")}
    with judged.database.write() as session:
        session.execute(update(Phase).where(Phase.task_id == _of(session, "held")[1]).values(closes_at=None))
    run_id = judging.judge(judged.database, tmp_path, less, "few", slug="held", team_name="Third")
    worker = program("Olga", "read", slug="held", kind="worker")
    job = claim(worker)
    assert job["run"] == run_id
    assert hand_in(worker, job, compute(worker, job)) == (200, "")
    scored, _ = _stored(judged, "held")
    assert all(np.isnan(np.frombuffer(scored[run_id, key][0])).all() for key in ("BoardTau", "TopicTau"))


def _blind(session: Session, task: int) -> None:
    later = now(session) + timedelta(days=1)
    session.execute(update(Phase).where(Phase.task_id == task).values(visibility="blind", closes_at=later))


def _masked(session: Session, task: int) -> None:
    session.execute(update(Task).where(Task.id == task).values(naming="team"))


def _withdrawn(session: Session, task: int) -> None:
    run = select(Run.id).where(Run.task_id == task).limit(1).scalar_subquery()
    session.execute(update(Run).where(Run.id == run).values(withdrawn_at=now(session)))


def _draft(session: Session, task: int) -> None:
    session.execute(update(Task).where(Task.id == task).values(published_at=None))


@pytest.mark.parametrize("hide", [_blind, _masked, _withdrawn, _draft])
def test_labels_stay_where_not_everybody_may_have_the_runs(
    judged: Site, program: Programs, hide: Callable[[Session, int], None]
) -> None:
    """Boards go out, labels do not; what was given before is refused, and the site scores it as ever."""
    before = _stored(judged, "held")
    judges = _queue(judged, "held")
    worker = program("Olga", "read", slug="held", kind="worker")
    given = claim(worker)
    assert given["run"] == judges["oak"]
    with judged.database.write() as session:
        hide(session, _of(session, "ranked")[1])
    with pytest.raises(Forbidden, match="Not everybody may have the runs"):
        compute(worker, given)
    failed = {"fence": given["fence"], "message": "refused"}
    assert worker.ask("POST", f"/worker/jobs/{given['job']}/failure", json=failed).status_code == 200
    with judged.database.write() as session:
        session.execute(update(Job).values(run_after=Job.created_at))
    board = claim(worker)
    assert board["run"] == judges["elm"]
    assert hand_in(worker, board, compute(worker, board)) == (200, "")
    assert claim(worker)["job"] is None
    build.drain(judged.database)
    assert _stored(judged, "held") == before


def test_labels_of_a_board_file_stay_here(judged: Site, program: Programs, tmp_path: Path) -> None:
    """A later reference has no runs to score: the site says that its judge has no rank."""
    board = {run: (0.1 * place, 0.2, 0.3) for place, run in enumerate("ABCD")}
    judging.refer(judged.database, tmp_path, board, "held")
    with judged.database.read() as session:
        judges, _ = _of(session, "held")
    worker = program("Olga", "read", slug="held", kind="worker")
    runs = set()
    while (job := claim(worker))["job"]:
        runs.add(job["run"])
    assert runs == {judges["elm"]}


def test_a_worker_reads_what_its_job_needs(judged: Site, program: Programs) -> None:
    """The runs of the reference for labels, none for a board; nothing of other tasks or without a job."""
    judges = _queue(judged, "held")
    worker = program("Olga", "read", slug="held", kind="worker")
    jobs = {job["run"]: job for job in (claim(worker), claim(worker))}
    labels, board = jobs[judges["oak"]], jobs[judges["elm"]]
    with judged.database.read() as session:
        ranked, said = (sorted(_of(session, slug)[0].values()) for slug in ("ranked", "said"))

    def status(job: dict[str, Any], path: str, fence: int = 0) -> int:
        asked = worker.ask("GET", f"/worker/jobs/{job['job']}/{path}?fence={job['fence'] - fence}")
        return int(asked.status_code)

    assert [status(labels, f"runs/{run}/rankings") for run in ranked] == [200] * len(ranked)
    for run in (said[0], judged.world.run, judges["elm"], judges["oak"], 999):
        assert status(labels, f"runs/{run}/rankings") == 404, run
    assert status(board, f"runs/{ranked[0]}/rankings") == 404
    assert (status(board, "judge"), status(labels, "judge")) == (200, 200)
    for path in ("judge", f"runs/{ranked[0]}/rankings"):
        assert status(labels, path, fence=1) == 409
    other = program("Olga", "read", slug="heard", kind="worker")
    asked = other.ask("GET", f"/worker/jobs/{labels['job']}/judge?fence={labels['fence']}")
    assert asked.status_code == 409


def test_a_job_of_a_run_has_no_judge(site: Site, program: Programs) -> None:
    """And needs no other run."""
    with site.database.write() as session:
        session.execute(update(Job).values(state="queued", attempts=0))
    worker = program("Olga", "read", slug="robots", kind="worker")
    job = claim(worker)
    for path, status in (("judge", 409), (f"runs/{job['run']}/rankings", 404)):
        asked = worker.ask("GET", f"/worker/jobs/{job['job']}/{path}?fence={job['fence']}")
        assert asked.status_code == status


def _with_board(kept: KeptBoard, **changed: Any) -> bytes:
    return pack_board(replace(kept, board=replace(kept.board, **changed)))


def test_what_no_judge_can_have_is_refused(judged: Site, program: Programs) -> None:
    """Boards of other runs, topics or measures, no board, other parts, a bit: nothing is stored or lost."""
    judges = _queue(judged, "held")
    worker = program("Olga", "read", slug="held", kind="worker")
    job = claim(worker)
    assert job["run"] == judges["oak"]
    plan = worker.ask("GET", f"/worker/jobs/{job['job']}/plan?fence={job['fence']}").data
    good = msgspec.msgpack.decode(compute(worker, job), type=PackedScores)
    assert good.hits is not None
    kept = store.opened(0, good.hits)
    measure = kept.primary
    rows = kept.board.values[measure]

    def with_(hits: bytes | None, **pairs: Any) -> bytes:
        by_measure = {**good.by_measure, **pairs}
        digest = wire._digest(by_measure, hits, plan)
        return msgspec.msgpack.encode(PackedScores(by_measure=by_measure, hits=hits, sha256=digest))

    tau, parts = good.by_measure["BoardTau"]
    assert parts is not None
    lies = {
        "no board": with_(None),
        "no board at all": with_(b"BRD1nonsense"),
        "labels": with_(good.hits[1:]),
        "another run": with_(_with_board(kept, values={measure: {**rows, "Z": rows["A"]}})),
        "another topic": with_(_with_board(kept, topics=("1", "99"))),
        "another measure": with_(_with_board(kept, values={"RR": rows})),
        "no number": with_(_with_board(kept, values={measure: {**rows, "A": {"1": float("inf")}}})),
        "infinite": with_(good.hits, TopicTau=(np.full(3, np.inf).tobytes(), None)),
        "no parts": with_(good.hits, BoardTau=(tau, None)),
        "fewer parts": with_(good.hits, BoardTau=(tau, parts[: len(parts) // 2])),
        "parts of others": with_(good.hits, TopicTau=(good.by_measure["TopicTau"][0], parts)),
        "a bit": with_(good.hits)[:-70] + b"0" + with_(good.hits)[-69:],
    }
    told = {name: hand_in(worker, job, body) for name, body in lies.items()}
    assert told == dict.fromkeys(lies, (422, "invalid"))
    assert _stored(judged, "held") == ({}, {})
    assert hand_in(worker, job, with_(good.hits)) == (200, "")


@pytest.mark.parametrize("what", ["judge", "run"])
def test_what_lacks_its_digest_is_not_scored(judged: Site, program: Programs, what: str) -> None:
    """Another file than the judge's, another run than the reference's: the worker says so, and no more."""
    judges = _queue(judged, "held")
    with judged.database.write() as session:
        if what == "judge":
            body = session.scalars(select(JudgeBoard.body).where(JudgeBoard.run_id == judges["elm"])).one()
            session.execute(update(JudgeBoard).where(JudgeBoard.run_id == judges["oak"]).values(body=body))
        else:
            run = min(_of(session, "ranked")[0].values())
            session.execute(update(Run).where(Run.id == run).values(ranking_sha256="0" * 64))
    worker = program("Olga", "read", slug="held", kind="worker")
    with pytest.raises(Damaged, match="digest does not match"):
        compute(worker, claim(worker))
    assert _stored(judged, "held") == ({}, {})


def test_a_worker_that_dies_leaves_its_judge_to_the_site(judged: Site, program: Programs) -> None:
    """Its lease runs out, the site scores the labels; what comes late is refused and changes nothing."""
    before = _stored(judged, "held")
    _queue(judged, "held")
    worker = program("Olga", "read", slug="held", kind="worker")
    job = claim(worker)
    late = compute(worker, job)
    with judged.database.write() as session:
        long_ago = now(session) - timedelta(days=1)
        session.execute(update(Job).where(Job.id == job["job"]).values(lease_until=long_ago))
    build.drain(judged.database)
    assert _stored(judged, "held") == before
    assert hand_in(worker, job, late) == (409, "lost-lease")
    asked = worker.ask("GET", f"/worker/jobs/{job['job']}/judge?fence={job['fence']}")
    assert asked.status_code == 409
    assert _stored(judged, "held") == before
    with judged.database.read() as session:
        done = session.execute(select(Job.state, Job.attempts).where(Job.id == job["job"])).one()
        assert tuple(done) == ("done", 2)
