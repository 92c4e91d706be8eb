"""The command as people and continuous integration use it: what it prints, how it ends."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from leaderboard_submit import Client, cli, common, logins
from sqlalchemy import update

from leaderboard.cli import main
from leaderboard.db.tables import DeviceRequest, Phase, Task
from tests.make import build, pages
from tests.make.documents import blocks, commands
from tests.make.worlds import BAD_RUN, RUN
from tests.web.client.conftest import Command
from tests.web.conftest import Site

pytestmark = pytest.mark.trial

ROOT = Path(__file__).resolve().parents[3]


def _approve(site: Site, user_code: str) -> None:
    """What the owner does at the address that was printed."""
    browser = site.browser("Berta")
    page = browser.post("/device", data={"code": user_code})
    form = {**pages.form(page, "/device/answer"), "answer": "approve", "scopes": ["read", "submit"]}
    assert browser.post("/device/answer", data=form).status_code == 200
    with site.database.write() as session:
        session.execute(update(DeviceRequest).values(polled_at=None))


def test_from_nothing_to_a_score(site: Site, command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three commands: log in with a short code, look, send; the token is its owner's alone; log out."""
    address = logins.site()
    for name in ("LEADERBOARD_URL", "LEADERBOARD_TOKEN"):
        monkeypatch.delenv(name)
    lost = command("runs", "robots")
    assert (lost.exit_code, "leaderboard-submit login" in lost.output) == (3, True)
    codes: list[str] = []

    class Waiting(Client):
        """Whose owner answers while it waits."""

        def __init__(self, url: str, token: str | None = None) -> None:
            super().__init__(url, token, sleep=self._answered)

        def begin_login(self, *given: Any) -> dict[str, Any]:
            begun = super().begin_login(*given)
            codes.append(begun["user_code"])
            return begun

        def _answered(self, _: float) -> None:
            if codes:
                _approve(site, codes.pop())
            build.drain(site.database)

    for module in (cli, common):
        monkeypatch.setattr(module, "Client", Waiting)
    done = command("login", address)
    assert (done.exit_code, "Logged in as Berta (Owls)." in done.output) == (0, True), done.output
    assert logins.path().stat().st_mode & 0o077 == 0
    assert "robots" in command("tasks").output
    sent = command("submit", "robots", command.file())
    assert sent.exit_code == 0, sent.output
    assert re.search(r"bm25: accepted, run \d+ of Owls\n", sent.stdout)
    assert re.search(r"  AP +\d\.\d{4}\n", sent.stdout)
    assert re.search(r"  rank \d", sent.stdout)
    assert f"{address}/runs/" in sent.stdout
    assert command("logout").exit_code == 0
    assert command("runs", "robots").exit_code == 3


def test_a_rejected_file_ends_with_one_and_the_others_are_sent(command: Command) -> None:
    """What is wrong is told before anything is sent where it can be, else by the site."""
    bad, worse, good = (
        command.file("bad.run", BAD_RUN),
        command.file("worse.run", "1 Q0 d1\n1 Q0 d1 1 x t\n"),
        command.file("good.run"),
    )
    sent = command("submit", "robots", bad, worse, good)
    assert sent.exit_code == 1
    assert "line 2" in sent.stderr
    assert "so it was not submitted" in sent.stderr
    assert "good: accepted" in sent.stdout
    checked = command("check", "robots", bad, good)
    assert (checked.exit_code, f"{good}: accepted" in checked.stdout) == (1, True)
    other = command.file("other.run", "77 Q0 d1 1 1.0 t\n")
    assert command("submit", "robots", other).exit_code == 1


def test_results_for_programs(command: Command) -> None:
    """JSON and CSV on standard output, whole numbers and all."""
    assert command("submit", "robots", command.file(), "--format", "json").exit_code == 0
    board = json.loads(command("results", "robots", "--format", "json").stdout)
    (row,) = (row for row in board["rows"] if row["run"] == "bm25")
    lines = command("results", "robots", "--format", "csv").stdout.splitlines()
    head, values = lines[0].split(","), next(line.split(",") for line in lines if ",bm25," in line)
    assert float(values[head.index("AP")]) == row["scores"]["AP"]
    assert "bm25" in command("results", "robots", "--measure", "AP").stdout
    assert "bm25" in command("runs", "robots").stdout
    assert command("results", "nothing").exit_code == 2


def test_a_run_is_looked_after(command: Command) -> None:
    """Described by a text and by a file of facts, withdrawn, restored, chosen."""
    facts = command.file("facts.json", '{"description": "Lexical.", "type": "manual"}')
    sent = command("submit", "robots", command.file(), "--describe", facts, "--format", "json")
    (made,) = json.loads(sent.stdout)
    run = made["run_id"]
    assert command("describe", run, "Another.").exit_code == 0
    assert command("withdraw", run, "--why", "No.").stdout == "withdrawn\n"
    assert command("restore", run).exit_code == 0
    assert command("choose", run).stdout == "chosen\n"
    assert command("choose", run, "--not").stdout == "not chosen\n"


