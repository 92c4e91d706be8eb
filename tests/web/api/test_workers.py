"""Workers on other machines: a task's evaluations by a token alone, each stored once, bit for bit."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from sqlalchemy import delete, select, update

from leaderboard import __version__
from leaderboard.cli import main
from leaderboard.db.tables import Answer, Audit, Evaluation, EvaluationMean, Job, TaskRole
from leaderboard.errors import Damaged, Invalid
from leaderboard.remote import evaluator
from leaderboard.remote import site as asked_site
from leaderboard.remote.evaluator import RemoteEvaluator
from leaderboard.remote.site import Unreachable
from leaderboard.services.evaluations import wire
from leaderboard.services.evaluations.wire import PackedScores
from leaderboard.services.policy import OPERATOR
from leaderboard.services.tasks import roles
from leaderboard.services.workers.elsewhere import EVALUATOR
from tests.make import answers, build, nuggeted
from tests.make.servers import HOST, served
from tests.web.api.conftest import Program, Programs
from tests.web.api.worked import claim, compute, hand_in
from tests.web.conftest import Site

NUGGETS = [
    {"qid": topic, "nuggets": [{"text": text, "importance": kind} for text, (kind, _) in of.items()]}
    for topic, of in nuggeted.WORKED.items()
]


@pytest.fixture
def queued(site: Site) -> Site:
    """The site with one evaluation to do."""
    with site.database.write() as session:
        session.execute(update(Job).values(state="queued", attempts=0, error=""))
    return site


@pytest.fixture
def worker(queued: Site, program: Programs) -> Program:
    """A program with a worker's token for that task."""
    return program("Olga", "read", slug="robots", kind="worker")


@pytest.fixture
def address(queued: Site) -> Iterator[str]:
    """Where the site is served."""
    with served(queued.app, queued.settings) as running:
        yield f"http://{HOST}:{running.port}"


def _scores(site: Site) -> dict[str, bytes]:
    with site.database.read() as session:
        return {row.measure: row.scores.tobytes() for row in session.scalars(select(Evaluation))}


def test_it_computes_what_the_site_would(queued: Site, worker: Program, address: str) -> None:
    """By the command, with the token and the address alone; on record are who and from where."""
    environment = {"LEADERBOARD_TOKEN": worker.secret}
    done = CliRunner().invoke(main, ["worker", "--once", "--site", address], env=environment)
    assert done.stdout == "1 jobs were done.\n"
    by_worker = _scores(queued)
    with queued.database.write() as session:
        assert set(session.scalars(select(Evaluation.evaluator))) == {EVALUATOR}
        record = session.scalars(select(Audit).where(Audit.action == "job.result")).one()
        assert record.account_id == queued.world.olga
        session.execute(delete(Evaluation))
        session.execute(update(Job).values(state="queued"))
    build.drain(queued.database)
    assert by_worker == _scores(queued) != {}


def test_a_lost_lease_stores_nothing(queued: Site, worker: Program) -> None:
    """Taken over, handed in twice or never held: each is told so, and the scores of one attempt stay."""
    job = claim(worker)
    assert job["run"] == queued.world.run
    assert claim(worker)["job"] is None
    result = compute(worker, job)
    stale = job | {"fence": job["fence"] - 1}
    assert hand_in(worker, stale, result) == (409, "lost-lease")
    assert worker.ask("GET", f"/worker/jobs/{job['job']}/plan?fence={stale['fence']}").status_code == 409
    assert _scores(queued) == {}
    beat = f"/worker/jobs/{job['job']}/heartbeat"
    assert worker.ask("POST", beat, json={"fence": job["fence"]}).status_code == 200
    assert worker.ask("POST", beat, json={"fence": stale["fence"]}).status_code == 409
    assert hand_in(worker, job, result) == (200, "")
    stored = _scores(queued)
    assert hand_in(worker, job, result) == (409, "lost-lease")
    assert _scores(queued) == stored != {}


