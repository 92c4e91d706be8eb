"""The log: one event a line in both forms, without tokens and forged lines."""

import json
import logging
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from leaderboard import logs
from leaderboard.db.engine import Database
from leaderboard.errors import Invalid
from leaderboard.scoring.ops.evaluations import score
from leaderboard.settings import Settings
from leaderboard.worker import Evaluator
from tests.make import build
from tests.make.apps import application
from tests.make.sites import START_S, all_answer, running_site, web_processes

FORGED = "a\n2026-11-22T00:00:00 ERROR b\r\x1b[2J\u2028c"


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    """The root logger is as before afterwards."""
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    yield
    root.handlers[:] = before
    root.setLevel(level)


def _log_all(form: str) -> None:
    logs.configure(form)
    log = logging.getLogger("leaderboard.test")
    log.info("%s /judge/SECRET/1", FORGED, extra={"facts": {"path": FORGED, "status": 200, "of": None}})
    try:
        raise ValueError(f"{FORGED} /join/SECRET")
    except ValueError:
        log.exception("failed")


def test_text_is_one_line_an_event_and_an_indented_trace(capsys: pytest.CaptureFixture[str]) -> None:
    """Only real events begin at the margin, and none holds a token or a control character."""
    _log_all("text")
    written = capsys.readouterr().err
    margin = [line for line in written.split("\n") if line and not line.startswith("    | ")]
    assert [line.split()[1] for line in margin] == ["INFO", "ERROR"]
    assert " status=200 of=-" in margin[0]
    assert "/judge/<token>/1" in margin[0]
    assert not logs.CONTROL.search(written.replace("\n", ""))
    assert "SECRET" not in written


def test_json_is_one_object_an_event(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is JSON with the facts of the event, a trace where there is one, and no token."""
    _log_all("json")
    written = capsys.readouterr().err
    first, second = map(json.loads, written.splitlines())
    assert (first["level"], first["status"], first["path"]) == ("INFO", 200, FORGED)
    assert second["trace"].startswith("Traceback")
    assert "SECRET" not in written


def test_configuring_again_replaces_what_was(capsys: pytest.CaptureFixture[str]) -> None:
    """A process that configures its log twice writes each event once."""
    for _ in range(2):
        logs.configure("text")
    logging.getLogger("leaderboard.test").info("once")
    assert capsys.readouterr().err.count("once") == 1


def test_another_form_is_refused() -> None:
    """The message names the setting and both forms."""
    with pytest.raises(Invalid, match=r"LEADERBOARD_LOG_FORMAT.*text or json"):
        logs.configure("xml")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("//JUDGE//SECRET?x", "//JUDGE//<token>?x"),
        ("POST /sign-in/SECRET", "POST /sign-in/<token>"),
        ("/tasks/t/revisions/drafts/SECRET.json", "/tasks/t/revisions/drafts/<token>"),
        ("/sign-in?next=/join/SECRET", "/sign-in?next=/join/<token>"),
        ("/judge/", "/judge/"),
    ],
)
def test_tokens_are_masked_wherever_they_stand(text: str, expected: str) -> None:
    """In paths, in query strings, in any case, after doubled slashes."""
    assert logs.masked(text) == expected


def _lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def test_every_line_of_a_request_has_its_number(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whichever module writes it; the next request has another one, and what comes after none."""
    gone = Database("postgresql+psycopg://nobody@127.0.0.1:1/none")
    client = application(settings, gone).test_client()
    logs.configure("json")
    numbers = [client.get("/healthz").headers["X-Request-ID"] for _ in range(2)]
    logging.getLogger("leaderboard.test").info("after")
    *told, after = _lines(capsys)
    loggers = ["leaderboard.site.web.health", "leaderboard.web.session"] * 2
    assert [line["logger"] for line in told] == loggers
    assert [line["request"] for line in told] == [numbers[0]] * 2 + [numbers[1]] * 2
    assert "request" not in after
    gone.dispose()


def test_every_line_of_a_job_has_its_number(
    database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And its kind, and which claim of it this is; what comes after has none."""
    build.task(database, tmp_path)
    build.run(database, tmp_path, {"1": ["a"]})

    def broken(*_: object) -> None:
        logging.getLogger("leaderboard.test").info("inside")
        raise ZeroDivisionError

    monkeypatch.setattr(score, "compute", broken)
    logs.configure("json")
    assert Evaluator(database, Settings()).work()
    logging.getLogger("leaderboard.test").info("after")
    *told, after = _lines(capsys)
    assert [line["logger"] for line in told] == ["leaderboard.test", "leaderboard.worker"]
    assert {(line["job"], line["kind"], line["claim"]) for line in told} == {(1, "evaluate", 1)}
    assert "job" not in after


@pytest.mark.trial
def test_all_processes_of_a_site_log_as_json(data_folder: Path) -> None:
    """Every line but the greeting is one object with the fields that are promised; answers have a number."""
    environ = {**os.environ, "LEADERBOARD_LOG_FORMAT": "json", "LEADERBOARD_WEB_PROCESSES": "2"}
    with running_site(data_folder, environ=environ) as site:
        greeted = len(site.output)
        all_answer(site, 2, '"process": "web-{}"')
        os.kill(web_processes(site)[0], signal.SIGKILL)
        until = time.monotonic() + START_S
        while not any("restarting in" in line for line in list(site.output)):
            assert time.monotonic() < until
            time.sleep(0.05)
    lines = [json.loads(line) for line in site.output[greeted:] if line != "Stopped."]
    assert all({"at", "level", "process", "logger", "message"} <= line.keys() for line in lines)
    # What a process rehearses before it takes requests answers nobody.
    of_web = [line for line in lines if line["logger"].startswith("leaderboard.application")]
    assert all("request" in line for line in of_web if line["logger"] != "leaderboard.site.web.rehearsal")
    [ended] = [line for line in lines if "restarting in" in line["message"]]
    assert ended["child"].startswith("web-")