def test_the_examples_of_its_readme_work(command: Command, address: str, clients: Any) -> None:
    """Every command after the login, in order, and the Python code."""
    readme = ROOT / "client" / "README.md"
    command.file()
    listed = [line.split()[1:] for line in commands(readme)]
    assert len(listed) == 14
    for words in listed:
        if words[0] == "login":
            continue
        done = command(*shlex.split(" ".join(words)))
        assert done.exit_code == 0, (words, done.output)
    (code,) = blocks(readme, "python")
    facts: dict[str, Any] = {"SITE": address, "TOKEN": logins.token(address)}
    exec(code.replace("Client(SITE", "Quick(SITE"), facts | {"Quick": clients})


def test_the_workflow_sends_a_run(command: Command) -> None:
    """The steps of docs/submit-workflow.yml that are commands of ours, as its runner gives them."""
    text = (ROOT / "docs" / "submit-workflow.yml").read_text()
    steps = re.findall(r"- run: leaderboard-submit (.*)", text)
    assert [step.split()[0] for step in steps] == ["check", "submit"]
    for name in ("LEADERBOARD_URL", "LEADERBOARD_TOKEN"):
        assert f"{name}: " in text
    (command.folder / "runs").mkdir()
    (command.folder / "runs" / "bm25.run").write_text(RUN)
    for step in steps:
        words, _, target = step.partition(" > ")
        done = command(*words.split())
        assert done.exit_code == 0, done.output
        if target:
            assert json.loads(done.stdout)[0]["scores"]


def test_the_server_has_the_same_verbs(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """`leaderboard client` is the same command; where it is not installed, how to install it is said."""
    assert "robots" in CliRunner().invoke(main, ["client", "tasks"]).output
    monkeypatch.setitem(sys.modules, "leaderboard_submit", None)
    monkeypatch.delitem(sys.modules, "leaderboard_submit.cli")
    missing = CliRunner().invoke(main, ["client", "tasks"])
    assert (missing.exit_code, "pip install ./client" in missing.output) == (1, True)


def test_files_are_fetched(command: Command) -> None:
    """A run, judgments of a revision and a pool, to a file or standard output."""
    run = json.loads(command("submit", "robots", command.file(), "--format", "json").stdout)[0]["run_id"]
    assert command("download", run).stdout == RUN.replace(" tag\n", " bm25\n")
    out = command.folder / "qrels.txt"
    assert command("qrels", "robots", "-o", out).exit_code == 0
    assert out.read_text() == command("qrels", "robots", "--revision", 1).stdout != ""
    assert command("pool", "robots", 1).exit_code == 3
    assert command("qrels", "robots", "--revision", 9).exit_code == 2


def test_what_the_task_refuses_is_not_sent(
    site: Site, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Depth, topics and size are looked up first; the message names the limit, and check says the same."""
    with site.database.write() as session:
        session.execute(update(Task).where(Task.slug == "robots").values(depth=2))
    deep = command.file("deep.run", "".join(f"1 Q0 d{at} {at} {9 - at}.0 deep\n" for at in range(1, 5)))
    other = command.file("other.run", "77 Q0 d1 1 1.0 other\n")
    monkeypatch.setattr(Client, "submit", None)
    for verb in ("submit", "check"):
        refused = command(verb, "robots", deep, other)
        assert refused.exit_code == 1, refused.output
        said = "line 3: '1': The topic has more than 2 documents, the maximum in this task. Keep the top 2."
        assert said in refused.stderr
        assert "line 1: '77': The task has no such topic. Valid topic ids include 1, 2, 3." in refused.stderr
    with site.database.write() as session:
        session.execute(update(Phase).values(largest_bytes=20))
    refused = command("check", "robots", deep)
    assert f"The file has {deep.stat().st_size:,} bytes; the task accepts at most 20." in refused.stderr


def test_a_run_is_named_by_its_tag(command: Command) -> None:
    """The name is said; where files share a tag each is named by its file, and --name decides."""
    tagged = command.file("1.run", RUN.replace(" tag\n", " BM25+RM3\n"))
    sent = command("submit", "robots", tagged)
    assert f"{tagged} was already submitted as BM25-RM3. Use --name for another name." in sent.stderr
    assert "BM25-RM3: accepted" in sent.stdout
    sent = command("submit", "robots", command.file("2.run", RUN), "--name", "mine", "--again")
    assert "mine: accepted" in sent.stdout
    assert "was already submitted as" not in sent.stderr
    same = [command.file(f"{name}.run", RUN.replace(" tag\n", " same\n")) for name in ("a1", "b2")]
    sent = command("submit", "robots", *same, "--again")
    assert ("a1: accepted" in sent.stdout, "b2: accepted" in sent.stdout) == (True, True), sent.output


def test_progress_is_said_in_lines_where_there_is_no_terminal(
    command: Command, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line every five seconds, without carriage returns."""
    clock = iter((0.0, 1.0, 6.0, 6.0, 7.0, 12.0, 12.0))
    monkeypatch.setattr(cli.time, "monotonic", lambda: next(clock))
    with cli._progress(command.file()) as say:
        for sent in (10, 50, 60, 100):
            say(sent, 100)
    assert capsys.readouterr().err == (
        "bm25.run: 50 of 100 bytes sent (50%)\nbm25.run: 100 of 100 bytes sent (100%)\n"
    )