def test_a_result_that_does_not_fit_is_refused(queued: Site, worker: Program) -> None:
    """Changed on the way, of other judgments, by other measures, with no number or too few."""
    job = claim(worker)
    result = compute(worker, job)
    packed = worker.ask("GET", f"/worker/jobs/{job['job']}/plan?fence={job['fence']}").data
    plan = wire.opened_plan(packed)
    sent = msgspec.msgpack.decode(result, type=PackedScores)
    key, (scores, parts) = next(iter(sent.by_measure.items()))

    def with_(by_measure: dict[str, Any], hits: bytes | None, of: bytes = packed) -> bytes:
        digest = wire._digest(by_measure, hits, of)
        return msgspec.msgpack.encode(PackedScores(by_measure=by_measure, hits=hits, sha256=digest))

    good = dict(sent.by_measure)
    wrong = {
        "cut": result[:-5],
        "one bit": result.replace(scores, bytes([scores[0] ^ 1]) + scores[1:], 1),
        "other judgments": with_(good, sent.hits, packed + b" "),
        "an unasked measure": with_(good | {"P@3": (scores, None)}, sent.hits),
        "too few topics": with_(good | {key: (scores[:-8], parts)}, sent.hits),
        "no number": with_(good | {key: (np.full(len(scores) // 8, np.nan).tobytes(), parts)}, sent.hits),
        "no hits": with_(good, None),
    }
    answers = {name: hand_in(worker, job, bytes(body)) for name, body in wrong.items()}
    assert answers == dict.fromkeys(wrong, (422, "invalid"))
    assert _scores(queued) == {}
    assert plan.lacks_hits
    assert hand_in(worker, job, with_(good, sent.hits)) == (200, "")


def test_who_may_not_evaluate_gets_no_job(queued: Site, worker: Program, program: Programs) -> None:
    """Another kind of token, another task's, another version, and one whose owner organises no more."""
    body = {"version": __version__}
    for other in (program("Olga", "read", "organise"), program("Berta")):
        assert other.ask("POST", "/worker/claim", json=body).status_code == 403
    elsewhere = program("Otto", "read", slug="other", kind="worker")
    assert claim(elsewhere)["job"] is None
    old = worker.ask("POST", "/worker/claim", json={"version": "0.0.1"})
    assert (old.status_code, __version__ in old.json["detail"]) == (409, True)
    job = claim(worker)
    assert elsewhere.ask("GET", f"/worker/jobs/{job['job']}/plan?fence={job['fence']}").status_code == 409
    with queued.database.write() as session:
        session.execute(delete(TaskRole).where(TaskRole.account_id == queued.world.olga))
    for path in ("plan", "rankings"):
        asked = worker.ask("GET", f"/worker/jobs/{job['job']}/{path}?fence={job['fence']}")
        assert asked.status_code == 403
    assert worker.ask("POST", "/worker/claim", json=body).status_code == 403


def test_a_cut_network_costs_time_only(queued: Site, worker: Program, address: str) -> None:
    """Every second request is cut, before or after the site had it; the run is scored once."""

    class Cut(asked_site.Site):
        """A site behind a bad line."""

        asked = 0

        def ask(self, method: str, path: str, body: Any = None, **query: int) -> bytes:
            self.asked += 1
            if path.endswith("/result") and self.asked % 2:
                raise Unreachable("cut")
            answer = super().ask(method, path, body, **query)
            if path == "/claim" and self.asked == 1:
                raise Unreachable("cut after it was received")
            return answer

    site, turns = Cut(address, worker.secret), iter(range(20))

    def wait(_: float) -> None:
        # The job that was claimed by the answer that was lost is free again when its lease has run out.
        with queued.database.write() as session:
            session.execute(update(Job).where(Job.state == "leased").values(state="queued"))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(evaluator, "AGAIN_S", 0.01)
        RemoteEvaluator(site).run(lambda: next(turns) > 5 or bool(_scores(queued)), wait)
    with queued.database.read() as session:
        measures = list(session.scalars(select(Evaluation.measure)))
        assert sorted(measures) == sorted(set(measures)) != []
        assert session.scalars(select(Job.state)).one() == "done"


def test_a_job_that_cannot_be_done_is_given_back(queued: Site, worker: Program) -> None:
    """With what the worker says of it; after its attempts it has failed."""
    for attempt in (1, 2, 3):
        with queued.database.write() as session:
            session.execute(update(Job).values(run_after=Job.created_at))
        job = claim(worker)
        assert job["job"], attempt
        body = {"fence": job["fence"], "message": "No room\nleft."}
        assert worker.ask("POST", f"/worker/jobs/{job['job']}/failure", json=body).status_code == 200
    with queued.database.read() as session:
        row = session.scalars(select(Job)).one()
        assert (row.state, row.error) == ("failed", "A worker elsewhere: No room left.")


def test_its_command_needs_a_token_and_a_safe_address(tmp_path: Path) -> None:
    """And says what is wrong in one line."""
    for words, said in (
        (["--site", "https://example.org"], "Set LEADERBOARD_TOKEN"),
        (["--site", "http://example.org", "--token", "lb_w"], "use https"),
        (["--site", "example.org", "--token", "lb_w"], "is no address"),
        (["--once", "--site", "http://127.0.0.1:9", "--token", "lb_w"], "does not answer"),
    ):
        done = CliRunner().invoke(main, ["worker", *words], env={"LEADERBOARD_TOKEN": ""})
        assert (done.exit_code, said in done.output) == (1, True), done.output
    with pytest.raises(Invalid):
        asked_site.Site("ftp://example.org", "lb_w")


def test_runs_of_answers_are_scored_elsewhere_too(site: Site, program: Programs, tmp_path: Path) -> None:
    """Bit for bit as the site's own evaluator does, cells that nobody judged included."""
    nuggeted.task(site.database, tmp_path, "said")
    run = nuggeted.run(site.database, tmp_path, "one", nuggeted.worked_lines(), slug="said")
    with site.database.write() as session:
        roles.give(session, OPERATOR, "said", "Olga", "organiser")
    files = nuggeted.files(
        tmp_path, assignments=nuggeted.worked_labels("one", ["1"]), support=[answers.supported("1", [2])]
    )
    nuggeted.revise(site.database, {**files, **nuggeted.files(tmp_path, nuggets=NUGGETS)}, slug="said")
    build.drain(site.database)
    of_run = Evaluation.run_id == run
    with site.database.write() as session:
        before = {
            row.measure: row.scores.tobytes() for row in session.scalars(select(Evaluation).where(of_run))
        }
        session.execute(delete(EvaluationMean))
        session.execute(delete(Evaluation).where(of_run))
        session.execute(update(Job).where(Job.subject_id == run).values(state="queued", attempts=0, error=""))
    worker = program("Olga", "read", slug="said", kind="worker")
    job = claim(worker)
    assert job["run"] == run
    assert hand_in(worker, job, compute(worker, job)) == (200, "")
    with site.database.read() as session:
        found = {row.measure: row.scores for row in session.scalars(select(Evaluation).where(of_run))}
        assert set(session.scalars(select(Evaluation.evaluator).where(of_run))) == {EVALUATOR}
    assert {measure: scores.tobytes() for measure, scores in found.items()} == before
    assert any(np.isnan(scores).any() for scores in found.values())


def test_answers_that_are_not_those_of_the_run_are_not_scored(
    site: Site, program: Programs, tmp_path: Path
) -> None:
    """A worker sees by the digest that an answer is missing."""
    nuggeted.task(site.database, tmp_path, "said")
    run = nuggeted.run(site.database, tmp_path, "one", nuggeted.worked_lines(), slug="said")
    with site.database.write() as session:
        roles.give(session, OPERATOR, "said", "Olga", "organiser")
    nuggeted.revise(
        site.database, nuggeted.files(tmp_path, assignments=nuggeted.worked_labels("one")), slug="said"
    )
    with site.database.write() as session:
        session.execute(delete(Answer).where(Answer.run_id == run, Answer.topic_id == "2"))
    worker = program("Olga", "read", slug="said", kind="worker")
    with pytest.raises(Damaged, match="their digest does not match"):
        compute(worker, claim(worker))
