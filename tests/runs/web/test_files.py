"""A run's files: as it was sent, byte for byte, for whom it is open; and as trec_eval prints it."""

import gzip
import shlex
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import update

from leaderboard.cli import main as command_line
from leaderboard.core.policy import OPERATOR
from leaderboard.db.engine import Database, now
from leaderboard.db.tables import Entry, Task
from leaderboard.runs.ops import withdrawals
from leaderboard.runs.ops.limits import RunRequest
from leaderboard.runs.page import upload
from leaderboard.runs.web import files as run_files
from tests.make import build, people
from tests.make.pages import parsed
from tests.web.conftest import SignIn, browser

LINES = b"1 Q0 a 1 2.0 mine\n1 Q0 x 2 2.0 mine\n2 Q0 d 1 1.5 mine\n3 Q0 q 1 1 mine\n"


def sent(
    database: Database,
    folder: Path,
    name: str = "my run.txt.gz",
    lines: bytes = LINES,
    team_name: str = "Team",
) -> int:
    """The id of a scored run, sent as a file of that name."""
    path = folder / name
    path.write_bytes(gzip.compress(lines) if name.endswith(".gz") else lines)
    run_id = build.submit(database, path, run_request=RunRequest("mine"), team_name=team_name).run_id
    assert run_id is not None
    build.drain(database)
    return run_id


def test_the_file_comes_back_as_it_was_sent(database: Database, client: FlaskClient, tmp_path: Path) -> None:
    """The same bytes, their number beforehand, a plain name, what they are; and nothing for who has them."""
    build.task(database, tmp_path, measures=("AP",))
    run_id = sent(database, tmp_path)
    answer = client.get(f"/runs/{run_id}/file")
    assert answer.get_data() == (tmp_path / "my run.txt.gz").read_bytes()
    assert answer.headers["Content-Length"] == str(len(answer.get_data()))
    assert answer.headers["Content-Disposition"] == "attachment; filename=my-run.txt.gz"
    assert answer.headers["Content-Type"] == "application/gzip"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    tag = answer.headers["ETag"]
    assert client.get(f"/runs/{run_id}/file", headers={"If-None-Match": tag}).status_code == 304
    assert client.head(f"/runs/{run_id}/file").headers["Content-Length"] == answer.headers["Content-Length"]
    link = parsed(client.get(f"/runs/{run_id}/origin")).find("a", href=f"/runs/{run_id}/file")
    assert link is not None


def test_a_large_file_comes_in_pieces(
    database: Database, client: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file of several stored pieces is put together again."""
    monkeypatch.setattr("leaderboard.runs.ops.prepare.CHUNK_BYTES", 16)
    build.task(database, tmp_path, measures=("AP",))
    run_id = sent(database, tmp_path, "plain.txt")
    answer = client.get(f"/runs/{run_id}/file")
    assert (answer.get_data(), answer.headers["Content-Type"]) == (LINES, "text/plain; charset=utf-8")


def test_few_large_files_go_out_at_a_time(
    database: Database, client: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Readers that are slow hold no more threads than that; the next one is told when to come again."""
    monkeypatch.setattr(run_files, "LARGE", 0)
    monkeypatch.setattr(run_files, "_turns", threading.BoundedSemaphore(1))
    build.task(database, tmp_path, measures=("AP",))
    run_id = sent(database, tmp_path, "plain.txt")
    first = client.get(f"/runs/{run_id}/file", buffered=False)
    refused = client.get(f"/runs/{run_id}/file")
    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "60")
    first.close()
    assert client.get(f"/runs/{run_id}/file").get_data() == LINES


@pytest.mark.parametrize("visibility", ["blind", "sealed"])
def test_a_file_is_its_teams_own_while_a_task_holds_back(
    app: Flask, database: Database, tmp_path: Path, sign_in: SignIn, visibility: str
) -> None:
    """Its team and the organisers have it; for others it is not there, nor its name, before the close."""
    ann = people.account(database, "Ann")
    people.team(database, "Owls", ann)
    topics = [str(number) for number in range(1, 11)]
    judgments = {topic: {"d00": 1, "d01": 0} for topic in topics}
    build.task(
        database, tmp_path, judgments=judgments, topics=topics, measures=("AP",), visibility=visibility
    )
    rankings = {topic: [f"d{place:02}" for place in range(12)] for topic in topics}
    run_id = build.run(database, tmp_path, rankings, team_name="Owls")
    build.drain(database)
    member, stranger = browser(app), browser(app)
    sign_in(member, "Ann")
    assert member.get(f"/runs/{run_id}/file").status_code == 200
    for client in (member, stranger):
        assert client.get(f"/runs/{run_id}.trec_eval").status_code == 404
    assert stranger.get(f"/runs/{run_id}/file").status_code == 404
    for page in ("", "/origin"):
        assert "run.txt" not in stranger.get(f"/runs/{run_id}{page}").text


