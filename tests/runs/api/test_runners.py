"""Runners: machines of the organisers that execute systems and send what these retrieved, and say of what."""

from sqlalchemy import delete, select

from leaderboard.db.tables import Run, TaskRole, Upload
from tests.make.pages import main
from tests.make.worlds import RUN
from tests.web.api.conftest import Program, Programs
from tests.web.conftest import Site

IMAGE, COMMIT = f"sha256:{'ab' * 32}", "0123abc"


def _send(runner: Program, name: str, team: int, query: str) -> tuple[int, dict[str, object]]:
    answer = runner.ask("PUT", f"/tasks/robots/runs/{name}?team={team}&{query}", data=RUN)
    return answer.status_code, answer.json


def test_what_a_runner_executed_stands_apart_from_who_sent(site: Site, program: Programs) -> None:
    """On the page of the run's origin and in its JSON; a run that others sent says nothing of it."""
    runner = program("Olga", "read", "submit", slug="robots", kind="runner")
    status, sent = _send(runner, "executed", site.world.owls, f"image={IMAGE}&commit={COMMIT}")
    assert status == 201, sent
    wanted = {"by": "test", "image": IMAGE, "commit": COMMIT}
    visitor = site.browser()
    assert visitor.get(f"/runs/{sent['run_id']}/origin.json").get_json()["execution"] == wanted
    page = main(visitor.get(f"/runs/{sent['run_id']}/origin"))
    assert all(words in page for words in ("test, a runner of the organisers", IMAGE, COMMIT))
    assert visitor.get(f"/runs/{site.world.run}/origin.json").get_json()["execution"] == {}
    with site.database.read() as session:
        run = session.get_one(Run, sent["run_id"])
        assert run.team_id == site.world.owls
        assert session.get_one(Upload, run.upload_id).account_id == site.world.olga


def test_only_a_runner_says_what_was_executed(site: Site, program: Programs) -> None:
    """Others may not; a runner must, rightly, for teams in its task, while its maker organises it."""
    owls, bears = site.world.owls, site.world.bears
    assert _send(program("Berta"), "own", owls, f"commit={COMMIT}")[0] == 403
    runner = program("Olga", "read", "submit", slug="robots", kind="runner")
    assert _send(runner, "one", owls, "")[0] == 422
    for wrong in ("image=latest", "commit=main", f"image={IMAGE}&commit=X"):
        assert _send(runner, "one", owls, wrong)[0] == 422, wrong
    assert _send(runner, "one", bears, f"commit={COMMIT}")[0] == 404
    other = runner.ask("PUT", f"/tasks/other/runs/one?team={owls}&commit={COMMIT}", data=RUN)
    assert other.status_code == 403
    assert runner.ask("POST", f"/runs/{site.world.run}/withdraw", json={"why": "No."}).status_code == 403
    with site.database.write() as session:
        session.execute(delete(TaskRole).where(TaskRole.account_id == site.world.olga))
    assert _send(runner, "one", owls, f"commit={COMMIT}")[0] == 403
    with site.database.read() as session:
        assert session.scalars(select(Run.name)).all() == ["first"]
