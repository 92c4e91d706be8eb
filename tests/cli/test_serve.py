"""`leaderboard serve`: one command starts everything, and everything stops with it."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import create_engine, text, update

from leaderboard.cli import main
from leaderboard.cli.serving.supervisor import bind, claim_folder
from leaderboard.db import schema
from leaderboard.db.engine import Database
from leaderboard.db.tables import Account, Job
from leaderboard.errors import Conflict
from leaderboard.settings import Settings
from tests.make import build
from tests.make import sites as running
from tests.make.people import HASH
from tests.make.sites import FEW, MANY, free_port, running_site


def _get(address: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(address, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def _children(pid: int) -> dict[int, str]:
    """Process id -> command line of everything below a process."""
    children: dict[int, str] = {}
    for line in subprocess.run(
        ["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True
    ).stdout.splitlines():
        match = re.match(r"\s*(\d+)\s+(\d+)\s+(.*)", line)
        if match and (int(match[2]) == pid or int(match[2]) in children):
            children[int(match[1])] = match[3]
    return children


def _eventually(condition, seconds: float = 180) -> bool:  # type: ignore[no-untyped-def]
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.1)
    return False


@dataclass(frozen=True)
class Begun:
    """A site that was started on an empty folder and stopped: what it answered, its end, and the folder."""

    data: Path
    site: running.Site
    front: int
    health: str
    children: dict[int, str]
    code: int


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    """The folder of a first start, with as many processes as the site chooses; tests start on copies."""
    data = tmp_path_factory.mktemp("begun") / "data"
    environ = {key: value for key, value in os.environ.items() if key not in FEW}
    with running_site(data, environ=environ, from_nothing=True) as site:
        front, health = _get(f"{site.address}/")[0], _get(f"{site.address}/healthz")[1]
        children = _children(site.process.pid)
        return Begun(data, site, front, health, children, site.stop())


@pytest.mark.trial
def test_it_starts_from_nothing_serves_and_stops_cleanly(begun: Begun) -> None:
    """On an empty folder the site makes its database, answers, and Ctrl-C ends it with code 0."""
    assert (begun.front, begun.code) == (200, 0)
    assert json.loads(begun.health)["status"] == "ok"
    assert begun.site.output[-1].strip() == "Stopped."
    assert _eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in begun.children))
    assert begun.data.stat().st_mode & 0o077 == 0


@pytest.mark.trial
def test_it_starts_again_for_its_owner_alone_and_logs_no_token(begun: Begun, tmp_path: Path) -> None:
    """A fresh sign-in link; database and folders are closed to others, loose ones of before too.

    Addresses are logged masked.
    """
    data = shutil.copytree(begun.data, tmp_path / "data")
    loose = data / "leaderboard.sqlite3.20260101T000000.before-upgrade"
    loose.write_bytes(b"")
    (data / "tmp").mkdir(exist_ok=True)
    for path, mode in ((loose, 0o644), (data / "leaderboard.sqlite3", 0o664), (data / "tmp", 0o755)):
        path.chmod(mode)
    with running_site(data) as site:
        assert _get(f"{site.address}/")[0] == 200
        assert site.sign_in not in ("", begun.site.sign_in)
        assert _get(f"{site.address}/judge/SECRET%0aFORGED")[0] == 404
        assert [path.name for path in data.rglob("*") if path.stat().st_mode & 0o077] == []
        assert (data / "leaderboard.sqlite3-wal").exists()
    [line] = [line for line in site.output if "/judge/" in line]
    assert ("SECRET" in line, " status=404 " in line) == (False, True)
    assert not any(line.startswith("FORGED") for line in site.output)


@pytest.mark.trial
def test_no_link_is_printed_once_the_organiser_has_a_password(begun: Begun, tmp_path: Path) -> None:
    """Who reads the journal of a site in use does not become its organiser; the way in is named."""
    data = shutil.copytree(begun.data, tmp_path / "data")
    database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
    with database.write() as session:
        session.execute(update(Account).values(password_hash=HASH.text))
    database.dispose()
    with running_site(data) as site:
        assert site.sign_in == ""
    assert any("leaderboard account link organiser" in line for line in site.output)


def test_a_taken_port_is_said_in_one_sentence(tmp_path: Path) -> None:
    """Nothing is started where the port is in use, and the message names the way out."""
    port = free_port()
    listening = bind("127.0.0.1", port)
    try:
        with pytest.raises(Conflict, match="--port"):
            bind("127.0.0.1", port)
        done = subprocess.run(
            [
                str(Path(sys.executable).parent / "leaderboard"),
                "serve",
                "--data",
                str(tmp_path),
                "--port",
                str(port),
            ],
            capture_output=True,
            text=True,
            timeout=180,
        )
    finally:
        listening.close()
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        f"Error: Port {port} on 127.0.0.1 is not available (address already in use). Stop the program that "
        "uses it, or choose another port with --port."
    ]


@pytest.mark.parametrize(
    ("options", "mode", "message"),
    [([], 0o755, "chmod 700"), (["--host", "0.0.0.0"], 0o700, "LEADERBOARD_TRUSTED_HOSTS")],
)
def test_an_unsafe_start_is_refused_with_the_way_out(
    tmp_path: Path, options: list[str], mode: int, message: str
) -> None:
    """A data folder others can read, or a public address under any name, stops the start."""
    data = tmp_path / "data"
    data.mkdir()
    data.chmod(mode)
    result = CliRunner().invoke(main, ["serve", "--data", str(data), "--port", str(free_port()), *options])
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.trial
@pytest.mark.dialect
def test_it_serves_and_scores_on_postgresql(postgres_server: str, tmp_path: Path) -> None:
    """With a PostgreSQL URL the same command makes the tables there, serves, and its evaluators score."""
    name = f"serve{os.getpid()}"
    engine = create_engine(f"{postgres_server}/postgres", isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f'CREATE DATABASE "{name}"'))
    engine.dispose()
    environ = {**os.environ, "LEADERBOARD_DATABASE_URL": f"{postgres_server}/{name}"}
    with running_site(tmp_path / "data", environ=environ) as site:
        database = Database(f"{postgres_server}/{name}")
        build.task(database, tmp_path)
        run_id = build.run(database, tmp_path, {"1": ["a"]})
        assert _eventually(lambda: '"state":"done"' in _get(f"{site.address}/runs/{run_id}.json")[1])
        database.dispose()


@pytest.mark.trial
def test_a_killed_child_is_started_again(data_folder: Path) -> None:
    """After SIGKILL of every child the site answers again, and a run is still scored."""
    with running_site(data_folder, environ={**os.environ, **MANY}) as site:
        for pid in _children(site.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

        def answers() -> bool:
            try:
                return _get(f"{site.address}/healthz")[0] == 200
            except OSError:
                return False

        assert _eventually(answers)
        assert site.stop() == 0


@pytest.mark.trial
def test_no_child_outlives_a_killed_supervisor(data_folder: Path) -> None:
    """When the supervisor is killed its children end by themselves."""
    with running_site(data_folder) as site:
        children = _children(site.process.pid)
        assert children
        site.process.kill()
        site.process.wait()
        assert _eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in children))


@pytest.mark.trial
def test_an_evaluation_over_its_limit_is_stopped_and_said(tmp_path: Path) -> None:
    """A job that runs longer than allowed is killed with its process, three times, then failed."""
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    database = Database(f"sqlite:///{data / 'leaderboard.sqlite3'}")
    schema.upgrade(database)
    build.task(database, tmp_path)
    build.run(database, tmp_path, {"1": ["a"]})
    environ = {**os.environ, "LEADERBOARD_JOB_LIMIT_S": "0"}
    environ["PYTHONPATH"] = os.pathsep.join((str(_slow_package(tmp_path)), os.environ.get("PYTHONPATH", "")))
    with running_site(data, environ=environ) as site:

        def failed() -> bool:
            with database.read() as session:
                return bool(session.query(Job).one().state == "failed")

        assert _eventually(failed), site.output
    with database.read() as session:
        job = session.query(Job).one()
    assert (job.attempts, job.error) == (3, "The evaluator stopped before the job was done (attempt 3 of 3).")
    database.dispose()


def _slow_package(folder: Path) -> Path:
    """A folder for PYTHONPATH whose sitecustomize makes every evaluation hang."""
    made = folder / "slow"
    made.mkdir()
    (made / "sitecustomize.py").write_text(
        "import sys, time\n"
        "class Hook:\n"
        "    def find_spec(self, name, path, target=None):\n"
        "        if name != 'leaderboard.worker': return None\n"
        "        sys.meta_path.remove(self)\n"
        "        from leaderboard.scoring.ops.evaluations import score\n"
        "        score.compute = lambda *_: time.sleep(600)\n"
        "        return None\n"
        "sys.meta_path.insert(0, Hook())\n"
    )
    return made


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_a_second_serve_on_a_folder_is_refused(tmp_path: Path) -> None:
    """It names the process and address of the first; the lock ends with its holder."""
    hold = "import sys; from leaderboard.settings import Settings; from pathlib import Path; "
    hold += "from leaderboard.cli.serving.supervisor import claim_folder; "
    hold += "claim_folder(Settings(data=Path(sys.argv[1]), port=8123)); print('held', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", hold, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        tmp_path.chmod(0o700)
        second = CliRunner().invoke(main, ["serve", "--data", str(tmp_path), "--port", str(free_port())])
        assert second.exit_code == 1
        assert second.output == (
            f"Error: Another `leaderboard serve` already uses {tmp_path} (process {first.pid}, "
            "http://127.0.0.1:8123). Stop it, or use another --data.\n"
        )
        first.kill()
        first.wait()
    claim_folder(Settings(data=tmp_path))