@pytest.mark.dialect
def test_a_pseudonym_keeps_the_file_and_its_names_back(
    app: Flask, database: Database, tmp_path: Path, sign_in: SignIn
) -> None:
    """A file may name its team: others get it after the reveal date only."""
    ann = people.account(database, "Ann")
    people.team(database, "Owls", ann)
    build.task(database, tmp_path, measures=("AP",))
    run_id = sent(database, tmp_path, "owls.txt", LINES.replace(b"mine", b"owls"), team_name="Owls")
    with database.write() as session:
        later = now(session) + timedelta(days=1)
        session.execute(update(Entry).values(pseudonym="Team X", reveal_at=later))
        session.execute(update(Task).values(naming="team"))
    member, stranger = browser(app), browser(app)
    sign_in(member, "Ann")
    assert member.get(f"/runs/{run_id}/file").status_code == 200
    assert stranger.get(f"/runs/{run_id}/file").status_code == 404
    for suffix in ("", ".json", "/origin", "/origin.json"):
        assert "owls" not in stranger.get(f"/runs/{run_id}{suffix}").text
    assert "runid                 \tall\tTeam X-1\n" in stranger.get(f"/runs/{run_id}.trec_eval").text
    with database.write() as session:
        session.execute(update(Entry).values(reveal_at=now(session)))
    assert stranger.get(f"/runs/{run_id}/file").status_code == 200


def test_a_withdrawn_file_is_no_longer_given_away(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """What its team took back is not handed to others any more, nor its scores."""
    build.task(database, tmp_path, measures=("AP",))
    run_id = sent(database, tmp_path)
    with database.write() as session:
        withdrawals.withdraw(session, OPERATOR, run_id, "by mistake")
    assert client.get(f"/runs/{run_id}/file").status_code == 404
    assert client.get(f"/runs/{run_id}.trec_eval").status_code == 404


@pytest.mark.parametrize(
    ("measures", "level"),
    [
        (("AP", "nDCG@10", "RR@10", "P@5", "GMAP", "MicroF", "Judged@10"), 1),
        (("AP", "P@5", "nDCG"), 2),
        (("AP", "AP(rel=1)", "P(rel=3)@5"), 2),
    ],
)
def test_the_trec_eval_file_is_what_the_command_prints(
    database: Database,
    client: FlaskClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    measures: tuple[str, ...],
    level: int,
) -> None:
    """The command on the page, run where the files are, prints it byte for byte."""
    build.task(database, tmp_path, measures=measures, level=level)
    run_id = sent(database, tmp_path)
    answer = client.get(f"/runs/{run_id}.trec_eval")
    assert answer.mimetype == "text/plain"
    (tmp_path / "my-run.txt.gz").write_bytes(client.get(f"/runs/{run_id}/file").get_data())
    monkeypatch.chdir(build.qrels_file(tmp_path).rename(tmp_path / "qrels.txt").parent)
    command = parsed(client.get(f"/runs/{run_id}/origin")).select_one("pre.copy")
    assert command is not None
    program, *arguments = shlex.split(command.get_text())
    done = CliRunner().invoke(command_line, arguments)
    assert (program, done.exit_code) == ("leaderboard", 0)
    assert done.stdout == answer.text
    assert client.get(f"/runs/{run_id}.json").get_json()["command"] == command.get_text()


@pytest.mark.parametrize(("level", "dialect"), [(1, 10), (2, 10), (2, 9)])
def test_all_of_trec_evals_measures(
    database: Database, client: FlaskClient, tmp_path: Path, level: int, dialect: int
) -> None:
    """`?all_trec` is what -m all_trec prints, missed topics included."""
    build.task(database, tmp_path, measures=("AP",), level=level, dialect=str(dialect))
    run_id = sent(database, tmp_path, "run.txt")
    options = ["--per-topic", "-m", "all_trec", "--level", str(level), "--dialect", str(dialect)]
    qrels = build.qrels_file(tmp_path)
    done = CliRunner().invoke(command_line, ["evaluate", str(qrels), str(tmp_path / "run.txt"), *options])
    assert client.get(f"/runs/{run_id}.trec_eval?all_trec").text == done.stdout


def test_a_run_that_is_not_scored_prints_nothing(
    database: Database, client: FlaskClient, tmp_path: Path
) -> None:
    """Queued or waiting for judgments: there is no such file yet."""
    build.task(database, tmp_path, measures=("AP",))
    run_id = build.run(database, tmp_path, {"1": ["a"]})
    assert client.get(f"/runs/{run_id}.trec_eval").status_code == 404
    build.task(database, tmp_path, "later", judgments=None)
    waiting = build.run(database, tmp_path, {"1": ["a"]}, slug="later")
    assert client.get(f"/runs/{waiting}.trec_eval").status_code == 404
    assert client.get(f"/runs/{waiting}/file").status_code == 200


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("../../etc/passwd", "etc-passwd"),
        ('a"; filename="b.exe', "a-filename-b.exe"),
        ("x\r\nSet-Cookie: y", "x-Set-Cookie-y"),
        (".hidden", "hidden"),
        ("日本", "run-7.txt"),
        ("a" * 300 + ".gz", "a" * 117 + ".gz"),
    ],
)
def test_a_name_is_safe_to_save_under(name: str, wanted: str) -> None:
    """No path, no quote, no line break, no hidden file; the ending stays."""
    assert upload.download_name(name, 7) == wanted
